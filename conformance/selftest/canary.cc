#include "conformance/selftest/canary.h"

#include <algorithm>
#include <utility>

#include "codec/error_code.h"

namespace fencepost::conformance {
namespace {

constexpr const char* kCanaryKey = "shared/canary";  // that restricted clients may observe, too

BytesSpec with_one_more_byte(const BytesSpec& bytes) {
  return {JoinedBytes{{bytes, {LiteralBytes{"!"}}}}};
}

BytesSpec command(std::vector<BytesSpec> arguments) { return {CommandBytes{std::move(arguments)}}; }

codec::ErrorCode another(codec::ErrorCode code) {
  const auto at = std::find(codec::kErrorCodes.begin(), codec::kErrorCodes.end(), code);
  const auto index = static_cast<std::size_t>(at - codec::kErrorCodes.begin());
  return codec::kErrorCodes.at((index + 1) % codec::kErrorCodes.size());
}

// What a store never answers, spelled as close to the right reply as possible.
Outcome wrong(const Outcome& right) {
  Outcome out = right;
  if (const auto* plain = std::get_if<PlainReply>(&right.what)) {
    out.what = PlainReply{plain->kind == codec::ReplyKind::kOk ? codec::ReplyKind::kMissing
                                                               : codec::ReplyKind::kOk};
  } else if (const auto* value = std::get_if<ValueReply>(&right.what)) {
    out.what = ValueReply{with_one_more_byte(value->value)};
  } else if (const auto* count = std::get_if<CountReply>(&right.what)) {
    out.what = CountReply{count->count + 1};
  } else if (const auto* error = std::get_if<ErrorReply>(&right.what)) {
    out.what = ErrorReply{another(error->code)};
  } else if (const auto* exact = std::get_if<ExactBytes>(&right.what)) {
    out.what = ExactBytes{with_one_more_byte(exact->bytes)};
  } else if (std::holds_alternative<AnyError>(right.what)) {
    out.what = PlainReply{codec::ReplyKind::kOk};
  } else {  // no reply, or a disconnection
    out.what = ValueReply{{LiteralBytes{"canary"}}};
  }
  return out;
}

// Makes a wrong copy of a case for each expectation of one of its steps.
class Planter {
 public:
  Planter(const Case& test_case, std::size_t step, std::vector<Canary>& out)
      : test_case_(test_case), step_(step), out_(out) {}

  void plant() {
    const Step& step = test_case_.steps[step_];
    if (std::holds_alternative<RequestStep>(step.what)) {
      plant_request("",
                    [](Step& copy) -> RequestStep& { return std::get<RequestStep>(copy.what); });
    } else if (const auto* pipeline = std::get_if<PipelineStep>(&step.what)) {
      for (std::size_t i = 0; i < pipeline->requests.size(); ++i) {
        plant_request("request " + std::to_string(i + 1) + ": ", [i](Step& copy) -> RequestStep& {
          return std::get<PipelineStep>(copy.what).requests[i];
        });
      }
    } else if (std::holds_alternative<NotificationStep>(step.what)) {
      plant_notification();
    } else if (std::holds_alternative<SilenceStep>(step.what)) {
      plant_noise();
    } else if (std::holds_alternative<WriteManyStep>(step.what)) {
      add("values", [](Step& copy) { std::get<WriteManyStep>(copy.what).ending = "!"; });
    }
  }

 private:
  template <typename Change>
  void add(const std::string& what, Change change) {
    Canary canary{.what = "step " + std::to_string(step_ + 1) + ": " + what,
                  .test_case = test_case_};
    change(canary.test_case.steps[step_]);
    out_.push_back(std::move(canary));
  }

  // `get(step)` is the request in a copy of the step, `prefix` says which it is.
  template <typename Get>
  void plant_request(const std::string& prefix, Get get) {
    Step original = test_case_.steps[step_];
    const Expectation& expect = get(original).expect;
    if (!expect.outcomes.empty()) {
      add(prefix + "reply", [&](Step& step) { make_wrong(get(step).expect); });
    }
    if (expect.timestamp && !may_be_error(expect)) {
      plant_timestamp(prefix, *expect.timestamp,
                      [&](Step& step) -> TimestampCheck& { return *get(step).expect.timestamp; });
    }
    for (const auto& [name, value] : expect.user_properties) {
      add(prefix + "property " + name,
          [&, key = name](Step& step) { get(step).expect.user_properties[key] += "!"; });
    }
    if (expect.content_type) {
      add(prefix + "content type", [&](Step& step) { *get(step).expect.content_type += "!"; });
    }
    if (expect.payload_format) {
      add(prefix + "payload format", [&](Step& step) {
        get(step).expect.payload_format = 1 - *get(step).expect.payload_format;
      });
    }
  }

  static bool may_be_error(const Expectation& expect) {
    return std::any_of(expect.outcomes.begin(), expect.outcomes.end(), [](const Outcome& outcome) {
      return std::holds_alternative<ErrorReply>(outcome.what) ||
             std::holds_alternative<AnyError>(outcome.what);
    });
  }

  static void make_wrong(Expectation& expect) {
    // Of several outcomes that are all right, the wrong form of one may be another.
    if (expect.outcomes.size() > 1) {
      expect.outcomes = {Outcome{.what = ExactBytes{{LiteralBytes{"+CANARY\r\n"}}}}};
      expect.open = false;
      return;
    }
    expect.outcomes.front() = wrong(expect.outcomes.front());
  }

  template <typename Get>
  void plant_timestamp(const std::string& prefix, const TimestampCheck& check, Get get) {
    if (check.absent || check.present) {
      add(prefix + (check.absent ? "version absent" : "version present"),
          [&](Step& step) { std::swap(get(step).absent, get(step).present); });
    }
    if (check.equals) {
      add(prefix + "version equals " + *check.equals, [&](Step& step) {
        get(step).greater_than = {*get(step).equals};
        get(step).equals.reset();
      });
    }
    for (std::size_t i = 0; i < check.greater_than.size(); ++i) {
      add(prefix + "version greater than " + check.greater_than[i], [&, i](Step& step) {
        get(step).equals = get(step).greater_than[i];
        get(step).greater_than.clear();
      });
    }
  }

  static NotificationStep& notification(Step& step) {
    return std::get<NotificationStep>(step.what);
  }

  void plant_notification() {
    const auto& right = std::get<NotificationStep>(test_case_.steps[step_].what);
    add("key",
        [](Step& step) { notification(step).key = with_one_more_byte(notification(step).key); });
    add("operation", [](Step& step) {
      NotificationStep& wrong_step = notification(step);
      const bool set = wrong_step.operation == codec::Operation::kSet;
      wrong_step.operation = set ? codec::Operation::kDelete : codec::Operation::kSet;
      wrong_step.value.reset();
    });
    if (right.value) {
      add("value", [](Step& step) {
        notification(step).value = with_one_more_byte(*notification(step).value);
      });
    }
    if (right.timestamp) {
      plant_timestamp("", *right.timestamp,
                      [](Step& step) -> TimestampCheck& { return *notification(step).timestamp; });
    }
    if (right.content_type) {
      add("content type", [](Step& step) { *notification(step).content_type += "!"; });
    }
    if (right.qos) {
      add("qos", [](Step& step) { notification(step).qos = 1 - *notification(step).qos; });
    }
  }

  // A silence is wrong when there is something to hear: a key is observed and set just before it.
  void plant_noise() {
    const auto& silence = std::get<SilenceStep>(test_case_.steps[step_].what);
    Canary canary{.what = "step " + std::to_string(step_ + 1) + ": silence",
                  .test_case = test_case_};
    const BytesSpec key{KeyBytes{kCanaryKey, {}}};
    const auto literal = [](const char* text) { return BytesSpec{LiteralBytes{text}}; };
    Step observe{
        .position = test_case_.steps[step_].position, .title = "keynotify", .what = WaitStep{}};
    RequestStep keynotify;
    keynotify.client = silence.client;
    keynotify.payload = command({literal("KEYNOTIFY"), key});
    keynotify.timestamp = NoTimestamp{};
    keynotify.token = NoTimestamp{};
    observe.what = keynotify;
    Step write = observe;
    write.title = "set";
    RequestStep set = keynotify;
    set.payload = command({literal("SET"), key, literal("noise")});
    set.timestamp = TimestampExpression{.base = "now"};
    set.written_keys = {key};
    write.what = set;
    auto& steps = canary.test_case.steps;
    const auto at = steps.begin() + static_cast<std::ptrdiff_t>(step_);
    steps.insert(at, {observe, write});
    out_.push_back(std::move(canary));
  }

  const Case& test_case_;
  std::size_t step_;
  std::vector<Canary>& out_;
};

}  // namespace

std::vector<Canary> make_canaries(const Case& test_case) {
  std::vector<Canary> out;
  for (std::size_t step = 0; step < test_case.steps.size(); ++step) {
    Planter(test_case, step, out).plant();
  }
  return out;
}

}  // namespace fencepost::conformance
