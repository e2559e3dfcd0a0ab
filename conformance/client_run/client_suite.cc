#include "conformance/client_run/client_suite.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <utility>

#include <poll.h>

#include <fmt/format.h>

#include "base/bytes.h"
#include "conformance/client_run/stage.h"
#include "conformance/text/printable.h"

namespace fencepost::client_run {
namespace {

using Steady = std::chrono::steady_clock;

std::string with_last_words(std::string text, const AdapterProcess& adapter) {
  if (adapter.last_words().empty()) return text;
  return text + "; its standard error ends in:\n" + text::printable(adapter.last_words());
}

// The next line; nothing when the time is over, or it is gone.
std::optional<std::string> wait_for_line(AdapterProcess& adapter, Moment deadline) {
  constexpr int kPollMs = 50;
  while (true) {
    adapter.move();
    if (auto line = adapter.take_line()) return line;
    if (adapter.is_gone() || Steady::now() >= deadline) return std::nullopt;
    std::array entries = {pollfd{adapter.output(), POLLIN, 0},
                          pollfd{adapter.is_mute() ? -1 : adapter.errors(), POLLIN, 0}};
    (void)poll(entries.data(), entries.size(), kPollMs);
  }
}

class ClientSuite {
 public:
  explicit ClientSuite(const ClientSuiteOptions& options) : options_(options) {}

  Result<ClientSuiteResult, std::string> run(const std::vector<const ClientCase*>& cases) {
    const Moment began = Steady::now();
    auto greeting = start();
    if (!greeting) return fail(greeting.error());
    out_.greeting = std::move(*greeting);
    for (const ClientCase* each : cases) {
      if (should_stop()) break;
      CaseOutcome outcome = play(*each, out_.outcomes.size() + 1);
      if (outcome.verdict == CaseVerdict::kFailed) ++failures_;
      if (options_.on_case) options_.on_case(outcome);
      out_.outcomes.push_back(std::move(outcome));
    }
    out_.stopped = out_.outcomes.size() < cases.size();
    out_.seconds = std::chrono::duration<double>(Steady::now() - began).count();
    return std::move(out_);
  }

 private:
  [[nodiscard]] bool should_stop() const {
    if (options_.stop != nullptr && options_.stop->load()) return true;
    return options_.most_failures != 0 && failures_ >= options_.most_failures;
  }

  Result<Greeting, std::string> start() {
    adapter_.reset();
    auto started = AdapterProcess::start(options_.command);
    if (!started) {
      return fail("cannot start " + text::shell_word(options_.command.front()) + ": " +
                  started.error());
    }
    adapter_ = std::move(*started);
    const auto line = wait_for_line(*adapter_, Steady::now() + options_.to_start);
    if (!line) {
      std::string what = "the adapter has not greeted within " +
                         std::to_string(options_.to_start.count() / 1'000) + " s";
      if (adapter_->is_gone()) {
        what = "the adapter " + adapter_->how_it_ended() + " before it has greeted";
      }
      return fail(with_last_words(what, *adapter_));
    }
    return read_greeting(*line);
  }

  CaseOutcome play(const ClientCase& test_case, std::size_t number) {
    CaseOutcome out{.test_case = &test_case};
    for (const std::string& each : test_case.needs) {
      if (!out_.greeting.capabilities.contains(each)) out.lacks.push_back(each);
    }
    if (!out.lacks.empty()) return out;
    if (adapter_ == nullptr) {
      ++out_.restarts;
      if (const auto greeting = start(); !greeting) {
        adapter_.reset();
        out.verdict = CaseVerdict::kFailed;
        out.played.problems.push_back({.requirement = test_case.requirements.front(),
                                       .expected = "an adapter that starts again",
                                       .actual = greeting.error()});
        return out;
      }
    }
    out.played = play_case(test_case, *adapter_, out_.greeting, options_.play, number);
    if (out.played.adapter_is_lost) adapter_.reset();
    out.verdict = out.played.problems.empty() ? CaseVerdict::kPassed : CaseVerdict::kFailed;
    return out;
  }

  const ClientSuiteOptions& options_;
  std::unique_ptr<AdapterProcess> adapter_{};
  ClientSuiteResult out_{};
  std::size_t failures_ = 0;
};

}  // namespace

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

Result<ClientSuiteResult, std::string> run_client_suite(const std::vector<const ClientCase*>& cases,
                                                        const ClientSuiteOptions& options) {
  return ClientSuite(options).run(cases);
}

}  // namespace fencepost::client_run
