// Test only: loads scenario texts, and shows what came of them as text, so that tables can say what
// is expected.
//
//   EXPECT_THAT(load(in_steps("- get: [k]")).complaints(), ElementsAre(...));
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "suite/judge/judge.h"
#include "suite/scenario/bytes_loader.h"
#include "suite/scenario/scenario_loader.h"

namespace fencepost::scenario {

inline const std::set<std::string> kRequirements = {"SET-NX-1", "GET-HIT-1", "NTF-SEND-1"};

struct Loaded {
  std::vector<Case> cases;
  std::vector<LoadError> errors;

  [[nodiscard]] std::vector<std::string> diagnostics() const {
    std::vector<std::string> out;
    for (const LoadError& error : errors) out.push_back(describe(error));
    return out;
  }
};

inline Loaded load(const std::string& text) {
  Loaded out;
  out.cases = load_scenario({"f", text}, kRequirements, out.errors);
  return out;
}

// --- a loaded case as text, so that a table can say what is expected -----------------------------

inline std::string show(const BytesSpec& spec);

inline std::string show_list(const std::vector<BytesSpec>& parts) {
  std::string out;
  for (const BytesSpec& part : parts) out += (out.empty() ? "" : " ") + show(part);
  return out;
}

// Literal bytes as `"..."`, keys as `<name>`; a command has parentheses.
inline std::string show(const BytesSpec& spec) {
  if (const auto* bytes = std::get_if<LiteralBytes>(&spec.what)) {
    return "\"" + escape(bytes->bytes) + "\"";
  }
  if (const auto* bytes = std::get_if<LongBytes>(&spec.what)) {
    return "\"" + escape(bytes_of(*bytes)) + "\"";
  }
  if (const auto* key = std::get_if<KeyBytes>(&spec.what)) {
    return "<" + key->name + (key->append.empty() ? "" : " + " + escape(key->append)) + ">";
  }
  if (const auto* joined = std::get_if<JoinedBytes>(&spec.what)) {
    return "join(" + show_list(joined->parts) + ")";
  }
  return "(" + show_list(std::get<CommandBytes>(spec.what).arguments) + ")";
}

inline std::string show(const TimestampSpec& spec) {
  if (std::holds_alternative<NoTimestamp>(spec)) return "none";
  if (const auto* literal = std::get_if<LiteralTimestamp>(&spec)) {
    return "\"" + escape(literal->text) + "\"";
  }
  const auto& expression = std::get<TimestampExpression>(spec);
  std::string out = expression.base;
  if (expression.offset_ms != 0) out += " " + std::to_string(expression.offset_ms) + "ms";
  if (expression.counter_offset != 0) out += " +" + std::to_string(expression.counter_offset);
  if (expression.counter) out += " =" + std::to_string(*expression.counter);
  if (expression.node) out += " @" + *expression.node;
  return out;
}

inline std::string show_kind(codec::ReplyKind kind) {
  if (kind == codec::ReplyKind::kOk) return "ok";
  return kind == codec::ReplyKind::kMissing ? "missing" : "not-applied";
}

struct ShowOutcome {
  std::string operator()(const PlainReply& reply) const { return show_kind(reply.kind); }
  std::string operator()(const ValueReply& reply) const { return "value " + show(reply.value); }
  std::string operator()(const CountReply& reply) const {
    return "count " + std::to_string(reply.count);
  }
  std::string operator()(const ErrorReply& reply) const {
    return "error " + std::string(codec::name(reply.code));
  }
  std::string operator()(const ExactBytes& reply) const { return "bytes " + show(reply.bytes); }
  std::string operator()(const AnyError&) const { return "error"; }
  std::string operator()(const NoReply&) const { return "none"; }
  std::string operator()(const Disconnection&) const { return "disconnect"; }
};

inline std::string show(const std::vector<Outcome>& outcomes) {
  std::string out;
  for (const Outcome& outcome : outcomes) {
    if (!out.empty()) out += " | ";
    if (!outcome.after.empty()) out += "after " + outcome.after + ": ";
    if (!outcome.name.empty()) out += outcome.name + ": ";
    if (outcome.only_in) out += std::string(codec::dialect(*outcome.only_in).name) + " ";
    out += std::visit(ShowOutcome{}, outcome.what);
  }
  return out;
}

inline std::string show(const TimestampCheck& check) {
  std::string out = check.absent ? "absent" : check.present ? "present" : "";
  if (check.equals) out += " =" + *check.equals;
  for (const auto& [value, name] : check.of_value) out += " " + value + ":" + name;
  for (const std::string& name : check.greater_than) out += " >" + name;
  if (check.save) out += " save " + *check.save;
  return out;
}

inline std::string show(const TimePoint& point) {
  return point.mark + (point.after_reply ? ".reply" : "") + "+" +
         std::to_string(point.offset.count());
}

inline std::string show(const Expectation& expect) {
  std::string out = expect.open ? " => open " : " => ";
  if (!expect.by.empty()) out += "by " + expect.by + " ";
  out += show(expect.outcomes);
  if (expect.timestamp) out += ", ts " + show(*expect.timestamp);
  for (const auto& [name, value] : expect.user_properties) out += ", " + name + "=" + value;
  if (expect.content_type) out += ", type " + *expect.content_type;
  if (expect.payload_format) out += ", format " + std::to_string(*expect.payload_format);
  if (expect.before) out += ", before " + show(*expect.before);
  if (!expect.cites.empty()) out += ", cites " + expect.cites;
  return out;
}

inline std::string show_envelope(const RequestStep& step) {
  std::string out;
  if (step.qos != 1) out += " qos=" + std::to_string(step.qos);
  if (step.retain) out += " retain";
  if (step.topic) out += " topic=" + show(*step.topic);
  if (step.response_topic) out += " response=" + show(*step.response_topic);
  if (step.no_response_topic) out += " no-response-topic";
  if (step.correlation) out += " correlation=" + show(*step.correlation);
  if (step.no_correlation) out += " no-correlation";
  if (step.content_type) out += " type=" + *step.content_type;
  if (step.payload_format) out += " format=" + std::to_string(int{*step.payload_format});
  if (step.expiry_seconds) out += " expiry=" + std::to_string(*step.expiry_seconds);
  for (const auto& [name, value] : step.user_properties) out += " " + name + "=" + value;
  if (const auto& packet = step.packet) {
    if (packet->duplicate) out += " dup";
    if (packet->qos_3) out += " qos-3";
    if (packet->id) out += " id=" + std::to_string(*packet->id);
    if (packet->topic_alias) out += " alias=" + std::to_string(*packet->topic_alias);
    for (const std::string& name : packet->twice) out += " twice:" + name;
    if (!packet->more_properties.empty()) out += " more=" + escape(packet->more_properties);
    if (packet->wrong_length != 0) out += " length" + std::to_string(packet->wrong_length);
  }
  return out;
}

struct ShowStep {
  std::string operator()(const RequestStep& step) const {
    std::string out = step.client + " " + show(step.payload);
    if (!std::holds_alternative<NoTimestamp>(step.timestamp)) out += " ts=" + show(step.timestamp);
    if (!std::holds_alternative<NoTimestamp>(step.token)) out += " ft=" + show(step.token);
    out += show_envelope(step);
    for (const BytesSpec& key : step.written_keys) out += " writes:" + judge::resolve(key, "");
    if (!step.mark.empty()) out += " mark:" + step.mark;
    return out + show(step.expect);
  }
  std::string operator()(const PipelineStep& step) const {
    std::string out;
    for (const RequestStep& request : step.requests) {
      out += (out.empty() ? "" : "; ") + (*this)(request);
    }
    return out;
  }
  static std::string shown(const std::optional<OutcomeSeen>& when) {
    if (!when) return "";
    std::string out = ", when " + when->mark + ":";
    for (const std::string& name : when->outcomes) out += " " + name;
    return out;
  }
  std::string operator()(const NotificationStep& step) const {
    std::string out = step.client + " " + show(step.key);
    out += step.operation == codec::Operation::kSet ? " set" : " delete";
    if (step.value) out += " " + show(*step.value);
    if (step.timestamp) out += ", ts " + show(*step.timestamp);
    if (step.content_type) out += ", type " + *step.content_type;
    if (step.qos) out += ", qos " + std::to_string(*step.qos);
    out += ", within " + std::to_string(step.within.count());
    out += shown(step.when);
    if (step.optional) {
      out += ", " + step.optional->point + " " + step.optional->came + " or " +
             step.optional->missing + " by " + step.optional->writer;
    }
    return out + (step.cites.empty() ? "" : ", cites " + step.cites);
  }
  std::string operator()(const SilenceStep& step) const {
    std::string out = step.client + " by " + step.writer;
    for (const auto& [point, outcome] : step.shows) out += ", " + point + " " + outcome;
    out += shown(step.when);
    return out + (step.cites.empty() ? "" : ", cites " + step.cites);
  }
  std::string operator()(const UnsubscribeStep& step) const { return step.client; }
  std::string operator()(const WaitStep& step) const {
    return step.until ? "until " + show(*step.until) : std::to_string(step.duration->count());
  }
  std::string operator()(const ConnectStep& step) const { return step.client; }
  std::string operator()(const DisconnectStep& step) const {
    return step.client + (step.drop ? " dropped" : "");
  }
  std::string operator()(const SubscribeStep& step) const {
    return step.client + " " + show(step.filter);
  }
  std::string operator()(const FillQuotaStep& step) const {
    return step.client + " " + step.key + (step.cites.empty() ? "" : ", cites " + step.cites);
  }
  std::string operator()(const WriteManyStep& step) const {
    return step.client + " " + step.key + " " + std::to_string(step.keys) +
           (step.reads == 1 ? "" : " read " + std::to_string(step.reads) + " times") +
           (step.cites.empty() ? "" : ", cites " + step.cites);
  }
  std::string operator()(const FanOutStep& step) const {
    return step.client + " " + step.key + " to " + std::to_string(step.observers) +
           (step.cites.empty() ? "" : ", cites " + step.cites);
  }
  std::string operator()(const DisturbStep& step) const { return std::string(step.kind->object); }
};

inline std::string show(const Step& step) {
  return step.title + ": " + std::visit(ShowStep{}, step.what);
}

inline std::string show(const ClientSpec& spec) {
  std::string out = spec.name;
  if (!spec.role.empty()) out += " role=" + spec.role;
  if (spec.observes) out += " observes";
  if (!spec.subscribes) out += " silent";
  if (!spec.clean_start) out += " resumes";
  if (spec.session_expiry_seconds != 0) {
    out += " expiry=" + std::to_string(spec.session_expiry_seconds);
  }
  if (spec.receive_maximum != 0) out += " receives=" + std::to_string(spec.receive_maximum);
  if (spec.max_packet_size != 0) out += " packets=" + std::to_string(spec.max_packet_size);
  if (!spec.extras.connect_properties.empty()) {
    out += " connect=" + escape(spec.extras.connect_properties);
  }
  if (!spec.extras.subscribe_properties.empty()) {
    out += " subscribe=" + escape(spec.extras.subscribe_properties);
  }
  if (spec.extras.subscription_options != 0) {
    out += " options=" + std::to_string(spec.extras.subscription_options);
  }
  if (spec.extras.topic_aliases) out += " aliases";
  if (spec.old) out += " mqtt-3.1.1";
  if (spec.will) out += " will=" + show(spec.will->topic) + " " + show(spec.will->payload);
  if (!spec.same_id_as.empty()) out += " as=" + spec.same_id_as;
  if (spec.drops) out += " drops";
  return out;
}

template <typename Item>
std::vector<std::string> show_all(const std::vector<Item>& items) {
  std::vector<std::string> out;
  for (const Item& item : items) out.push_back(show(item));
  return out;
}

// --- files ---------------------------------------------------------------------------------------

// A file with one good case; `case_lines` are its lines from 6 on, `steps` those from 9 on when it
// is empty.
inline std::string file_with(const std::string& case_lines, const std::string& steps) {
  return "area: test\ncases:\n  - id: one\n    title: A title\n"
         "    requirements: [SET-NX-1, GET-HIT-1]\n" +
         case_lines + "    steps:\n      - set: {key: k, value: v}\n        expect: ok\n" + steps;
}

inline std::string indented(std::string_view text, std::size_t columns) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += std::string(columns, ' ') + std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// Lines of a case from line 6, column 5 on; and steps from line 9, column 7 on.
inline std::string in_case(std::string_view lines) { return file_with(indented(lines, 4), ""); }
inline std::string in_steps(std::string_view lines) { return file_with("", indented(lines, 6)); }
// The same with the divergence, which takes a line.
inline std::string in_steps_with(std::string_view divergence, std::string_view lines) {
  return file_with("    divergence: [" + std::string(divergence) + "]\n", indented(lines, 6));
}

}  // namespace fencepost::scenario
