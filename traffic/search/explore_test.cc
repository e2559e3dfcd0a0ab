// explore() against stores in this process: it ends in time, finds again what it has found, and
// passes over what it shall ignore.

#include "traffic/search/explore.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "endpoint/in_process.h"
#include "reference_store/faults/decorator.h"
#include "reference_store/faults/fault.h"
#include "reference_store/service.h"
#include "suite/testing/fake_endpoint.h"
#include "traffic/search/judged_run.h"
#include "workload/enumeration.h"
#include "workload/trace_text.h"

namespace fencepost::search {
namespace {

using namespace std::chrono_literals;

const std::atomic<bool> kNeverStop{false};
const std::function<void(const ExploreProgress&)> kQuietly = [](const ExploreProgress&) {};

std::unique_ptr<endpoint::Endpoint> faulty(std::string_view id) {
  const store::Fault* fault = store::find_fault(id);
  endpoint::InProcessOptions options;
  options.make_store = [fault](const store::ServiceOptions& service) {
    return fault->make(service, 1);
  };
  return endpoint::make_in_process_endpoint(std::move(options));
}

ExploreOptions in_process_options() {
  ExploreOptions options{.run_id = "t", .seed = 1, .max_examples = 2'000, .jobs = 2};
  options.judged.oracle.clock = {.low_ms = -1, .high_ms = 1};
  return options;
}

TEST(Explore, FindsTheSameCounterexampleAgainByItsNumber) {
  const auto endpoint = faulty("S01");
  ExploreOptions options = in_process_options();
  const ExploreResult first = explore(*endpoint, options, kNeverStop, kQuietly);
  ASSERT_EQ(first.found.size(), 1U);
  EXPECT_EQ(first.found.front().failed, first.found.front().runs);
  EXPECT_TRUE(first.found.front().is_smallest);
  options.first_example = first.found.front().example;
  options.max_examples = 1;
  const ExploreResult again = explore(*endpoint, options, kNeverStop, kQuietly);
  ASSERT_EQ(again.found.size(), 1U);
  EXPECT_EQ(workload::to_text(again.found.front().trace),
            workload::to_text(first.found.front().trace));
}

TEST(Explore, KeepsThePacketsOfACounterexample) {
  const auto endpoint = faulty("S01");
  const ExploreResult result = explore(*endpoint, in_process_options(), kNeverStop, kQuietly);
  ASSERT_EQ(result.found.size(), 1U);
  const JudgedRun& run = result.found.front().run;
  ASSERT_FALSE(run.packets.empty());
  const Packet& last = run.packets.back();
  EXPECT_EQ(last.kind, Packet::Kind::kReceived);
  EXPECT_EQ(last.message.payload, run.rejection->reply->payload);
}

TEST(Explore, GoesOnAfterWhatItIgnores) {
  const auto endpoint = faulty("S01");
  ExploreOptions options = in_process_options();
  options.max_examples = 300;
  options.ignores = [](const judge::Judgement&) { return true; };
  const ExploreResult result = explore(*endpoint, options, kNeverStop, kQuietly);
  EXPECT_TRUE(result.found.empty());
  EXPECT_GT(result.progress.ignored, 0U);
  EXPECT_EQ(result.progress.examples, options.max_examples);
}

TEST(Explore, FindsSeveralRequirementsEachOnce) {
  const auto endpoint = faulty("H21");
  ExploreOptions options = in_process_options();
  options.stop_after = 2;
  const ExploreResult result = explore(*endpoint, options, kNeverStop, kQuietly);
  ASSERT_EQ(result.found.size(), 2U);
  EXPECT_NE(result.found[0].rejection().judgement.requirement,
            result.found[1].rejection().judgement.requirement);
}

// Stores that differ in what they do with the Nth request of all of them together; those that are
// made after the 5,000th ignore NX.
std::unique_ptr<endpoint::Endpoint> counting(
    const std::function<void(int number, store::Exchange& exchange)>& change) {
  const auto count = std::make_shared<std::atomic<int>>(0);
  const store::MakeHandler right =
      store::with_exchange([=](store::Exchange& exchange) { change(++*count, exchange); });
  endpoint::InProcessOptions options;
  options.make_store = [=](const store::ServiceOptions& service) {
    const bool early = *count < 5'000;
    return early ? right(service, 1) : store::find_fault("S01")->make(service, 1);
  };
  return endpoint::make_in_process_endpoint(std::move(options));
}

TEST(Explore, GoesOnAfterWhatItSeesOnce) {
  const auto endpoint = counting([](int number, store::Exchange& exchange) {
    if (number == 50 && !exchange.out.empty())
      exchange.out.back().message.payload = "+NONSENSE\r\n";
  });
  const ExploreResult result = explore(*endpoint, in_process_options(), kNeverStop, kQuietly);
  ASSERT_EQ(result.found.size(), 2U);
  EXPECT_EQ(result.found[0].failed, 0U);
  EXPECT_EQ(result.found[1].rejection().judgement.requirement, "SET-NX-2");
  EXPECT_GT(result.found[1].failed, 0U);
}

// Req: ENV-RESPONSE-1: what is not answered where nobody is, was not left out.
TEST(Explore, AccusesNoStoreThatStandsStill) {
  const auto endpoint = counting([](int number, store::Exchange& exchange) {
    if (number > 200) exchange.out.clear();
  });
  ExploreOptions options = in_process_options();
  options.max_examples = 20;
  const ExploreResult result = explore(*endpoint, options, kNeverStop, kQuietly);
  EXPECT_TRUE(result.found.empty());
  EXPECT_GT(result.progress.cut_short, 0U);
}

// As many as there are, and the same again by its number.
TEST(Explore, LeavesNothingOutOfAnEnumeration) {
  const workload::Enumeration all(1);
  ExploreOptions options = in_process_options();
  options.all = &all;
  options.max_examples = 0;
  options.first_example = all.size() - 200;
  const auto right = endpoint::make_in_process_endpoint({});
  const ExploreResult passed = explore(*right, options, kNeverStop, kQuietly);
  EXPECT_TRUE(passed.found.empty());
  EXPECT_EQ(passed.progress.examples, 201U);
  EXPECT_EQ(passed.progress.of, 201U);
  const auto wrong = faulty("S01");
  options.first_example = 1;
  const ExploreResult first = explore(*wrong, options, kNeverStop, kQuietly);
  ASSERT_EQ(first.found.size(), 1U);
  options.first_example = first.found.front().example;
  options.max_examples = 1;
  const ExploreResult again = explore(*wrong, options, kNeverStop, kQuietly);
  ASSERT_EQ(again.found.size(), 1U);
  EXPECT_EQ(workload::to_text(again.found.front().trace),
            workload::to_text(first.found.front().trace));
}

TEST(Explore, HasEachWorkloadInExactlyOneShard) {
  for (const std::size_t total : {1U, 2U, 8U, 101U}) {
    std::vector<std::size_t> times(101);  // of the numbers 1 to 100
    std::size_t counted = 0;
    for (std::size_t index = 1; index <= total; ++index) {
      const run::Shard shard{.index = index, .total = total};
      for (std::size_t number = next_of_shard(shard, 1); number <= 100; number += total) {
        EXPECT_EQ((number - 1) % total, index - 1);
        EXPECT_EQ(next_of_shard(shard, number), number);
        EXPECT_EQ(count_of_shard(shard, number, 101), (100 - number) / total + 1);
        ++times.at(number);
      }
      counted += count_of_shard(shard, 1, 101);
      EXPECT_EQ(count_of_shard(shard, 101, 101), 0U);
    }
    EXPECT_EQ(std::count(times.begin() + 1, times.end(), 1U), 100) << total;
    EXPECT_EQ(counted, 100U);
  }
}

// A run that ended early says where the next one begins: nothing is left out, little is run twice.
TEST(Explore, GoesOnWithAShardWhereItEnded) {
  const workload::Enumeration all(1);
  const auto endpoint = endpoint::make_in_process_endpoint({});
  ExploreOptions options = in_process_options();
  options.all = &all;
  options.max_examples = 0;
  options.shard = {.index = 2, .total = 40};
  for (const std::size_t jobs : {1U, 2U}) {
    options.jobs = jobs;
    options.first_example = 100;
    std::atomic<bool> stop{false};
    const ExploreResult ended = explore(*endpoint, options, stop, [&](const ExploreProgress& seen) {
      if (seen.examples == 20) stop = true;
    });
    EXPECT_TRUE(ended.interrupted);
    EXPECT_EQ(ended.progress.next % 40, 2U);
    const std::size_t done = (ended.progress.next - 122) / 40;
    EXPECT_LE(done, ended.progress.examples);  // with two jobs, some that follow may have ended
    if (jobs == 1) {
      EXPECT_EQ(done, 20U);
    }
    options.first_example = ended.progress.next;
    const ExploreResult rest = explore(*endpoint, options, kNeverStop, kQuietly);
    EXPECT_EQ(rest.progress.of, ended.progress.of - done);
    EXPECT_EQ(rest.progress.examples, rest.progress.of);
    EXPECT_EQ(rest.progress.part,
              fmt::format("shard 2 of 40 of all {} workloads of depth 1, from {}", all.size(),
                          ended.progress.next));
  }
}

// A store that takes this time for each request.
class Slow final : public store::Handler {
 public:
  Slow(std::unique_ptr<store::Handler> store, std::chrono::milliseconds delay)
      : store_(std::move(store)), delay_(delay) {}

  [[nodiscard]] bool serves(std::string_view topic) const override { return store_->serves(topic); }
  store::Handling handle(const store::Caller& caller, const codec::Message& request,
                         const store::Instant& now, std::vector<store::Delivery>& out) override {
    std::this_thread::sleep_for(delay_);
    return store_->handle(caller, request, now, out);
  }
  void expire(const store::Instant& now, std::vector<store::Delivery>& out) override {
    store_->expire(now, out);
  }
  [[nodiscard]] std::optional<std::chrono::microseconds> next_expiry() const override {
    return store_->next_expiry();
  }
  void disconnect(std::string_view client_id) override { store_->disconnect(client_id); }

 private:
  std::unique_ptr<store::Handler> store_;
  std::chrono::milliseconds delay_;
};

// Workloads of hundreds of operations, each of which takes longer than the whole search may, so
// that neither the first of them nor those that are smaller can end in time.
TEST(Explore, EndsInTimeInTheMiddleOfWorkloads) {
  endpoint::InProcessOptions slow;
  slow.make_store = [](const store::ServiceOptions& service) {
    return std::make_unique<Slow>(std::make_unique<store::Service>(service), 100ms);
  };
  const auto endpoint = endpoint::make_in_process_endpoint(std::move(slow));
  ExploreOptions options = in_process_options();
  options.max_time = 50ms;
  options.max_operations = 200;
  const ExploreResult result = explore(*endpoint, options, kNeverStop, kQuietly);
  EXPECT_TRUE(result.found.empty());
  EXPECT_LE(result.progress.requests, options.jobs);
}

TEST(Explore, EndsInTimeWhileItMakesACounterexampleSmaller) {
  const store::Fault* fault = store::find_fault("S01");
  std::atomic<std::chrono::milliseconds> delay{0ms};
  endpoint::InProcessOptions slow;
  slow.make_store = [&](const store::ServiceOptions& service) {
    return std::make_unique<Slow>(fault->make(service, 1), delay.load());
  };
  const auto endpoint = endpoint::make_in_process_endpoint(std::move(slow));
  ExploreOptions options = in_process_options();
  options.max_time = 4s;
  const ExploreResult result =
      explore(*endpoint, options, kNeverStop, [&](const ExploreProgress& progress) {
        // One request of a smaller workload takes longer than all of them may.
        delay = progress.doing == "shrinking the workload" ? 5s : 0s;
      });
  ASSERT_EQ(result.found.size(), 1U);
  EXPECT_FALSE(result.found.front().is_smallest);
  EXPECT_LE(result.found.front().shrink_runs, options.jobs);
}

// A store that looks for keys whose time is over only once it has registered a client: their
// notifications follow the reply immediately.
class ExpiresAfterRegistering final : public store::Handler {
 public:
  explicit ExpiresAfterRegistering(std::unique_ptr<store::Handler> store)
      : store_(std::move(store)) {}

  [[nodiscard]] bool serves(std::string_view topic) const override { return store_->serves(topic); }
  store::Handling handle(const store::Caller& caller, const codec::Message& request,
                         const store::Instant& now, std::vector<store::Delivery>& out) override {
    if (request.payload.find("KEYNOTIFY") == std::string::npos) {
      return store_->handle(caller, request, now, out);
    }
    const store::Instant earlier{now.wall_ms - kLate.count(), now.steady - kLate};
    const store::Handling handling = store_->handle(caller, request, earlier, out);
    const std::size_t before = out.size();
    store_->expire(now, out);
    *expired_ += out.size() - before;
    return handling;
  }
  void expire(const store::Instant&, std::vector<store::Delivery>&) override {}
  [[nodiscard]] std::optional<std::chrono::microseconds> next_expiry() const override {
    return std::nullopt;
  }
  void disconnect(std::string_view client_id) override { store_->disconnect(client_id); }
  [[nodiscard]] std::shared_ptr<const std::size_t> expired() const { return expired_; }

 private:
  static constexpr std::chrono::milliseconds kLate{20};
  std::unique_ptr<store::Handler> store_;
  std::shared_ptr<std::size_t> expired_ = std::make_shared<std::size_t>(0);
};

// What comes after the reply of a KEYNOTIFY is judged by what that has registered.
TEST(JudgedRun, TakesTheExpiryOfAKeyRightAfterTheReplyThatRegisters) {
  std::shared_ptr<const std::size_t> expired;
  endpoint::InProcessOptions late;
  late.make_store = [&](const store::ServiceOptions& service) {
    auto store =
        std::make_unique<ExpiresAfterRegistering>(std::make_unique<store::Service>(service));
    expired = store->expired();
    return store;
  };
  const auto endpoint = endpoint::make_in_process_endpoint(std::move(late));
  const auto session = endpoint->open_session();
  ASSERT_TRUE(session);
  const auto trace = workload::parse_trace(
      "c0 SET k0 \"v\" PX 10\n"
      "wait 15\n"
      "c0 KEYNOTIFY k0\n"
      "c0 SET k0 \"w\"\n");
  ASSERT_TRUE(trace) << trace.error();
  JudgedRunOptions options{.key_prefix = "p/", .client_id_prefix = "c"};
  options.oracle.clock = {.low_ms = -1, .high_ms = 1};
  const JudgedRun run = run_judged(**session, *trace, options);
  ASSERT_EQ(*expired, 1U);
  EXPECT_FALSE(run.rejection) << run.rejection->judgement.because;
}

// Other clients' keys are not touched, however lenient the store.
TEST(JudgedRun, GivesNearlyARequestAKeyOfItsOwn) {
  const auto endpoint = endpoint::make_in_process_endpoint({});
  const auto session = endpoint->open_session();
  JudgedRunOptions options{.key_prefix = "p/", .client_id_prefix = "c", .keeps_packets = true};
  options.oracle.clock = {.low_ms = -1, .high_ms = 1};
  for (const std::string before : {"", "\r", "\r\n\r\n"}) {
    workload::Operation raw{.kind = workload::Kind::kRawPayload};
    raw.value = before + "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\n";
    const workload::Trace trace{raw};
    const JudgedRun run = run_judged(**session, trace, options);
    ASSERT_FALSE(run.packets.empty());
    EXPECT_EQ(run.packets.front().message.payload,
              before + "*3\r\n$3\r\nSET\r\n$3\r\np/k\r\n$1\r\nv\r\n");
  }
}

// What a conforming store answers to `last`, behind a trace that leads to a state. c1 observes, or
// does not: what it is notified of counts, too.
std::string answers(const workload::Trace& state, const workload::Trace& last) {
  const auto endpoint = endpoint::make_in_process_endpoint({});
  const auto session = endpoint->open_session();
  JudgedRunOptions options{.key_prefix = "p/", .client_id_prefix = "c", .keeps_packets = true};
  options.oracle.clock = {.low_ms = -1, .high_ms = 1};
  workload::Trace all = state;
  all.insert(all.end(), last.begin(), last.end());
  const JudgedRun run = run_judged(**session, all, options);
  EXPECT_FALSE(run.rejection);
  auto left = static_cast<std::ptrdiff_t>(std::count_if(
      state.begin(), state.end(),
      [](const workload::Operation& each) { return workload::is_request(each.kind); }));
  std::string out;
  for (const Packet& each : run.packets) {
    if (each.kind == Packet::Kind::kRequest) --left;
    if (left < 0 && each.kind == Packet::Kind::kReceived)
      out += each.client_id + each.message.payload;
  }
  return out;
}

// The characterization set tells each two of the states apart that a conforming store has to tell
// apart. A faulty one may remember a key that is gone: its token, its expiry.
TEST(Enumeration, EndsWithRequestsThatTellTheStatesApart) {
  std::map<std::string, std::vector<std::string>> all;
  for (const workload::Trace& state : workload::states_of_a_key()) {
    all[answers(state, workload::distinguishing_requests(false)) + "later " +
        answers(state, workload::distinguishing_requests(true))]
        .push_back(workload::to_text(state));
  }
  std::set<std::vector<std::string>> alike;
  for (const auto& [seen, states] : all) {
    if (states.size() > 1) alike.insert(states);
  }
  const std::string plain = "c0 SET k0 \"a\"\n";
  const std::string kept_for_a_minute = "c0 SET k0 \"a\" PX 60000\n";
  EXPECT_EQ(alike, (std::set<std::vector<std::string>>{
                       {"", "c0 SET k0 \"a\" ft=now\nc0 DEL k0 ft=token\n"},
                       {"c1 KEYNOTIFY k0\n", "c1 KEYNOTIFY k0\nc0 SET k0 \"a\" PX 100\nwait 150\n"},
                       {plain, kept_for_a_minute}}));
  // These two only time can tell apart.
  const auto later = *workload::parse_trace("wait 70000\nc1 GET k0");
  EXPECT_NE(answers(*workload::parse_trace(plain), later),
            answers(*workload::parse_trace(kept_for_a_minute), later));
}

// Where time has to be waited for, a PX becomes one that leaves time for requests, but for the
// shortest.
TEST(JudgedRun, KeepsAPxOf1) {
  const auto endpoint = endpoint::make_in_process_endpoint({});
  const auto session = endpoint->open_session();
  ASSERT_TRUE(session);
  JudgedRunOptions options{
      .key_prefix = "p/", .client_id_prefix = "c", .short_expiry = 300ms, .keeps_packets = true};
  options.oracle.clock = {.low_ms = -1, .high_ms = 1};
  const auto trace =
      workload::parse_trace("c0 SET k0 \"v\" PX 2\nc0 SET k0 \"v\" PX 1\nwait 10\nc0 GET k0\n");
  ASSERT_TRUE(trace) << trace.error();
  const JudgedRun run = run_judged(**session, *trace, options);
  ASSERT_FALSE(run.rejection) << run.rejection->judgement.because;
  ASSERT_GT(run.packets.size(), 6U);
  EXPECT_TRUE(run.packets[0].message.payload.ends_with("\r\n300\r\n"));
  EXPECT_TRUE(run.packets[2].message.payload.ends_with("\r\n1\r\n"));
  EXPECT_EQ(run.packets[5].message.payload, "$-1\r\n");
}

TEST(JudgedRun, LeavesItsConnectionsToTheNext) {
  const auto endpoint = endpoint::make_in_process_endpoint({});
  const auto session = endpoint->open_session();
  ASSERT_TRUE(session);
  run::ClientPool pool("r", 8);
  const auto trace = workload::parse_trace(
      "c0 SET k0 \"v\"\n"
      "c1 KEYNOTIFY k0\n"
      "c0 SET k0 \"w\"\n");
  ASSERT_TRUE(trace) << trace.error();
  for (std::uint32_t number = 1; number <= 3; ++number) {
    JudgedRunOptions options{
        .key_prefix = std::to_string(number) + "/", .number = number, .pool = &pool};
    options.oracle.clock = {.low_ms = -1, .high_ms = 1};
    const JudgedRun run = run_judged(**session, *trace, options);
    EXPECT_FALSE(run.rejection) << run.rejection->judgement.because;
  }
  EXPECT_EQ(pool.next_id(), "fp-r-00000003-0");  // two clients have been enough
  const auto one = pool.take({.observes = true});
  const auto other = pool.take({.observes = true});
  ASSERT_TRUE(one && other);
  EXPECT_EQ(one->observed.size() + other->observed.size(), 3U);
}

TEST(JudgedRun, LeavesNoKeyBehindInAStoreThatStays) {
  std::size_t requests = 0;
  for (std::size_t example = 1; example <= 300; ++example) {
    const auto keys = std::make_shared<std::size_t>(0);
    test::FakeEndpoint endpoint({.behaviour = test::reference_store({}, keys)});
    const auto session = endpoint.open_session();
    ASSERT_TRUE(session);
    JudgedRunOptions options{
        .key_prefix = "p/", .client_id_prefix = "c", .short_expiry = 300ms, .removes_keys = true};
    options.oracle.clock = {.low_ms = -1, .high_ms = 1};
    const workload::Trace trace = example_of(5, example, 40);
    const JudgedRun run = run_judged(**session, trace, options);
    requests += run.requests;
    ASSERT_EQ(*keys, 0U) << "example " << example << "\n" << workload::to_text(trace);
  }
  EXPECT_GT(requests, 1'000U);
}

}  // namespace
}  // namespace fencepost::search
