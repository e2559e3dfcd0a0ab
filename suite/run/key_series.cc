#include "suite/run/key_series.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "suite/run/request_steps.h"

namespace fencepost::run {
namespace {

// Requests in flight: enough that the way to the store does not decide how long it takes, and few
// enough for the Receive Maximum of any broker that is in use. (MQTT 5, 3.2.2.3.3)
constexpr std::size_t kWindow = 64;
// As long as the case that waits longest, twelve times.
constexpr std::chrono::seconds kMaxReads{30};

struct Window {
  std::size_t first;
  std::size_t last;  // not included
};

bool is_error(const judge::Exchange& exchange) {
  return exchange.reply && exchange.reply->payload().starts_with('-');
}

std::string numbered(const std::string& key, std::size_t i) {
  return key + "-" + std::to_string(i);
}

std::string value_of(const std::string& key) { return "value of " + key; }

// A SET that is carried out, or refused because of the quota. Req: QUOTA-KEYS-1
scenario::RequestStep write_of_new_key(const std::string& client, const std::string& key,
                                       const std::string& value) {
  scenario::RequestStep request;
  request.client = client;
  request.payload = {scenario::CommandBytes{{{scenario::LiteralBytes{"SET"}},
                                             {scenario::KeyBytes{key, ""}},
                                             {scenario::LiteralBytes{value}}}}};
  request.timestamp = scenario::TimestampExpression{.base = "now"};
  request.written_keys = {{scenario::KeyBytes{key, ""}}};
  request.expect.outcomes = {{scenario::PlainReply{codec::ReplyKind::kOk}},
                             {scenario::ErrorReply{codec::ErrorCode::kQuotaExceeded}}};
  return request;
}

// Calls `run` for one window of keys after the other until there is a problem or `done` holds.
MaybeProblem for_each_window(std::size_t keys, const std::function<MaybeProblem(Window)>& run,
                             const std::function<bool()>& done) {
  for (std::size_t first = 0; first < keys && !done(); first += kWindow) {
    if (auto problem = run({first, std::min(first + kWindow, keys)})) return problem;
  }
  return std::nullopt;
}

MaybeProblem attributed_to(const std::string& cites, MaybeProblem problem) {
  if (problem) problem->attribution.complete({.requirement = cites});
  return problem;
}

// Writes keys and reads them back.
class ManyKeys {
 public:
  ManyKeys(const scenario::WriteManyStep& step, CaseState& state) : step_(step), state_(state) {}

  MaybeProblem run() {
    auto client = state_.clients.get(step_.client);
    if (!client) return client.error();
    MaybeProblem problem = pass(**client, "writes", [this](Window keys) { return write(keys); });
    for (std::size_t i = 0; !problem && i < step_.reads; ++i) {
      problem = pass(
          **client, "reads back", [this](Window keys) { return read(keys); }, i > 0);
      if (!problem) problem = too_slow(i + 1);
    }
    if (!problem && step_.reads > 1) {
      (*client)->note(fmt::format("has read all of them {} times", step_.reads));
    }
    return problem;
  }

 private:
  // A broker that is slow, and not faulty, is not reported.
  MaybeProblem too_slow(std::size_t times) const {
    if (times == step_.reads || state_.session.clock().now() < begun_ + state_.scaled(kMaxReads)) {
      return std::nullopt;
    }
    return Problem{
        .verdict = Verdict::kSkipped,
        .message = fmt::format(
            "{} of {} reads on one connection were answered in time: the endpoint is too "
            "slow for this case",
            times * step_.keys, step_.reads * step_.keys)};
  }

  // Else one case with many packets would leave the failures of others without theirs.
  void drop_from(std::size_t length) {
    auto& transcript = state_.result.transcript;
    if (state_.settings.transcripts != nullptr) {
      for (std::size_t i = length; i < transcript.size(); ++i) {
        state_.settings.transcripts->give_back(transcript[i]);
      }
    }
    transcript.resize(length);
  }

  // `again`: as it was done before.
  MaybeProblem pass(RequestClient& client, const char* what,
                    const std::function<MaybeProblem(Window)>& run, bool again = false) {
    const auto tersely = [&](Window keys) -> MaybeProblem {
      const std::size_t length = state_.result.transcript.size();
      if (auto problem = run(keys)) return problem;
      client.forget_answered();
      if (keys.first == 0 && !again) return std::nullopt;
      // If all goes well, the transcript has only the first messages.
      drop_from(length);
      if (again) return std::nullopt;
      client.note(fmt::format("{} {} to {}, as before", what, numbered(step_.key, keys.first),
                              numbered(step_.key, keys.last - 1)));
      return std::nullopt;
    };
    return for_each_window(step_.keys, tersely, [] { return false; });
  }

  MaybeProblem write(Window keys) {
    std::vector<scenario::RequestStep> requests;
    for (std::size_t i = keys.first; i < keys.last; ++i) {
      const std::string key = numbered(step_.key, i);
      requests.push_back(write_of_new_key(step_.client, key, value_of(key)));
    }
    bool refused = false;
    auto problem = run_requests(requests, state_, [&](const judge::Exchange& exchange) {
      refused = refused || is_error(exchange);
      const std::string* version = exchange.reply->message.property(codec::kTimestampProperty);
      versions_.push_back(version == nullptr ? "" : *version);
    });
    if (problem || !refused) return problem;
    return Problem{.verdict = Verdict::kInconclusive,
                   .message = fmt::format("the store has no room for {} keys: it refused one of "
                                          "the first {} because of its quota",
                                          step_.keys, keys.last)};
  }

  MaybeProblem read(Window keys) {
    SavedTimestamps others = state_.saved;
    std::vector<scenario::RequestStep> requests;
    for (std::size_t i = keys.first; i < keys.last; ++i) {
      requests.push_back(read_of(numbered(step_.key, i), versions_[i]));
    }
    auto problem = run_requests(requests, state_);
    state_.saved = std::move(others);
    return problem;
  }

  // A GET of the value that was written. Req: VER-GET-2, its version, too.
  scenario::RequestStep read_of(const std::string& key, const std::string& version) {
    scenario::RequestStep request;
    request.client = step_.client;
    request.payload = {
        scenario::CommandBytes{{{scenario::LiteralBytes{"GET"}}, {scenario::KeyBytes{key, ""}}}}};
    request.timestamp = scenario::NoTimestamp{};
    request.token = scenario::NoTimestamp{};
    request.expect.outcomes = {
        {scenario::ValueReply{{scenario::LiteralBytes{value_of(key) + step_.ending}}}}};
    if (const auto parsed = hlc::parse(version)) {
      state_.saved[key] = {.value = *parsed, .text = version};
      request.expect.timestamp = scenario::TimestampCheck{.equals = key};
    }
    return request;
  }

  const scenario::WriteManyStep& step_;
  CaseState& state_;
  const endpoint::Duration begun_ = state_.session.clock().now();
  std::vector<std::string> versions_;  // of the keys, as written
};

}  // namespace

MaybeProblem run_fill_quota(const scenario::FillQuotaStep& step, CaseState& state) {
  const std::size_t most = state.settings.quota.value_or(0) + 1;
  bool refused = false;
  const auto fill = [&](Window keys) {
    std::vector<scenario::RequestStep> requests;
    for (std::size_t i = keys.first; i < keys.last; ++i) {
      requests.push_back(write_of_new_key(step.client, numbered(step.key, i), "v"));
    }
    return run_requests(requests, state, [&](const judge::Exchange& exchange) {
      refused = refused || is_error(exchange);
    });
  };
  if (auto problem = for_each_window(most, fill, [&] { return refused; })) {
    problem->attribution.requirement = step.cites;
    return problem;
  }
  if (refused) return std::nullopt;
  return Problem{
      .message = fmt::format("{} new keys were stored, more than the quota allows", most),
      .expected = text::Phrase("-ERR the quota has been exceeded\\r\\n")
                      .means("-ERR the quota has been exceeded"),
      .actual = text::Phrase("+OK\\r\\n each time").means("+OK"),
      .attribution = {.requirement = step.cites}};
}

MaybeProblem run_write_many(const scenario::WriteManyStep& step, CaseState& state) {
  return attributed_to(step.cites, ManyKeys(step, state).run());
}

}  // namespace fencepost::run
