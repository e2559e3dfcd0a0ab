// Asks conforming_store.h, in process, what certify and explore ask: all cases, and random
// workloads. Whatever fails or is rejected is wrong, or has to be argued for. A failure is shown
// with the fewest unusual decisions that still make it fail.
//
//   fencepost_other_store [--first N] [--seeds N] [--workloads N] [--profile auto|...] [--run ID]
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/threads.h"
#include "codec/dialect.h"
#include "codec/topics.h"
#include "endpoint/in_process.h"
#include "suite/run/preflight.h"
#include "suite/run/suite.h"
#include "suite/scenario/library.h"
#include "tests/other_stores/cpp/conforming_store.h"
#include "traffic/search/explore.h"
#include "traffic/search/judged_runs.h"
#include "workload/trace_text.h"

namespace fencepost {
namespace {

using Fixed = conforming_store::Store::Fixed;

conforming_store::Message to_other(const codec::Message& message) {
  conforming_store::Message out;
  out.topic = message.topic;
  out.payload = message.payload;
  out.has_response_topic = message.response_topic.has_value();
  out.response_topic = message.response_topic.value_or("");
  out.has_correlation = message.correlation_data.has_value();
  out.correlation = message.correlation_data.value_or("");
  out.user_properties = message.user_properties;
  out.has_content_type = message.content_type.has_value();
  out.content_type = message.content_type.value_or("");
  out.payload_format = message.payload_format ? *message.payload_format : -1;
  out.qos = message.qos;
  out.retain = message.retain;
  return out;
}

codec::Message from_other(conforming_store::Message message) {
  codec::Message out;
  out.topic = std::move(message.topic);
  out.payload = std::move(message.payload);
  if (message.has_response_topic) out.response_topic = std::move(message.response_topic);
  if (message.has_correlation) out.correlation_data = std::move(message.correlation);
  out.user_properties = std::move(message.user_properties);
  if (message.has_content_type) out.content_type = std::move(message.content_type);
  if (message.payload_format >= 0) {
    out.payload_format = static_cast<std::uint8_t>(message.payload_format);
  }
  out.qos = message.qos;
  out.retain = message.retain;
  return out;
}

class OtherStore final : public store::Handler {
 public:
  explicit OtherStore(conforming_store::Store store) : store_(std::move(store)) {}

  store::Handling handle(const store::Caller& caller, const codec::Message& request,
                         const store::Instant& now, std::vector<store::Delivery>& out) override {
    std::vector<conforming_store::Delivery> sent;
    const auto handling = store_.handle(std::string(caller.client_id), to_other(request),
                                        wall_us(now), now.steady.count(), sent);
    take(std::move(sent), out);
    if (handling == conforming_store::Handling::kAnswered) return store::Handling::kAnswered;
    return handling == conforming_store::Handling::kIgnored ? store::Handling::kIgnored
                                                            : store::Handling::kDisconnect;
  }
  void expire(const store::Instant& now, std::vector<store::Delivery>& out) override {
    std::vector<conforming_store::Delivery> sent;
    store_.expire(wall_us(now), now.steady.count(), sent);
    take(std::move(sent), out);
  }
  [[nodiscard]] std::optional<std::chrono::microseconds> next_expiry() const override {
    const auto due = store_.next_due();
    if (!due) return std::nullopt;
    return std::chrono::microseconds(*due);
  }
  void disconnect(std::string_view client_id) override {
    store_.disconnect(std::string(client_id));
  }

 private:
  static std::uint64_t wall_us(const store::Instant& now) {
    return now.wall_ms * 1000 + static_cast<std::uint64_t>(now.steady.count() % 1000);
  }
  static void take(std::vector<conforming_store::Delivery> sent,
                   std::vector<store::Delivery>& out) {
    for (conforming_store::Delivery& each : sent) {
      out.push_back({std::move(each.client_id), from_other(std::move(each.message))});
    }
  }

  conforming_store::Store store_;
};

struct Options {
  std::uint64_t first = 1;
  std::size_t seeds = 10;
  std::size_t workloads = 100;
  std::string profile{};  // empty: all
  std::string run{};      // one case alone
};

// A store, and what it is judged by.
struct Candidate {
  std::uint64_t seed = 0;
  codec::Profile profile = codec::Profile::kDeployed;
  Fixed fixed{};

  [[nodiscard]] codec::DialectId dialect() const {
    return profile == codec::Profile::kDocumented ? codec::DialectId::kDocumented
                                                  : codec::DialectId::kDeployed;
  }
  [[nodiscard]] conforming_store::Store make() const {
    return {seed,
            profile == codec::Profile::kDocumented ? conforming_store::Profile::kDocumented
                                                   : conforming_store::Profile::kDeployed,
            fixed};
  }
  [[nodiscard]] std::unique_ptr<endpoint::Endpoint> open() const {
    return endpoint::make_in_process_endpoint(
        {.service = {.dialect = dialect()},
         .make_store =
             [*this](const store::ServiceOptions&) { return std::make_unique<OtherStore>(make()); },
         // Its clock is its own: nobody may take it for that of the suite.
         .conditions = {.clock_offset = std::chrono::milliseconds(1)}});
  }
};

std::string way_of(const conforming_store::Store& store, std::string_view name) {
  for (const conforming_store::Decision& each : store.decisions()) {
    if (each.name == name) return each.way;
  }
  return {};
}

class Asking {
 public:
  Asking(const scenario::Library& library, const Options& options)
      : library_(library), options_(options) {
    for (const scenario::Case& each : library.cases) {
      if (options.run.empty() || options.run == each.id) cases_.push_back(&each);
    }
  }

  // Returns how many failures and rejections there were.
  std::size_t run() {
    std::vector<Candidate> all;
    for (const codec::Profile profile : {codec::Profile::kDeployed, codec::Profile::kDocumented}) {
      if (!options_.profile.empty() && options_.profile != name(profile)) continue;
      for (std::size_t i = 0; i < options_.seeds; ++i) {
        all.push_back({.seed = options_.first + i, .profile = profile});
      }
    }
    std::atomic<std::size_t> next{0};
    run_in_threads(2, [&] {
      for (std::size_t at = next++; at < all.size(); at = next++) ask(all[at]);
    });
    fmt::print("other store: {} stores, {} cases and {} workloads each: {} findings\n", all.size(),
               cases_.size(), options_.workloads, findings_.size());
    return findings_.size();
  }

 private:
  Result<run::SuiteOptions, std::string> prepared(endpoint::Endpoint& endpoint,
                                                  const Candidate& candidate) const {
    run::SuiteOptions out;
    out.settings = {.profile = candidate.profile, .run_id = "other", .seed = candidate.seed};
    const auto checked = run::preflight(endpoint, out.settings.run_id);
    if (!checked) return fail("preflight: " + checked.error().text);
    run::apply_preflight(*checked, out);
    return out;
  }

  std::vector<run::CaseResult> run_cases(const std::vector<const scenario::Case*>& cases,
                                         const Candidate& candidate) {
    const auto endpoint = candidate.open();
    const auto options = prepared(*endpoint, candidate);
    if (!options) {
      note(options.error(), "", candidate);
      return {};
    }
    const std::atomic<bool> stop{false};
    return run::run_suite(*endpoint, cases, library_.catalogue, *options, stop,
                          [](const run::CaseResult&, std::size_t, std::size_t) {})
        .cases;
  }

  [[nodiscard]] bool failed(const run::CaseResult& result) const {
    return result.verdict == run::Verdict::kFailed &&
           !run::is_warning(result, library_.catalogue, false);
  }

  void ask(Candidate candidate) {
    // The default of a descriptor: a key is gone 300 ms after its time.
    if (way_of(candidate.make(), "late_key") == "there") {
      candidate.fixed.emplace_back("late_key", "gone");
    }
    for (const run::CaseResult& result : run_cases(cases_, candidate)) {
      if (result.verdict == run::Verdict::kInconclusive) ++inconclusive_;
      if (failed(result)) explain(*result.test_case, candidate);
    }
    if (options_.workloads > 0 && options_.run.empty()) search(candidate);
  }

  void explain(const scenario::Case& test_case, const Candidate& candidate) {
    if (is_known(test_case, candidate)) return;
    run::CaseResult shown;
    const auto fails = [&](const Candidate& other) {
      std::vector<run::CaseResult> results = run_cases({&test_case}, other);
      if (results.empty() || !failed(results.front())) return false;
      shown = std::move(results.front());
      return true;
    };
    Fixed left;
    std::string why = "not alone";
    if (fails(candidate)) {
      left = shrunk(candidate, fails);
      why.clear();
      for (const auto& [name, way] : left) why += fmt::format("{}={} ", name, way);
      why += fmt::format(": {}", shown.failure.message);
    }
    note(why,
         fmt::format("{} step {}, {}: expected {}, got {}", test_case.id, shown.failure.step,
                     shown.failure.requirement, shown.failure.expected, shown.failure.actual),
         candidate);
    if (!options_.run.empty()) {
      for (const run::TranscriptEntry& entry : shown.transcript) {
        fmt::print("     {:>10} {}", entry.time.count(), entry.summary);
        for (const auto& [key, value] : entry.message.user_properties) {
          fmt::print("  {}={}", key, value);
        }
        fmt::print("\n");
      }
    }
    const std::lock_guard lock(mutex_);
    known_.push_back({&test_case, candidate.profile, std::move(left)});
  }

  // Does it fail for a reason that another store has, too?
  bool is_known(const scenario::Case& test_case, const Candidate& candidate) {
    const conforming_store::Store store = candidate.make();
    const std::lock_guard lock(mutex_);
    return std::any_of(known_.begin(), known_.end(), [&](const Known& each) {
      if (each.test_case != &test_case || each.profile != candidate.profile) return false;
      return std::all_of(each.left.begin(), each.left.end(), [&](const auto& decision) {
        return way_of(store, decision.first) == decision.second;
      });
    });
  }

  // The decisions that are left when all are taken back that do not matter.
  template <typename Fails>
  static Fixed shrunk(Candidate fewest, const Fails& fails) {
    Fixed left;
    const std::vector<conforming_store::Decision> all = fewest.make().decisions();
    for (const conforming_store::Decision& each : all) {
      if (each.ways.empty() || each.way == each.ways.front()) continue;
      Candidate fewer = fewest;
      std::erase_if(fewer.fixed, [&](const auto& fixed) { return fixed.first == each.name; });
      fewer.fixed.emplace_back(each.name, each.ways.front());
      if (fails(fewer)) {
        fewest = std::move(fewer);
      } else {
        left.emplace_back(each.name, each.way);
      }
    }
    return left;
  }

  void search(const Candidate& candidate) {
    const auto endpoint = candidate.open();
    auto suite = prepared(*endpoint, candidate);
    if (!suite) return;
    const std::atomic<bool> stop{false};
    search::ExploreOptions options{
        .judged = search::judged_runs({.catalogue = library_.catalogue,
                                       .settings = suite->settings,
                                       .offers = endpoint->capabilities(),
                                       .round_trip = suite->round_trip}),
        .run_id = "other",
        .seed = candidate.seed,
        .max_examples = options_.workloads,
        .max_time = std::chrono::seconds(20)};
    const search::ExploreResult result =
        search::explore(*endpoint, options, stop, [](const auto&) {});
    for (const search::Counterexample& found : result.found) {
      note(fmt::format("explore: {}: {}", found.rejection().judgement.requirement,
                       found.rejection().judgement.because),
           fmt::format("failed {} of {}\n{}", found.failed, found.runs,
                       workload::to_text(found.trace)),
           candidate);
    }
  }

  // `example`: where it was seen first.
  void note(const std::string& why, const std::string& example, const Candidate& candidate) {
    const std::lock_guard lock(mutex_);
    const std::string profile(name(candidate.profile));
    if (++findings_[profile + " " + why] > 1) return;
    fmt::print("BAD  --profile {} --first {}: {}\n     {}\n", profile, candidate.seed, why,
               example);
    std::fflush(stdout);
  }

  struct Known {
    const scenario::Case* test_case;
    codec::Profile profile;
    Fixed left;
  };

  const scenario::Library& library_;
  const Options& options_;
  std::vector<Known> known_;
  std::vector<const scenario::Case*> cases_;
  std::mutex mutex_;
  std::atomic<std::size_t> inconclusive_{0};
  std::map<std::string, std::size_t> findings_;
};

int main_of(int count, char** words) {
  Options options;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view name = words[i];
    const std::string value = words[i + 1];
    if (name == "--first") options.first = std::stoull(value);
    if (name == "--seeds") options.seeds = std::stoull(value);
    if (name == "--workloads") options.workloads = std::stoull(value);
    if (name == "--profile") options.profile = value;
    if (name == "--run") options.run = value;
  }
  std::vector<scenario::LoadError> errors;
  const scenario::Library library = scenario::load_library(scenario::built_in_files(), errors);
  return Asking(library, options).run() == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace fencepost

int main(int count, char** words) { return fencepost::main_of(count, words); }
