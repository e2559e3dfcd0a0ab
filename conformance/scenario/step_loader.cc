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

  void load_clients(const YAML::Node& node) {
    if (!node.IsDefined()) {
      case_.clients.push_back({.name = "a"});
      return;
    }
    if (!node.IsMap() || node.size() == 0) {
      reader_.complain(node, "clients must map names to their options, e.g. {a: {}, b: {}}");
      return;
    }
    if (!reader_.check_names(node, "clients")) return;
    for (const auto& entry : node) load_client(entry.first.Scalar(), entry.second);
  }

  void load_steps(const YAML::Node& node) {
    if (!node.IsSequence() || node.size() == 0) {
      reader_.complain(node, "steps must be a list of at least one step");
      return;
    }
    for (const YAML::Node& step : node) {
      if (auto loaded = load_step(step)) case_.steps.push_back(std::move(*loaded));
    }
  }

 private:
  void load_client(const std::string& name, const YAML::Node& node) {
    if (!reader_.check_map(node, "client", fields::kClient)) return;
    ClientSpec spec{.name = name};
    if (const auto role = YamlReader::member(node, "role"); role.IsDefined()) {
      spec.role = reader_.text(role, "role").value_or("");
    }
    if (const auto id = YamlReader::member(node, "same_id_as"); id.IsDefined()) {
      spec.same_id_as = client_name(id);
    }
    const auto flag = [&](const char* key, bool& value) {
      const YAML::Node member = YamlReader::member(node, key);
      if (member.IsDefined()) value = reader_.boolean(member, key).value_or(value);
    };
    flag("subscribes", spec.subscribes);
    flag("observes", spec.observes);
    flag("clean_start", spec.clean_start);
    if (const auto expiry = YamlReader::member(node, "session_expiry"); expiry.IsDefined()) {
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
  std::string client_name(const YAML::Node& node) {
    if (!node.IsDefined()) return case_.clients.empty() ? "" : case_.clients.front().name;
    const auto name = reader_.text(node, "client");
    if (name && find_client(*name) == nullptr) {
      reader_.complain(node, "there is no client \"" + *name + "\"; declare it under clients");
    }
    return name.value_or("");
  }

  // The key of the step that says what is done.
  std::optional<std::string> action_of(const YAML::Node& node) {
    std::optional<std::string> action;
    for (const auto& entry : node) {
      const std::string key = entry.first.Scalar();
      if (key == "expect" || key == "note") continue;
      if (action) {
        reader_.complain(entry.first, "a step has one action, and this one has both \"" + *action +
                                          "\" and \"" + key + "\"; make two steps");
        return std::nullopt;
      }
      action = key;
    }
    if (!action)
      reader_.complain(node, "this step does nothing; give it an action such as set or get");
    return action;
  }

  std::optional<Step> load_step(const YAML::Node& node) {
    if (!reader_.check_map(node, "step", fields::kStep)) return std::nullopt;
    const auto action = action_of(node);
    if (!action) return std::nullopt;
    check_note(reader_, node);
    Step step{.position = reader_.position(node), .title = *action, .what = {}};
    const YAML::Node body = YamlReader::member(node, *action);
    const YAML::Node expect = YamlReader::member(node, "expect");
    static const std::set<std::string_view> requests = {"set",  "get",       "del",
                                                        "vdel", "keynotify", "send"};
    if (requests.contains(*action)) {
      auto request = load_request(*action, body, expect);
      if (!request) return std::nullopt;
      step.what = std::move(*request);
      return step;
    }
    if (expect.IsDefined()) {
      reader_.complain(expect, "only requests have an expect; \"" + *action + "\" is none");
    }
    if (!load_other(*action, body, step)) return std::nullopt;
    return step;
  }

  bool load_other(const std::string& action, const YAML::Node& body, Step& step) {
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
  bool check_sent_members(const std::string& action, const YAML::Node& members) {
    static const std::set<std::string_view> sent = {"key", "value", "options", "command",
                                                    "payload"};
    std::set<std::string_view> own = {"key", "options"};
    if (action == "set" || action == "vdel") own.insert("value");
    if (action == "send") own = {"command", "payload"};
    for (const auto& entry : members) {
      const std::string name = entry.first.Scalar();
      if (!sent.contains(name) || own.contains(name)) continue;
      reader_.complain(entry.first, action + " takes no " + name + "; remove it");
      return false;
    }
    return true;
  }

  // The payload of a request, from the members that its verb has. `get: k` is short for
  // `get: {key: k}`.
  std::optional<BytesSpec> load_payload(const std::string& action, const YAML::Node& body) {
    const YAML::Node key = body.IsScalar() ? body : YamlReader::member(body, "key");
    const YAML::Node value = YamlReader::member(body, "value");
    const YAML::Node options = YamlReader::member(body, "options");
    if (!check_sent_members(action, body)) return std::nullopt;
    if (action == "send") return load_sent_payload(body);
    if (!key.IsDefined()) {
      reader_.complain(body, action + " needs the key \"key\"");
      return std::nullopt;
    }
    const bool has_value = action == "set" || action == "vdel";
    if (has_value && !value.IsDefined()) {
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
    if (options.IsDefined()) {
      for (std::string& option : reader_.texts(options, "options")) {
        command.arguments.push_back({LiteralBytes{std::move(option)}});
      }
    }
    return BytesSpec{std::move(command)};
  }

  std::optional<BytesSpec> load_sent_payload(const YAML::Node& body) {
    const YAML::Node command = YamlReader::member(body, "command");
    const YAML::Node payload = YamlReader::member(body, "payload");
    if (command.IsDefined() == payload.IsDefined()) {
      reader_.complain(body, "send needs either command: [...] or payload: <bytes>");
      return std::nullopt;
    }
    if (payload.IsDefined()) return load_bytes(reader_, payload, "payload");
    if (!command.IsSequence()) {
      reader_.complain(command, "command must be a list of arguments, e.g. [\"GET\", {key: k}]");
      return std::nullopt;
    }
    CommandBytes out;
    for (const YAML::Node& item : command) {
      auto argument = load_bytes(reader_, item, "argument");
      if (!argument) return std::nullopt;
      out.arguments.push_back(std::move(*argument));
    }
    return BytesSpec{std::move(out)};
  }

  void load_mark(const YAML::Node& node, RequestStep& request) {
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

  std::optional<RequestStep> load_request(const std::string& action, const YAML::Node& body,
                                          const YAML::Node& expect) {
    const bool is_short = body.IsScalar() && action != "send";
    if (!is_short && !reader_.check_map(body, action, fields::kRequest)) return std::nullopt;
    RequestStep request;
    auto payload = load_payload(action, body);
    if (!payload) return std::nullopt;
    request.payload = std::move(*payload);
    request.client = client_name(YamlReader::member(body, "client"));
    if (action == "set") {
      request.timestamp = TimestampExpression{.base = "now"};
      // The loader makes SET, key, value, options of it.
      const auto& command = std::get<CommandBytes>(request.payload.what);
      request.written_keys.push_back(command.arguments[1]);
    }
    load_timestamps(body, request);
    load_envelope(body, request);
    if (const auto writes = YamlReader::member(body, "writes"); writes.IsDefined()) {
      for (std::string& name : reader_.texts(writes, "writes")) {
        request.written_keys.push_back({KeyBytes{std::move(name), {}}});
      }
    }
    if (const auto mark = YamlReader::member(body, "mark"); mark.IsDefined()) {
      load_mark(mark, request);
    }
    if (action == "keynotify") {
      if (ClientSpec* spec = find_client(request.client)) spec->observes = true;
    }
    if (expect.IsDefined()) {
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
  void refuse_sent(const std::optional<TimestampCheck>& check, const YAML::Node& node) {
    if (!check || std::find(check->greater_than.begin(), check->greater_than.end(), "sent") ==
                      check->greater_than.end()) {
      return;
    }
    reader_.complain(
        node["ts"]["greater_than"],
        "nothing is greater than sent here, as no request with a ts is being answered");
  }

  TimestampSpec load_timestamp(const YAML::Node& node, std::string_view what) {
    if (node.IsMap()) {
      if (!reader_.check_map(node, what, fields::kLiteralTimestamp, {"text"})) return NoTimestamp{};
      return LiteralTimestamp{reader_.text(YamlReader::member(node, "text"), "text").value_or("")};
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

  void load_timestamps(const YAML::Node& body, RequestStep& request) {
    if (const auto ts = YamlReader::member(body, "ts"); ts.IsDefined()) {
      request.timestamp = load_timestamp(ts, "ts");
    }
    if (const auto ft = YamlReader::member(body, "ft"); ft.IsDefined()) {
      request.token = load_timestamp(ft, "ft");
    }
  }

  // `default`, `none` or bytes.
  void load_optional_bytes(const YAML::Node& node, std::string_view what,
                           std::optional<BytesSpec>& bytes, bool& none) {
    if (!node.IsDefined()) return;
    if (node.IsScalar() && node.Scalar() == kDefaultWord) return;
    none = node.IsScalar() && node.Scalar() == kNoneWord;
    if (!none) bytes = load_bytes(reader_, node, what);
  }

  void load_envelope(const YAML::Node& body, RequestStep& request) {
    const auto integer = [&](const char* key, std::int64_t most) -> std::optional<std::int64_t> {
      const YAML::Node node = YamlReader::member(body, key);
      return node.IsDefined() ? reader_.integer(node, key, 0, most) : std::nullopt;
    };
    if (const auto qos = integer("qos", 2)) request.qos = static_cast<int>(*qos);
    if (const auto format = integer("payload_format", 1)) {
      request.payload_format = static_cast<std::uint8_t>(*format);
    }
    if (const auto expiry = integer("expiry", std::numeric_limits<std::uint32_t>::max())) {
      request.expiry_seconds = static_cast<std::uint32_t>(*expiry);
    }
    if (const auto retain = YamlReader::member(body, "retain"); retain.IsDefined()) {
      request.retain = reader_.boolean(retain, "retain").value_or(false);
    }
    if (const auto type = YamlReader::member(body, "content_type"); type.IsDefined()) {
      request.content_type = reader_.text(type, "content_type");
    }
    bool no_topic = false;
    const YAML::Node topic = YamlReader::member(body, "topic");
    load_optional_bytes(topic, "topic", request.topic, no_topic);
    if (no_topic)
      reader_.complain(topic, "a request has a topic; {escaped: none} is the topic \"none\"");
    load_optional_bytes(YamlReader::member(body, "response_topic"), "response_topic",
                        request.response_topic, request.no_response_topic);
    load_optional_bytes(YamlReader::member(body, "correlation"), "correlation", request.correlation,
                        request.no_correlation);
    load_user_properties(YamlReader::member(body, "properties"), request);
  }

  void load_user_properties(const YAML::Node& node, RequestStep& request) {
    if (!node.IsDefined()) return;
    if (!node.IsSequence()) {
      reader_.complain(node,
                       "properties of a request must be a list of pairs, e.g. "
                       "[[\"__srcId\", \"x\"]]");
      return;
    }
    for (const YAML::Node& pair : node) {
      const std::vector<std::string> texts = reader_.texts(pair, "a user property");
      if (texts.size() == 2 && pair.size() == 2) {
        request.user_properties.emplace_back(texts[0], texts[1]);
      } else if (pair.IsSequence() && texts.size() == pair.size()) {
        reader_.complain(pair, "a user property is a pair [name, value]");
      }
    }
  }

  bool load_pipeline(const YAML::Node& body, Step& step) {
    if (!body.IsSequence() || body.size() < 2) {
      reader_.complain(body, "pipeline must be a list of at least two requests");
      return false;
    }
    PipelineStep pipeline;
    const std::set<std::string> answered = known_.timestamps;
    for (const YAML::Node& item : body) {
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

  bool load_notification(const YAML::Node& body, Step& step) {
    if (!reader_.check_map(body, "notification", fields::kNotification, {"key", "operation"})) {
      return false;
    }
    NotificationStep out;
    out.client = client_name(YamlReader::member(body, "client"));
    auto key = load_key(reader_, YamlReader::member(body, "key"), "key");
    if (!key) return false;
    out.key = std::move(*key);
    const YAML::Node operation = YamlReader::member(body, "operation");
    const auto word = reader_.text(operation, "operation");
    if (!word) return false;
    out.operation = *word == "delete" ? codec::Operation::kDelete : codec::Operation::kSet;
    if (*word != "set" && *word != "delete") {
      reader_.complain(operation, "operation must be set or delete, not \"" + *word + "\"");
      return false;
    }
    if (ClientSpec* spec = find_client(out.client)) spec->observes = true;
    if (const auto value = YamlReader::member(body, "value"); value.IsDefined()) {
      out.value = load_bytes(reader_, value, "value");
    }
    if (const auto ts = YamlReader::member(body, "ts"); ts.IsDefined()) {
      out.timestamp = load_timestamp_check(reader_, ts, known_);
      refuse_sent(out.timestamp, body);
    }
    if (const auto within = YamlReader::member(body, "within"); within.IsDefined()) {
      out.within = reader_.duration(within, "within").value_or(out.within);
    }
    if (const auto type = YamlReader::member(body, "content_type"); type.IsDefined()) {
      out.content_type = reader_.text(type, "content_type");
    }
    if (const auto qos = YamlReader::member(body, "qos"); qos.IsDefined()) {
      out.qos = static_cast<int>(reader_.integer(qos, "qos", 0, 2).value_or(1));
    }
    if (const auto cites = YamlReader::member(body, "cites"); cites.IsDefined()) {
      out.cites = load_citation(reader_, cites, known_);
    }
    step.what = std::move(out);
    return true;
  }

  bool load_silence(const YAML::Node& body, Step& step) {
    SilenceStep out;
    if (body.IsScalar()) {
      out.client = out.writer = client_name(body);
    } else {
      if (!reader_.check_map(body, "silence", fields::kSilence, {"client"})) return false;
      out.client = client_name(YamlReader::member(body, "client"));
      const YAML::Node writer = YamlReader::member(body, "writer");
      out.writer = writer.IsDefined() ? client_name(writer) : out.client;
      if (const auto cites = YamlReader::member(body, "cites"); cites.IsDefined()) {
        out.cites = load_citation(reader_, cites, known_);
      }
    }
    if (ClientSpec* spec = find_client(out.client)) spec->observes = true;
    step.what = std::move(out);
    return true;
  }

  bool load_wait(const YAML::Node& body, Step& step) {
    WaitStep out;
    if (body.IsMap()) {
      if (!reader_.check_map(body, "wait", fields::kWait, {"until"})) return false;
      out.until = load_time_point(reader_, YamlReader::member(body, "until"), known_, "until");
    } else {
      out.duration = reader_.duration(body, "wait");
    }
    step.what = out;
    return out.until || out.duration;
  }

  bool load_subscribe(const YAML::Node& body, Step& step) {
    if (!reader_.check_map(body, "subscribe", fields::kSubscribe, {"filter"})) return false;
    auto filter = load_bytes(reader_, YamlReader::member(body, "filter"), "filter");
    if (!filter) return false;
    step.what = SubscribeStep{client_name(YamlReader::member(body, "client")), std::move(*filter)};
    return true;
  }

  bool load_fill_quota(const YAML::Node& body, Step& step) {
    if (!reader_.check_map(body, "fill_quota", fields::kFillQuota, {"key"})) return false;
    FillQuotaStep out;
    out.client = client_name(YamlReader::member(body, "client"));
    out.key = reader_.text(YamlReader::member(body, "key"), "key").value_or("");
    if (const auto cites = YamlReader::member(body, "cites"); cites.IsDefined()) {
      out.cites = load_citation(reader_, cites, known_);
    }
    step.what = std::move(out);
    return true;
  }

  bool load_write_many(const YAML::Node& body, Step& step) {
    constexpr std::int64_t kMostKeys = 100'000;
    if (!reader_.check_map(body, "write_many", fields::kWriteMany, {"key", "keys"})) return false;
    WriteManyStep out;
    out.client = client_name(YamlReader::member(body, "client"));
    out.key = reader_.text(YamlReader::member(body, "key"), "key").value_or("");
    const auto keys = reader_.integer(YamlReader::member(body, "keys"), "keys", 1, kMostKeys);
    if (!keys) return false;
    out.keys = static_cast<std::size_t>(*keys);
    if (const auto cites = YamlReader::member(body, "cites"); cites.IsDefined()) {
      out.cites = load_citation(reader_, cites, known_);
    }
    step.what = std::move(out);
    return true;
  }

  bool load_restart(const YAML::Node& body, Step& step) {
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

void check_note(YamlReader& reader, const YAML::Node& map) {
  const YAML::Node note = YamlReader::member(map, "note");
  if (note.IsDefined()) (void)reader.text(note, "note");
}

void load_clients(YamlReader& reader, const YAML::Node& node, Case& test_case) {
  StepLoader(reader, test_case).load_clients(node);
}

void load_steps(YamlReader& reader, const YAML::Node& node, Case& test_case) {
  StepLoader(reader, test_case).load_steps(node);
}

}  // namespace fencepost::scenario
