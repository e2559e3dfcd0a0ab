#include "suite/scenario/expectation_writer.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text/yaml_quote.h"
#include "suite/scenario/bytes_writer.h"

namespace fencepost::scenario {
namespace {

using OutcomeSpan = std::span<const Outcome>;

struct OutcomeToText {
  std::string operator()(const PlainReply& reply) const {
    if (reply.kind == codec::ReplyKind::kOk) return "ok";
    return reply.kind == codec::ReplyKind::kMissing ? "missing" : "not-applied";
  }
  std::string operator()(const ValueReply& reply) const {
    return "{value: " + bytes_text(reply.value) + "}";
  }
  std::string operator()(const CountReply& reply) const {
    return fmt::format("{{count: {}}}", reply.count);
  }
  std::string operator()(const ErrorReply& reply) const {
    return fmt::format("{{error: {}}}", name(reply.code));
  }
  std::string operator()(const ExactBytes& reply) const {
    return "{bytes: " + bytes_text(reply.bytes) + "}";
  }
  std::string operator()(const AnyError& /*reply*/) const { return "error"; }
  std::string operator()(const NoReply& /*reply*/) const { return "none"; }
  std::string operator()(const Disconnection& /*reply*/) const { return "disconnect"; }
};

std::string one_or_any(const std::vector<std::string>& replies) {
  if (replies.size() == 1) return replies.front();
  FlowList out;
  for (const std::string& reply : replies) out.add(reply);
  return "{any_of: " + out.text() + "}";
}

std::string in_one_dialect(OutcomeSpan outcomes) {
  std::vector<std::string> replies;
  for (const Outcome& outcome : outcomes)
    replies.push_back(std::visit(OutcomeToText{}, outcome.what));
  return one_or_any(replies);
}

// How many of the first ones are for this dialect.
std::size_t run_of(OutcomeSpan outcomes, codec::DialectId dialect) {
  const auto end = std::find_if(outcomes.begin(), outcomes.end(),
                                [&](const Outcome& outcome) { return outcome.only_in != dialect; });
  return static_cast<std::size_t>(end - outcomes.begin());
}

// Those of all dialects together, which stand one behind the other.
std::string by_dialect(OutcomeSpan& outcomes) {
  FlowMap out;
  for (const codec::DialectId dialect : codec::kDialects) {
    const std::size_t count = run_of(outcomes, dialect);
    FENCEPOST_CHECK(count > 0);
    out.add(codec::dialect(dialect).name, in_one_dialect(outcomes.first(count)));
    outcomes = outcomes.subspan(count);
  }
  return out.text();
}

std::string reply_text(OutcomeSpan outcomes) {
  std::vector<std::string> replies;
  while (!outcomes.empty()) {
    if (outcomes.front().only_in) {
      replies.push_back(by_dialect(outcomes));
    } else {
      replies.push_back(std::visit(OutcomeToText{}, outcomes.front().what));
      outcomes = outcomes.subspan(1);
    }
  }
  return one_or_any(replies);
}

// OutcomeSpan of one name stand one behind the other.
std::string open_text(OutcomeSpan outcomes) {
  FlowMap out;
  while (!outcomes.empty()) {
    const std::string& name = outcomes.front().name;
    const auto end = std::find_if(outcomes.begin(), outcomes.end(),
                                  [&](const Outcome& outcome) { return outcome.name != name; });
    const auto count = static_cast<std::size_t>(end - outcomes.begin());
    out.add(text::yaml_scalar(name), reply_text(outcomes.first(count)));
    outcomes = outcomes.subspan(count);
  }
  return "{open: " + out.text() + "}";
}

// What is expected after each outcome of an earlier request.
std::string by_text(const std::string& mark, OutcomeSpan outcomes) {
  FlowMap out;
  while (!outcomes.empty()) {
    const std::string& after = outcomes.front().after;
    const auto end = std::find_if(outcomes.begin(), outcomes.end(),
                                  [&](const Outcome& outcome) { return outcome.after != after; });
    const OutcomeSpan branch = outcomes.first(static_cast<std::size_t>(end - outcomes.begin()));
    const bool open = !branch.front().name.empty();
    out.add(text::yaml_scalar(after), open ? open_text(branch) : reply_text(branch));
    outcomes = outcomes.subspan(branch.size());
  }
  FlowMap by;
  by.add(text::yaml_scalar(mark), out.text());
  return "{by: " + by.text() + "}";
}

std::string whole_reply_text(const Expectation& expectation) {
  if (!expectation.by.empty()) return by_text(expectation.by, expectation.outcomes);
  return expectation.open ? open_text(expectation.outcomes) : reply_text(expectation.outcomes);
}

std::string expression_text(const TimestampExpression& expression) {
  std::string out = expression.base;
  const auto sign = [](std::int64_t number) { return number < 0 ? '-' : '+'; };
  const auto size = [](std::int64_t number) { return number < 0 ? -number : number; };
  if (expression.offset_ms != 0) {
    out += fmt::format(" {} {}", sign(expression.offset_ms),
                       duration_text(std::chrono::milliseconds{size(expression.offset_ms)}));
  }
  if (expression.counter_offset != 0) {
    out += fmt::format(" counter {} {}", sign(expression.counter_offset),
                       size(expression.counter_offset));
  }
  if (expression.counter) out += fmt::format(" counter = {}", *expression.counter);
  if (expression.node) out += fmt::format(" node \"{}\"", *expression.node);
  return out;
}

}  // namespace

std::string expectation_text(const Expectation& expectation) {
  FlowMap out;
  if (!expectation.outcomes.empty()) out.add("reply", whole_reply_text(expectation));
  if (expectation.timestamp) out.add("ts", timestamp_check_text(*expectation.timestamp));
  if (!expectation.user_properties.empty()) {
    FlowMap properties;
    for (const auto& [name, value] : expectation.user_properties) {
      properties.add(text::yaml_scalar(name), text::yaml_scalar(value));
    }
    out.add("properties", properties.text());
  }
  if (expectation.content_type)
    out.add("content_type", text::yaml_scalar(*expectation.content_type));
  if (expectation.payload_format) {
    out.add("payload_format", std::to_string(*expectation.payload_format));
  }
  if (expectation.before) out.add("before", time_point_text(*expectation.before));
  add_citation(out, expectation.cites);
  // `expect: ok` is short for `expect: {reply: ok}`, for words only.
  const auto reply = out.only("reply");
  return reply && !reply->starts_with('{') ? *reply : out.text();
}

std::string timestamp_check_text(const TimestampCheck& check) {
  if (check.absent) return "absent";
  FlowMap out;
  if (check.save) out.add("save", text::yaml_scalar(*check.save));
  if (check.equals) out.add("equals", text::yaml_scalar(*check.equals));
  FlowMap versions;
  for (const auto& [value, name] : check.of_value) {
    versions.add(text::yaml_scalar(value), text::yaml_scalar(name));
  }
  if (!check.of_value.empty()) out.add("of_value", versions.text());
  FlowList less;
  for (const std::string& name : check.greater_than) less.add(text::yaml_scalar(name));
  if (!less.empty()) out.add("greater_than", less.text());
  return out.empty() ? "present" : out.text();
}

std::string time_point_text(const TimePoint& point) {
  std::string out = point.mark + (point.after_reply ? ".reply" : "");
  if (point.offset.count() != 0) out += " + " + duration_text(point.offset);
  return text::yaml_scalar(out);
}

void add_citation(FlowMap& out, const std::string& requirement) {
  if (!requirement.empty()) out.add("cites", text::yaml_scalar(requirement));
}

std::string timestamp_text(const TimestampSpec& timestamp) {
  if (const auto* literal = std::get_if<LiteralTimestamp>(&timestamp)) {
    return "{text: " + text::yaml_scalar(literal->text) + "}";
  }
  const auto* expression = std::get_if<TimestampExpression>(&timestamp);
  return expression == nullptr ? "none" : text::yaml_scalar(expression_text(*expression));
}

std::string duration_text(std::chrono::milliseconds duration) {
  struct Unit {
    std::int64_t ms;
    std::string_view name;
  };
  constexpr std::array<Unit, 3> kUnits = {{{3'600'000, "h"}, {60'000, "m"}, {1'000, "s"}}};
  const std::int64_t ms = duration.count();
  for (const Unit& unit : kUnits) {
    if (ms != 0 && ms % unit.ms == 0) return fmt::format("{}{}", ms / unit.ms, unit.name);
  }
  return fmt::format("{}ms", ms);
}

}  // namespace fencepost::scenario
