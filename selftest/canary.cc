#include "selftest/canary.h"

#include <algorithm>
#include <utility>

#include "codec/error_code.h"

namespace fencepost::selftest {
namespace {

constexpr const char* kCanaryKey = "shared/canary";  // that restricted clients may observe, too

scenario::BytesSpec with_one_more_byte(const scenario::BytesSpec& bytes) {
  return {scenario::JoinedBytes{{bytes, {scenario::LiteralBytes{"!"}}}}};
}

scenario::BytesSpec command(std::vector<scenario::BytesSpec> arguments) {
  return {scenario::CommandBytes{std::move(arguments)}};
}

codec::ErrorCode another(codec::ErrorCode code) {
  const auto at = std::find(codec::kErrorCodes.begin(), codec::kErrorCodes.end(), code);
  const auto index = static_cast<std::size_t>(at - codec::kErrorCodes.begin());
  return codec::kErrorCodes.at((index + 1) % codec::kErrorCodes.size());
}

// What a store never answers, spelled as close to the expected reply as possible.
scenario::Outcome wrong(const scenario::Outcome& right) {
  scenario::Outcome out = right;
  if (const auto* plain = std::get_if<scenario::PlainReply>(&right.what)) {
    out.what = scenario::PlainReply{
        plain->kind == codec::ReplyKind::kOk ? codec::ReplyKind::kMissing : codec::ReplyKind::kOk};
  } else if (const auto* value = std::get_if<scenario::ValueReply>(&right.what)) {
    out.what = scenario::ValueReply{with_one_more_byte(value->value)};
  } else if (const auto* count = std::get_if<scenario::CountReply>(&right.what)) {
    out.what = scenario::CountReply{count->count + 1};
  } else if (const auto* error = std::get_if<scenario::ErrorReply>(&right.what)) {
    out.what = scenario::ErrorReply{another(error->code)};
  } else if (const auto* exact = std::get_if<scenario::ExactBytes>(&right.what)) {
    out.what = scenario::ExactBytes{with_one_more_byte(exact->bytes)};
  } else if (std::holds_alternative<scenario::AnyError>(right.what)) {
    out.what = scenario::PlainReply{codec::ReplyKind::kOk};
  } else {  // no reply, or a disconnection
    out.what = scenario::ValueReply{{scenario::LiteralBytes{"canary"}}};
  }
  return out;
}

// Makes a wrong copy of a case for each expectation of one of its steps.
class Mutator {
 public:
  Mutator(const scenario::Case& test_case, std::size_t step, std::vector<Canary>& out)
      : test_case_(test_case), step_(step), out_(out) {}

  void plant() {
    const scenario::Step& step = test_case_.steps[step_];
    if (std::holds_alternative<scenario::RequestStep>(step.what)) {
      plant_request("", [](scenario::Step& copy) -> scenario::RequestStep& {
        return std::get<scenario::RequestStep>(copy.what);
      });
    } else if (const auto* pipeline = std::get_if<scenario::PipelineStep>(&step.what)) {
      for (std::size_t i = 0; i < pipeline->requests.size(); ++i) {
        plant_request("request " + std::to_string(i + 1) + ": ",
                      [i](scenario::Step& copy) -> scenario::RequestStep& {
                        return std::get<scenario::PipelineStep>(copy.what).requests[i];
                      });
      }
    } else if (std::holds_alternative<scenario::NotificationStep>(step.what)) {
      plant_notification();
    } else if (std::holds_alternative<scenario::SilenceStep>(step.what)) {
      plant_noise();
    } else if (std::holds_alternative<scenario::FanOutStep>(step.what)) {
      add("values",
          [](scenario::Step& copy) { std::get<scenario::FanOutStep>(copy.what).ending = "!"; });
    } else if (std::holds_alternative<scenario::WriteManyStep>(step.what)) {
      add("values",
          [](scenario::Step& copy) { std::get<scenario::WriteManyStep>(copy.what).ending = "!"; });
    }
  }

 private:
  template <typename Change>
  void add(const std::string& what, Change change) {
    Canary canary{.what = "step " + std::to_string(step_ + 1) + ": " + what,
                  .test_case = test_case_};
    change(canary.test_case.steps[step_]);
    // Whether or not the store that runs it has that outcome.
    auto* notified = std::get_if<scenario::NotificationStep>(&canary.test_case.steps[step_].what);
    if (notified != nullptr) {
      notified->when.reset();
      notified->optional.reset();
    }
    out_.push_back(std::move(canary));
  }

  // `get(step)` is the request in a copy of the step, `prefix` says which it is.
  template <typename Get>
  void plant_request(const std::string& prefix, Get get) {
    scenario::Step original = test_case_.steps[step_];
    const scenario::Expectation& expect = get(original).expect;
    if (!expect.outcomes.empty()) {
      add(prefix + "reply", [&](scenario::Step& step) { make_wrong(get(step).expect); });
    }
    if (expect.timestamp && !may_be_error(expect)) {
      plant_timestamp(prefix, *expect.timestamp,
                      [&](scenario::Step& step) -> scenario::TimestampCheck& {
                        return *get(step).expect.timestamp;
                      });
    }
    for (const auto& [name, value] : expect.user_properties) {
      add(prefix + "property " + name,
          [&, key = name](scenario::Step& step) { get(step).expect.user_properties[key] += "!"; });
    }
    if (expect.content_type) {
      add(prefix + "content type",
          [&](scenario::Step& step) { *get(step).expect.content_type += "!"; });
    }
    if (expect.payload_format) {
      add(prefix + "payload format", [&](scenario::Step& step) {
        get(step).expect.payload_format = 1 - *get(step).expect.payload_format;
      });
    }
  }

  static bool may_be_error(const scenario::Expectation& expect) {
    return std::any_of(expect.outcomes.begin(), expect.outcomes.end(),
                       [](const scenario::Outcome& outcome) {
                         return std::holds_alternative<scenario::ErrorReply>(outcome.what) ||
                                std::holds_alternative<scenario::AnyError>(outcome.what);
                       });
  }

  static void make_wrong(scenario::Expectation& expect) {
    // If there are several allowed outcomes, the wrong form of one may be another.
    if (expect.outcomes.size() > 1) {
      expect.outcomes = {
          scenario::Outcome{.what = scenario::ExactBytes{{scenario::LiteralBytes{"+CANARY\r\n"}}}}};
      expect.open = false;
      return;
    }
    expect.outcomes.front() = wrong(expect.outcomes.front());
  }

  template <typename Get>
  void plant_timestamp(const std::string& prefix, const scenario::TimestampCheck& check, Get get) {
    if (check.absent || check.present) {
      add(prefix + (check.absent ? "version absent" : "version present"),
          [&](scenario::Step& step) { std::swap(get(step).absent, get(step).present); });
    }
    if (check.equals) {
      add(prefix + "version equals " + *check.equals, [&](scenario::Step& step) {
        get(step).greater_than = {*get(step).equals};
        get(step).equals.reset();
      });
    }
    for (std::size_t i = 0; i < check.greater_than.size(); ++i) {
      add(prefix + "version greater than " + check.greater_than[i], [&, i](scenario::Step& step) {
        get(step).equals = get(step).greater_than[i];
        get(step).greater_than.clear();
      });
    }
  }

  static scenario::NotificationStep& notification(scenario::Step& step) {
    return std::get<scenario::NotificationStep>(step.what);
  }

  void plant_notification() {
    const auto& right = std::get<scenario::NotificationStep>(test_case_.steps[step_].what);
    add("key", [](scenario::Step& step) {
      notification(step).key = with_one_more_byte(notification(step).key);
    });
    add("operation", [](scenario::Step& step) {
      scenario::NotificationStep& wrong_step = notification(step);
      const bool set = wrong_step.operation == codec::Operation::kSet;
      wrong_step.operation = set ? codec::Operation::kDelete : codec::Operation::kSet;
      wrong_step.value.reset();
    });
    if (right.value) {
      add("value", [](scenario::Step& step) {
        notification(step).value = with_one_more_byte(*notification(step).value);
      });
    }
    if (right.timestamp) {
      plant_timestamp("", *right.timestamp, [](scenario::Step& step) -> scenario::TimestampCheck& {
        return *notification(step).timestamp;
      });
    }
    if (right.content_type) {
      add("content type", [](scenario::Step& step) { *notification(step).content_type += "!"; });
    }
    if (right.qos) {
      add("qos",
          [](scenario::Step& step) { notification(step).qos = 1 - *notification(step).qos; });
    }
  }

  // Silence is wrong when there is a notification: a key is observed and set just before it.
  void plant_noise() {
    const auto& silence = std::get<scenario::SilenceStep>(test_case_.steps[step_].what);
    Canary canary{.what = "step " + std::to_string(step_ + 1) + ": silence",
                  .test_case = test_case_};
    const scenario::BytesSpec key{scenario::KeyBytes{kCanaryKey, {}}};
    const auto literal = [](const char* text) {
      return scenario::BytesSpec{scenario::LiteralBytes{text}};
    };
    scenario::Step observe{.position = test_case_.steps[step_].position,
                           .title = "keynotify",
                           .what = scenario::WaitStep{}};
    scenario::RequestStep keynotify;
    keynotify.client = silence.client;
    keynotify.payload = command({literal("KEYNOTIFY"), key});
    keynotify.timestamp = scenario::NoTimestamp{};
    keynotify.token = scenario::NoTimestamp{};
    observe.what = keynotify;
    scenario::Step write = observe;
    write.title = "set";
    scenario::RequestStep set = keynotify;
    set.payload = command({literal("SET"), key, literal("noise")});
    set.timestamp = scenario::TimestampExpression{.base = "now"};
    set.written_keys = {key};
    write.what = set;
    auto& steps = canary.test_case.steps;
    std::get<scenario::SilenceStep>(steps[step_].what).when.reset();
    const auto at = steps.begin() + static_cast<std::ptrdiff_t>(step_);
    steps.insert(at, {observe, write});
    out_.push_back(std::move(canary));
  }

  const scenario::Case& test_case_;
  std::size_t step_;
  std::vector<Canary>& out_;
};

}  // namespace

std::vector<Canary> make_canaries(const scenario::Case& test_case) {
  std::vector<Canary> out;
  for (std::size_t step = 0; step < test_case.steps.size(); ++step) {
    Mutator(test_case, step, out).plant();
  }
  return out;
}

}  // namespace fencepost::selftest
