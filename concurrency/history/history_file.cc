#include "concurrency/history/history_file.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/json_reader.h"
#include "concurrency/history/edn_log.h"

namespace fencepost::history {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr std::string_view kConditions[] = {"", "NX", "NEX"};

std::string escape_all(const std::string& bytes) { return escape(bytes, bytes.size()); }

std::string line_of(const ordered_json& document) { return document.dump() + "\n"; }

void add_request(ordered_json& out, const Operation& operation) {
  out["client"] = operation.client;
  out["request"] = name(operation.action);
  out["key"] = escape_all(operation.key);
  if (has_value(operation.action)) out["value"] = escape_all(operation.value);
  if (operation.action == Action::kCompareAndSet) {
    out["expected"] = escape_all(operation.expected);
  }
  if (operation.condition != codec::Condition::kAlways) {
    out["condition"] = kConditions[static_cast<std::size_t>(operation.condition)];
  }
  if (operation.expires_after) out["px_ms"] = operation.expires_after->count();
  if (operation.timestamp) out["timestamp"] = hlc::format(*operation.timestamp);
  if (operation.token) out["token"] = hlc::format(*operation.token);
}

void add_reply(ordered_json& out, const Operation& operation) {
  out["reply"] = name(operation.outcome);
  if (operation.outcome == Outcome::kValue) out["read"] = escape_all(operation.read);
  if (operation.version) out["version"] = hlc::format(*operation.version);
  if (!operation.reason.empty()) out["reason"] = escape_all(operation.reason);
}

// One of `all`, by its name.
template <typename Word, typename List>
Word word_of(const JsonMembers& members, const char* member, const List& all) {
  const std::string text = members.text(member);
  std::string known;
  for (const Word word : all) {
    if (name(word) == text) return word;
    known += (known.empty() ? "" : ", ") + std::string(name(word));
  }
  members.wrong(member, "one of: " + known);
  return {};
}

std::optional<hlc::Timestamp> stamp_of(const JsonMembers& members, const char* member) {
  if (!members.has(member)) return std::nullopt;
  const auto stamp = hlc::parse(members.text(member));
  if (stamp) return *stamp;
  members.diagnose(member, std::string(hlc::describe(stamp.error())));
  return std::nullopt;
}

Time time_of(const JsonMembers& members, const char* member) {
  // With the longest time to live, and what an expiry may be late, it can be added up.
  constexpr std::int64_t kMax = 5'000'000'000'000'000'000;  // nanoseconds: 158 years
  const auto out = members.integer<std::int64_t>(member);
  if (out > kMax) members.wrong(member, "at most " + std::to_string(kMax));
  return Time(std::min(out, kMax));
}

codec::Condition condition_of(const JsonMembers& members) {
  if (!members.has("condition")) return codec::Condition::kAlways;
  const std::string text = members.text("condition");
  if (text == "NX") return codec::Condition::kIfAbsent;
  if (text == "NEX") return codec::Condition::kIfAbsentOrEqual;
  members.wrong("condition", "NX or NEX");
  return codec::Condition::kAlways;
}

Operation request_of(const JsonMembers& members) {
  Operation out;
  out.client = members.integer<std::uint32_t>("client");
  out.action = word_of<Action>(members, "request", kActions);
  out.key = members.bytes("key");
  const bool set = out.action == Action::kSet;
  if (has_value(out.action)) {
    out.value = members.bytes("value");
  }
  if (out.action == Action::kCompareAndSet) out.expected = members.bytes("expected");
  if (set) out.condition = condition_of(members);
  if (set && members.has("px_ms")) {
    const std::int64_t longest = codec::kMaxExpiry.count();
    const auto after = members.integer<std::int64_t>("px_ms");
    if (after > longest) members.wrong("px_ms", "at most " + std::to_string(longest));
    out.expires_after = std::chrono::milliseconds(std::min(after, longest));
  }
  out.timestamp = stamp_of(members, "timestamp");
  out.token = stamp_of(members, "token");
  return out;
}

Operation reply_of(const JsonMembers& members) {
  Operation out;
  out.outcome = word_of<Outcome>(members, "reply", kOutcomes);
  if (out.outcome == Outcome::kValue) out.read = members.bytes("read");
  out.version = stamp_of(members, "version");
  if (members.has("reason")) out.reason = members.bytes("reason");
  if (out.outcome != Outcome::kUnknown || members.has("at")) out.returned = time_of(members, "at");
  return out;
}

Notification notification_of(const JsonMembers& members) {
  Notification out;
  out.client = members.integer<std::uint32_t>("client");
  out.key = members.bytes("key");
  const std::string operation = members.text("operation");
  if (operation == "DELETE") {
    out.operation = codec::Operation::kDelete;
  } else if (operation == "SET") {
    out.valueless = !members.has("value");
    if (!out.valueless) out.value = members.bytes("value");
  } else {
    members.wrong("operation", "SET or DELETE");
  }
  out.version = stamp_of(members, "version");
  out.arrived = time_of(members, "at");
  out.duplicate = members.flag_if_there("duplicate");
  return out;
}

}  // namespace

std::string header_line() { return line_of({{"type", "history"}, {"format", kFormat}}); }

std::string bounds_line(const Bounds& bounds) {
  ordered_json out{{"type", "bounds"},
                   {"expiry_early_ms", bounds.expiry_early.count()},
                   {"expiry_late_ms", bounds.expiry_late.count()},
                   {"notification_late_ms", bounds.notification_late.count()}};
  if (!bounds.versions_grow) out["versions_grow"] = false;
  return line_of(out);
}

std::string call_line(std::uint64_t id, const Operation& operation) {
  ordered_json out{{"type", "call"}, {"id", id}, {"at", operation.called.count()}};
  add_request(out, operation);
  return line_of(out);
}

std::string return_line(std::uint64_t id, const Operation& operation) {
  ordered_json out{{"type", "return"}, {"id", id}};
  if (operation.returned != kNever) out["at"] = operation.returned.count();
  add_reply(out, operation);
  return line_of(out);
}

std::string resent_line(std::uint64_t id, Time at) {
  return line_of({{"type", "resent"}, {"id", id}, {"at", at.count()}});
}

std::string notification_line(const Notification& notification) {
  ordered_json out{{"type", "notification"},
                   {"at", notification.arrived.count()},
                   {"client", notification.client},
                   {"key", escape_all(notification.key)}};
  const bool set = notification.operation == codec::Operation::kSet;
  out["operation"] = set ? "SET" : "DELETE";
  if (set && !notification.valueless) out["value"] = escape_all(notification.value);
  if (notification.version) out["version"] = hlc::format(*notification.version);
  if (notification.duplicate) out["duplicate"] = true;
  return line_of(out);
}

std::string connection_line(const Connection& connection) {
  return line_of({{"type", "connection"},
                  {"at", connection.at.count()},
                  {"client", connection.client},
                  {"link", name(connection.link)}});
}

std::string restart_line(const Restart& restart) {
  return line_of({{"type", "restart"}, {"at", restart.at.count()}});
}

std::string disturbance_line(const Disturbance& disturbance) {
  ordered_json out{{"type", "disturbance"},
                   {"at", disturbance.at.count()},
                   {"kind", escape_all(disturbance.kind)}};
  if (disturbance.client) out["client"] = *disturbance.client;
  return line_of(out);
}

ordered_json to_json(const Operation& operation) {
  ordered_json out;
  add_request(out, operation);
  out["called"] = operation.called.count();
  if (operation.returned != kNever) out["returned"] = operation.returned.count();
  add_reply(out, operation);
  if (operation.resent) out["resent"] = true;
  return out;
}

HistoryReader::HistoryReader(Sink sink, std::optional<std::string> initial)
    : sink_(std::move(sink)), initial_(std::move(initial)) {}
HistoryReader::~HistoryReader() = default;

Result<void, std::string> HistoryReader::line(std::string_view text) {
  ++lines_;
  if (text.find_first_not_of(" \t\r") == std::string_view::npos) return {};
  // Other harnesses write JSON, too, and always name the process.
  const bool ours =
      text.substr(0, 2) == "{\"" && text.find("\"process\"") == std::string_view::npos;
  if (!begun_ && !edn_ && !ours) edn_ = std::make_unique<EdnLog>(sink_, initial_);
  const Result<void, std::string> read = edn_ ? edn_->line(lines_, text) : json_line(text);
  if (read) return {};
  return fail("line " + std::to_string(lines_) + ": " + read.error());
}

Result<void, std::string> HistoryReader::json_line(std::string_view text) {
  const json document = read_json(text);
  if (!document.is_object()) return fail(std::string("this is not a JSON object"));
  JsonDiagnostic diagnostic;
  const JsonMembers members(document, "", diagnostic);
  const std::string type = members.text("type");
  if (!begun_ && type != "history") {
    return fail(std::string("the first line must be {\"type\": \"history\", \"format\": 1}"));
  }
  std::optional<Event> event;
  std::optional<Operation> call;
  std::optional<Operation> reply;
  const std::uint64_t id = type == "call" || type == "return" || type == "resent"
                               ? members.integer<std::uint64_t>("id")
                               : 0;
  if (type == "history") {
    if (members.integer<int>("format") != kFormat) members.wrong("format", "1");
  } else if (type == "bounds") {
    event = Bounds{
        std::chrono::milliseconds(members.integer<std::int32_t>("expiry_early_ms")),
        std::chrono::milliseconds(members.integer<std::int32_t>("expiry_late_ms")),
        members.has("notification_late_ms")
            ? std::chrono::milliseconds(members.integer<std::int32_t>("notification_late_ms"))
            : Bounds{}.notification_late,
        members.has("versions_grow") ? members.flag("versions_grow") : Bounds{}.versions_grow};
  } else if (type == "call") {
    call = request_of(members);
    call->called = time_of(members, "at");
  } else if (type == "return") {
    reply = reply_of(members);
  } else if (type == "resent") {
    const auto found = pending_.find(id);
    const Time at = time_of(members, "at");
    if (found == pending_.end() || at < found->second.called) {
      members.wrong("id", "that of a request in flight");
    } else {
      found->second.resent = true;
    }
  } else if (type == "notification") {
    event = notification_of(members);
  } else if (type == "connection") {
    event = Connection{
        members.integer<std::uint32_t>("client"),
        word_of<Link>(members, "link", std::array{Link::kConnected, Link::kLost, Link::kResumed}),
        time_of(members, "at")};
  } else if (type == "restart") {
    event = Restart{time_of(members, "at")};
  } else if (type == "disturbance") {
    Disturbance disturbance{.at = time_of(members, "at"), .kind = members.bytes("kind")};
    if (members.has("client")) disturbance.client = members.integer<std::uint32_t>("client");
    event = std::move(disturbance);
  } else {
    members.wrong("type",
                  "history, bounds, call, return, resent, notification, connection, restart or "
                  "disturbance");
  }
  if (diagnostic.any()) return fail(diagnostic.text());
  begun_ = true;
  if (event) sink_(*event);
  if (call && !pending_.try_emplace(id, std::move(*call)).second) {
    return fail("/id: " + std::to_string(id) + " is in flight already");
  }
  return reply ? add_return(id, std::move(*reply)) : Result<void, std::string>();
}

Result<void, std::string> HistoryReader::add_return(std::uint64_t id, Operation reply) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) {
    return fail("/id: " + std::to_string(id) + " was not called, or has returned already");
  }
  Operation& operation = found->second;
  if (reply.returned < operation.called) return fail(std::string("/at: is before the call"));
  if (!fits(operation.action, reply.outcome)) {
    return fail("/reply: " + std::string(name(operation.action)) + " is never answered with \"" +
                std::string(name(reply.outcome)) + "\"");
  }
  operation.returned = reply.returned;
  operation.outcome = reply.outcome;
  operation.read = std::move(reply.read);
  operation.version = std::move(reply.version);
  operation.reason = std::move(reply.reason);
  const Event event = std::move(operation);
  pending_.erase(found);
  sink_(event);
  return {};
}

bool HistoryReader::finish() {
  if (edn_) return edn_->finish();
  for (auto& [id, operation] : pending_) {
    operation.reason = "the history ends";
    sink_(std::move(operation));
  }
  pending_.clear();
  return true;
}

}  // namespace fencepost::history
