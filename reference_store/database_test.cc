#include "reference_store/broker_plugin/database.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "reference_store/faults/tamper.h"
#include "reference_store/store_fixture.h"

namespace fencepost::broker_plugin {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using store::SteppedStore;
using testing::AllOf;
using testing::HasSubstr;

// A folder of its own, whose name has a blank.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = testing::TempDir() + "fencepost store XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(folder_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name = "a store.db") const {
    return (folder_ / name).string();
  }

 private:
  std::filesystem::path folder_;
};

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

void write(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

// A process with a store and its database, whose clocks a test sets.
struct Process {
  explicit Process(const std::string& path, Clocks now = {.wall = 1000s, .steady = 10s},
                   const std::string& node = "", store::Keeper* keeper = nullptr)
      : clocks(now), opened(Database::open(path, *stepped, now, keeper, node)) {}

  [[nodiscard]] std::string error() const { return opened ? "" : opened.error(); }
  Result<void, std::string> commit() { return (*opened)->commit(clocks); }

  SteppedStore stepped{};
  Clocks clocks;
  Result<std::unique_ptr<Database>, std::string> opened;
};

// What is on the disk, also beside the file, as after SIGKILL of the process that has it open.
void copy_as_it_stands(const std::string& from, const std::string& to) {
  for (const std::string end : {"", "-wal", "-journal"}) {
    if (std::filesystem::exists(from + end)) std::filesystem::copy_file(from + end, to + end);
  }
}

void run_sql(const std::string& path, const char* sql) {
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &connection), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(connection, sql, nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(connection);
}

TEST(Database, KeepsValuesVersionsAndTokensOfAProcessThatIsKilled) {
  const TemporaryFolder folder;
  Process first(folder.file());
  ASSERT_EQ(first.error(), "");
  const std::string bytes("\0\xff'\r\n", 5);
  const auto version = first.stepped.set(bytes, "").version;
  first.stepped.set("k", "one", {.token = store::at(0, 7, "owner")});
  first.stepped.set("k", "two", {.token = store::at(0, 7, "owner")});
  first.stepped.set("gone", "x");
  ASSERT_TRUE(first.commit());
  first.stepped.del("gone");
  ASSERT_TRUE(first.commit());
  first.stepped.set("unanswered", "x");
  copy_as_it_stands(folder.file(), folder.file("copy"));

  Process second(folder.file("copy"));
  ASSERT_EQ(second.error(), "");
  EXPECT_EQ(second.stepped->size(), 2U);
  EXPECT_EQ(second.stepped.get(bytes).reply, "value ");
  EXPECT_EQ(second.stepped.get(bytes).version, version);
  EXPECT_EQ(second.stepped.get("k").reply, "value two");
  EXPECT_EQ(second.stepped.get("gone").reply, "missing");
  EXPECT_EQ(second.stepped.set("k", "three").reply, "error token-required");
  EXPECT_EQ(second.stepped.set("k", "three", {.token = store::at(0, 6)}).reply,
            "error token-lower");
  EXPECT_EQ(second.stepped.set("k", "three", {.token = store::at(0, 7, "owner")}).reply, "OK");
}

Process node(const std::string& path, const std::string& name, store::Keeper* keeper = nullptr) {
  return Process(path, {.wall = 1000s, .steady = 10s}, name, keeper);
}

TEST(Database, OfAClusterIsWrittenByTheNodeThatBeganToLeadLast) {
  const TemporaryFolder folder;
  Process first = node(folder.file(), "A");
  ASSERT_EQ(first.error(), "");
  first.stepped.set("k", "one");
  ASSERT_TRUE(first.commit());
  EXPECT_FALSE((*first.opened)->replaced());
  Process second = node(folder.file(), "B");
  ASSERT_EQ(second.error(), "");
  EXPECT_EQ(second.stepped.get("k").reply, "value one");
  first.stepped.set("k", "two");
  EXPECT_TRUE(first.commit()) << "the disk is not full";
  EXPECT_TRUE((*first.opened)->replaced());
  second.stepped.set("other", "x");
  ASSERT_TRUE(second.commit());
  EXPECT_FALSE((*second.opened)->replaced());
  Process third = node(folder.file(), "A");
  EXPECT_EQ(third.stepped.get("k").reply, "value one");
  EXPECT_EQ(third.stepped.get("other").reply, "value x");
}

TEST(Database, OfAClusterSaysAlsoToReadersThatAnotherNodeLeads) {
  const TemporaryFolder folder;
  Process first = node(folder.file(), "A");
  Process second = node(folder.file(), "B");
  first.stepped.get("k");
  EXPECT_TRUE(first.commit());
  EXPECT_TRUE((*first.opened)->replaced());
}

TEST(Database, OfAFormerLeaderThatIsFaulty) {
  const TemporaryFolder folder;
  const auto writes_on =
      store::with_keeping({.when_replaced = store::WhenReplaced::kWritesOn})({}, 1);
  const auto serves =
      store::with_keeping({.when_replaced = store::WhenReplaced::kServesFromMemory})({}, 1);
  Process first = node(folder.file(), "A", writes_on->keeper());
  Process second = node(folder.file(), "B", serves->keeper());
  first.stepped.set("of the first", "x");
  EXPECT_TRUE(first.commit());
  EXPECT_FALSE((*first.opened)->replaced());
  Process third = node(folder.file(), "C");
  EXPECT_EQ(third.stepped->size(), 1U);
  second.stepped.set("of the second", "x");
  EXPECT_TRUE(second.commit());
  EXPECT_FALSE((*second.opened)->replaced());
  EXPECT_EQ(node(folder.file(), "D").stepped->size(), 1U);
}

TEST(Database, VersionsNeverGoBackThoughTheWallClockDoes) {
  const TemporaryFolder folder;
  std::optional<hlc::Timestamp> before;
  {
    Process first(folder.file());
    first.stepped.step(1h);
    before = first.stepped.set("k", "v").version;
    first.stepped.del("k");
    ASSERT_TRUE(first.commit());
  }
  Process second(folder.file());
  ASSERT_EQ(second.error(), "");
  EXPECT_EQ(second.stepped->size(), 0U);
  EXPECT_LT(*before, *second.stepped.set("other", "v", {.timestamp = "0:0:c"}).version);
}

TEST(Database, ExpiryGoesOnByTheWallClock) {
  const TemporaryFolder folder;
  {
    Process first(folder.file(), {.wall = 1000s, .steady = 0s});
    first.stepped.set("short", "v", {.px = 5000ms});
    first.stepped.set("long", "v", {.px = 60'000ms});
    first.stepped.set("endless", "v", {.px = std::chrono::milliseconds::max() / 2000});
    ASSERT_TRUE(first.commit());
  }
  // 20 s later on a machine that has just been started.
  Process second(folder.file(), {.wall = 1020s, .steady = 1s});
  ASSERT_EQ(second.error(), "");
  EXPECT_EQ(second.stepped->next_expiry(), -14s);
  second.stepped.step(1s);
  second.stepped.expire();
  EXPECT_EQ(second.stepped->next_expiry(), 41s);
  ASSERT_TRUE(second.commit());
  EXPECT_EQ(second.stepped->size(), 2U);
}

TEST(Database, WritesNothingForRequestsThatOnlyRead) {
  const TemporaryFolder folder;
  Process process(folder.file());
  process.stepped.set("k", "v");
  ASSERT_TRUE(process.commit());
  const std::string log = content_of(folder.file() + "-wal");
  EXPECT_FALSE(log.empty());
  process.stepped.get("k");
  process.stepped.set("k", "v", {.condition = codec::Condition::kIfAbsent});
  process.stepped.del("none");
  process.stepped.observe("o", "k");
  ASSERT_TRUE(process.commit());
  EXPECT_EQ(content_of(folder.file() + "-wal"), log);
}

TEST(Database, KeepsWhatFaultsChangeBesideTheRules) {
  const TemporaryFolder folder;
  {
    store::Service service;
    const auto opened = Database::open(folder.file(), service.state(), {});
    ASSERT_TRUE(opened);
    store::Tamper tamper(service);
    tamper.put("k", "v", {1, 2, "n"});
    ASSERT_TRUE((*opened)->commit({}));
    *tamper.value("k") = "changed";
    tamper.put("gone", "v", {1, 3, "n"});
    tamper.erase("gone");
    ASSERT_TRUE((*opened)->commit({}));
  }
  Process process(folder.file());
  ASSERT_EQ(process.error(), "");
  EXPECT_EQ(process.stepped.get("k").reply, "value changed");
  EXPECT_EQ(process.stepped->size(), 1U);
}

// Adds an exclamation mark to each value that is written, and a question mark to each that is read;
// what it holds back is written in the end.
class Marks final : public store::Keeper {
 public:
  [[nodiscard]] store::WhenReplaced when_replaced() const override {
    return store::WhenReplaced::kStops;
  }
  void load(store::KeptKeys& kept, microseconds wall) override {
    loaded_at = wall;
    for (store::KeptKey& key : kept.keys) key.value += '?';
  }
  void write(store::KeptKeys& kept, microseconds /*wall*/) override {
    for (store::KeptKey& key : kept.keys) key.value += '!';
    if (holds_back) held_.keys.swap(kept.keys);
  }
  void end(store::KeptKeys& kept) override { kept = std::exchange(held_, {}); }

  bool holds_back = false;
  microseconds loaded_at{0};

 private:
  store::KeptKeys held_{};
};

TEST(Database, AKeeperChangesWhatIsWrittenAndRead) {
  const TemporaryFolder folder;
  Marks marks;
  {
    SteppedStore stepped;
    const auto opened = Database::open(folder.file(), *stepped, {.wall = 1000s}, &marks);
    ASSERT_TRUE(opened) << opened.error();
    EXPECT_EQ(marks.loaded_at, 1000s);
    stepped.set("a", "one", {.px = 5s});
    stepped.set("gone", "one");
    ASSERT_TRUE((*opened)->commit({.wall = 1000s}));
    stepped.del("gone");
    ASSERT_TRUE((*opened)->commit({.wall = 1000s}));
    marks.holds_back = true;
    stepped.set("b", "two");
    ASSERT_TRUE((*opened)->commit({.wall = 1000s}));
    copy_as_it_stands(folder.file(), folder.file("copy"));
  }
  for (const auto& [name, b] : {std::pair("copy", "missing"), {"a store.db", "value two!?"}}) {
    SteppedStore stepped;
    const auto opened = Database::open(folder.file(name), *stepped, {.wall = 1004s}, &marks);
    ASSERT_TRUE(opened) << opened.error();
    EXPECT_EQ(stepped.get("a").reply, "value one!?");
    EXPECT_EQ(stepped.get("b").reply, b) << name;
    EXPECT_EQ(stepped.get("gone").reply, "missing");
    EXPECT_EQ(stepped->next_expiry(), 1s);
  }
}

TEST(Database, LeavesForeignAndNewerAndDamagedFilesAsTheyAre) {
  const TemporaryFolder folder;
  write(folder.file("text"), "dear diary,\n" + std::string(2000, 'x'));
  write(folder.file("short"), "x");
  run_sql(folder.file("other"), "PRAGMA journal_mode = WAL; CREATE TABLE t (a); ");
  { const Process ours(folder.file("newer")); }
  run_sql(folder.file("newer"), "PRAGMA user_version = 2; PRAGMA journal_mode = DELETE");
  {
    Process ours(folder.file("torn"));
    for (int i = 0; i < 100; ++i) ours.stepped.set("k" + std::to_string(i), std::string(500, 'v'));
    ASSERT_TRUE(ours.commit());
  }
  std::filesystem::copy_file(folder.file("torn"), folder.file("odd"));
  std::filesystem::resize_file(folder.file("torn"), 12'000);
  run_sql(folder.file("odd"), "UPDATE keys SET version = 'none' WHERE key = CAST('k7' AS BLOB)");
  for (const auto& [name, expected] : {std::pair{"text", "found other content"},
                                       {"short", "found other content"},
                                       {"other", "found that of another program"},
                                       {"newer", "expected format 1, found format 2"},
                                       {"torn", "is damaged"},
                                       {"odd", "is damaged"}}) {
    const std::string before = content_of(folder.file(name));
    const Process process(folder.file(name));
    EXPECT_THAT(process.error(), AllOf(HasSubstr("database " + folder.file(name) + ": "),
                                       HasSubstr(expected), HasSubstr("name another file")));
    EXPECT_EQ(content_of(folder.file(name)), before) << name;
  }
}

TEST(Database, SaysWhyAFileCannotBeUsed) {
  const TemporaryFolder folder;
  EXPECT_THAT(Process(folder.file("")).error(), HasSubstr("found something else"));
  EXPECT_THAT(Process(folder.file("no/folder")).error(),
              AllOf(HasSubstr("cannot be"), HasSubstr("No such file or directory")));
  // Where even root can make no file.
  EXPECT_THAT(Process("/proc/fencepost.db").error(), HasSubstr("cannot be"));
}

TEST(Database, IsForOneProcess) {
  const TemporaryFolder folder;
  Process first(folder.file());
  first.stepped.set("k", "v");
  ASSERT_TRUE(first.commit());
  const pid_t child = fork();
  if (child == 0) {
    const Process second(folder.file());
    _exit(second.error().find("another process uses it") == std::string::npos ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  first.stepped.set("k", "w");
  EXPECT_TRUE(first.commit());
}

// In a process of its own, whose files cannot grow.
TEST(Database, DoesNotKeepWhatTheDiskHasNoRoomFor) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    Process process(folder.file());
    process.stepped.set("k", "kept");
    bool well = process.commit().has_value();
    const rlimit limit{.rlim_cur = 100'000, .rlim_max = 100'000};
    signal(SIGXFSZ, SIG_IGN);  // NOLINT: a process with one thread
    setrlimit(RLIMIT_FSIZE, &limit);
    process.stepped.set("k", std::string(200'000, 'x'));
    const auto failed = process.commit();
    well = well && !failed && failed.error().find("cannot be written") != std::string::npos;
    _exit(well ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Process after(folder.file());
  ASSERT_EQ(after.error(), "");
  EXPECT_EQ(after.stepped.get("k").reply, "value kept");
}

}  // namespace
}  // namespace fencepost::broker_plugin
