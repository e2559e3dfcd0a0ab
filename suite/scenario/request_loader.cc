#include "suite/scenario/request_loader.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "suite/scenario/bytes_loader.h"
#include "suite/scenario/clients_loader.h"
#include "suite/scenario/scenario_fields.h"
#include "suite/scenario/timestamp_expression.h"

namespace fencepost::scenario {
namespace {

constexpr std::string_view kNoneWord = "none";
constexpr std::string_view kDefaultWord = "default";

bool sends_timestamp(const RequestStep& request) {
  return !std::holds_alternative<NoTimestamp>(request.timestamp) ||
         std::any_of(request.user_properties.begin(), request.user_properties.end(),
                     [](const auto& property) { return property.first == "__ts"; });
}

}  // namespace

bool is_request(std::string_view action) {
  constexpr std::array<std::string_view, 6> kRequests = {"set",  "get",       "del",
                                                         "vdel", "keynotify", "send"};
  return std::find(kRequests.begin(), kRequests.end(), action) != kRequests.end();
}

// Has the request only those members that its verb can send? One that is not sent would be
// ignored.
bool RequestLoader::check_sent_members(const std::string& action, YamlNode members) {
  const bool sends_value = action == "set" || action == "vdel";
  const bool sends_any = action == "send";
  for (const auto& entry : members.entries()) {
    const std::string& name = entry.key.scalar();
    const bool wrong =
        sends_any ? name == "key" || name == "value" || name == "options"
                  : name == "command" || name == "payload" || (name == "value" && !sends_value);
    if (!wrong) continue;
    reader_.diagnose(entry.key, action + " takes no " + name + "; remove it");
    return false;
  }
  return true;
}

std::optional<BytesSpec> RequestLoader::load_payload(const std::string& action, YamlNode body) {
  if (!check_sent_members(action, body)) return std::nullopt;
  return action == "send" ? load_sent_payload(body) : load_command(action, body);
}

// Loads the members that the verb has. `get: k` is short for `get: {key: k}`.
std::optional<BytesSpec> RequestLoader::load_command(const std::string& action, YamlNode body) {
  const YamlNode key = body.is_scalar() ? body : body.member("key");
  const YamlNode value = body.member("value");
  const YamlNode options = body.member("options");
  if (!key.is_defined()) {
    reader_.diagnose(body, action + " needs the key \"key\"");
    return std::nullopt;
  }
  const bool has_value = action == "set" || action == "vdel";
  if (has_value && !value.is_defined()) {
    reader_.diagnose(body,
                     action + " needs the key \"value\", e.g. " + action + ": {key: k, value: v}");
    return std::nullopt;
  }
  std::string verb = action;
  std::transform(verb.begin(), verb.end(), verb.begin(),
                 [](char c) { return static_cast<char>(c - 'a' + 'A'); });
  CommandBytes command;
  command.arguments.reserve(3 + options.size());
  command.arguments.push_back({LiteralBytes{std::move(verb)}});
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

std::optional<BytesSpec> RequestLoader::load_sent_payload(YamlNode body) {
  const YamlNode command = body.member("command");
  const YamlNode payload = body.member("payload");
  if (command.is_defined() == payload.is_defined()) {
    reader_.diagnose(body, "send needs either command: [...] or payload: <bytes>");
    return std::nullopt;
  }
  if (payload.is_defined()) return load_bytes(reader_, payload, "payload");
  if (!command.is_list()) {
    reader_.diagnose(command, "command must be a list of arguments, e.g. [\"GET\", {key: k}]");
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

void RequestLoader::load_mark(YamlNode node, RequestStep& request) {
  const auto name = reader_.text(node, "mark");
  if (!name) return;
  if (!is_name(*name)) {
    reader_.diagnose(node, "mark \"" + *name +
                               "\" must be letters, digits, _ and -, and begin with "
                               "a letter");
  } else if (!known_.marks.insert(*name).second) {
    reader_.diagnose(node, "an earlier step has mark: " + *name + "; choose another name");
  }
  request.mark = *name;
}

TimestampSpec RequestLoader::load_timestamp(YamlNode node, std::string_view what) {
  if (node.is_map()) {
    if (!reader_.check_map(node, what, fields::kLiteralTimestamp, {"text"})) return NoTimestamp{};
    return LiteralTimestamp{reader_.text(node.member("text"), "text").value_or("")};
  }
  const auto text = reader_.text(node, what);
  if (!text || *text == kNoneWord) return NoTimestamp{};
  auto expression = parse_timestamp_expression(*text);
  if (!expression) {
    reader_.diagnose(node, expression.error());
    return NoTimestamp{};
  }
  check_base(expression->base, node);
  return std::move(*expression);
}

void RequestLoader::check_base(const std::string& base, YamlNode node) {
  if (known_.unanswered.contains(base)) {
    reader_.diagnose(node, "the pipeline sends this request before the reply with \"" + base +
                               "\" is there; end the pipeline before it");
  } else if (base != "now" && base != kSkewLimit && !known_.timestamps.contains(base)) {
    reader_.diagnose(node, "no earlier step saves a timestamp as \"" + base +
                               "\"; add ts: {save: " + base + "} to the step that receives it");
  }
}

void RequestLoader::load_timestamps(YamlNode body, RequestStep& request) {
  if (const auto ts = body.member("ts"); ts.is_defined()) {
    request.timestamp = load_timestamp(ts, "ts");
  }
  if (const auto ft = body.member("ft"); ft.is_defined()) {
    request.token = load_timestamp(ft, "ft");
  }
}

// `default`, `none` or bytes.
void RequestLoader::load_optional_bytes(YamlNode node, std::string_view what,
                                        std::optional<BytesSpec>& bytes, bool& none) {
  if (!node.is_defined()) return;
  if (node.is_scalar() && node.scalar() == kDefaultWord) return;
  none = node.is_scalar() && node.scalar() == kNoneWord;
  if (!none) bytes = load_bytes(reader_, node, what);
}

void RequestLoader::load_envelope(YamlNode body, RequestStep& request) {
  const auto integer = [&](const char* key, std::int64_t most) -> std::optional<std::int64_t> {
    const YamlNode node = body.member(key);
    return node.is_defined() ? reader_.integer(node, key, 0, most) : std::nullopt;
  };
  // `none`, for families some of whose members have it.
  const auto given = [&](const char* key) {
    const YamlNode node = body.member(key);
    return !node.is_scalar() || node.is_quoted() || node.scalar() != kNoneWord;
  };
  if (const auto qos = integer("qos", 2)) request.qos = static_cast<int>(*qos);
  if (const auto format = given("payload_format") ? integer("payload_format", 1) : std::nullopt) {
    request.payload_format = static_cast<std::uint8_t>(*format);
  }
  if (const auto expiry = given("expiry")
                              ? integer("expiry", std::numeric_limits<std::uint32_t>::max())
                              : std::nullopt) {
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
    reader_.diagnose(topic, "a request has a topic; {escaped: none} is the topic \"none\"");
  load_optional_bytes(body.member("response_topic"), "response_topic", request.response_topic,
                      request.no_response_topic);
  load_optional_bytes(body.member("correlation"), "correlation", request.correlation,
                      request.no_correlation);
  load_user_properties(body.member("properties"), request);
  load_packet(body.member("packet"), request);
}

// Only what the packet has anyhow can be there twice.
void RequestLoader::load_twice(YamlNode node, const RequestStep& request, PacketSpec& packet) {
  packet.twice = reader_.texts(node, "twice");
  const auto has = [&](const std::string& name) {
    if (name == "response_topic") return !request.no_response_topic;
    if (name == "correlation") return !request.no_correlation;
    if (name == "content_type") return request.content_type.has_value();
    if (name == "payload_format") return request.payload_format.has_value();
    return request.expiry_seconds.has_value();
  };
  for (const std::string& name : packet.twice) {
    if (std::find(fields::kTwice.begin(), fields::kTwice.end(), name) == fields::kTwice.end()) {
      reader_.diagnose(node,
                       "twice takes response_topic, correlation, content_type, "
                       "payload_format and expiry, not \"" +
                           name + "\"");
    } else if (!has(name)) {
      reader_.diagnose(node, "the request has no " + name + " to send twice");
    }
  }
}

void RequestLoader::load_packet(YamlNode node, RequestStep& request) {
  if (!node.is_defined()) return;
  if (!reader_.check_map(node, "packet", fields::kPacket)) return;
  PacketSpec packet;
  const auto integer = [&](const char* key, std::int64_t least,
                           std::int64_t most) -> std::optional<std::int64_t> {
    const YamlNode member = node.member(key);
    return member.is_defined() ? reader_.integer(member, key, least, most) : std::nullopt;
  };
  constexpr std::int64_t kMaxOfTwoBytes = std::numeric_limits<std::uint16_t>::max();
  constexpr std::int64_t kMaxWrong = 1'000'000;
  if (const YamlNode dup = node.member("dup"); dup.is_defined()) {
    packet.duplicate = reader_.boolean(dup, "dup").value_or(false);
  }
  packet.qos_3 = integer("qos", 3, 3).has_value();
  if (const auto id = integer("id", 0, kMaxOfTwoBytes)) {
    packet.id = static_cast<std::uint16_t>(*id);
  }
  if (const auto alias = integer("topic_alias", 0, kMaxOfTwoBytes)) {
    packet.topic_alias = static_cast<std::uint16_t>(*alias);
  }
  if (const YamlNode twice = node.member("twice"); twice.is_defined()) {
    load_twice(twice, request, packet);
  }
  if (const YamlNode more = node.member("more_properties"); more.is_defined()) {
    const auto bytes = load_bytes(reader_, more, "more_properties");
    if (auto literal = bytes ? literal_of(*bytes) : std::nullopt) {
      packet.more_properties = std::move(*literal);
    } else if (bytes) {
      reader_.diagnose(more, "more_properties takes text, escaped, hex, and join of these");
    }
  }
  packet.wrong_length =
      static_cast<std::int32_t>(integer("wrong_length", -kMaxWrong, kMaxWrong).value_or(0));
  const bool says_more = node.member("qos").is_defined() || node.member("twice").is_defined() ||
                         node.member("more_properties").is_defined();
  if (packet == PacketSpec{} && !says_more) {
    reader_.diagnose(node, "packet changes nothing here; remove it");
    return;
  }
  request.packet = std::move(packet);
}

void RequestLoader::load_user_properties(YamlNode node, RequestStep& request) {
  if (!node.is_defined()) return;
  if (!node.is_list()) {
    reader_.diagnose(node,
                     "properties of a request must be a list of pairs, e.g. "
                     "[[\"__srcId\", \"x\"]]");
    return;
  }
  for (const YamlNode pair : node.items()) {
    const std::vector<std::string> texts = reader_.texts(pair, "a user property");
    if (texts.size() == 2 && pair.size() == 2) {
      request.user_properties.emplace_back(texts[0], texts[1]);
    } else if (pair.is_list() && texts.size() == pair.size()) {
      reader_.diagnose(pair, "a user property is a pair [name, value]");
    }
  }
}

std::optional<RequestStep> RequestLoader::load(const std::string& action, YamlNode body,
                                               YamlNode expect) {
  const bool is_short = body.is_scalar() && action != "send";
  if (!is_short && !reader_.check_map(body, action, fields::kRequest)) return std::nullopt;
  RequestStep request;
  auto payload = load_payload(action, body);
  if (!payload) return std::nullopt;
  request.payload = std::move(*payload);
  request.client = load_client_name(reader_, body.member("client"), case_);
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
  if (action == "keynotify") make_observer(case_, request.client);
  if (expect.is_defined()) {
    auto expectation = load_expectation(reader_, expect, known_);
    if (!expectation) return std::nullopt;
    request.expect = std::move(*expectation);
    if (!request.mark.empty() && request.expect.open) {
      known_.outcomes[request.mark] = open_outcomes(request.expect);
    }
    if (!sends_timestamp(request)) refuse_sent(reader_, request.expect.timestamp, expect);
  }
  return request;
}

void refuse_sent(YamlReader& reader, const std::optional<TimestampCheck>& check, YamlNode node) {
  if (!check || std::find(check->greater_than.begin(), check->greater_than.end(), "sent") ==
                    check->greater_than.end()) {
    return;
  }
  reader.diagnose(node.member("ts").member("greater_than"),
                  "sent needs a request with a ts, and this step answers none");
}

}  // namespace fencepost::scenario
