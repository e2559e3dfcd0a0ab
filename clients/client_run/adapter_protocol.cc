#include "clients/client_run/adapter_protocol.h"

#include <algorithm>
#include <limits>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/json_reader.h"
#include "base/text/printable.h"
#include "clients/client_run/client_case_loader.h"
#include "codec/base16.h"
#include "suite/scenario/yaml_reader.h"

namespace fencepost::client_run {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxShown = 200;

std::string in_quotes(std::string_view bytes) { return '"' + escape(bytes, kMaxShown) + '"'; }

std::string lower_hex(std::string_view bytes) {
  std::string out = codec::base16_encode(bytes);
  for (char& c : out) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::optional<std::string> bytes_of(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'f') c = static_cast<char>(c - 'a' + 'A');
  }
  return codec::base16_decode(text);
}

// An object; nothing for any other line.
std::optional<json> object_of(std::string_view line) {
  json out = read_json(line);
  if (!out.is_object()) return std::nullopt;
  return out;
}

std::string not_a_line(std::string_view line) {
  return "the adapter wrote " + in_quotes(line) + ", which is not a JSON object on one line";
}

std::string bytes_member(const JsonMembers& members, const char* name) {
  auto bytes = bytes_of(members.text(name));
  if (!bytes) members.wrong(name, "pairs of hexadecimal digits");
  return bytes.value_or("");
}

std::optional<std::string> text_or_null(const JsonMembers& members, const json& object,
                                        const char* name) {
  if (!object.contains(name) || object[name].is_null()) return std::nullopt;
  return members.text(name);
}

void read_change(const JsonMembers& members, const json& object, Report& out) {
  if (members.flag_if_there("none")) {
    out.kind = ResultKind::kMissing;
    return;
  }
  out.kind = ResultKind::kChanged;
  out.key = bytes_member(members, "key");
  const std::string operation = members.text("operation");
  if (operation != "set" && operation != "delete") members.wrong("operation", "set or delete");
  if (operation == "delete") out.operation = codec::Operation::kDelete;
  if (operation == "set") out.value = bytes_member(members, "value");
  out.version = text_or_null(members, object, "version");
}

// A value, or null where there is none.
void read_value(const JsonMembers& members, const json& object, const char* name, Report& out) {
  out.kind = ResultKind::kMissing;
  if (object.contains(name) && object[name].is_null()) return;
  out.kind = ResultKind::kValue;
  out.value = bytes_member(members, name);
}

void read_success(const json& object, CommandKind command, JsonDiagnostic& diagnostic,
                  Report& out) {
  const JsonMembers members(object, "/ok", diagnostic);
  switch (command) {
    case CommandKind::kSet:
      out.kind = members.flag("applied") ? ResultKind::kApplied : ResultKind::kNotApplied;
      out.version = text_or_null(members, object, "version");
      return;
    case CommandKind::kGet:
      out.version = text_or_null(members, object, "version");
      return read_value(members, object, "value", out);
    case CommandKind::kDel:
    case CommandKind::kVdel:
      out.kind = ResultKind::kDeleted;
      // Any result that the SDK makes of a reply counts.
      out.count =
          members.integer<std::int64_t>("deleted", std::numeric_limits<std::int64_t>::min());
      return;
    case CommandKind::kLock:
      out.kind = members.flag("held") ? ResultKind::kHeld : ResultKind::kNotHeld;
      out.version = text_or_null(members, object, "token");
      return;
    case CommandKind::kHolder:
      return read_value(members, object, "holder", out);
    case CommandKind::kNotification:
      return read_change(members, object, out);
    default:
      out.kind = ResultKind::kOk;
  }
}

}  // namespace

Result<Greeting, std::string> read_greeting(std::string_view line) {
  const auto object = object_of(line);
  if (!object) return fail(not_a_line(line));
  JsonDiagnostic diagnostic;
  const JsonMembers members(*object, "", diagnostic);
  const int version = members.integer<int>("fencepost_adapter", 1);
  Greeting out{.name = members.text("name")};
  if (const json* all = members.find("capabilities"); all != nullptr) {
    if (!all->is_array()) members.wrong("capabilities", "a list of texts");
    for (const json& each : *all) {
      const auto& known = known_capabilities();
      const std::string word = each.is_string() ? each.get<std::string>() : "";
      if (each.is_string() && std::find(known.begin(), known.end(), word) == known.end()) {
        const std::string guess = scenario::nearest(word, known);
        return fail(
            "its greeting: there is no capability \"" + word + '"' +
            (guess.empty() ? "; docs/CLIENTS.md lists all" : "; did you mean \"" + guess + "\"?"));
      }
      if (each.is_string()) {
        out.capabilities.insert(each.get<std::string>());
      } else {
        members.wrong("capabilities", "a list of texts");
      }
    }
  }
  if (diagnostic.any()) return fail("its greeting: " + diagnostic.text());
  if (version != kAdapterVersion) {
    return fail("it speaks version " + std::to_string(version) +
                " of the adapter protocol, but this program speaks " +
                std::to_string(kAdapterVersion));
  }
  return out;
}

std::string command_line(const Command& command, const CommandContext& context) {
  nlohmann::ordered_json out = {{"id", context.id}, {"command", name(command.kind)}};
  if (command.kind == CommandKind::kConnect) {
    out["host"] = "127.0.0.1";
    out["port"] = context.port;
    out["client_id"] = context.client_id;
  }
  if (request_of(command)) out["key"] = lower_hex(command.key);
  if (command.kind == CommandKind::kSet || command.kind == CommandKind::kVdel) {
    out["value"] = lower_hex(command.value);
  }
  if (command.kind == CommandKind::kLock || command.kind == CommandKind::kUnlock) {
    out["holder"] = lower_hex(command.value);
  }
  if (command.kind == CommandKind::kLock) {
    out["lease_ms"] = command.expires_after.value_or(Milliseconds{}).count();
    out["wait"] = command.waits;
    if (command.renewed_each) out["renew_ms"] = command.renewed_each->count();
  }
  if (command.condition == codec::Condition::kIfAbsent) out["condition"] = "nx";
  if (command.condition == codec::Condition::kIfAbsentOrEqual) out["condition"] = "nex";
  if (command.expires_after && command.kind == CommandKind::kSet) {
    out["px_ms"] = command.expires_after->count();
  }
  if (!context.token.empty()) out["token"] = text::printable(context.token);
  out["timeout_ms"] = context.timeout.count();
  return out.dump() + "\n";
}

std::optional<std::int64_t> id_of(std::string_view line) {
  const auto object = object_of(line);
  if (!object) return std::nullopt;
  JsonDiagnostic diagnostic;
  const auto id = JsonMembers(*object, "", diagnostic).integer<std::int64_t>("id");
  if (diagnostic.any()) return std::nullopt;
  return id;
}

Result<Report, std::string> read_report(std::string_view line, CommandKind command) {
  const auto object = object_of(line);
  if (!object) return fail(not_a_line(line));
  JsonDiagnostic diagnostic;
  const JsonMembers members(*object, "", diagnostic);
  Report out;
  if (members.has("error") == members.has("ok")) {
    return fail("the result " + in_quotes(line) + " must have either ok or error");
  }
  const json* body = members.find(members.has("error") ? "error" : "ok");
  if (!body->is_object())
    return fail("the result " + in_quotes(line) + ": ok and error must be objects");
  if (members.has("error")) {
    const JsonMembers error(*body, "/error", diagnostic);
    out.kind = ResultKind::kError;
    out.error_kind = error.text("kind");
    out.error_text = error.text("text");
  } else {
    read_success(*body, command, diagnostic, out);
  }
  if (diagnostic.any()) return fail("the result " + in_quotes(line) + ": " + diagnostic.text());
  return out;
}

std::string describe(const Report& report) {
  const std::string version = report.version ? " with version " + in_quotes(*report.version) : "";
  switch (report.kind) {
    case ResultKind::kOk:
      return "success";
    case ResultKind::kApplied:
      return "the value is set" + version;
    case ResultKind::kNotApplied:
      return "the condition does not hold" + version;
    case ResultKind::kValue:
      return "the value " + in_quotes(report.value) + version;
    case ResultKind::kMissing:
      return "no value" + version;
    case ResultKind::kDeleted:
      if (report.count == -1) return "the value is different";
      return std::to_string(report.count) + " deleted";
    case ResultKind::kHeld:
      return "the lock is held" +
             (report.version ? ", with the token " + in_quotes(*report.version) : "");
    case ResultKind::kNotHeld:
      return "the lock is not held";
    case ResultKind::kChanged:
      if (report.operation == codec::Operation::kDelete) {
        return "the deletion of " + in_quotes(report.key) + version;
      }
      return "the change of " + in_quotes(report.key) + " to " + in_quotes(report.value) + version;
    case ResultKind::kError:
      break;
  }
  return "an error (" + escape(report.error_kind, kMaxShown) + "): " + in_quotes(report.error_text);
}

std::string describe(const Expected& expected, codec::DialectId dialect) {
  if (expected.kind != ResultKind::kError) {
    return describe(
        Report{.kind = expected.kind, .value = expected.value, .count = expected.count});
  }
  if (expected.text) return "an error with the text " + in_quotes(*expected.text);
  if (!expected.error) return "an error";
  return "an error with the text " +
         in_quotes(codec::text(*expected.error, codec::dialect(dialect)));
}

bool is_expected(const Report& report, const Expected& expected, codec::DialectId dialect,
                 bool with_text) {
  if (report.kind != expected.kind) return false;
  switch (expected.kind) {
    case ResultKind::kValue:
      return report.value == expected.value;
    case ResultKind::kDeleted:
      return report.count == expected.count;
    case ResultKind::kError:
      if (!with_text) return true;
      if (expected.text) return report.error_text.find(*expected.text) != std::string::npos;
      return !expected.error || report.error_text.find(codec::text(
                                    *expected.error, codec::dialect(dialect))) != std::string::npos;
    default:
      return true;
  }
}

}  // namespace fencepost::client_run
