#include "conformance/record/capture_case.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "codec/dialect.h"
#include "codec/error_code.h"
#include "codec/notification.h"
#include "codec/topics.h"
#include "conformance/record/capture_keys.h"
#include "conformance/record/capture_rules.h"
#include "conformance/record/capture_versions.h"
#include "conformance/scenario/scenario_words.h"
#include "conformance/scenario/yaml_reader.h"

namespace fencepost::record {
namespace {

using codec::ReplyKind;
using codec::Verb;
using std::chrono::milliseconds;
using Kind = TimelineItem::Kind;

constexpr std::size_t kShownBytes = 80;
constexpr std::string_view kUnknownValue = "from before the recording";

std::string escaped(std::string_view bytes) { return escape(bytes, kShownBytes); }

// `a`, `b`, ... as long as there are letters, then c27, ...
std::string client_name(std::size_t index) {
  constexpr std::string_view kLetters = "abcdefghijklmopqrstuvwxz";  // n and y mean no and yes
  if (index < kLetters.size()) return std::string(kLetters.substr(index, 1));
  return fmt::format("c{}", index + 1);
}

// A user property that belongs to the protocol. What others hold is nobody's business.
bool is_of_protocol(std::string_view name) {
  return name.starts_with("__") || name == "aio-persistence";
}

// Writes one case.
class Writer {
 public:
  Writer(const Capture& capture, const std::vector<CapturedStep>& given,
         const CaptureOptions& options, const CaseSettings& settings)
      : capture_(capture),
        options_(options),
        settings_(settings),
        given_(given),
        items_(items_of(given)),
        versions_(settings.offset_ms, tokens_of(items_)),
        names_(key_names(items_)) {}

  CapturedCase run() {
    for (const TimelineItem* item : items_) {
      if (item->kind != Kind::kDisconnection) name_client(*item);
    }
    write_beginnings();
    for (std::size_t i = 0; i < given_.size(); ++i) write(i);
    if (!proves_) {
      out_.notes.push_back(
          "nothing here tells a right store from an idle one: no case is made of " +
          clients_known());
      return std::move(out_);
    }
    out_.text = head() + start() + beginnings_ + steps_;
    return std::move(out_);
  }

 private:
  static std::vector<const TimelineItem*> items_of(const std::vector<CapturedStep>& given) {
    std::vector<const TimelineItem*> out;
    for (const CapturedStep& step : given) out.push_back(step.item);
    return out;
  }

  static std::vector<std::string> tokens_of(const std::vector<const TimelineItem*>& items) {
    std::vector<std::string> out;
    for (const TimelineItem* item : items) {
      if (item->kind != Kind::kExchange) continue;
      if (const auto* token = item->message->property(codec::kTokenProperty)) {
        out.push_back(*token);
      }
    }
    return out;
  }

  // ---- The whole

  void name_client(const TimelineItem& item) {
    const bool added = clients_.try_emplace(item.client_id, client_name(clients_.size())).second;
    if (added) client_order_.push_back(item.client_id);
    if (!item.client_known) derived_.insert(item.client_id);
  }

  [[nodiscard]] std::string clients_known() const {
    std::vector<std::string> out;
    for (const std::string& id : client_order_) out.push_back(escaped(id));
    return scenario::joined(out);
  }

  [[nodiscard]] std::string head() const {
    const std::string id = fmt::format("{}.{:08x}-{}", kRecordArea,
                                       stable_hash(steps_) & 0xffffffffU, settings_.number);
    std::string out = fmt::format("  # {}\n", id);
    for (const std::string& client : client_order_) {
      out += fmt::format("  # client {}: {}{}\n", clients_.at(client), escaped(client),
                         derived_.contains(client) ? " (derived from its response topic)" : "");
    }
    for (const auto& [key, name] : names_) {
      if (key != name) out += fmt::format("  # key {}: {}\n", name, escaped(key));
    }
    for (const std::string& note : out_.notes) out += "  # " + note + "\n";
    out += fmt::format("  - id: {}\n    title: {}\n", id, scenario::single_quoted(options_.title));
    if (!flagged_.empty()) {
      out += "    note: " + scenario::single_quoted(scenario::joined(flagged_)) + "\n";
    }
    std::vector<std::string_view> requirements = requirements_;
    if (versions_.uses_start() && !has(requirements, "SET-OK-1")) {
      requirements.push_back("SET-OK-1");
    }
    out += "    requirements: [" + scenario::joined(requirements) + "]\n";
    if (!divergences_.empty()) {
      std::vector<std::string_view> names;
      for (const codec::Divergence divergence : divergences_) names.push_back(name(divergence));
      out += "    divergence: [" + scenario::joined(names) + "]\n";
    }
    if (needs_transport_) out += "    requires: [transport]\n";
    std::vector<std::string> clients;
    for (const std::string& client : client_order_) {
      const bool observes = observers_.contains(client);
      clients.push_back(clients_.at(client) + (observes ? ": {observes: true}" : ": {}"));
    }
    return out + "    clients: {" + scenario::joined(clients) + "}\n    steps:\n";
  }

  static bool has(const std::vector<std::string_view>& list, std::string_view item) {
    return std::find(list.begin(), list.end(), item) != list.end();
  }

  // The version that the oldest tokens are relative to.
  [[nodiscard]] std::string start() const {
    if (!versions_.uses_start()) return {};
    std::string name = "start";
    while (std::any_of(names_.begin(), names_.end(),
                       [&](const auto& known) { return known.second == name; })) {
      name += '-';
    }
    return fmt::format(
        "      - set: {{key: {}, value: start}}\n"
        "        expect: {{reply: ok, ts: {{save: {}}}, cites: SET-OK-1}}\n",
        name, kStartVersion);
  }

  std::string_view cite(std::string_view requirement) {
    if (!has(requirements_, requirement)) requirements_.push_back(requirement);
    return requirement;
  }

  [[nodiscard]] std::string client_member(const std::string& id) const {
    return id == client_order_.front() ? "" : ", client: " + clients_.at(id);
  }

  static void line(std::string& out, const std::string& text) { out += "      - " + text + "\n"; }
  static void more(std::string& out, const std::string& text) { out += "        " + text + "\n"; }

  // ---- What was there before

  void write_beginnings() {
    std::size_t number = 0;
    for (const auto& [key, beginning] : beginnings(items_, capture_.from_start)) {
      if (beginning.exists) write_existing(key, beginning, ++number);
      for (const std::string& client : beginning.observers) {
        if (!clients_.contains(client) || !capture_.sees_notifications) continue;
        line(beginnings_,
             fmt::format("keynotify: {{key: {}{}}}", scenario::text_of_key(names_.at(key)),
                         client_member(client)));
        more(beginnings_, fmt::format("expect: {{reply: ok, cites: {}}}", cite("NTF-RESPONSE-2")));
        keys_[key].observers.insert(client);
        observers_.insert(client);
      }
    }
  }

  void write_existing(const std::string& key, const KeyBeginning& beginning, std::size_t number) {
    KeyNow& now = keys_[key];
    now.exists = true;
    now.fenced = beginning.fenced;
    const std::string name = fmt::format("b{}", number);
    now.last_version = name;
    unnamed_.emplace(key, name);
    std::string request = fmt::format(
        "set: {{key: {}, value: {}", scenario::text_of_key(names_.at(key)),
        scenario::text_of_bytes(beginning.value ? *beginning.value : std::string(kUnknownValue)));
    if (beginning.fenced) request += beginning.fenced_high ? ", ft: now" : ", ft: 'now - 240h'";
    line(beginnings_, request + "}");
    more(beginnings_,
         fmt::format("expect: {{reply: ok, ts: {{save: {}}}, cites: {}}}", name, cite("SET-OK-1")));
    out_.notes.push_back(
        fmt::format("key {} was there before the recording: the first steps make it{}",
                    names_.at(key), beginning.value ? "" : ", with another value"));
  }

  // ---- Steps

  void write(std::size_t index) {
    const CapturedStep& given = given_[index];
    switch (given.item->kind) {
      case Kind::kDisconnection:
        write_disconnection(index);
        break;
      case Kind::kNotification:
        write_notification(given);
        break;
      case Kind::kExchange:
        write_exchange(index);
        break;
    }
  }

  void flag(const CapturedStep& given) {
    if (given.flagged.empty()) return;
    flagged_.push_back(one_line_of(given.flagged));
    more(steps_, "note: " + scenario::single_quoted(flagged_.back()));
  }

  static std::string one_line_of(const std::string& text) { return escape(text, text.size()); }

  void write_disconnection(std::size_t index) {
    const TimelineItem& item = *items_[index];
    for (auto& [key, now] : keys_) {
      now.observers.erase(item.client_id);
      now.to_be_told.erase(item.client_id);
    }
    const bool connected = connected_.erase(item.client_id) > 0;
    const bool again =
        std::any_of(items_.begin() + static_cast<std::ptrdiff_t>(index) + 1, items_.end(),
                    [&](const TimelineItem* later) {
                      return later->client_id == item.client_id || later->kind == Kind::kExchange;
                    });
    if (!connected || !again) return;
    if (item.by_store) {
      ended_.insert(item.client_id);
    } else {
      line(steps_, "disconnect: " + clients_.at(item.client_id));
    }
  }

  // Waits until the time of the key has passed, where it had passed.
  void let_expire(KeyNow& key, const TimelineItem& item, bool shows_gone) {
    if (!key.expires_after) return;
    const milliseconds slack = options_.expiry_slack;
    const bool gone = shows_gone ? item.received >= key.sent + *key.expires_after
                                 : item.sent >= key.received + *key.expires_after + slack;
    if (!gone) return;
    const milliseconds wait = *key.expires_after + slack;
    if (wait > scenario::kMaxDuration) {
      out_.notes.push_back(
          "a key expired after more than an hour: this case does not wait so long");
    } else {
      line(steps_, fmt::format("wait: {{until: {}.reply + {}}}", key.mark,
                               scenario::duration_text(wait.count())));
    }
    remove(key, true);
  }

  void write_exchange(std::size_t index) {
    const CapturedStep& given = given_[index];
    const TimelineItem& item = *given.item;
    const ReadExchange exchange = read(item);
    const bool registers = exchange.command && exchange.command->verb == Verb::kKeynotify;
    if (registers && !capture_.sees_notifications) {
      out_.notes.push_back(
          fmt::format("client {} observed key {}: left out, as notifications were "
                      "not seen",
                      clients_.at(item.client_id), names_.at(std::string(exchange.key()))));
      return;
    }
    const std::string key_bytes(exchange.key());
    KeyNow& key = keys_[key_bytes];
    const bool shows_gone = exchange.answered(ReplyKind::kMissing) ||
                            (exchange.answered(ReplyKind::kCount) && exchange.reply->count == 0) ||
                            (exchange.answered(ReplyKind::kOk) && exchange.command &&
                             exchange.command->condition == codec::Condition::kIfAbsent);
    if (!key_bytes.empty()) let_expire(key, item, shows_gone);
    if (ended_.erase(item.client_id) > 0) {
      line(steps_, "connect: " + clients_.at(item.client_id));
    }
    if (registers) observers_.insert(item.client_id);
    connected_.insert(item.client_id);
    line(steps_, request(index, exchange));
    more(steps_, expectation(index, exchange, key));
    flag(given);
    follow(key, item, exchange);
    if (exchange.answered(ReplyKind::kOk) && key.expires_after && exchange.command &&
        exchange.command->verb == Verb::kSet) {
      key.mark = mark_name(index);
    }
  }

  static std::string mark_name(std::size_t index) { return fmt::format("m{}", index + 1); }

  // Are all arguments but key and value such that the format can say them?
  static bool has_plain_options(const ReadExchange& exchange, std::size_t first) {
    return exchange.arguments.size() >= first &&
           std::all_of(exchange.arguments.begin() + static_cast<std::ptrdiff_t>(first),
                       exchange.arguments.end(), [](std::string_view option) {
                         return std::all_of(option.begin(), option.end(), scenario::is_plain_byte);
                       });
  }

  std::string request(std::size_t index, const ReadExchange& exchange) {
    const TimelineItem& item = *items_[index];
    std::string out = action(exchange, item) + client_member(item.client_id);
    out += envelope(*item.message);
    const std::string* timestamp = item.message->property(codec::kTimestampProperty);
    const bool sets = out.starts_with("set:");
    if (timestamp != nullptr) {
      const std::string text = versions_.timestamp(
          *timestamp, item.sent, exchange.refused(codec::ErrorCode::kTimestampTooFarAhead));
      if (!sets || text != "now") out += ", ts: " + text;
    } else if (sets) {
      out += ", ts: none";
    }
    if (const std::string* token = item.message->property(codec::kTokenProperty)) {
      out += ", ft: " + versions_.token(*token, item.sent,
                                        exchange.refused(codec::ErrorCode::kTokenTooFarAhead));
    }
    if (exchange.command && exchange.command->expires_after && exchange.answered(ReplyKind::kOk)) {
      out += ", mark: " + mark_name(index);
    }
    return out + "}";
  }

  // `set: {key: k, value: v`
  std::string action(const ReadExchange& exchange, const TimelineItem& item) {
    constexpr std::size_t kWithValue = 3;
    if (exchange.arguments.empty())
      return "send: {payload: " + scenario::text_of_bytes(item.message->payload);
    const std::string_view verb = exchange.arguments[0];
    const bool with_value = verb == "SET" || verb == "VDEL";
    const bool known = with_value || verb == "GET" || verb == "DEL" || verb == "KEYNOTIFY";
    const std::size_t first_option = with_value ? kWithValue : kWithValue - 1;
    if (!known || !has_plain_options(exchange, first_option)) return sent(exchange);
    std::string out(verb);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](char c) { return static_cast<char>(c - 'A' + 'a'); });
    out += ": {key: " + key_text(exchange.key());
    if (with_value) out += ", value: " + scenario::text_of_bytes(exchange.arguments[2]);
    std::vector<std::string> options;
    for (std::size_t i = first_option; i < exchange.arguments.size(); ++i) {
      options.push_back(fmt::format("\"{}\"", exchange.arguments[i]));
    }
    if (!options.empty()) out += ", options: [" + scenario::joined(options) + "]";
    return out;
  }

  [[nodiscard]] std::string key_text(std::string_view key) const {
    return key.empty() ? "{exact: \"\"}" : scenario::text_of_key(names_.at(std::string(key)));
  }

  [[nodiscard]] std::string sent(const ReadExchange& exchange) const {
    std::vector<std::string> arguments;
    const bool named = !exchange.key().empty();
    for (std::size_t i = 0; i < exchange.arguments.size(); ++i) {
      arguments.push_back(i == 1 && named ? "{key: " + key_text(exchange.key()) + "}"
                                          : scenario::text_of_bytes(exchange.arguments[i]));
    }
    return "send: {command: [" + scenario::joined(arguments) + "]" +
           (named ? ", writes: [" + key_text(exchange.key()) + "]" : "");
  }

  // Members of the PUBLISH that are not as they usually are.
  std::string envelope(const codec::Message& message) {
    std::string out;
    if (capture_.sees_packets && message.qos != 1) out += fmt::format(", qos: {}", message.qos);
    if (capture_.sees_packets && message.retain) out += ", retain: true";
    needs_transport_ = needs_transport_ || !out.empty();
    if (!message.response_topic) {
      out += ", response_topic: none";
    } else if (codec::response_topic_fault(*message.response_topic)) {
      out += ", response_topic: " + scenario::text_of_bytes(*message.response_topic);
    }
    if (!message.correlation_data) {
      out += ", correlation: none";
    } else if (message.correlation_data->empty()) {
      out += ", correlation: \"\"";
    }
    if (message.content_type)
      out += ", content_type: " + scenario::double_quoted(*message.content_type);
    if (message.payload_format) out += fmt::format(", payload_format: {}", *message.payload_format);
    if (message.expiry_seconds) out += fmt::format(", expiry: {}", *message.expiry_seconds);
    return out + properties(message);
  }

  static std::string properties(const codec::Message& message) {
    std::vector<std::string> pairs;
    for (const auto& [name, value] : message.user_properties) {
      // Of repeated ones the last counts, which has a member of its own.
      const bool own = name == codec::kTimestampProperty || name == codec::kTokenProperty;
      if (own && &value == message.property(name)) continue;
      if (!is_of_protocol(name)) continue;
      pairs.push_back(
          fmt::format("[{}, {}]", scenario::double_quoted(name), scenario::double_quoted(value)));
    }
    return pairs.empty() ? "" : ", properties: [" + scenario::joined(pairs) + "]";
  }

  // ---- Expectations

  std::string expectation(std::size_t index, const ReadExchange& exchange, KeyNow& key) {
    const TimelineItem& item = *items_[index];
    const std::string_view cited = cite(rule(item, exchange, key));  // of the key as it was
    std::vector<std::string> members;
    if (item.reply != nullptr) {
      members.push_back("reply: " + reply_text(*item.reply, exchange));
      proves_ = true;
    } else if (!item.reply_unknown) {
      const bool ended = ends_connection(index);
      needs_transport_ = needs_transport_ || ended;
      members.push_back(ended ? "reply: disconnect" : "reply: none");
    } else {
      out_.notes.push_back(fmt::format("step {}: the reply was not seen", mark_name(index)));
    }
    if (item.reply != nullptr) {
      if (const std::string check = version_check(item, exchange, key); !check.empty()) {
        members.push_back("ts: " + check);
      }
    }
    if (shows_key(exchange) && key.expires_after && !key.mark.empty() &&
        *key.expires_after <= scenario::kMaxDuration) {
      members.push_back(fmt::format("before: {} + {}", key.mark,
                                    scenario::duration_text(key.expires_after->count())));
    }
    members.push_back(fmt::format("cites: {}", cited));
    return "expect: {" + scenario::joined(members) + "}";
  }

  [[nodiscard]] std::string_view rule(const TimelineItem& item, const ReadExchange& exchange,
                                      const KeyNow& key) const {
    if (item.reply == nullptr && !item.message->response_topic) return "ENV-RESPONSE-TOPIC-5";
    if (item.reply == nullptr && !item.reply_unknown && item.message->response_topic &&
        codec::response_topic_fault(*item.message->response_topic)) {
      return "ENV-RESPONSE-TOPIC-4";
    }
    if (item.reply == nullptr) return "ENV-RESPONSE-1";
    return requirement_of(exchange, *item.message, key);
  }

  // Is the next that happens to the client the end of its connection, by the store?
  [[nodiscard]] bool ends_connection(std::size_t index) const {
    for (std::size_t i = index + 1; i < items_.size(); ++i) {
      if (items_[i]->client_id != items_[index]->client_id) continue;
      return items_[i]->kind == Kind::kDisconnection && items_[i]->by_store;
    }
    return false;
  }

  static bool shows_key(const ReadExchange& exchange) {
    if (exchange.command && exchange.command->verb == Verb::kSet) {
      return exchange.answered(ReplyKind::kNotApplied);
    }
    return exchange.answered(ReplyKind::kValue) || exchange.answered(ReplyKind::kNotApplied) ||
           (exchange.answered(ReplyKind::kCount) && exchange.reply->count > 0);
  }

  // The word for a reply whose bytes are those of a dialect; else the bytes.
  std::string reply_text(const codec::Message& reply, const ReadExchange& exchange) {
    std::string bytes = "{bytes: " + scenario::text_of_bytes(reply.payload) + "}";
    if (!exchange.reply || (exchange.answered(ReplyKind::kError) && !exchange.error)) return bytes;
    std::optional<Verb> verb;
    for (const Verb known : codec::kVerbs) {
      if (!exchange.arguments.empty() && codec::name(known) == exchange.arguments[0]) verb = known;
    }
    const codec::Reply typed{.kind = exchange.reply->kind,
                             .value = exchange.reply->value,
                             .count = exchange.reply->count,
                             .error = exchange.error.value_or(codec::ErrorCode::kSyntax)};
    const bool spelled_right = std::any_of(
        codec::kDialects.begin(), codec::kDialects.end(), [&](codec::DialectId dialect) {
          std::string encoded;
          append_reply(encoded, typed, verb, codec::dialect(dialect));
          return encoded == reply.payload;
        });
    if (!spelled_right) return bytes;
    switch (typed.kind) {
      case ReplyKind::kOk:
        return "ok";
      case ReplyKind::kNotApplied:
        divergences_.insert(verb == Verb::kVdel ? codec::Divergence::kVdelMismatch
                                                : codec::Divergence::kSetNotApplied);
        return "not-applied";
      case ReplyKind::kValue:
        return "{value: " + scenario::text_of_bytes(typed.value) + "}";
      case ReplyKind::kMissing:
        return "missing";
      case ReplyKind::kCount:
        return fmt::format("{{count: {}}}", typed.count);
      case ReplyKind::kError:
        break;
    }
    if (typed.error == codec::ErrorCode::kTokenLower) {
      divergences_.insert(codec::Divergence::kLowerTokenText);
    }
    if (verb == Verb::kKeynotify) divergences_.insert(codec::Divergence::kKeynotifyError);
    return fmt::format("{{error: {}}}", codec::name(typed.error));
  }

  // What was true of the version and has to be. Where the article leaves it open, nothing.
  std::string version_check(const TimelineItem& item, const ReadExchange& exchange, KeyNow& key) {
    const std::string* version = item.reply->property(codec::kTimestampProperty);
    if (version == nullptr) return exchange.answered(ReplyKind::kMissing) ? "absent" : "";
    if (!exchange.command) return {};
    const bool sets = exchange.command->verb == Verb::kSet;
    if (sets && exchange.answered(ReplyKind::kOk)) return new_version(*version, item, key);
    const bool shows =
        (sets && exchange.answered(ReplyKind::kNotApplied)) || exchange.answered(ReplyKind::kValue);
    if (!shows) return {};
    const std::string bytes(exchange.key());
    if (const auto unnamed = unnamed_.find(bytes); unnamed != unnamed_.end()) {
      if (key.last_version == unnamed->second) versions_.alias(*version, unnamed->second);
      unnamed_.erase(unnamed);
    }
    if (const std::string* known = versions_.name_of(*version)) {
      key.last_version = *known;
      return fmt::format("{{equals: {}}}", *known);
    }
    key.last_version = versions_.save(*version);
    return fmt::format("{{save: {}}}", *key.last_version);
  }

  std::string new_version(const std::string& version, const TimelineItem& item, KeyNow& key) {
    if (versions_.name_of(version) != nullptr) return "present";  // flagged: it is not new
    std::vector<std::string> less;
    const auto made = hlc::parse(version);
    const std::string* sent = item.message->property(codec::kTimestampProperty);
    if (made && sent != nullptr) {
      if (const auto timestamp = hlc::parse(*sent); timestamp && *timestamp < *made) {
        less.emplace_back("sent");
      }
    }
    if (key.last_version && is_greater(version, *key.last_version)) {
      less.push_back(*key.last_version);
    }
    unnamed_.erase(std::string(read(item).key()));
    key.last_version = versions_.save(version);
    saved_.emplace(*key.last_version, version);
    std::string out = "{save: " + *key.last_version;
    if (!less.empty()) out += ", greater_than: [" + scenario::joined(less) + "]";
    return out + "}";
  }

  // As it was observed; of versions whose text is not known, as it has to be.
  [[nodiscard]] bool is_greater(const std::string& version, const std::string& name) const {
    const auto before = saved_.find(name);
    if (before == saved_.end()) return true;
    const auto old = hlc::parse(before->second);
    const auto made = hlc::parse(version);
    return old && made && *old < *made;
  }

  // ---- Notifications

  void write_notification(const CapturedStep& given) {
    const TimelineItem& item = *given.item;
    const auto told = codec::decode_notification(item.message->payload);
    KeyNow& key = keys_[item.key];
    const auto leave_out = [&](std::string_view why) {
      out_.notes.push_back(fmt::format("a notification of key {} to client {} is left out: {}",
                                       names_.at(item.key), clients_.at(item.client_id), why));
      if (!given.flagged.empty()) flagged_.push_back(one_line_of(given.flagged));
    };
    if (!told) return leave_out("it is malformed");
    const bool sets = told->operation == codec::Operation::kSet;
    if (!sets) let_expire(key, item, true);
    const std::string* version = item.message->property(codec::kTimestampProperty);
    if (sets && (version == nullptr || versions_.name_of(*version) == nullptr)) {
      return leave_out("no request in this recording caused it");
    }
    const bool explained = sets || (!key.exists && key.to_be_told.erase(item.client_id) > 0);
    if (!explained && given.flagged.empty()) {
      return leave_out("no request in this recording caused it");
    }
    std::string out = fmt::format("notification: {{key: {}{}, operation: {}",
                                  scenario::text_of_key(names_.at(item.key)),
                                  client_member(item.client_id), sets ? "set" : "delete");
    if (sets) {
      out += fmt::format(", value: {}, ts: {{equals: {}}}", scenario::text_of_bytes(told->value),
                         *versions_.name_of(*version));
    } else {
      divergences_.insert(codec::Divergence::kDeleteOperation);
    }
    const std::string_view rule =
        sets ? "NTF-SEND-1" : (key.expired ? "NTF-EXPIRY-1" : "NTF-SEND-2");
    line(steps_, out + fmt::format(", cites: {}}}", cite(rule)));
    flag(given);
    observers_.insert(item.client_id);
    proves_ = true;
  }

  const Capture& capture_;
  const CaptureOptions& options_;
  const CaseSettings& settings_;
  const std::vector<CapturedStep>& given_;
  std::vector<const TimelineItem*> items_;
  CaptureVersions versions_;
  std::map<std::string, std::string> names_;    // of keys
  std::map<std::string, std::string> clients_;  // names by client id
  std::vector<std::string> client_order_;
  std::set<std::string> derived_;  // client ids that are not known for sure
  std::map<std::string, KeyNow> keys_;
  std::map<std::string, std::string> unnamed_;  // of keys from before: the name of the version
  std::map<std::string, std::string> saved_;    // versions by name
  std::set<std::string> connected_;
  std::set<std::string> ended_;      // by the store
  std::set<std::string> observers_;  // clients
  std::string beginnings_;
  std::string steps_;
  std::vector<std::string_view> requirements_;  // in the order in which they are cited
  std::set<codec::Divergence> divergences_;
  std::vector<std::string> flagged_;
  bool needs_transport_ = false;
  bool proves_ = false;
  CapturedCase out_;
};

}  // namespace

CapturedCase captured_case(const Capture& capture, const std::vector<CapturedStep>& steps,
                           const CaptureOptions& options, const CaseSettings& settings) {
  return Writer(capture, steps, options, settings).run();
}

}  // namespace fencepost::record
