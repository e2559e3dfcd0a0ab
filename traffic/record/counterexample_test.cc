#include "traffic/record/counterexample.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/notification.h"
#include "codec/topics.h"
#include "endpoint/in_process.h"
#include "reference_store/faults/decorator.h"
#include "suite/testing/built_in_library.h"
#include "suite/testing/temporary_folder.h"
#include "traffic/search/saved_workload.h"
#include "workload/trace_text.h"

namespace fencepost::record {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

const std::atomic<bool> kNeverStop{false};

// Null: the right one.
std::unique_ptr<endpoint::Endpoint> store(const store::MakeHandler& make) {
  endpoint::InProcessOptions options;
  if (make != nullptr) {
    options.make_store = [make](const store::ServiceOptions& service) { return make(service, 1); };
  }
  return endpoint::make_in_process_endpoint(std::move(options));
}
// With this fault, or, of "", the right one.
std::unique_ptr<endpoint::Endpoint> store(std::string_view fault) {
  const store::Fault* found = store::find_fault(fault);
  return store(found == nullptr ? store::MakeHandler() : found->make);
}

std::vector<std::string> files_in(const std::filesystem::path& folder) {
  std::vector<std::string> out;
  for (const auto& each : std::filesystem::recursive_directory_iterator(folder)) {
    if (each.is_regular_file()) out.push_back(each.path().lexically_relative(folder).string());
  }
  return out;
}

class CounterexampleTest : public testing::Test {
 protected:
  CounterexampleTest() {
    run_.explore.judged.oracle.clock = {.low_ms = -1, .high_ms = 1};
    run_.explore.run_id = "t";
    run_.explore.seed = 7;
    run_.suite.settings.clock_bounds = {.low_ms = -1, .high_ms = 1};
  }

  // What a search has found with this faulty store.
  search::Counterexample found_at(std::string_view fault) {
    search::ExploreOptions options = run_.explore;
    options.max_examples = 2'000;
    const auto endpoint = store(fault);
    auto result =
        search::explore(*endpoint, options, kNeverStop, [](const search::ExploreProgress&) {});
    EXPECT_EQ(result.found.size(), 1U);
    return std::move(result.found.at(0));
  }
  Result<std::string, std::string> save_at(std::string_view fault,
                                           const search::Counterexample& found) {
    return save_at(*store(fault), found);
  }
  Result<std::string, std::string> save_at(endpoint::Endpoint& endpoint,
                                           const search::Counterexample& found) {
    int number = 0;
    return save(found, run_,
                {.endpoint = endpoint,
                 .new_run_id = [&number] { return "run" + std::to_string(++number); },
                 .stop = kNeverStop});
  }

  test::TemporaryFolder folder_;
  ExploreRun run_{.call = {.endpoint = "inproc:?fault=S01"},
                  .library = test::built_in_requirements(),
                  .context = {.endpoint = "inproc:", .started = "2026-01-01T00:00:00Z"},
                  .explore = {},
                  .suite = {},
                  .save = (folder_.path() / "found").string()};
};

// --- stores with one fault each ------------------------------------------------------------------

// Takes the colon, which follows 9 in ASCII, for a digit.
void read_a_colon_as_10(codec::Message& request) {
  const std::size_t at = request.payload.find("$:\r\n");
  if (at != std::string::npos) request.payload.replace(at + 1, 1, "10");
}

void notify_no_px_of_1(store::Exchange& exchange) {
  if (!exchange.command || exchange.command->expires_after != 1ms) return;
  std::erase_if(exchange.out, [](const store::Delivery& each) { return !each.client_id.empty(); });
}

// It notifies an expiry when the next request for the key comes, but not if that is a SET NX.
class NxForgetsTheExpiry final : public store::Decorator {
 public:
  using Decorator::Decorator;

  void expire(const store::Instant& now, std::vector<store::Delivery>& /*out*/) override {
    Decorator::expire(now, expired_);
  }
  store::Handling handle(const store::Caller& caller, const codec::Message& request,
                         const store::Instant& now, std::vector<store::Delivery>& out) override {
    expire(now, out);
    const auto command = codec::parse_command(request.payload, dialect());
    std::erase_if(expired_, [&](const store::Delivery& each) {
      const auto target = codec::parse_notification_topic(each.message.topic);
      const bool is_noticed = command && target && target->key == command->key;
      if (is_noticed && command->condition != codec::Condition::kIfAbsent) out.push_back(each);
      return is_noticed;
    });
    return Decorator::handle(caller, request, now, out);
  }

 private:
  std::vector<store::Delivery> expired_;
};

// --- texts ---------------------------------------------------------------------------------------

TEST_F(CounterexampleTest, IsReported) {
  search::Counterexample found = found_at("S01");
  found.found_after = 1'500ms;
  found.example = 3;
  found.operations_at_first = 20;
  found.shrink_runs = 9;
  found.runs = 5;
  found.failed = 5;
  found.is_smallest = true;
  const std::string text = counterexample_text(found, run_);
  const std::string& rule = found.rejection().judgement.requirement;
  EXPECT_THAT(
      text, StartsWith("\nREJECTED  " + rule + ": " +
                       test::built_in_requirements().catalogue.find(rule)->text + "\n  because   " +
                       found.rejection().judgement.because + "\n  at        operation "));
  EXPECT_THAT(text, HasSubstr("\n  workload\n    " + workload::to_text(found.trace[0]) + "\n"));
  EXPECT_THAT(text, EndsWith("  found     after 1.5 s, workload 3 of seed 7; " +
                             std::to_string(found.trace.size()) +
                             " operations\n  shrunk    from 20 operations in 9 runs\n"
                             "  fails     in 5 of 5 runs\n  reproduce fencepost explore --endpoint "
                             "'inproc:?fault=S01' --seed 7 "
                             "--example 3\n"));
  found.is_smallest = false;
  EXPECT_THAT(counterexample_text(found, run_),
              HasSubstr(" in 9 runs; not completely: the time ended\n"));
  const workload::Enumeration all(2);
  run_.explore.all = &all;
  const std::string enumerated = counterexample_text(found, run_);
  EXPECT_THAT(enumerated, HasSubstr("after 1.5 s, workload 3 of all workloads of depth 2; "));
  EXPECT_THAT(enumerated, EndsWith("'inproc:?fault=S01' --exhaustive 2 --example 3\n"));
}

TEST_F(CounterexampleTest, IsFoundAgainAsItWas) {
  const search::Counterexample found = found_at("S01");
  run_.call = {.program = "/my tools/fencepost",
               .endpoint = "mqtt://host",
               .descriptor = "d.yaml",
               .profile = "documented",
               .edition = "preview",
               .driver = "paho",
               .timeout_scale = 2.5,
               .ignore = {"FT-*", "SET-1: a b"}};
  run_.explore.max_operations = 10;
  EXPECT_THAT(counterexample_text(found, run_),
              HasSubstr("'/my tools/fencepost' explore --endpoint mqtt://host --descriptor d.yaml "
                        "--profile documented --edition preview --driver paho --timeout-scale 2.5 "
                        "--seed 7 --example " +
                        std::to_string(found.example) +
                        " --ignore 'FT-*' --ignore 'SET-1: a b' --max-operations 10\n"));
  EXPECT_EQ(command_text({}, "replay"), "fencepost replay");
}

search::JudgedRun rejected_run() {
  search::JudgedRun out;
  out.rejection = search::Rejection{
      .operation = 1,
      .judgement = {.requirement = "X-1", .because = "so"},
      .request = codec::Message{.payload = "*1\r\n", .user_properties = {{"a", "b"}}}};
  return out;
}

TEST(RejectionText, HasTheBytesAndTheLastPackets) {
  search::JudgedRun run = rejected_run();
  const workload::Trace trace = *workload::parse_trace("c0 GET k0\nc1 GET k1\n");
  EXPECT_EQ(rejection_text(run, trace, false, {}),
            "\nREJECTED  X-1:\n  because   so\n  at        operation 2 of 2\n"
            "  sent      *1\\r\\n  a=b\n  workload\n    c0 GET k0\n    c1 GET k1\n");
  run.rejection->reply = codec::Message{.payload = "+OK"};
  run.rejection->reply_bytes = 3;
  EXPECT_THAT(rejection_text(run, trace, false, {}), HasSubstr("\n  received  +OK\n"));
  run.rejection->reply_bytes = 9'000;
  EXPECT_THAT(rejection_text(run, trace, false, {}),
              HasSubstr("\n  received  +OK  (9000 bytes in total)\n"));
  using Kind = search::Packet::Kind;
  run.packets.assign(8,
                     {.kind = Kind::kRequest, .client_id = "t-1-4", .message = {.payload = "q"}});
  EXPECT_THAT(rejection_text(run, trace, false, {}), HasSubstr("\n  packets\n"));
  run.packets.push_back(
      {.kind = Kind::kReceived, .client_id = "t-1-5", .message = {.payload = "r"}});
  run.packets.push_back({.kind = Kind::kDisconnected, .client_id = "t-1-6"});
  const std::string text = rejection_text(run, trace, false, {});
  EXPECT_THAT(text, AllOf(HasSubstr("\n  last packets\n"), HasSubstr(" c5 "),
                          testing::ContainsRegex(" c6 +\\* disconnected\n$")));
  const std::string all = rejection_text(run, trace, true, {});
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'),
            std::count(text.begin(), text.end(), '\n') + 2);
  EXPECT_THAT(all, Not(HasSubstr("last packets")));
  run.rejection->request.reset();  // what came without a request
  EXPECT_THAT(rejection_text(run, trace, false, {}), Not(HasSubstr("\n  sent")));
}

// --- files ---------------------------------------------------------------------------------------

TEST_F(CounterexampleTest, IsSavedAsAScenarioThatFailsAgain) {
  const search::Counterexample found = found_at("S01");
  const auto saved = save_at("S01", found);
  ASSERT_TRUE(saved) << saved.error();
  const std::vector<std::string> files = files_in(run_.save);
  ASSERT_EQ(files.size(), 1U);
  EXPECT_THAT(files[0], MatchesRegex("explore\\.[a-z]+\\.[0-9a-f]{8}\\.yaml"));
  const std::string path = run_.save + "/" + files[0];
  EXPECT_EQ(*saved, "  saved     " + path +
                        "\n  replay    fencepost replay --endpoint "
                        "'inproc:?fault=S01' " +
                        path + "\n");
  const std::string text = folder_.read("found/" + files[0]);
  for (const char* part : {"by: explore", "endpoint: 'inproc:'", "seed: 7", "signature: '",
                           "when: '2026-01-01T00:00:00Z'"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, HasSubstr("# The workload " + std::to_string(found.example) + " of seed 7:"));
  std::vector<scenario::LoadError> errors;
  const auto cases =
      scenario::load_scenario({path, text}, test::built_in_requirements().catalogue.ids(), errors);
  ASSERT_EQ(cases.size(), 1U);
  EXPECT_EQ(cases[0].id + ".yaml", files[0]);
  EXPECT_EQ(cases[0].recorded->requirement, found.rejection().judgement.requirement);
  // The same again is the same file.
  ASSERT_TRUE(save_at("S01", found));
  EXPECT_EQ(files_in(run_.save), files);
}

// Thousands come first, and are right: under sanitizers they take half a minute.
std::size_t shortly_before(const workload::Enumeration& all, std::string_view text) {
  constexpr std::size_t kBefore = 200;
  std::size_t number = 0;
  while (number < all.size() &&
         workload::to_text(all.trace(number)).find(text) == std::string::npos)
    ++number;
  EXPECT_LT(number, all.size()) << text;
  return std::max(number, kBefore) - kBefore + 1;
}

// What nobody thinks of is in the enumeration, and what is left of it is no more than is needed.
TEST_F(CounterexampleTest, OfAnEnumerationIsTheSmallest) {
  struct Wrong {
    store::MakeHandler make;
    std::size_t depth;
    std::string smallest;
    std::string step;  // which fails
  };
  for (const auto& [make, depth, smallest, step] : {
           Wrong{store::with_request(read_a_colon_as_10), 2,
                 "c0 raw \"*3\\r\\n$3\\r\\nSET\\r\\n$1\\r\\nk\\r\\n$:\\r\\n0123456789\\r\\n\" "
                 "ts=now\n",
                 "expect: {reply: {error: syntax}, cites: ERR-SYNTAX-1}"},
           Wrong{store::with_exchange(notify_no_px_of_1), 1,
                 "c0 KEYNOTIFY k0\nc0 SET k0 \"a\" PX 1\n",
                 "notification: {key: k, operation: set, value: a, ts: {equals: v1}, cites: "
                 "NTF-SEND-1}"},
           Wrong{store::with_decorator<NxForgetsTheExpiry>(), 1,
                 "c0 KEYNOTIFY k0\nc0 SET k0 \"a\" PX 100\nwait 150\nc0 SET k0 \"a\" NX\n",
                 "notification: {key: k, operation: delete, cites: NTF-EXPIRY-1}"},
       }) {
    const workload::Enumeration all(depth);
    search::ExploreOptions options = run_.explore;
    options.all = &all;
    options.max_time = std::chrono::hours(1);  // a busy machine with sanitizers takes a minute
    options.first_example = shortly_before(all, smallest.substr(smallest.find("SET")));
    const auto endpoint = store(make);
    const auto result =
        search::explore(*endpoint, options, kNeverStop, [](const search::ExploreProgress&) {});
    ASSERT_THAT(result.found, testing::SizeIs(1)) << smallest;
    EXPECT_EQ(workload::to_text(result.found[0].trace), smallest);
    const std::string own = std::to_string(smallest.size());
    run_.save = (folder_.path() / own).string();
    ASSERT_TRUE(save_at(*endpoint, result.found[0]));
    const std::vector<std::string> files = files_in(run_.save);
    ASSERT_THAT(files, testing::ElementsAre(EndsWith(".yaml"))) << smallest;
    EXPECT_THAT(folder_.read(own + "/" + files[0]), HasSubstr(step));
  }
}

TEST_F(CounterexampleTest, IsSavedAsTheWorkloadWhereNoScenarioFails) {
  const search::Counterexample found = found_at("S01");
  const auto saved = save_at("", found);
  ASSERT_TRUE(saved) << saved.error();
  const std::vector<std::string> files = files_in(run_.save);
  ASSERT_EQ(files.size(), 1U);
  EXPECT_THAT(files[0], EndsWith(".trace"));
  EXPECT_THAT(*saved, EndsWith("\n  replay    fencepost explore --endpoint 'inproc:?fault=S01' "
                               "--replay " +
                               run_.save + "/" + files[0] + "\n"));
  const std::string text = folder_.read("found/" + files[0]);
  EXPECT_THAT(text, AllOf(HasSubstr("# because "),
                          HasSubstr("at inproc:, 2026-01-01T00:00:00Z; workload " +
                                    std::to_string(found.example) + " of seed 7"),
                          HasSubstr("# The packets of one of these runs:"), HasSubstr(" c0 ")));
  const auto read = search::parse_saved_workload(text);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->requirement, found.rejection().judgement.requirement);
  EXPECT_EQ(workload::to_text(read->trace), workload::to_text(found.trace));
}

TEST_F(CounterexampleTest, GoesToAFolderOfItsOwnWhereItWasSeenOnce) {
  search::Counterexample found = found_at("S01");
  found.failed = 0;
  ASSERT_TRUE(save_at("S01", found));
  EXPECT_THAT(files_in(run_.save), testing::ElementsAre(StartsWith("seen-once/explore.")));
}

TEST_F(CounterexampleTest, SaysThatItCannotBeSaved) {
  run_.save = folder_.write("file", "").string();
  const auto saved = save_at("S01", found_at("S01"));
  ASSERT_FALSE(saved);
  EXPECT_THAT(saved.error(), HasSubstr(run_.save));
}

}  // namespace
}  // namespace fencepost::record
