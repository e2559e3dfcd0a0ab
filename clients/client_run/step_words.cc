#include "clients/client_run/step_words.h"

#include <array>

#include "suite/judge/judge.h"
#include "suite/scenario/bytes_loader.h"

namespace fencepost::client_run {
namespace {

using scenario::YamlNode;
using scenario::YamlReader;
using namespace std::string_view_literals;

constexpr std::array kReplyFields = {"payload"sv,       "error"sv,       "version"sv,
                                     "version_ahead"sv, "correlation"sv, "properties"sv,
                                     "qos"sv,           "dup"sv};
constexpr std::array kActFields = {"puback"sv, "reply"sv, "wait"sv};
constexpr std::array kExpectFields = {"value"sv, "deleted"sv, "error"sv, "error_text"sv,
                                      "any_of"sv};
constexpr std::int64_t kMaxReason = 255;

bool has_filling(const scenario::BytesSpec& spec) {
  if (std::holds_alternative<scenario::FillBytes>(spec.what)) return true;
  if (const auto* joined = std::get_if<scenario::JoinedBytes>(&spec.what)) {
    return std::any_of(joined->parts.begin(), joined->parts.end(), has_filling);
  }
  return false;
}

std::optional<codec::ErrorCode> read_error_name(YamlReader& reader, YamlNode node) {
  const auto word = reader.text(node, "error");
  if (!word) return std::nullopt;
  const auto code = codec::error_named(*word);
  if (code) return code;
  std::vector<std::string_view> known;
  known.reserve(codec::kErrorCodes.size());
  for (const codec::ErrorCode each : codec::kErrorCodes) known.push_back(codec::name(each));
  const std::string guess = scenario::nearest(*word, known);
  reader.diagnose(node, "there is no error \"" + *word + "\"" +
                            (guess.empty() ? "" : "; did you mean \"" + guess + "\"?"));
  return std::nullopt;
}

void read_properties(YamlReader& reader, YamlNode node, ReplyScript& out) {
  for (const YamlNode pair : node.items()) {
    const std::vector<std::string> words = reader.texts(pair, "property");
    if (words.size() != 2) {
      reader.diagnose(pair, "a property is a list of its name and its value");
      continue;
    }
    out.properties.emplace_back(words[0], words[1]);
  }
  if (!node.is_list()) reader.diagnose(node, "properties must be a list of [name, value]");
}

std::optional<ReplyScript> read_reply(YamlReader& reader, YamlNode node) {
  const std::size_t before = reader.diagnostics();
  ReplyScript out;
  if (!reader.check_map(node, "reply", kReplyFields)) return std::nullopt;
  if (const auto payload = node.member("payload"); payload.is_defined()) {
    out.payload = read_bytes(reader, payload, "payload");
  }
  if (const auto error = node.member("error"); error.is_defined()) {
    out.error = read_error_name(reader, error);
  }
  if (const auto version = node.member("version"); version.is_defined()) {
    out.version = reader.text(version, "version");
    if (out.version == "none") out.version = "";
  }
  if (const auto ahead = node.member("version_ahead"); ahead.is_defined()) {
    out.version_ahead = reader.duration(ahead, "version_ahead");
  }
  if (const auto correlation = node.member("correlation"); correlation.is_defined()) {
    const bool is_word = correlation.is_scalar() && !correlation.is_quoted();
    out.without_correlation = is_word && correlation.scalar() == "none";
    out.near_correlation = is_word && correlation.scalar() == "near";
    const bool is_text = !out.without_correlation && !out.near_correlation;
    if (is_text) out.correlation = read_bytes(reader, correlation, "correlation");
  }
  if (const auto properties = node.member("properties"); properties.is_defined()) {
    read_properties(reader, properties, out);
  }
  if (const auto qos = node.member("qos"); qos.is_defined()) {
    out.at_qos_0 = reader.integer(qos, "qos", 0, 1) == 0;
  }
  if (const auto dup = node.member("dup"); dup.is_defined()) {
    out.duplicate = reader.boolean(dup, "dup").value_or(false);
  }
  if (reader.diagnostics() > before) return std::nullopt;
  return out;
}

std::optional<Act> read_act(YamlReader& reader, YamlNode node) {
  if (node.is_scalar()) {
    const std::string& word = node.scalar();
    if (word == "puback") return PubackAct{};
    if (word == "reply") return ReplyAct{};
    if (word == "cut") return CutAct{};
    reader.diagnose(node,
                    "an answer may have puback, reply, cut, {puback: reason}, {reply: {...}} and "
                    "{wait: time}, not \"" +
                        word + '"');
    return std::nullopt;
  }
  if (!reader.check_map(node, "act", kActFields)) return std::nullopt;
  if (node.size() != 1) {
    reader.diagnose(node, "write one action in each pair of braces");
    return std::nullopt;
  }
  if (const auto reply = node.member("reply"); reply.is_defined()) {
    auto script = read_reply(reader, reply);
    if (!script) return std::nullopt;
    return ReplyAct{std::move(*script)};
  }
  if (const auto puback = node.member("puback"); puback.is_defined()) {
    const auto reason = reader.integer(puback, "puback", 0, kMaxReason);
    if (!reason) return std::nullopt;
    return PubackAct{static_cast<std::uint8_t>(*reason)};
  }
  const auto time = reader.duration(node.member("wait"), "wait");
  if (!time) return std::nullopt;
  return WaitAct{*time};
}

std::optional<ResultKind> success_of(CommandKind command) {
  switch (command) {
    case CommandKind::kSet:
      return ResultKind::kApplied;
    case CommandKind::kDel:
    case CommandKind::kVdel:
      return ResultKind::kDeleted;
    case CommandKind::kLock:
      return ResultKind::kHeld;
    case CommandKind::kGet:
    case CommandKind::kHolder:
      return std::nullopt;
    default:
      return ResultKind::kOk;
  }
}

// The word alone.
std::optional<Expected> read_expected_word(YamlReader& reader, YamlNode node, CommandKind command) {
  const std::string& word = node.scalar();
  using enum ResultKind;
  if (word == "error") return Expected{.kind = kError};
  if (command == CommandKind::kSet && word == "applied") return Expected{.kind = kApplied};
  if (command == CommandKind::kSet && word == "not-applied") return Expected{.kind = kNotApplied};
  if (command == CommandKind::kLock && word == "held") return Expected{.kind = kHeld};
  if (command == CommandKind::kLock && word == "not-held") return Expected{.kind = kNotHeld};
  const bool reads = command == CommandKind::kGet || command == CommandKind::kHolder;
  if (reads && word == "missing") return Expected{.kind = kMissing};
  if (command == CommandKind::kVdel && word == "different") {
    return Expected{.kind = kDeleted, .count = -1};
  }
  if (word == "ok" && success_of(command) == kOk) return Expected{.kind = kOk};
  reader.diagnose(node,
                  std::string(name(command)) + " cannot be expected to report \"" + word + '"');
  return std::nullopt;
}

std::optional<Expected> read_one_expected(YamlReader& reader, YamlNode node, CommandKind command) {
  if (node.is_scalar()) return read_expected_word(reader, node, command);
  if (!reader.check_map(node, "expect", kExpectFields)) return std::nullopt;
  if (const auto value = node.member("value"); value.is_defined()) {
    auto bytes = read_bytes(reader, value, "value");
    if (command != CommandKind::kGet && command != CommandKind::kHolder) {
      reader.diagnose(node, "only get and holder report a value");
    }
    if (!bytes) return std::nullopt;
    return Expected{.kind = ResultKind::kValue, .value = std::move(*bytes)};
  }
  if (const auto deleted = node.member("deleted"); deleted.is_defined()) {
    const auto count = reader.integer(deleted, "deleted", 0, 1);
    if (success_of(command) != ResultKind::kDeleted) {
      reader.diagnose(node, "only del and vdel report what is deleted");
    }
    if (!count) return std::nullopt;
    return Expected{.kind = ResultKind::kDeleted, .count = *count};
  }
  Expected out{.kind = ResultKind::kError};
  if (const auto error = node.member("error"); error.is_defined()) {
    out.error = read_error_name(reader, error);
    if (!out.error) return std::nullopt;
    return out;
  }
  out.text = reader.text(node.member("error_text"), "error_text");
  if (!out.text) return std::nullopt;
  return out;
}

}  // namespace

std::optional<std::string> read_bytes(YamlReader& reader, YamlNode node, std::string_view what) {
  const auto spec = scenario::load_bytes(reader, node, what);
  if (!spec) return std::nullopt;
  if (has_filling(*spec)) {
    reader.diagnose(node, "cases for clients cannot fill packets");
    return std::nullopt;
  }
  return judge::resolve(*spec, "");
}

std::optional<Answer> read_answer(YamlReader& reader, YamlNode node) {
  if (!node.is_list()) {
    reader.diagnose(node, "answer must be a list such as [puback, reply]");
    return std::nullopt;
  }
  Answer out;
  for (const YamlNode item : node.items()) {
    auto act = read_act(reader, item);
    if (!act) return std::nullopt;
    out.push_back(std::move(*act));
  }
  return out;
}

std::vector<Expected> read_expected(YamlReader& reader, YamlNode step, CommandKind command) {
  const YamlNode node = step.member("expect");
  if (!node.is_defined()) {
    const auto success = success_of(command);
    if (success) return {Expected{.kind = *success, .count = 1}};
    reader.diagnose(step, std::string(name(command)) + " needs an expect: {value: ...} or missing");
    return {};
  }
  const YamlNode several = node.member("any_of");
  if (!several.is_defined()) {
    auto one = read_one_expected(reader, node, command);
    if (!one) return {};
    return {std::move(*one)};
  }
  std::vector<Expected> out;
  for (const YamlNode item : several.items()) {
    auto one = read_one_expected(reader, item, command);
    if (!one) return {};
    out.push_back(std::move(*one));
  }
  if (out.empty()) reader.diagnose(several, "any_of must be a list of expected results");
  return out;
}

}  // namespace fencepost::client_run
