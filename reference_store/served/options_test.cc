// The broker plugin's options: what each one sets, and what the error says when one is wrong.
#include "reference_store/served/options.h"

#include <cstdio>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::served {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A file that is gone when the test is over.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(testing::TempDir() + "fencepost_options_test_" + std::to_string(getpid())) {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(PluginOptions, HaveDefaults) {
  const auto options = parse_options({});
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->service.dialect, codec::DialectId::kDeployed);
  EXPECT_EQ(options->service.store.quota, 0U);
  EXPECT_EQ(options->service.store.node_id, "StateStore");
  EXPECT_EQ(options->parent, std::nullopt);
  EXPECT_EQ(options->clock_offset, 0ms);
  EXPECT_FALSE(store::DelayQueue(options->delay).delays());
  EXPECT_TRUE(options->service.store.authorization.allows({}, store::Access::kWrite, "k"));
}

TEST(PluginOptions, AreTakenFromTheList) {
  const auto options = parse_options(
      {{"dialect", "documented"}, {"quota", "100"}, {"node_id", "node-7"}, {"parent_pid", "4711"}});
  ASSERT_TRUE(options.has_value()) << options.error();
  EXPECT_EQ(options->service.dialect, codec::DialectId::kDocumented);
  EXPECT_EQ(options->service.store.quota, 100U);
  EXPECT_EQ(options->service.store.node_id, "node-7");
  EXPECT_EQ(options->parent, 4711);
  EXPECT_EQ(parse_options({{"dialect", "deployed"}})->service.dialect, codec::DialectId::kDeployed);
}

TEST(PluginOptions, ShowTheTraffic) {
  const auto options = parse_options({{"record", "/tmp/a file"}, {"routing", "open"}});
  ASSERT_TRUE(options.has_value()) << options.error();
  EXPECT_EQ(options->record, "/tmp/a file");
  EXPECT_TRUE(options->open_routing);
  EXPECT_FALSE(parse_options({{"routing", "private"}})->open_routing);
  EXPECT_FALSE(parse_options({{"routing", "ajar"}}).has_value());
  EXPECT_FALSE(parse_options({{"record", ""}}).has_value());
}

TEST(PluginOptions, MakeTheClockWrongAndTheAnswersSlow) {
  const auto options = parse_options({{"clock_offset_ms", "-31622400000"},
                                      {"response_delay_ms", "60000"},
                                      {"response_jitter_ms", "50"}});
  ASSERT_TRUE(options.has_value()) << options.error();
  EXPECT_EQ(options->clock_offset, -366 * 24h);
  EXPECT_EQ(options->delay.delay, 60s);
  EXPECT_EQ(options->delay.jitter, 50ms);
  EXPECT_EQ(parse_options({{"clock_offset_ms", "31622400000"}})->clock_offset, 366 * 24h);
}

TEST(PluginOptions, OfTheSameNameTheLastWins) {
  EXPECT_EQ(parse_options({{"quota", "1"}, {"quota", "2"}})->service.store.quota, 2U);
}

TEST(PluginOptions, NameWhatIsWrongAndWhatWasExpected) {
  struct Case {
    std::string name;
    std::string value;
    std::string expected;
  };
  const std::vector<Case> cases = {
      {"dialect", "", "documented or deployed"},
      {"dialect", "Deployed", "documented or deployed"},
      {"quota", "", "a number of keys"},
      {"quota", "-1", "a number of keys"},
      {"quota", "+1", "a number of keys"},
      {"quota", "1k", "a number of keys"},
      {"quota", " 1", "a number of keys"},
      {"quota", "1.5", "a number of keys"},
      {"quota", "18446744073709551616", "a number of keys"},
      {"node_id", "", "printable ASCII without colon or blank"},
      {"node_id", "a:b", "printable ASCII without colon or blank"},
      {"node_id", "a b", "printable ASCII without colon or blank"},
      {"node_id", "a\n", "printable ASCII without colon or blank"},
      {"node_id", "\x7f", "printable ASCII without colon or blank"},
      {"node_id", "\xc3\xa9", "printable ASCII without colon or blank"},
      {"parent_pid", "", "a process id"},
      {"parent_pid", "self", "a process id"},
      {"parent_pid", "1x", "a process id"},
      {"parent_pid", "-1", "a process id"},
      {"parent_pid", "0", "a process id"},
      {"parent_pid", "99999999999", "a process id"},
      {"clock_offset_ms", "", "milliseconds from -366 days to 366 days"},
      {"clock_offset_ms", "30s", "milliseconds from -366 days to 366 days"},
      {"clock_offset_ms", "31622400001", "milliseconds from -366 days to 366 days"},
      {"clock_offset_ms", "-31622400001", "milliseconds from -366 days to 366 days"},
      {"response_delay_ms", "-1", "milliseconds from 0 to 60000"},
      {"response_delay_ms", "60001", "milliseconds from 0 to 60000"},
      {"response_delay_ms", "1.5", "milliseconds from 0 to 60000"},
      {"response_jitter_ms", "-1", "milliseconds from 0 to 60000"},
      {"response_jitter_ms", "60001", "milliseconds from 0 to 60000"},
      {"fault", "S1", "one of `fencepost list faults`, by id or name, or several: S01+D02"},
      {"fault", "", "one of `fencepost list faults`, by id or name, or several: S01+D02"},
      {"seed", "-1", "a 64-bit number"},
      {"seed", "18446744073709551616", "a 64-bit number"}};
  for (const auto& [name, value, expected] : cases) {
    const auto options = parse_options({{name, value}});
    ASSERT_FALSE(options.has_value()) << name << " " << value;
    std::string message = "option " + name;
    message += " is \"" + value + "\"; expected " + expected;
    EXPECT_EQ(options.error(), message);
  }
}

TEST(PluginOptions, ReadWhichFaultyStoreToServe) {
  const auto right = parse_options({});
  ASSERT_TRUE(right.has_value());
  EXPECT_TRUE(right->faults.empty());
  for (const std::string name : {"S01", "nx-overwrites"}) {
    const auto wrong = parse_options({{"fault", name}, {"seed", "18446744073709551615"}});
    ASSERT_TRUE(wrong.has_value()) << wrong.error();
    ASSERT_EQ(wrong->faults.size(), 1U);
    EXPECT_EQ(wrong->faults.front()->id, "S01");
    EXPECT_EQ(wrong->seed, std::numeric_limits<std::uint64_t>::max());
  }
}

TEST(PluginOptions, LetClientsChangeTheReferenceStoreOnly) {
  EXPECT_TRUE(parse_options({{"control", "on"}})->control);
  EXPECT_FALSE(parse_options({{"control", "off"}})->control);
  EXPECT_THAT(parse_options({{"control", "yes"}}).error(), HasSubstr("expected on or off"));
  EXPECT_THAT(parse_options({{"control", "on"}, {"right", "7"}}).error(),
              HasSubstr("control changes only the reference store"));
}

TEST(PluginOptions, KeepTheKeysOfTheReferenceStoreOnly) {
  EXPECT_EQ(parse_options({{"database", "/tmp/a file"}, {"fault", "S01"}})->database,
            "/tmp/a file");
  EXPECT_FALSE(parse_options({{"database", ""}}).has_value());
  for (const std::string other : {"control", "variant"}) {
    const auto options =
        parse_options({{"database", "/tmp/x"}, {other, other == "control" ? "on" : "7"}});
    ASSERT_FALSE(options.has_value()) << other;
    EXPECT_THAT(options.error(), HasSubstr("cannot be combined"));
  }
}

TEST(PluginOptions, ShareADatabase) {
  EXPECT_TRUE(parse_options({{"database", "x"}, {"cluster", "on"}})->cluster);
  EXPECT_FALSE(parse_options({{"database", "x"}, {"cluster", "off"}})->cluster);
  EXPECT_THAT(parse_options({{"cluster", "on"}}).error(), HasSubstr("needs a database"));
  EXPECT_FALSE(parse_options({{"database", "x"}, {"cluster", "on"}, {"record", "y"}}).has_value());
}

TEST(PluginOptions, RefuseAnUnknownName) {
  for (const std::string name : {"", "Quota", "quotas"}) {
    const auto options = parse_options({{"quota", "1"}, {name, "1"}});
    ASSERT_FALSE(options.has_value()) << name;
    EXPECT_EQ(
        options.error(),
        "unknown option " + name +
            "; expected dialect, quota, max_bytes, max_registrations, authorization, node_id, "
            "parent_pid, clock_offset_ms, response_delay_ms, response_jitter_ms, fault, seed, "
            "right, record, database, cluster, routing or control");
  }
}

TEST(PluginOptions, ReadTheAuthorizationFile) {
  const TemporaryFile file(R"({"policies": [{"principals": {"clientIds": ["c"]},
    "stateStoreResources": [{"method": "Read", "keys": ["k"]}]}]})");
  const auto options = parse_options({{"authorization", file.path()}});
  ASSERT_TRUE(options.has_value()) << options.error();
  const store::Authorization& authorization = options->service.store.authorization;
  EXPECT_TRUE(authorization.allows({.client_id = "c"}, store::Access::kRead, "k"));
  EXPECT_FALSE(authorization.allows({.client_id = "c"}, store::Access::kWrite, "k"));
  EXPECT_FALSE(authorization.allows({.client_id = "d"}, store::Access::kRead, "k"));
}

TEST(PluginOptions, NameAnAuthorizationFileThatIsWrong) {
  for (const std::string text : {"", "{}", R"({"policies": [1]})"}) {
    const TemporaryFile file(text);
    const auto options = parse_options({{"authorization", file.path()}});
    ASSERT_FALSE(options.has_value()) << text;
    EXPECT_THAT(options.error(), StartsWith(file.path() + ": ")) << text;
  }
  const TemporaryFile file(R"({"policies": [1]})");
  EXPECT_THAT(parse_options({{"authorization", file.path()}}).error(), HasSubstr("policies[0]"));
}

TEST(PluginOptions, NameAnAuthorizationFileThatCannotBeRead) {
  const std::string missing = testing::TempDir() + "fencepost_no_such_file";
  const auto options = parse_options({{"authorization", missing}});
  ASSERT_FALSE(options.has_value());
  EXPECT_EQ(options.error(), "cannot read the authorization file " + missing);
}

}  // namespace
}  // namespace fencepost::served
