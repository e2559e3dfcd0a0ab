#include "conformance/scenario/step_loader.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "conformance/scenario/bytes_loader.h"
#include "conformance/scenario/expectation_loader.h"
#include "conformance/scenario/scenario_fields.h"
#include "conformance/scenario/timestamp_expression.h"

namespace fencepost::scenario {
namespace {

constexpr std::string_view kNoneWord = "none";
constexpr std::string_view kDefaultWord = "default";

// Loads the steps of one case.
class StepLoader {
 public:
  StepLoader(YamlReader& reader, Case& test_case) : reader_(reader), case_(test_case) {
    known_.requirements.insert(case_.requirements.begin(), case_.requirements.end());
  }

  void load_clients(YamlNode node) {
    if (!node.is_defined()) {
      case_.clients.push_back({.name = "a"});
      return;
    }
    if (!node.is_map() || node.size() == 0) {
      reader_.complain(node, "clients must map names to their options, e.g. {a: {}, b: {}}");
      return;
    }
    if (!reader_.check_names(node, "clients")) return;
    for (const auto& entry : node.entries()) load_client(entry.key.scalar(), entry.value);
  }

  void load_steps(YamlNode node) {
    if (!node.is_list() || node.size() == 0) {
      reader_.complain(node, "steps must be a list of at least one step");
      return;
    }
    for (const YamlNode step : node.items()) {
      if (auto loaded = load_step(step)) case_.steps.push_back(std::move(*loaded));
    }
  }

 private:
  void load_client(const std::string& name, YamlNode node) {
    if (!reader_.check_map(node, "client", fields::kClient)) return;
    ClientSpec spec{.name = name};
    if (const auto role = node.member("role"); role.is_defined()) {
      spec.role = reader_.text(role, "role").value_or("");
    }
    if (const auto id = node.member("same_id_as"); id.is_defined()) {
      spec.same_id_as = client_name(id);
    }
    const auto flag = [&](const char* key, bool& value) {
      const YamlNode member = node.member(key);
      if (member.is_defined()) value = reader_.boolean(member, key).value_or(value);
    };
    flag("subscribes", spec.subscribes);
    flag("observes", spec.observes);
    flag("clean_start", spec.clean_start);
    if (const auto expiry = node.member("session_expiry"); expiry.is_defined()) {
      const auto seconds = reader_.integer(expiry, "session_expiry (seconds)", 0, 86'400);
      spec.session_expiry_seconds = static_cast<std::uint32_t>(seconds.value_or(0));
    }
    case_.clients.push_back(std::move(spec));
  }

  ClientSpec* find_client(const std::string& name) {
    const auto found = std::find_if(case_.clients.begin(), case_.clients.end(),
                                    [&](const ClientSpec& spec) { return spec.name == name; });
    return found == case_.clients.end() ? nullptr : &*found;
  }

  // The client named by `node`, or the case's first when there is no node.
  std::string client_name(YamlNode node) {
    if (!node.is_defined()) return case_.clients.empty() ? "" : case_.clients.front().name;
    const auto name = reader_.text(node, "client");
    if (name && find_client(*name) == nullptr) {
      reader_.complain(node, "there is no client \"" + *name + "\"; declare it under clients");
    }
    return name.value_or("");
  }

  // The key of the step that says what is done.
  std::optional<std::string> action_of(YamlNode node) {
    std::optional<std::string> action;
    for (const auto& entry : node.entries()) {
      const std::string key = entry.key.scalar();
      if (key == "expect" || key == "note") continue;
      if (action) {
        reader_.complain(entry.key, "a step has one action, and this one has both \"" + *action +
                                        "\" and \"" + key + "\"; make two steps");
        return std::nullopt;
      }
      action = key;
    }
    if (!action)
      reader_.complain(node, "this step does nothing; give it an action such as set or get");
    return action;
  }

  std::optional<Step> load_step(YamlNode node) {
    if (!reader_.check_map(node, "step", fields::kStep)) return std::nullopt;
    const auto action = action_of(node);
    if (!action) return std::nullopt;
    Step step{.position = reader_.position(node),
              .title = *action,
              .what = {},
              .note = load_note(reader_, node)};
    const YamlNode body = node.member(*action);
    const YamlNode expect = node.member("expect");
    static const std::set<std::string_view> requests = {"set",  "get",       "del",
                                                        "vdel", "keynotify", "send"};
    if (requests.contains(*action)) {
      auto request = load_request(*action, body, expect);
      if (!request) return std::nullopt;
      step.what = std::move(*request);
      return step;
    }
    if (expect.is_defined()) {
      reader_.complain(expect, "only requests have an expect; \"" + *action + "\" is none");
    }
    if (!load_other(*action, body, step)) return std::nullopt;
    return step;
  }

  bool load_other(const std::string& action, YamlNode body, Step& step) {
    if (action == "pipeline") return load_pipeline(body, step);
    if (action == "notification") return load_notification(body, step);
    if (action == "silence") return load_silence(body, step);
    if (action == "wait") return load_wait(body, step);
    if (action == "subscribe") return load_subscribe(body, step);
    if (action == "fill_quota") return load_fill_quota(body, step);
    if (action == "write_many") return load_write_many(body, step);
    if (action == "restart") return load_restart(body, step);
    const std::string client = client_name(body);
    if (action == "connect") {
      step.what = ConnectStep{client};
    } else {
      step.what = DisconnectStep{client, action == "drop"};
      if (ClientSpec* spec = find_client(client); spec != nullptr && action == "drop") {
        spec->drops = true;
      }
    }
    return true;
  }

  // Has the request only those members that its verb can send? One that is not sent would be
  // ignored.
  bool check_sent_members(const std::string& action, YamlNode members) {
    static const std::set<std::string_view> sent = {"key", "value", "options", "command",
                                                    "payload"};
    std::set<std::string_view> own = {"key", "options"};
    if (action == "set" || action == "vdel") own.insert("value");
    if (action == "send") own = {"command", "payload"};
    for (const auto& entry : members.entries()) {
      const std::string name = entry.key.scalar();
      if (!sent.contains(name) || own.contains(name)) continue;
      reader_.complain(entry.key, action + " takes no " + name + "; remove it");
      return false;
    }
    return true;
  }

  // The payload of a request, from the members that its verb has. `get: k` is short for
  // `get: {key: k}`.
  std::optional<BytesSpec> load_payload(const std::string& action, YamlNode body) {
    const YamlNode key = body.is_scalar() ? body : body.member("key");
    const YamlNode value = body.member("value");
    const YamlNode options = body.member("options");
    if (!check_sent_members(action, body)) return std::nullopt;
    if (action == "send") return load_sent_payload(body);
    if (!key.is_defined()) {
      reader_.complain(body, action + " needs the key \"key\"");
      return std::nullopt;
    }
    const bool has_value = action == "set" || action == "vdel";
    if (has_value && !value.is_defined()) {
      reader_.complain(
          body, action + " needs the key \"value\", e.g. " + action + ": {key: k, value: v}");
      return std::nullopt;
    }
    std::string verb = action;
    std::transform(verb.begin(), verb.end(), verb.begin(),
                   [](char c) { return static_cast<char>(c - 'a' + 'A'); });
    CommandBytes command{{BytesSpec{LiteralBytes{verb}}}};
    auto key_bytes = load_key(reader_, key, "key");
    if (!key_bytes) return std::nullopt;
    command.arguments.push_back(std::move(*key_bytes));
    if (has_value) {
      auto value_bytes = load_bytes(reader_, value, "value");
      if (!value_bytes) return std::nullopt;
      command.arguments.push_back(std::move(*value_bytes));
    }
    if (options.is_defined()) {
      for (std::string& option : reader_.texts(options, "options")) {
        command.arguments.push_back({LiteralBytes{std::move(option)}});
      }
    }
    return BytesSpec{std::move(command)};
  }

  std::optional<BytesSpec> load_sent_payload(YamlNode body) {
    const YamlNode command = body.member("command");
    const YamlNode payload = body.member("payload");
    if (command.is_defined() == payload.is_defined()) {
      reader_.complain(body, "send needs either command: [...] or payload: <bytes>");
      return std::nullopt;
    }
    if (payload.is_defined()) return load_bytes(reader_, payload, "payload");
    if (!command.is_list()) {
      reader_.complain(command, "command must be a list of arguments, e.g. [\"GET\", {key: k}]");
      return std::nullopt;
    }
    CommandBytes out;
    for (const YamlNode item : command.items()) {
      auto argument = load_bytes(reader_, item, "argument");
      if (!argument) return std::nullopt;
      out.arguments.push_back(std::move(*argument));
    }
    return BytesSpec{std::move(out)};
  }

  void load_mark(YamlNode node, RequestStep& request) {
    const auto name = reader_.text(node, "mark");
    if (!name) return;
    if (!is_name(*name)) {
      reader_.complain(node, "mark \"" + *name +
                                 "\" must be letters, digits, _ and -, and begin with "
                                 "a letter");
    } else if (!known_.marks.insert(*name).second) {
      reader_.complain(node, "an earlier step has mark: " + *name + "; choose another name");
    }
    request.mark = *name;
  }

  std::optional<RequestStep> load_request(const std::string& action, YamlNode body,
                                          YamlNode expect) {
    const bool is_short = body.is_scalar() && action != "send";
    if (!is_short && !reader_.check_map(body, action, fields::kRequest)) return std::nullopt;
    RequestStep request;
    auto payload = load_payload(action, body);
    if (!payload) return std::nullopt;
    request.payload = std::move(*payload);
    request.client = client_name(body.member("client"));
    if (action == "set") {
      request.timestamp = TimestampExpression{.base = "now"};
      // The loader makes SET, key, value, options of it.
      const auto& command = std::get<CommandBytes>(request.payload.what);
      request.written_keys.push_back(command.arguments[1]);
    }
    load_timestamps(body, request);
    load_envelope(body, request);
    if (const auto writes = body.member("writes"); writes.is_defined()) {
      for (std::string& name : reader_.texts(writes, "writes")) {
        request.written_keys.push_back({KeyBytes{std::move(name), {}}});
      }
    }
    if (const auto mark = body.member("mark"); mark.is_defined()) {
      load_mark(mark, request);
    }
    if (action == "keynotify") {
      if (ClientSpec* spec = find_client(request.client)) spec->observes = true;
    }
    if (expect.is_defined()) {
      auto expectation = load_expectation(reader_, expect, known_);
      if (!expectation) return std::nullopt;
      request.expect = std::move(*expectation);
      if (!sends_timestamp(request)) refuse_sent(request.expect.timestamp, expect);
    }
    return request;
  }

  static bool sends_timestamp(const RequestStep& request) {
    return !std::holds_alternative<NoTimestamp>(request.timestamp) ||
           std::any_of(request.user_properties.begin(), request.user_properties.end(),
                       [](const auto& property) { return property.first == "__ts"; });
  }

  // Without a timestamp that was sent, `greater_than: [sent]` would hold of anything.
  void refuse_sent(const std::optional<TimestampCheck>& check, YamlNode node) {
    if (!check || std::find(check->greater_than.begin(), check->greater_than.end(), "sent") ==
                      check->greater_than.end()) {
      return;
    }
    reader_.complain(
        node.member("ts").member("greater_than"),
        "nothing is greater than sent here, as no request with a ts is being answered");
  }

  TimestampSpec load_timestamp(YamlNode node, std::string_view what) {
    if (node.is_map()) {
      if (!reader_.check_map(node, what, fields::kLiteralTimestamp, {"text"})) return NoTimestamp{};
      return LiteralTimestamp{reader_.text(node.member("text"), "text").value_or("")};
    }
    const auto text = reader_.text(node, what);
    if (!text || *text == kNoneWord) return NoTimestamp{};
    auto expression = parse_timestamp_expression(*text);
    if (!expression) {
      reader_.complain(node, expression.error());
      return NoTimestamp{};
    }
    if (unanswered_.contains(expression->base)) {
      reader_.complain(node, "the pipeline sends this request before the reply with \"" +
                                 expression->base + "\" is there; end the pipeline before it");
    } else if (expression->base != "now" && expression->base != kSkewLimit &&
               !known_.timestamps.contains(expression->base)) {
      reader_.complain(node, "no earlier step saves a timestamp as \"" + expression->base +
                                 "\"; add ts: {save: " + expression->base +
                                 "} to the step that receives it");
    }
    return std::move(*expression);
  }

  void load_timestamps(YamlNode body, RequestStep& request) {
    if (const auto ts = body.member("ts"); ts.is_defined()) {
      request.timestamp = load_timestamp(ts, "ts");
    }
    if (const auto ft = body.member("ft"); ft.is_defined()) {
      request.token = load_timestamp(ft, "ft");
    }
  }

  // `default`, `none` or bytes.
  void load_optional_bytes(YamlNode node, std::string_view what, std::optional<BytesSpec>& bytes,
                           bool& none) {
    if (!node.is_defined()) return;
    if (node.is_scalar() && node.scalar() == kDefaultWord) return;
    none = node.is_scalar() && node.scalar() == kNoneWord;
    if (!none) bytes = load_bytes(reader_, node, what);
  }

  void load_envelope(YamlNode body, RequestStep& request) {
    const auto integer = [&](const char* key, std::int64_t most) -> std::optional<std::int64_t> {
      const YamlNode node = body.member(key);
      return node.is_defined() ? reader_.integer(node, key, 0, most) : std::nullopt;
    };
    if (const auto qos = integer("qos", 2)) request.qos = static_cast<int>(*qos);
    if (const auto format = integer("payload_format", 1)) {
      request.payload_format = static_cast<std::uint8_t>(*format);
    }
    if (const auto expiry = integer("expiry", std::numeric_limits<std::uint32_t>::max())) {
      request.expiry_seconds = static_cast<std::uint32_t>(*expiry);
    }
    if (const auto retain = body.member("retain"); retain.is_defined()) {
      request.retain = reader_.boolean(retain, "retain").value_or(false);
    }
    if (const auto type = body.member("content_type"); type.is_defined()) {
      request.content_type = reader_.text(type, "content_type");
    }
    bool no_topic = false;
    const YamlNode topic = body.member("topic");
    load_optional_bytes(topic, "topic", request.topic, no_topic);
    if (no_topic)
      reader_.complain(topic, "a request has a topic; {escaped: none} is the topic \"none\"");
    load_optional_bytes(body.member("response_topic"), "response_topic", request.response_topic,
                        request.no_response_topic);
    load_optional_bytes(body.member("correlation"), "correlation", request.correlation,
                        request.no_correlation);
    load_user_properties(body.member("properties"), request);
  }

  void load_user_properties(YamlNode node, RequestStep& request) {
    if (!node.is_defined()) return;
    if (!node.is_list()) {
      reader_.complain(node,
                       "properties of a request must be a list of pairs, e.g. "
                       "[[\"__srcId\", \"x\"]]");
      return;
    }
    for (const YamlNode pair : node.items()) {
      const std::vector<std::string> texts = reader_.texts(pair, "a user property");
      if (texts.size() == 2 && pair.size() == 2) {
        request.user_properties.emplace_back(texts[0], texts[1]);
      } else if (pair.is_list() && texts.size() == pair.size()) {
        reader_.complain(pair, "a user property is a pair [name, value]");
      }
    }
  }

  bool load_pipeline(YamlNode body, Step& step) {
    if (!body.is_list() || body.size() < 2) {
      reader_.complain(body, "pipeline must be a list of at least two requests");
      return false;
    }
    PipelineStep pipeline;
    const std::set<std::string> answered = known_.timestamps;
    for (const YamlNode item : body.items()) {
      std::set_difference(known_.timestamps.begin(), known_.timestamps.end(), answered.begin(),
                          answered.end(), std::inserter(unanswered_, unanswered_.end()));
      auto loaded = load_step(item);
      if (!loaded) return false;
      auto* request = std::get_if<RequestStep>(&loaded->what);
      if (request == nullptr) {
        reader_.complain(item, "a pipeline has requests only");
        return false;
      }
      pipeline.requests.push_back(std::move(*request));
    }
    unanswered_.clear();
    step.what = std::move(pipeline);
    return true;
  }

  bool load_notification(YamlNode body, Step& step) {
    if (!reader_.check_map(body, "notification", fields::kNotification, {"key", "operation"})) {
      return false;
    }
    NotificationStep out;
    out.client = client_name(body.member("client"));
    auto key = load_key(reader_, body.member("key"), "key");
    if (!key) return false;
    out.key = std::move(*key);
    const YamlNode operation = body.member("operation");
    const auto word = reader_.text(operation, "operation");
    if (!word) return false;
    out.operation = *word == "delete" ? codec::Operation::kDelete : codec::Operation::kSet;
    if (*word != "set" && *word != "delete") {
      reader_.complain(operation, "operation must be set or delete, not \"" + *word + "\"");
      return false;
    }
    if (ClientSpec* spec = find_client(out.client)) spec->observes = true;
    if (const auto value = body.member("value"); value.is_defined()) {
      out.value = load_bytes(reader_, value, "value");
    }
    if (const auto ts = body.member("ts"); ts.is_defined()) {
      out.timestamp = load_timestamp_check(reader_, ts, known_);
      refuse_sent(out.timestamp, body);
    }
    if (const auto within = body.member("within"); within.is_defined()) {
      out.within = reader_.duration(within, "within").value_or(out.within);
    }
    if (const auto type = body.member("content_type"); type.is_defined()) {
      out.content_type = reader_.text(type, "content_type");
    }
    if (const auto qos = body.member("qos"); qos.is_defined()) {
      out.qos = static_cast<int>(reader_.integer(qos, "qos", 0, 2).value_or(1));
    }
    if (const auto cites = body.member("cites"); cites.is_defined()) {
      out.cites = load_citation(reader_, cites, known_);
    }
    step.what = std::move(out);
    return true;
  }

  bool load_silence(YamlNode body, Step& step) {
    SilenceStep out;
    if (body.is_scalar()) {
      out.client = out.writer = client_name(body);
    } else {
      if (!reader_.check_map(body, "silence", fields::kSilence, {"client"})) return false;
      out.client = client_name(body.member("client"));
      const YamlNode writer = body.member("writer");
      out.writer = writer.is_defined() ? client_name(writer) : out.client;
      if (const auto cites = body.member("cites"); cites.is_defined()) {
        out.cites = load_citation(reader_, cites, known_);
      }
    }
    if (ClientSpec* spec = find_client(out.client)) spec->observes = true;
    step.what = std::move(out);
    return true;
  }

  bool load_wait(YamlNode body, Step& step) {
    WaitStep out;
    if (body.is_map()) {
      if (!reader_.check_map(body, "wait", fields::kWait, {"until"})) return false;
      out.until = load_time_point(reader_, body.member("until"), known_, "until");
    } else {
      out.duration = reader_.duration(body, "wait");
    }
    step.what = out;
    return out.until || out.duration;
  }

  bool load_subscribe(YamlNode body, Step& step) {
    if (!reader_.check_map(body, "subscribe", fields::kSubscribe, {"filter"})) return false;
    auto filter = load_bytes(reader_, body.member("filter"), "filter");
    if (!filter) return false;
    step.what = SubscribeStep{client_name(body.member("client")), std::move(*filter)};
    return true;
  }

  bool load_fill_quota(YamlNode body, Step& step) {
    if (!reader_.check_map(body, "fill_quota", fields::kFillQuota, {"key"})) return false;
    FillQuotaStep out;
    out.client = client_name(body.member("client"));
    out.key = reader_.text(body.member("key"), "key").value_or("");
    if (const auto cites = body.member("cites"); cites.is_defined()) {
      out.cites = load_citation(reader_, cites, known_);
    }
    step.what = std::move(out);
    return true;
  }

  bool load_write_many(YamlNode body, Step& step) {
    constexpr std::int64_t kMaxKeys = 100'000;
    if (!reader_.check_map(body, "write_many", fields::kWriteMany, {"key", "keys"})) return false;
    WriteManyStep out;
    out.client = client_name(body.member("client"));
    out.key = reader_.text(body.member("key"), "key").value_or("");
    const auto keys = reader_.integer(body.member("keys"), "keys", 1, kMaxKeys);
    if (!keys) return false;
    out.keys = static_cast<std::size_t>(*keys);
    if (const auto cites = body.member("cites"); cites.is_defined()) {
      out.cites = load_citation(reader_, cites, known_);
    }
    step.what = std::move(out);
    return true;
  }

  bool load_restart(YamlNode body, Step& step) {
    const auto word = reader_.text(body, "restart");
    if (word && *word != "broker") {
      reader_.complain(body, "restart: broker is all that can be restarted, not \"" + *word + "\"");
    }
    step.what = RestartStep{};
    return word == "broker";
  }

  YamlReader& reader_;
  Case& case_;
  KnownNames known_;
  std::set<std::string>
      unanswered_;  // timestamps that an earlier request of the same pipeline saves
};

}  // namespace

std::string load_note(YamlReader& reader, YamlNode map) {
  const YamlNode note = map.member("note");
  return note.is_defined() ? reader.text(note, "note").value_or("") : "";
}

void load_clients(YamlReader& reader, YamlNode node, Case& test_case) {
  StepLoader(reader, test_case).load_clients(node);
}

void load_steps(YamlReader& reader, YamlNode node, Case& test_case) {
  StepLoader(reader, test_case).load_steps(node);
}

}  // namespace fencepost::scenario
