#include "suite/run/suite.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <random>
#include <set>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/threads.h"
#include "endpoint/cancellation.h"
#include "suite/run/capability.h"
#include "suite/run/case_clients.h"
#include "suite/run/client_pool.h"
#include "suite/run/path_times.h"
#include "suite/run/request_client.h"
#include "suite/run/time_limits.h"
#include "suite/scenario/moves_clock.h"

namespace fencepost::run {
namespace {

using endpoint::Duration;

// Of how many cases at least and at most a part runs one case at a time.
constexpr std::size_t kManyCases = 100;
constexpr std::size_t kPart = 3;  // a third
constexpr Duration kStillThereTimeout = std::chrono::milliseconds{1'000};
// How long inconclusive cases are repeated: this time, or half of what the run took.
constexpr std::chrono::steady_clock::duration kMinRepeating = std::chrono::seconds{30};
constexpr std::string_view kConsistencyRequirement = "RESP-INVALID-1";

// Does it only send requests and get answers?
bool is_quick(const scenario::Case& test_case) {
  const auto takes_time = [](const scenario::Outcome& outcome) {
    return std::holds_alternative<scenario::NoReply>(outcome.what) ||
           std::holds_alternative<scenario::Disconnection>(outcome.what);
  };
  const auto is_quick_step = [&](const scenario::Step& step) {
    if (const auto* request = std::get_if<scenario::RequestStep>(&step.what)) {
      const auto& outcomes = request->expect.outcomes;
      return std::none_of(outcomes.begin(), outcomes.end(), takes_time);
    }
    return !std::holds_alternative<scenario::FillQuotaStep>(step.what) &&
           !std::holds_alternative<scenario::WriteManyStep>(step.what) &&
           !std::holds_alternative<scenario::FanOutStep>(step.what);
  };
  return test_case.expected_wait() == Duration{0} &&
         std::all_of(test_case.steps.begin(), test_case.steps.end(), is_quick_step);
}

// Hands out cases to threads and collects what they find.
class SuiteRun {
 public:
  SuiteRun(endpoint::Endpoint& endpoint, const std::vector<const scenario::Case*>& cases,
           const scenario::Catalogue& catalogue, const SuiteOptions& options,
           const std::atomic<bool>& stop, const Progress& progress)
      : endpoint_(endpoint),
        catalogue_(catalogue),
        options_(options),
        stop_(stop),
        progress_(progress),
        path_(options.round_trip_tail),
        slots_(options.running > 0 ? options.running : options.jobs),
        pool_(options.settings.run_id, options.jobs),
        settings_(options.settings),
        bases_(scenario::bases_of(settings_.profile, settings_.edition)),
        unsettled_(scenario::unsettled(catalogue, bases_)) {
    settings_.unsettled = &unsettled_;
    settings_.slots = &slots_;
    settings_.path = &path_;
    settings_.transcripts = &transcripts_;
    for (const scenario::Case* test_case : cases) {
      result_.cases.push_back(
          {.test_case = test_case, .failure = {.position = test_case->position}});
      result_.longest_wait = std::max(result_.longest_wait, test_case->expected_wait());
    }
  }

  SuiteResult run() {
    skip_unsupported();
    take_over_finished();
    run_cases();
    settle_all();
    result_.interrupted = stop_;
    result_.duration = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - started_);
    return std::move(result_);
  }

 private:
  // What the store is, is known when all cases have run.
  void settle_all() {
    result_.basis = basis_of(result_, settings_.profile, settings_.edition);
    for (CaseResult& entry : result_.cases) settle(entry, catalogue_, result_.basis);
  }

  void skip_unsupported() {
    const endpoint::Capabilities& offered =
        options_.offered ? *options_.offered : endpoint_.capabilities();
    for (CaseResult& result : result_.cases) {
      std::string missing = missing_capability(*result.test_case, offered);
      if (missing.empty()) continue;
      result.verdict = Verdict::kSkipped;
      result.failure.message = std::move(missing);
      settled_before_.insert(result.test_case);
      finish(result);
    }
  }

  void take_over_finished() {
    std::map<const scenario::Case*, const FinishedCase*> finished;
    for (const FinishedCase& kept : options_.finished) finished[kept.result.test_case] = &kept;
    for (CaseResult& result : result_.cases) {
      const auto found = finished.find(result.test_case);
      if (found == finished.end() || settled_before_.contains(result.test_case)) continue;
      settled_before_.insert(result.test_case);
      result = found->second->result;
      if (found->second->undecided) {
        undecided_.push_back(&result);
      } else {
        show(result);
      }
    }
  }

  // Exclusive cases run one after the other, when the others have finished. Those that would
  // disturb others, but have an isolated broker, need not wait for them, unless only one case is to
  // run at a time.
  void run_cases() {
    const auto alone = [this](const CaseResult& entry) {
      return entry.test_case->exclusive || shares_client_id(*entry.test_case);
    };
    const auto isolated = [this](const CaseResult& entry) {
      return endpoint_.capabilities().has_isolated_broker && disturbs_others(*entry.test_case);
    };
    // Req: VER-SET-2. Versions are greater than any `__ts`, so after these cases the versions of a
    // store with one clock are ahead of the time, for a minute at most. That matters to a store
    // that others use, or that stays, not to one that ends with the run.
    const auto leaves_traces = [this, &alone](const CaseResult& entry) {
      return !endpoint_.capabilities().ephemeral && !alone(entry) &&
             scenario::moves_clock(*entry.test_case);
    };
    // All queues are made before any case runs: a running case changes its entry.
    const Queue own_quota = queue_of(isolated);
    Queue together = queue_of([&](const CaseResult& entry) {
      return !alone(entry) && !isolated(entry) && !leaves_traces(entry);
    });
    const Queue last =
        queue_of([&](const CaseResult& entry) { return alone(entry) && !isolated(entry); });
    const Queue very_last =
        queue_of([&](const CaseResult& entry) { return leaves_traces(entry) && !isolated(entry); });
    // These run one after the other on a broker of their own, in parallel to the rest. That chain
    // is long, so it does not queue for slots.
    const auto run_isolated = [&] { run_phase(own_quota, 1, Admission::kAtOnce); };
    const auto run_together = [&] {
      run_some_one_at_a_time(together);
      run_phase(together, options_.jobs, Admission::kInTurn);
    };
    if (options_.jobs == 1) {
      run_isolated();
      run_together();
    } else {
      run_side_by_side(run_isolated, run_together);
    }
    run_phase(last, 1, Admission::kInTurn);
    repeat_inconclusive();
    run_phase(very_last, options_.jobs, Admission::kInTurn);
    repeat_inconclusive();
  }

  // Two connections with one client id would end each other. (MQTT 5, 3.1.4)
  [[nodiscard]] bool shares_client_id(const scenario::Case& test_case) const {
    return std::any_of(test_case.clients.begin(), test_case.clients.end(),
                       [this](const scenario::ClientSpec& client) {
                         return settings_.client_ids.contains(client.role);
                       });
  }

  using Queue = std::vector<CaseResult*>;

  template <typename Filter>
  Queue queue_of(const Filter& wanted) {
    Queue queue;
    for (CaseResult& result : result_.cases) {
      if (settled_before_.contains(result.test_case)) continue;
      if (wanted(result)) queue.push_back(&result);
    }
    if (options_.shuffled) {
      std::shuffle(queue.begin(), queue.end(), std::mt19937_64(settings_.seed));
      return queue;
    }
    // Longest first: the run then takes as long as its longest case, not as long as the sum.
    std::stable_sort(queue.begin(), queue.end(), [this](const CaseResult* a, const CaseResult* b) {
      const CaseResult* first = options_.shortest_first ? b : a;
      const CaseResult* second = options_.shortest_first ? a : b;
      return expected_time(*first->test_case) > expected_time(*second->test_case);
    });
    return queue;
  }

  [[nodiscard]] Duration expected_time(const scenario::Case& test_case) const {
    const auto exchanges = static_cast<Duration::rep>(test_case.exchanges());
    return test_case.expected_wait() + exchanges * options_.round_trip;
  }

  // What a store does only when the very next request is a certain one does not show while others
  // send requests in between. So a part of the quick cases, of all areas, runs one after the other:
  // over real connections, where cases get into each other's way, and unless an order is requested.
  void run_some_one_at_a_time(Queue& cases) {
    const bool has_an_order = options_.shuffled || options_.shortest_first || options_.jobs == 1;
    if (has_an_order || !endpoint_.capabilities().transport) return;
    Queue quick;
    std::copy_if(cases.begin(), cases.end(), std::back_inserter(quick),
                 [](const CaseResult* each) { return is_quick(*each->test_case); });
    if (quick.size() < kManyCases) return;
    std::stable_sort(quick.begin(), quick.end(), [](const CaseResult* a, const CaseResult* b) {
      return stable_hash(a->test_case->id) < stable_hash(b->test_case->id);
    });
    const auto end = std::chrono::steady_clock::now() + options_.one_at_a_time;
    quick.resize(quick.size() / kPart);
    std::set<const CaseResult*> done;
    for (CaseResult* each : quick) {
      if (std::chrono::steady_clock::now() >= end) break;
      done.insert(each);
      const SlotGuard slot(slots_, Admission::kInTurn);
      run_one(*each);
    }
    std::erase_if(cases, [&](const CaseResult* each) { return done.contains(each); });
  }

  void run_phase(const Queue& queue, std::size_t jobs, Admission admission) {
    std::atomic<std::size_t> next{0};
    run_in_threads(std::min(jobs, queue.size()), [&] {
      for (std::size_t at = next++; at < queue.size(); at = next++) {
        const SlotGuard slot(slots_, admission);
        run_one(*queue[at]);
      }
    });
  }

  void run_one(CaseResult& slot) {
    if (stop_ || (lost_ && !options_.was_attempted)) return;
    if (!may_attempt(slot, 1)) return;
    CaseResult result = attempt(*slot.test_case, 1);
    if (was_cut_short(result)) return;
    const std::lock_guard lock(mutex_);
    slot = std::move(result);
    if (slot.verdict == Verdict::kInconclusive && options_.repeat_inconclusive) {
      undecided_.push_back(&slot);
      if (options_.keep) options_.keep(slot, true);
    } else {
      finish(slot);
    }
  }

  // Nobody waited for the endpoint any more: what did not come proves nothing.
  static bool was_cut_short(const CaseResult& result) {
    return endpoint::waits_have_ended() && result.verdict != Verdict::kPassed;
  }

  [[nodiscard]] bool may_attempt(const CaseResult& slot, int number) const {
    return !options_.was_attempted || options_.was_attempted(*slot.test_case, number);
  }

  CaseResult attempt(const scenario::Case& test_case, int number) {
    const std::string caller = attempt_name(test_case, number);
    auto session = endpoint_.open_session({caller, disturbs_others(test_case)});
    CaseResult result;
    if (session) {
      RunSettings settings = settings_;
      settings.attempt = number;
      // A second attempt rules out what is left of others. A broker of their own, that disturbing
      // cases have, is not the broker of the rest.
      const bool shares = number == 1 && !options_.fresh_connections &&
                          endpoint_.sessions_share_clients() && !disturbs_others(test_case);
      if (shares) settings.pool = &pool_;
      // The keys of an ephemeral store go with it, which saves a request a key; but not on the
      // broker with the small quota, where the next case needs the room.
      settings.clean_up = !endpoint_.capabilities().ephemeral || disturbs_others(test_case);
      result = run_case(test_case, **session, settings);
      for (const Duration round_trip : result.round_trips) path_.note(round_trip);
    } else {
      // An error in the suite itself says nothing about the store.
      const bool ours = session.error().kind == endpoint::ErrorKind::kInvalid ||
                        session.error().kind == endpoint::ErrorKind::kInternal;
      result.test_case = &test_case;
      result.verdict = ours ? Verdict::kInconclusive : Verdict::kLost;
      result.doubt = Doubt::kSetUp;
      result.failure =
          failure_of({.message = session.error().text}, {settings_.key_prefix, settings_.run_id});
      result.failure.position = test_case.position;
    }
    if (result.verdict == Verdict::kLost && !was_cut_short(result) && decide_loss(result, caller) &&
        session) {
      remove_keys(**session, result.left_behind);
    }
    result.left_behind = {};
    return result;
  }

  // What was undecided for want of time may be decided when nothing else runs. What is so slow that
  // most cases cannot be decided is not repeated for hours.
  void repeat_inconclusive() {
    const auto begin = std::chrono::steady_clock::now();
    const auto enough = std::max(kMinRepeating, (begin - started_) / 2);
    pool_.clear();  // the broker may have a limit of connections
    // The shortest first: so most are decided in time.
    std::stable_sort(undecided_.begin(), undecided_.end(),
                     [this](const CaseResult* a, const CaseResult* b) {
                       return expected_time(*a->test_case) < expected_time(*b->test_case);
                     });
    for (CaseResult* slot : undecided_) {
      const bool in_time = std::chrono::steady_clock::now() - begin < enough;
      const bool goes_on = in_time && !stop_ && (!lost_ || options_.was_attempted);
      if (goes_on && may_attempt(*slot, 2)) repeat(*slot);
      finish(*slot);
    }
    undecided_.clear();
  }

  void repeat(CaseResult& slot) {
    const SlotGuard running(slots_, Admission::kInTurn);
    CaseResult again = attempt(*slot.test_case, 2);
    // The endpoint is gone, or the run is: what was known stays.
    if (again.verdict == Verdict::kLost || was_cut_short(again)) return;
    // Nobody stands still twice in the same case, and answers in between. Req: RESP-INVALID-1
    if (again.verdict == Verdict::kInconclusive && again.doubt == Doubt::kSilence &&
        slot.doubt == Doubt::kSilence && has_answered_) {
      again.verdict = Verdict::kFailed;
    }
    if (again.deviations.empty()) again.deviations = std::move(slot.deviations);
    again.first_attempt = Attempt{
        .verdict = slot.verdict, .failure = std::move(slot.failure), .duration = slot.duration};
    slot = std::move(again);
  }

  // A connection ended that should not have. Is the endpoint gone, or did it throw one client out?
  // True when it is alive.
  bool decide_loss(CaseResult& result, const std::string& caller) {
    const auto reachable = check_alive(result.doubt, "after " + caller);
    const std::lock_guard lock(mutex_);
    if (!reachable) {
      lost_ = true;
      result_.endpoint_lost = true;
      if (result_.lost_message.empty()) {
        result_.lost_message = result.failure.message + "; now: " + reachable.error().text;
      }
      return false;
    }
    // What was merely slow breaks no rule.
    result.verdict = result.doubt == Doubt::kNone ? Verdict::kFailed : Verdict::kInconclusive;
    return true;
  }

  // Does a broker answer a CONNECT? That something listens proves nothing: the socket of a process
  // that was just killed may still accept.
  Result<void, endpoint::Error> check_alive(Doubt doubt, const std::string& caller) {
    auto reachable = endpoint_.check_reachable(kStillThereTimeout, caller);
    if (!reachable) return reachable;
    auto session = endpoint_.open_session({.caller = caller});
    if (!session) return fail(session.error());
    const std::string id =
        fmt::format("fp-{}-alive-{:08x}", settings_.run_id, stable_hash(caller) & 0xffffffffU);
    auto client = (*session)->connect({.client_id = id});
    if (!client) {
      // A refusal of this client alone is an answer, too.
      const endpoint::Error& error = client.error();
      const bool refused = error.kind == endpoint::ErrorKind::kNotAllowed;
      if (refused || has_enough_connections(error)) return {};
      return fail(error);
    }
    if (doubt != Doubt::kSilence) return {};
    return check_answers(**session, std::move(*client), id);
  }

  // Does the store answer, after a case in which nobody was answered? A store that has never
  // answered in this run is not taken for gone: it may be tested for just that.
  Result<void, endpoint::Error> check_answers(endpoint::Session& session,
                                              std::unique_ptr<endpoint::Client> connection,
                                              const std::string& id) {
    RequestClient client("alive", std::move(connection), id, session.clock());
    if (auto subscribed = client.raw().subscribe(client.response_topic()); !subscribed) return {};
    const auto sent = client.send(client.request({"GET", settings_.key_prefix + "/alive/" + id}));
    const Duration patience = scaled(kStandstill, settings_.timeout_scale);
    if (sent && client.await(**sent, patience)) {
      has_answered_ = true;
      return {};
    }
    if (!has_answered_ && options_.round_trip == Duration{0}) return {};
    return fail(endpoint::Error{endpoint::ErrorKind::kTimeout,
                                "the broker answers, but the state store no longer does"});
  }

  // With the lock held, or before the threads start.
  void finish(const CaseResult& result) {
    if (options_.keep) options_.keep(result, false);
    show(result);
  }

  void show(const CaseResult& result) {
    ++done_;
    if (result.deviations.empty() && result.verdict != Verdict::kFailed) {
      progress_(result, done_, result_.cases.size());
      return;
    }
    // Strictly: what the store is, is not known yet.
    CaseResult so_far = result;
    settle(so_far, catalogue_, bases_.front());
    progress_(so_far, done_, result_.cases.size());
  }

  endpoint::Endpoint& endpoint_;
  const scenario::Catalogue& catalogue_;
  const SuiteOptions& options_;
  const std::atomic<bool>& stop_;
  const Progress& progress_;
  PathTimes path_;
  TranscriptBudget transcripts_;
  RunSlots slots_;
  ClientPool pool_;
  RunSettings settings_;
  const std::vector<scenario::Basis> bases_;
  const std::set<std::string, std::less<>> unsettled_;
  std::set<const scenario::Case*> settled_before_;  // skipped, or finished in an earlier part
  std::atomic<bool> lost_{false};
  std::atomic<bool> has_answered_{false};  // when tried after a case without any answer
  const std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::vector<CaseResult*> undecided_;  // with the lock held; to be repeated
  std::mutex mutex_;
  std::size_t done_ = 0;
  SuiteResult result_;
};

// Was this case chosen by check_consistency()?
bool is_first_case(const CaseResult& entry) {
  return entry.failure.kind == judge::Mismatch::kMixedForms && !entry.unexpected_pass;
}

// Takes back what an earlier check_consistency() said of fewer results.
void forget_first_cases(SuiteResult& result) {
  for (CaseResult& entry : result.cases) {
    if (entry.verdict != Verdict::kFailed || !is_first_case(entry)) continue;
    entry.verdict = Verdict::kPassed;
    entry.failure = {.position = entry.test_case->position};
  }
}

// The first case that shows these mixed forms; null when a baseline has forgiven one, or every case
// that saw the forms has failed for a reason of its own.
CaseResult* find_first_case(SuiteResult& result, codec::Divergence divergence) {
  CaseResult* first = nullptr;
  for (CaseResult& entry : result.cases) {
    if (entry.verdict == Verdict::kExpectedFailure && is_first_case(entry) &&
        entry.failure.subject == codec::name(divergence)) {
      return nullptr;
    }
    const bool sees =
        std::any_of(entry.forms.begin(), entry.forms.end(),
                    [&](const judge::SeenForm& form) { return form.first == divergence; });
    if (first == nullptr && sees && entry.verdict == Verdict::kPassed) first = &entry;
  }
  return first;
}

// An endpoint that spells the same kind of reply now like this, now like that, is wrong in any
// profile. One case is enough.
void check_consistency(SuiteResult& result) {
  forget_first_cases(result);
  for (const auto& [divergence, forms] : result.forms) {
    CaseResult* first = forms.size() < 2 ? nullptr : find_first_case(result, divergence);
    if (first == nullptr) continue;
    const std::string form(codec::name(divergence));
    first->verdict = Verdict::kFailed;
    first->failure = failure_of(
        {.message = "the endpoint mixes both forms of " + form,
         .expected =
             "the same form in every case: that of the documented or of the deployed dialect",
         .actual = "both forms in this run",
         .attribution = {.requirement = std::string(kConsistencyRequirement)},
         .subject = form,
         .kind = judge::Mismatch::kMixedForms},
        {});
    first->failure.position = first->test_case->position;
  }
}

void collect(SuiteResult& result) {
  result.forms.clear();
  result.unspecified_points.clear();
  result.round_trips.clear();
  for (const CaseResult& entry : result.cases) {
    for (const auto& [divergence, form] : entry.forms) result.forms[divergence].insert(form);
    for (const auto& [id, outcome] : entry.unspecified_points)
      result.unspecified_points[id].insert(outcome);
    result.round_trips.insert(result.round_trips.end(), entry.round_trips.begin(),
                              entry.round_trips.end());
  }
  std::sort(result.round_trips.begin(), result.round_trips.end());
}

void count(SuiteResult& result, const scenario::Catalogue& catalogue, bool strict) {
  Summary& summary = result.summary;
  summary = {};
  for (const CaseResult& entry : result.cases) {
    switch (entry.verdict) {
      case Verdict::kPassed:
        ++summary.passed;
        break;
      case Verdict::kFailed:
        ++(is_warning(entry, catalogue, strict) ? summary.warnings : summary.failed);
        break;
      case Verdict::kSkipped:
        ++summary.skipped;
        break;
      case Verdict::kInconclusive:
        ++summary.inconclusive;
        break;
      case Verdict::kExpectedFailure:
        ++summary.expected_failures;
        break;
      case Verdict::kLost:
      case Verdict::kNotRun:
        ++summary.not_run;
        break;
    }
  }
}

}  // namespace

std::string attempt_name(const scenario::Case& test_case, int attempt) {
  return fmt::format("{}/{}", test_case.id, attempt);
}

void apply_preflight(const PreflightReport& report, SuiteOptions& options) {
  constexpr Duration kMinAllowance = std::chrono::milliseconds{100};
  options.settings.clock_offset_ms = report.clock_offset_ms;
  options.settings.clock_bounds = report.clock_bounds;
  options.settings.one_way_delay_allowance = std::chrono::ceil<std::chrono::milliseconds>(
      std::max(kMinAllowance, 4 * report.round_trip_p99));
  options.round_trip = report.round_trip_p50;
  options.round_trip_tail = report.round_trip_p99;
}

bool is_warning(const CaseResult& result, const scenario::Catalogue& catalogue, bool strict) {
  if (result.unexpected_pass) return false;  // it is the baseline that is wrong, at any level
  if (result.waived) return true;
  const scenario::Requirement* requirement = catalogue.find(result.failure.requirement);
  const scenario::Level level =
      requirement != nullptr ? requirement->level : catalogue.level_of(*result.test_case);
  return !strict && level == scenario::Level::kShould;
}

SuiteResult run_suite(endpoint::Endpoint& endpoint, const std::vector<const scenario::Case*>& cases,
                      const scenario::Catalogue& catalogue, const SuiteOptions& options,
                      const std::atomic<bool>& stop, const Progress& progress) {
  SuiteResult result = SuiteRun(endpoint, cases, catalogue, options, stop, progress).run();
  summarize(result, catalogue, options.strict);
  return result;
}

void summarize(SuiteResult& result, const scenario::Catalogue& catalogue, bool strict) {
  collect(result);
  check_consistency(result);
  count(result, catalogue, strict);
}

scenario::Basis basis_of(const SuiteResult& result, codec::Profile profile,
                         scenario::Edition edition) {
  bool documented = false;
  bool deployed = false;
  scenario::Observed observed;
  for (const CaseResult& entry : result.cases) {
    for (const auto& [divergence, form] : entry.forms) {
      (form == codec::DialectId::kDocumented ? documented : deployed) = true;
    }
    observed.notified = observed.notified || entry.notifications > 0;
    observed.notified_with_version =
        observed.notified_with_version || entry.versioned_notifications > 0;
  }
  observed.documented_only = documented && !deployed;
  return scenario::basis_of(profile, edition, observed);
}

void settle(CaseResult& result, const scenario::Catalogue& catalogue,
            const scenario::Basis& basis) {
  const auto bound = [&](const std::string& id) {
    const scenario::Requirement* requirement = catalogue.find(id);
    return requirement == nullptr || binds(*requirement, basis);
  };
  const auto fail_by = [&](const Failure& deviation) {
    result.verdict = Verdict::kFailed;
    result.failure = deviation;
  };
  if (result.verdict == Verdict::kPassed || result.verdict == Verdict::kFailed ||
      result.verdict == Verdict::kInconclusive) {
    const auto first = std::find_if(result.deviations.begin(), result.deviations.end(),
                                    [&](const Failure& each) { return bound(each.requirement); });
    if (first != result.deviations.end()) {
      fail_by(*first);
    } else if (result.verdict == Verdict::kPassed && !result.deviations.empty()) {
      fail_by(result.deviations.front());
    }
  }
  // Cases of others may have a catalogue of others.
  if (result.verdict == Verdict::kFailed && catalogue.find(result.failure.requirement) == nullptr) {
    result.failure.requirement = result.test_case->requirements.front();
  }
  result.waived = result.verdict == Verdict::kFailed && !bound(result.failure.requirement);
}

std::string observed_dialect(const SuiteResult& result) {
  std::set<codec::DialectId> seen;
  for (const auto& [divergence, forms] : result.forms) seen.insert(forms.begin(), forms.end());
  if (seen.empty()) return "unknown";
  if (seen.size() > 1) return "mixed";
  return std::string(codec::dialect(*seen.begin()).name);
}

std::string describe_forms(const SuiteResult& result) {
  std::string out;
  for (const auto& [divergence, forms] : result.forms) {
    for (const codec::DialectId id : forms) {
      out += (out.empty() ? "" : ", ") + std::string(codec::name(divergence)) + " " +
             std::string(codec::dialect(id).name);
    }
  }
  return out;
}

void mark_failures(std::vector<PhaseFinding>& findings, const scenario::Catalogue& catalogue,
                   bool strict, const SuiteResult& result) {
  std::set<std::string_view> known;
  for (const CaseResult& each : result.cases) {
    if (each.verdict != Verdict::kExpectedFailure) continue;
    known.insert(each.failure.requirement);
    known.insert(each.failure.candidates.begin(), each.failure.candidates.end());
  }
  for (PhaseFinding& found : findings) {
    const scenario::Requirement* rule = catalogue.find(found.requirement);
    if (rule == nullptr) continue;
    const bool owed = rule->level == scenario::Level::kMust ||
                      (strict && rule->level == scenario::Level::kShould);
    found.fails = owed && !rule->open && binds(*rule, result.basis);
    if (found.fails && known.contains(found.requirement)) {
      found.fails = false;
      found.text += " (a warning: the baseline lists failures of this rule)";
    }
  }
}

ExitCode exit_code(const SuiteResult& result) {
  const bool stressed = result.stress && fails(result.stress->findings);
  const bool enumerated = result.enumeration && fails(result.enumeration->findings);
  if (result.summary.failed > 0 || stressed || enumerated || !result.baseline_errors.empty()) {
    return ExitCode::kFailed;
  }
  if (result.endpoint_lost) return ExitCode::kUnreachable;
  if (result.interrupted) return ExitCode::kInterrupted;
  // Where every case was skipped, nothing was certified.
  if (result.summary.skipped == result.cases.size()) return ExitCode::kNothingSelected;
  if (result.summary.inconclusive + result.summary.not_run > 0) return ExitCode::kInconclusive;
  const bool undecided = (result.stress && !result.stress->undecided.empty()) ||
                         (result.enumeration && !result.enumeration->undecided.empty());
  if (undecided) return ExitCode::kInconclusive;
  return ExitCode::kConformant;
}

Duration percentile(const std::vector<Duration>& sorted, double percent) {
  if (sorted.empty()) return Duration{0};
  const auto index = static_cast<std::size_t>(static_cast<double>(sorted.size()) * percent / 100.0);
  return sorted[std::min(index, sorted.size() - 1)];
}

}  // namespace fencepost::run
