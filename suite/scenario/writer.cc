#include "suite/scenario/writer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text/printable.h"
#include "base/text/yaml_quote.h"
#include "base/utf8.h"
#include "codec/command.h"
#include "suite/scenario/axes.h"
#include "suite/scenario/bytes_writer.h"
#include "suite/scenario/expectation_writer.h"
#include "suite/scenario/flow_text.h"
#include "suite/scenario/recorded.h"

namespace fencepost::scenario {
namespace {

constexpr std::size_t kCaseIndent = 4;
constexpr std::size_t kStepIndent = 6;

// What a request sends, in the notation of its action: {key, value, options}, or of send {command}
// or {payload}.
void add_payload(FlowMap& out, std::string_view action, const BytesSpec& payload) {
  const auto* command = std::get_if<CommandBytes>(&payload.what);
  if (action == "send") {
    if (command == nullptr) {
      out.add("payload", bytes_text(payload));
    } else {
      FlowList arguments;
      for (const BytesSpec& argument : command->arguments) arguments.add(bytes_text(argument));
      out.add("command", arguments.text());
    }
    return;
  }
  auto argument = command->arguments.begin() + 1;
  out.add("key", key_text(*argument++));
  if (action == "set" || action == "vdel") out.add("value", bytes_text(*argument++));
  FlowList options;
  for (; argument != command->arguments.end(); ++argument) {
    options.add(text::yaml_scalar(std::get<LiteralBytes>(argument->what).bytes));
  }
  if (!options.empty()) out.add("options", options.text());
}

// The keys that a request says it writes, but for that of `set`, which is known.
void add_written_keys(FlowMap& out, std::string_view action, const RequestStep& request) {
  FlowList names;
  for (const BytesSpec& key : std::span(request.written_keys).subspan(action == "set" ? 1 : 0)) {
    names.add(text::yaml_scalar(std::get<KeyBytes>(key.what).name));
  }
  if (!names.empty()) out.add("writes", names.text());
}

// In these places the words `none` and `default` are no bytes, not even in quotes.
std::string envelope_bytes_text(const BytesSpec& spec) {
  const auto* literal = std::get_if<LiteralBytes>(&spec.what);
  if (literal != nullptr && (literal->bytes == "none" || literal->bytes == "default")) {
    return "{escaped: " + literal->bytes + "}";
  }
  return bytes_text(spec);
}

void add_envelope(FlowMap& out, const RequestStep& request) {
  if (request.qos != 1) out.add("qos", std::to_string(request.qos));
  if (request.retain) out.add("retain", "true");
  if (request.topic) out.add("topic", envelope_bytes_text(*request.topic));
  if (request.no_response_topic) out.add("response_topic", "none");
  if (request.response_topic) {
    out.add("response_topic", envelope_bytes_text(*request.response_topic));
  }
  if (request.no_correlation) out.add("correlation", "none");
  if (request.correlation) out.add("correlation", envelope_bytes_text(*request.correlation));
  if (request.content_type) out.add("content_type", text::yaml_scalar(*request.content_type));
  if (request.payload_format) {
    out.add("payload_format", std::to_string(int{*request.payload_format}));
  }
  if (request.expiry_seconds) out.add("expiry", std::to_string(*request.expiry_seconds));
  FlowList properties;
  for (const auto& [name, value] : request.user_properties) {
    FlowList pair;
    pair.add(text::yaml_scalar(name));
    pair.add(text::yaml_scalar(value));
    properties.add(pair.text());
  }
  if (!properties.empty()) out.add("properties", properties.text());
}

void add_packet(FlowMap& out, const RequestStep& request) {
  if (!request.packet) return;
  const PacketSpec& packet = *request.packet;
  FlowMap members;
  if (packet.duplicate) members.add("dup", "true");
  if (packet.qos_3) members.add("qos", "3");
  if (packet.id) members.add("id", std::to_string(*packet.id));
  if (packet.topic_alias) members.add("topic_alias", std::to_string(*packet.topic_alias));
  FlowList twice;
  for (const std::string& name : packet.twice) twice.add(name);
  if (!twice.empty()) members.add("twice", twice.text());
  if (!packet.more_properties.empty()) {
    members.add("more_properties", bytes_text({LiteralBytes{packet.more_properties}}));
  }
  if (packet.wrong_length != 0) {
    members.add("wrong_length", std::to_string(packet.wrong_length));
  }
  out.add("packet", members.text());
}

bool is_plain_now(const TimestampSpec& timestamp) {
  return timestamp == TimestampSpec{TimestampExpression{.base = "now"}};
}

// The lines of one step.
class StepWriter {
 public:
  StepWriter(const Case& test_case, std::string& out) : case_(test_case), out_(out) {}

  void write(const Step& step) {
    std::visit([&](const auto& what) { write_action(step, what); }, step.what);
    if (!step.note.empty()) line("note: " + text::yaml_scalar(step.note));
  }

 private:
  void action(std::string_view name, const std::string& value) {
    out_ += fmt::format("{:{}}- {}:{}{}\n", "", indent_, name, value.empty() ? "" : " ", value);
  }
  void line(const std::string& text) { out_ += fmt::format("{:{}}  {}\n", "", indent_, text); }

  void add_client(FlowMap& out, const std::string& client) const {
    if (client != case_.clients.front().name) out.add("client", text::yaml_scalar(client));
  }

  void write_action(const Step& step, const RequestStep& request) {
    write_request(step.title, request);
  }

  void write_request(std::string_view name, const RequestStep& request) {
    FlowMap members;
    add_payload(members, name, request.payload);
    add_written_keys(members, name, request);
    add_client(members, request.client);
    const bool sets = name == "set";
    if (std::holds_alternative<NoTimestamp>(request.timestamp)) {
      if (sets) members.add("ts", "none");
    } else if (!sets || !is_plain_now(request.timestamp)) {
      members.add("ts", timestamp_text(request.timestamp));
    }
    if (!std::holds_alternative<NoTimestamp>(request.token)) {
      members.add("ft", timestamp_text(request.token));
    }
    add_envelope(members, request);
    add_packet(members, request);
    if (!request.mark.empty()) members.add("mark", text::yaml_scalar(request.mark));
    // `get: k` is short for `get: {key: k}`.
    const auto key = name == "send" ? std::nullopt : members.only("key");
    action(name, key && !key->starts_with('{') ? *key : members.text());
    if (request.expect != Expectation{}) line("expect: " + expectation_text(request.expect));
  }

  void write_action(const Step& /*step*/, const PipelineStep& pipeline) {
    action("pipeline", "");
    indent_ += kCaseIndent;
    for (const RequestStep& request : pipeline.requests) {
      // As `keynotify` it would make its client observe.
      const std::string_view name = action_of(request);
      write_request(name == "keynotify" && !observes(request.client) ? "send" : name, request);
    }
    indent_ -= kCaseIndent;
  }

  [[nodiscard]] bool observes(const std::string& client) const {
    return std::any_of(case_.clients.begin(), case_.clients.end(), [&](const ClientSpec& spec) {
      return spec.name == client && spec.observes;
    });
  }

  void write_action(const Step& step, const NotificationStep& notification) {
    FlowMap members;
    members.add("key", key_text(notification.key));
    add_client(members, notification.client);
    members.add("operation",
                notification.operation == codec::Operation::kDelete ? "delete" : "set");
    if (notification.value) members.add("value", bytes_text(*notification.value));
    if (notification.timestamp) members.add("ts", timestamp_check_text(*notification.timestamp));
    if (notification.within != NotificationStep{}.within) {
      members.add("within", duration_text(notification.within));
    }
    if (notification.content_type) {
      members.add("content_type", text::yaml_scalar(*notification.content_type));
    }
    if (notification.qos) members.add("qos", std::to_string(*notification.qos));
    add_when(members, notification.when);
    if (notification.optional) {
      FlowMap optional;
      optional.add("writer", text::yaml_scalar(notification.optional->writer));
      optional.add("point", text::yaml_scalar(notification.optional->point));
      optional.add("came", text::yaml_scalar(notification.optional->came));
      optional.add("missing", text::yaml_scalar(notification.optional->missing));
      members.add("optional", optional.text());
    }
    add_citation(members, notification.cites);
    action(step.title, members.text());
  }

  static void add_when(FlowMap& members, const std::optional<OutcomeSeen>& seen) {
    if (!seen) return;
    FlowList outcomes;
    for (const std::string& name : seen->outcomes) outcomes.add(text::yaml_scalar(name));
    FlowMap when;
    when.add(text::yaml_scalar(seen->mark), outcomes.text());
    members.add("when", when.text());
  }

  void write_action(const Step& step, const SilenceStep& silence) {
    if (silence.writer == silence.client && silence.cites.empty() && silence.shows.empty() &&
        !silence.when) {
      return action(step.title, text::yaml_scalar(silence.client));
    }
    FlowMap members;
    members.add("client", text::yaml_scalar(silence.client));
    if (silence.writer != silence.client) members.add("writer", text::yaml_scalar(silence.writer));
    add_citation(members, silence.cites);
    FlowMap shows;
    for (const auto& [point, outcome] : silence.shows) {
      shows.add(text::yaml_scalar(point), text::yaml_scalar(outcome));
    }
    if (!silence.shows.empty()) members.add("shows", shows.text());
    add_when(members, silence.when);
    action(step.title, members.text());
  }

  void write_action(const Step& step, const WaitStep& wait) {
    action(step.title, wait.until ? "{until: " + time_point_text(*wait.until) + "}"
                                  : duration_text(*wait.duration));
  }
  void write_action(const Step& step, const ConnectStep& connect) {
    action(step.title, text::yaml_scalar(connect.client));
  }
  void write_action(const Step& /*step*/, const DisconnectStep& disconnect) {
    action(disconnect.drop ? "drop" : "disconnect", text::yaml_scalar(disconnect.client));
  }
  void write_action(const Step& step, const SubscribeStep& subscribe) {
    FlowMap members;
    members.add("filter", bytes_text(subscribe.filter));
    add_client(members, subscribe.client);
    action(step.title, members.text());
  }
  void write_action(const Step& step, const UnsubscribeStep& unsubscribe) {
    action(step.title, text::yaml_scalar(unsubscribe.client));
  }
  void write_action(const Step& step, const FillQuotaStep& fill) {
    FlowMap members;
    members.add("key", text::yaml_scalar(fill.key));
    add_client(members, fill.client);
    add_citation(members, fill.cites);
    action(step.title, members.text());
  }
  void write_action(const Step& step, const WriteManyStep& many) {
    FlowMap members;
    members.add("key", text::yaml_scalar(many.key));
    members.add("keys", std::to_string(many.keys));
    if (many.reads > 1) members.add("reads", std::to_string(many.reads));
    add_client(members, many.client);
    add_citation(members, many.cites);
    action(step.title, members.text());
  }
  void write_action(const Step& step, const FanOutStep& fan_out) {
    FlowMap members;
    members.add("key", text::yaml_scalar(fan_out.key));
    members.add("observers", std::to_string(fan_out.observers));
    add_client(members, fan_out.client);
    add_citation(members, fan_out.cites);
    action(step.title, members.text());
  }
  void write_action(const Step& step, const DisturbStep& disturb) {
    action(step.title, std::string(disturb.kind->object));
  }

  const Case& case_;
  std::string& out_;
  std::size_t indent_ = kStepIndent;
};

std::string client_text(const ClientSpec& client) {
  FlowMap out;
  if (!client.role.empty()) out.add("role", text::yaml_scalar(client.role));
  if (client.observes) out.add("observes", "true");
  if (!client.subscribes) out.add("subscribes", "false");
  if (!client.clean_start) out.add("clean_start", "false");
  if (client.session_expiry_seconds != 0) {
    out.add("session_expiry", std::to_string(client.session_expiry_seconds));
  }
  if (client.receive_maximum != 0) {
    out.add("receive_maximum", std::to_string(client.receive_maximum));
  }
  if (client.max_packet_size != 0) {
    out.add("max_packet_size", std::to_string(client.max_packet_size));
  }
  const endpoint::MqttExtras& extras = client.extras;
  if (!extras.connect_properties.empty()) {
    out.add("connect_properties", bytes_text({LiteralBytes{extras.connect_properties}}));
  }
  if (!extras.subscribe_properties.empty()) {
    out.add("subscribe_properties", bytes_text({LiteralBytes{extras.subscribe_properties}}));
  }
  if (extras.subscription_options != 0) {
    out.add("subscription_options", std::to_string(extras.subscription_options));
  }
  if (extras.topic_aliases) out.add("topic_aliases", "true");
  if (client.will) {
    FlowMap will;
    will.add("topic", bytes_text(client.will->topic));
    will.add("payload", bytes_text(client.will->payload));
    out.add("will", will.text());
  }
  if (client.old) out.add("protocol", text::yaml_scalar("3.1.1"));
  if (!client.same_id_as.empty()) out.add("same_id_as", text::yaml_scalar(client.same_id_as));
  return out.text();
}

std::string list_text(const std::vector<std::string>& texts) {
  FlowList out;
  for (const std::string& text : texts) out.add(text::yaml_scalar(text));
  return out.text();
}

// The lines of one case.
class CaseWriter {
 public:
  CaseWriter(const Case& test_case, std::string& out) : case_(test_case), out_(out) {}

  void write(const std::vector<std::string>& comments) {
    for (const std::string& comment : comments) out_ += "  # " + text::one_line(comment) + "\n";
    const bool is_member = !case_.axes.empty();
    out_ += "  - id: " + text::yaml_scalar(is_member ? case_.family : case_.id) + "\n";
    line("title", text::yaml_scalar(title()));
    if (!case_.note.empty()) line("note", text::yaml_scalar(case_.note));
    if (case_.recorded) out_ += text_of(*case_.recorded, kCaseIndent);
    line("requirements", list_text(case_.requirements));
    if (!case_.divergences.empty()) line("divergence", divergences());
    if (!case_.requires_.empty()) line("requires", list_text(case_.requires_));
    if (!case_.tags.empty()) line("tags", list_text(case_.tags));
    if (case_.exclusive) line("exclusive", "true");
    if (is_member) line("axes", axes());
    if (is_numbered()) line("cover", "{member: " + number() + "}");
    line("clients", clients());
    out_ += "    steps:\n";
    for (const Step& step : case_.steps) StepWriter(case_, out_).write(step);
  }

 private:
  void line(std::string_view key, const std::string& value) {
    out_ += fmt::format("{:{}}{}: {}\n", "", kCaseIndent, key, value);
  }

  // The loader adds to a member's title which member it is.
  [[nodiscard]] std::string title() const {
    if (case_.axes.empty()) return case_.title;
    const std::string which = is_numbered() ? "combination " + number() : describe(case_.axes);
    const std::string suffix = " (" + which + ")";
    FENCEPOST_CHECK(case_.title.ends_with(suffix));
    return case_.title.substr(0, case_.title.size() - suffix.size());
  }

  // Is it a member of a family with `cover`?
  [[nodiscard]] bool is_numbered() const {
    if (case_.axes.empty()) return false;
    std::string id = case_.family;
    for (const AxisBinding& binding : case_.axes) id += "." + binding.value;
    return case_.id != id;
  }
  [[nodiscard]] std::string number() const { return case_.id.substr(case_.family.size() + 1); }

  [[nodiscard]] std::string divergences() const {
    FlowList out;
    for (const codec::Divergence divergence : case_.divergences) {
      out.add(std::string(name(divergence)));
    }
    return out.text();
  }

  // What the values stood for is written out in the steps. The note makes them say something, as
  // the loader refuses an axis that changes nothing.
  [[nodiscard]] std::string axes() const {
    FlowMap out;
    for (const AxisBinding& binding : case_.axes) {
      out.add(text::yaml_scalar(binding.axis),
              "{" + text::yaml_scalar(binding.value) + ": {note: one member of a family}}");
    }
    return out.text();
  }

  [[nodiscard]] std::string clients() const {
    FlowMap out;
    for (const ClientSpec& client : case_.clients) {
      out.add(text::yaml_scalar(client.name), client_text(client));
    }
    return out.text();
  }

  const Case& case_;
  std::string& out_;
};

bool is_name_without_append(const BytesSpec& spec) {
  const auto* key = std::get_if<KeyBytes>(&spec.what);
  return key != nullptr && key->append.empty();
}

bool is_text(const BytesSpec& spec) {
  if (const auto* many = std::get_if<LongBytes>(&spec.what)) return is_utf8(many->unit);
  const auto* literal = std::get_if<LiteralBytes>(&spec.what);
  return literal != nullptr && is_utf8(literal->bytes);
}

}  // namespace

std::string to_yaml(std::span<const Case> cases, const FileComments& comments) {
  FENCEPOST_CHECK(!cases.empty());
  std::string out;
  for (const std::string& comment : comments.file) out += "# " + text::one_line(comment) + "\n";
  out += "area: " + text::yaml_scalar(cases.front().area) + "\ncases:\n";
  for (const Case& test_case : cases) {
    FENCEPOST_CHECK(test_case.area == cases.front().area);
    const auto found = comments.cases.find(test_case.id);
    CaseWriter(test_case, out)
        .write(found == comments.cases.end() ? std::vector<std::string>{} : found->second);
  }
  return out;
}

std::string_view action_of(const RequestStep& request) {
  constexpr std::array<std::pair<codec::Verb, std::string_view>, 5> kActions = {
      {{codec::Verb::kSet, "set"},
       {codec::Verb::kGet, "get"},
       {codec::Verb::kDel, "del"},
       {codec::Verb::kVdel, "vdel"},
       {codec::Verb::kKeynotify, "keynotify"}}};
  const auto* command = std::get_if<CommandBytes>(&request.payload.what);
  if (command == nullptr || command->arguments.empty()) return "send";
  const auto* verb = std::get_if<LiteralBytes>(&command->arguments.front().what);
  const auto found = std::find_if(kActions.begin(), kActions.end(), [&](const auto& entry) {
    return verb != nullptr && codec::name(entry.first) == verb->bytes;
  });
  if (found == kActions.end()) return "send";
  const bool has_value = codec::has_value(found->first);
  const auto options = static_cast<std::ptrdiff_t>(has_value ? 3 : 2);
  const std::vector<BytesSpec>& arguments = command->arguments;
  if (std::ssize(arguments) < options ||
      !std::all_of(arguments.begin() + options, arguments.end(), is_text)) {
    return "send";
  }
  // A SET that no file says to write its key is not that of `set`.
  const auto& written = request.written_keys;
  if (found->first == codec::Verb::kSet && (written.empty() || written.front() != arguments[1])) {
    return "send";
  }
  const auto named = written.begin() + (found->first == codec::Verb::kSet ? 1 : 0);
  return std::all_of(named, written.end(), is_name_without_append) ? found->second : "send";
}

}  // namespace fencepost::scenario
