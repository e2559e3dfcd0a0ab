#include "clients/client_run/client_suite.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/poll_until.h"
#include "base/text/printable.h"
#include "base/threads.h"
#include "clients/client_run/test_bed.h"

namespace fencepost::client_run {
namespace {

using Steady = std::chrono::steady_clock;

std::string with_last_words(std::string text, const AdapterProcess& adapter) {
  if (adapter.last_words().empty()) return text;
  return text + "; its standard error ends in:\n" + text::printable(adapter.last_words());
}

// The next line; nothing after the deadline, or when the adapter is gone.
std::optional<std::string> wait_for_line(AdapterProcess& adapter, Moment deadline) {
  std::vector<pollfd> entries;
  while (true) {
    adapter.move();
    if (auto line = adapter.take_line()) return line;
    if (adapter.is_gone() || Steady::now() >= deadline) return std::nullopt;
    entries.clear();
    adapter.add_waits(entries);
    (void)poll_until(entries, deadline);
  }
}

// One adapter, started again when it is lost.
class Player {
 public:
  explicit Player(const ClientSuiteOptions& options) : options_(options) {}

  Result<Greeting, SuiteError> start() {
    adapter_.reset();
    auto started = AdapterProcess::start(options_.command, options_.variables);
    if (!started) {
      const bool is_ours = started.error().kind == StartErrorKind::kOurOwn;
      return fail(SuiteError{is_ours ? SuiteErrorKind::kOurOwn : SuiteErrorKind::kCannotStart,
                             "cannot start " + text::shell_word(options_.command.front()) + ": " +
                                 started.error().text});
    }
    adapter_ = std::move(*started);
    const auto line = wait_for_line(*adapter_, Steady::now() + options_.to_start);
    if (!line) {
      std::string what = "the adapter sent no greeting within " +
                         std::to_string(options_.to_start.count() / 1'000) + " s";
      if (adapter_->is_gone()) {
        what = "the adapter " + adapter_->how_it_ended() + " before its greeting";
      }
      return fail(SuiteError{SuiteErrorKind::kNoGreeting, with_last_words(what, *adapter_)});
    }
    auto greeting = read_greeting(*line);
    if (!greeting) return fail(SuiteError{SuiteErrorKind::kNoGreeting, greeting.error()});
    greeting_ = *greeting;
    return greeting_;
  }

  // The error is of our own, and ends the run.
  Result<CaseOutcome, SuiteError> play(const ClientCase& test_case, std::size_t number) {
    CaseOutcome out{.test_case = &test_case};
    for (const std::string& each : test_case.needs) {
      if (!greeting_.capabilities.contains(each)) out.lacks.push_back(each);
    }
    if (!out.lacks.empty()) return out;
    if (adapter_ == nullptr) {
      ++restarts_;
      if (const auto greeting = start(); !greeting) {
        adapter_.reset();
        // It could be started before: a failure now is not caused by the client.
        if (greeting.error().kind != SuiteErrorKind::kNoGreeting) {
          return fail(SuiteError{SuiteErrorKind::kOurOwn, greeting.error().text});
        }
        out.verdict = CaseVerdict::kFailed;
        out.played.problems.push_back({.requirement = "ENV-MQTT5-1",
                                       .expected = "an adapter that can be restarted",
                                       .actual = greeting.error().text});
        return out;
      }
    }
    out.played = play_case(test_case, *adapter_, greeting_, options_.play, number);
    if (out.played.adapter_is_lost) adapter_.reset();
    if (!out.played.suite_error.empty()) {
      return fail(SuiteError{SuiteErrorKind::kOurOwn, out.played.suite_error});
    }
    if (!out.played.adapter_error.empty()) {
      return fail(SuiteError{SuiteErrorKind::kAdapter, out.played.adapter_error});
    }
    out.verdict = out.played.problems.empty() ? CaseVerdict::kPassed : CaseVerdict::kFailed;
    return out;
  }

  [[nodiscard]] const Greeting& greeting() const { return greeting_; }
  [[nodiscard]] std::size_t resident_bytes() const {
    return adapter_ == nullptr ? 0 : adapter_->resident_bytes();
  }
  [[nodiscard]] std::size_t restarts() const { return restarts_; }

 private:
  const ClientSuiteOptions& options_;
  std::unique_ptr<AdapterProcess> adapter_{};
  Greeting greeting_{};
  std::size_t restarts_ = 0;
};

// Several players take the cases one by one.
class ClientSuite {
 public:
  ClientSuite(const std::vector<const ClientCase*>& cases, const ClientSuiteOptions& options)
      : cases_(cases), options_(options), order_(cases.size()), outcomes_(cases.size()) {
    // What waits longest comes first: at the end there would be nothing else to do meanwhile.
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    const auto time = [this](std::size_t index) { return least_time(*cases_[index]); };
    std::stable_sort(order_.begin(), order_.end(), [&time](std::size_t one, std::size_t other) {
      return time(one) > time(other);
    });
  }

  Result<ClientSuiteResult, SuiteError> run() {
    const Moment began = Steady::now();
    Player first(options_);
    if (auto greeting = first.start(); !greeting) return fail(std::move(greeting.error()));
    std::atomic<bool> first_is_taken = false;
    const std::size_t jobs = options_.jobs == 0 ? jobs_for(first.resident_bytes()) : options_.jobs;
    run_in_threads(std::min(jobs, cases_.size()), [&] {
      if (first_is_taken.exchange(true)) return play_with_another();
      play_with(first);
    });
    out_.greeting = first.greeting();
    for (auto& each : outcomes_) {
      if (each) out_.outcomes.push_back(std::move(*each));
    }
    out_.stopped = out_.outcomes.size() < cases_.size();
    out_.seconds = std::chrono::duration<double>(Steady::now() - began).count();
    return std::move(out_);
  }

 private:
  void play_with_another() {
    Player player(options_);
    // Where this one does not start, the first has all cases.
    if (player.start()) play_with(player);
  }

  void play_with(Player& player) {
    while (const auto index = take_case()) {
      auto played = player.play(*cases_[*index], *index + 1);
      const std::lock_guard lock(mutex_);
      if (!played) {
        // What was measured before stays.
        if (!out_.ended_by) out_.ended_by = std::move(played.error());
        break;
      }
      CaseOutcome outcome = std::move(*played);
      // One that was ended in its midst says nothing.
      if (is_stopped()) break;
      if (outcome.verdict == CaseVerdict::kFailed) ++failures_;
      if (options_.on_case) options_.on_case(outcome);
      outcomes_[*index] = std::move(outcome);
    }
    const std::lock_guard lock(mutex_);
    out_.restarts += player.restarts();
  }

  [[nodiscard]] bool is_stopped() const {
    return options_.play.stop != nullptr && options_.play.stop->load();
  }

  std::optional<std::size_t> take_case() {
    const std::lock_guard lock(mutex_);
    const bool enough = options_.most_failures != 0 && failures_ >= options_.most_failures;
    if (is_stopped() || out_.ended_by || enough || next_ >= cases_.size()) return std::nullopt;
    return order_[next_++];
  }

  const std::vector<const ClientCase*>& cases_;
  const ClientSuiteOptions& options_;
  std::mutex mutex_;
  std::vector<std::size_t> order_;  // in which they are played
  std::size_t next_ = 0;            // in that order
  std::size_t failures_ = 0;
  std::vector<std::optional<CaseOutcome>> outcomes_;
  ClientSuiteResult out_{};
};

}  // namespace

std::size_t jobs_for(std::size_t adapter_bytes) {
  constexpr std::size_t kFew = 8;
  constexpr std::size_t kMany = 32;
  constexpr std::size_t kTogether = 512U << 20U;
  if (adapter_bytes == 0) return kFew;
  return std::clamp(kTogether / adapter_bytes, kFew, kMany);
}

std::string_view name(CaseVerdict verdict) {
  switch (verdict) {
    case CaseVerdict::kPassed:
      return "passed";
    case CaseVerdict::kFailed:
      return "failed";
    case CaseVerdict::kSkipped:
      break;
  }
  return "skipped";
}

std::size_t ClientSuiteResult::count(CaseVerdict verdict) const {
  return static_cast<std::size_t>(
      std::count_if(outcomes.begin(), outcomes.end(),
                    [verdict](const CaseOutcome& each) { return each.verdict == verdict; }));
}

Result<ClientSuiteResult, SuiteError> run_client_suite(const std::vector<const ClientCase*>& cases,
                                                       const ClientSuiteOptions& options) {
  return ClientSuite(cases, options).run();
}

}  // namespace fencepost::client_run
