#include "traffic/record/capture_case.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "codec/error_code.h"
#include "codec/notification.h"
#include "codec/topics.h"
#include "suite/scenario/writer.h"
#include "suite/scenario/yaml_reader.h"
#include "traffic/record/capture_clients.h"
#include "traffic/record/capture_keys.h"
#include "traffic/record/capture_reply.h"
#include "traffic/record/capture_request.h"
#include "traffic/record/capture_rules.h"
#include "traffic/record/capture_title.h"
#include "traffic/record/capture_version_checks.h"
#include "traffic/record/capture_versions.h"

namespace fencepost::record {
namespace {

using codec::ReplyKind;
using codec::Verb;
using scenario::RequestStep;
using scenario::Step;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using Kind = TimelineItem::Kind;

constexpr std::string_view kUnknownValue = "from before the recording";
constexpr std::string_view kStartRequirement = "SET-OK-1";
// Shorter times are those of requests, not waits.
constexpr milliseconds kMinWait{10};
// A token that is older than any that a client makes by its clock.
constexpr std::int64_t kOldTokenMs = -240 * 3'600'000LL;

std::string one_line_of(const std::string& text) { return escape(text, text.size()); }

std::string mark_name(std::size_t index) { return fmt::format("m{}", index + 1); }

std::vector<const TimelineItem*> items_of(const std::vector<CapturedStep>& given) {
  std::vector<const TimelineItem*> out;
  for (const CapturedStep& step : given) out.push_back(step.item);
  return out;
}

std::vector<std::string> tokens_of(const std::vector<const TimelineItem*>& items) {
  std::vector<std::string> out;
  for (const TimelineItem* item : items) {
    if (item->kind != Kind::kExchange) continue;
    if (const auto* token = item->message->property(codec::kTokenProperty)) out.push_back(*token);
  }
  return out;
}

scenario::BytesSpec key_of(const std::string& name) { return {scenario::KeyBytes{name, {}}}; }

// A SET that applies, of a case's own.
RequestStep plain_set(const std::string& client, const std::string& key, const std::string& value,
                      const std::string& saved_as) {
  RequestStep out{
      .client = client,
      .payload = {scenario::CommandBytes{{bytes_of("SET"), key_of(key), bytes_of(value)}}},
      .timestamp = scenario::TimestampExpression{.base = "now"},
      .token = scenario::NoTimestamp{}};
  out.written_keys = {key_of(key)};
  out.expect.outcomes = {{scenario::PlainReply{ReplyKind::kOk}}};
  out.expect.timestamp = {.present = true, .save = saved_as};
  out.expect.cites = kStartRequirement;
  return out;
}

class CaseBuilder {
 public:
  CaseBuilder(const Capture& capture, const std::vector<CapturedStep>& given,
              const CaptureOptions& options, const CaseSettings& settings)
      : capture_(capture),
        options_(options),
        settings_(settings),
        given_(given),
        items_(items_of(given)),
        names_(key_names(items_)),
        clients_(items_),
        versions_(settings.offset_ms, tokens_of(items_)) {}

  CapturedCase run() {
    add_beginnings();
    for (std::size_t i = 0; i < given_.size(); ++i) add(i);
    if (!proves_) {
      out_.notes.push_back(
          "no case is made of " + clients_.ids() +
          ": nothing there distinguishes a conforming store from one that does nothing");
      return std::move(out_);
    }
    out_.comments = clients_.comments();
    for (const auto& [key, name] : names_) {
      if (key != name) {
        out_.comments.push_back(fmt::format("key {}: {}", name, escape(key, kMaxBytesInComment)));
      }
    }
    out_.comments.insert(out_.comments.end(), out_.notes.begin(), out_.notes.end());
    out_.test_case = whole();
    return std::move(out_);
  }

 private:
  // ---- The whole

  scenario::Case whole() {
    if (versions_.uses_start()) add_start();
    scenario::Case out;
    out.id = std::string(kRecordArea) + ".case";
    out.area = kRecordArea;
    out.requirements = requirements_;
    out.divergences = divergences_;
    if (needs_transport_) out.requires_ = {"transport"};
    out.clients = clients_.specs();
    out.steps = std::move(steps_);
    out.note = fmt::format("{}", fmt::join(flagged_, ", "));
    // The same for what does the same, so that it can be found again in another recording.
    const CaptureTitle made = title_of(items_);
    out.id = fmt::format("{}.{}.{:08x}-{}", kRecordArea, made.slug,
                         stable_hash(scenario::to_yaml({&out, 1})) & 0xffffffffU, settings_.number);
    out.title = options_.title.empty() ? made.text : options_.title;
    return out;
  }

  // The version that the oldest tokens are relative to.
  void add_start() {
    std::string name = "start";
    while (std::any_of(names_.begin(), names_.end(),
                       [&](const auto& known) { return known.second == name; })) {
      name += '-';
    }
    RequestStep request =
        plain_set(clients_.specs().front().name, name, "start", std::string(kStartVersion));
    cite(kStartRequirement);
    add_request(std::move(request));
    std::rotate(steps_.begin(), std::prev(steps_.end()), steps_.end());
  }

  std::string cite(std::string_view requirement) {
    const auto known = std::find(requirements_.begin(), requirements_.end(), requirement);
    if (known == requirements_.end()) requirements_.emplace_back(requirement);
    return std::string(requirement);
  }

  template <typename What>
  Step& add_step(std::string_view action, What what) {
    return steps_.emplace_back(
        Step{.position = {}, .title = std::string(action), .what = std::move(what)});
  }

  Step& add_request(RequestStep request) {
    const std::string_view action = scenario::action_of(request);
    return add_step(action, std::move(request));
  }

  void flag(const CapturedStep& given, Step& step) {
    if (given.flagged.empty()) return;
    step.note = one_line_of(given.flagged);
    flagged_.push_back(step.note);
  }

  // ---- What was there before

  void add_beginnings() {
    std::size_t number = 0;
    for (const auto& [key, beginning] : beginnings(items_, capture_.from_start)) {
      if (beginning.exists) add_existing(key, beginning, ++number);
      for (const std::string& client : beginning.observers) {
        if (!clients_.has(client) || !capture_.sees_notifications) continue;
        RequestStep request{
            .client = clients_.name_of(client),
            .payload = {scenario::CommandBytes{{bytes_of("KEYNOTIFY"), key_of(names_.at(key))}}},
            .timestamp = scenario::NoTimestamp{},
            .token = scenario::NoTimestamp{}};
        request.expect.outcomes = {{scenario::PlainReply{ReplyKind::kOk}}};
        request.expect.cites = cite("NTF-RESPONSE-2");
        add_request(std::move(request));
        keys_[key].observers.insert(client);
        clients_.observes(client);
      }
    }
  }

  void add_existing(const std::string& key, const KeyBeginning& beginning, std::size_t number) {
    KeyNow& now = keys_[key];
    now.exists = true;
    now.fenced = beginning.fenced;
    const std::string version = fmt::format("b{}", number);
    now.last_version = version;
    checks_.begin_with(key, version);
    RequestStep request =
        plain_set(clients_.specs().front().name, names_.at(key),
                  beginning.value ? *beginning.value : std::string(kUnknownValue), version);
    if (beginning.fenced) {
      request.token = scenario::TimestampExpression{
          .base = "now", .offset_ms = beginning.fenced_high ? 0 : kOldTokenMs};
    }
    cite(kStartRequirement);
    add_request(std::move(request));
    out_.notes.push_back(
        fmt::format("key {} existed before the recording: the first steps create it{}",
                    names_.at(key), beginning.value ? "" : ", with another value"));
  }

  // ---- Steps

  void add(std::size_t index) {
    switch (items_[index]->kind) {
      case Kind::kDisconnection:
        return add_disconnection(index);
      case Kind::kNotification:
        return add_notification(given_[index]);
      case Kind::kExchange:
        return add_exchange(index);
    }
  }

  void add_disconnection(std::size_t index) {
    const TimelineItem& item = *items_[index];
    for (auto& [key, now] : keys_) {
      now.observers.erase(item.client_id);
      now.pending_observers.erase(item.client_id);
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
      add_step("disconnect", scenario::DisconnectStep{clients_.name_of(item.client_id)});
    }
  }

  // What passed between two requests, where it is kept.
  void keep_time(const TimelineItem& item) {
    const auto passed =
        std::chrono::ceil<milliseconds>(item.sent - last_received_.value_or(item.sent));
    last_received_ = item.received;
    if (!options_.keeps_waits || passed < kMinWait) return;
    add_step("wait", scenario::WaitStep{
                         .duration = std::min<milliseconds>(passed, scenario::kMaxDuration)});
  }

  // Waits until the time of the key has passed, where it had passed.
  void let_expire(KeyNow& key, const TimelineItem& item, bool is_shown) {
    if (!key.expires_after) return;
    const milliseconds slack = options_.expiry_slack;
    const bool gone = is_shown ? item.received >= key.sent + *key.expires_after
                               : item.sent >= key.received + *key.expires_after + slack;
    if (!gone) return;
    const milliseconds wait = *key.expires_after + slack;
    if (wait > scenario::kMaxDuration) {
      out_.notes.emplace_back(
          "a key expired after more than an hour: this case does not wait that long");
    } else {
      add_step("wait",
               scenario::WaitStep{.until = scenario::TimePoint{
                                      .mark = key.mark, .after_reply = true, .offset = wait}});
    }
    remove(key, true);
  }

  void add_exchange(std::size_t index) {
    const CapturedStep& given = given_[index];
    const TimelineItem& item = *given.item;
    const ReadExchange exchange = read(item);
    const bool registers = exchange.command && exchange.command->verb == Verb::kKeynotify;
    if (registers && !capture_.sees_notifications) {
      out_.notes.push_back(
          fmt::format("client {} observed key {}: left out, because notifications "
                      "were not seen",
                      clients_.name_of(item.client_id), names_.at(std::string(exchange.key()))));
      return;
    }
    keep_time(item);
    KeyNow& key = keys_[std::string(exchange.key())];
    if (!exchange.key().empty()) let_expire(key, item, exchange.shows_gone());
    if (ended_.erase(item.client_id) > 0) {
      add_step("connect", scenario::ConnectStep{clients_.name_of(item.client_id)});
    }
    connected_.insert(item.client_id);
    RequestStep request = request_of(index, exchange);
    request.expect = expectation(index, exchange, key);
    Step& step = add_request(std::move(request));
    // `keynotify` is for clients that receive notifications, regardless of the rest of the request.
    if (registers || step.title == "keynotify") clients_.observes(item.client_id);
    flag(given, step);
    follow(key, item, exchange);
    if (exchange.answered(ReplyKind::kOk) && key.expires_after && exchange.command &&
        exchange.command->verb == Verb::kSet) {
      key.mark = mark_name(index);
    }
  }

  RequestStep request_of(std::size_t index, const ReadExchange& exchange) {
    const TimelineItem& item = *items_[index];
    RequestStep out = request_step(*item.message, exchange, names_, capture_.sees_packets);
    needs_transport_ = needs_transport_ || out.qos != 1 || out.retain;
    out.client = clients_.name_of(item.client_id);
    if (const std::string* timestamp = item.message->property(codec::kTimestampProperty)) {
      out.timestamp = versions_.timestamp(
          *timestamp, item.sent, exchange.refused(codec::ErrorCode::kTimestampTooFarAhead));
    }
    if (const std::string* token = item.message->property(codec::kTokenProperty)) {
      out.token =
          versions_.token(*token, item.sent, exchange.refused(codec::ErrorCode::kTokenTooFarAhead));
    }
    if (exchange.command && exchange.command->expires_after && exchange.answered(ReplyKind::kOk)) {
      out.mark = mark_name(index);
    }
    return out;
  }

  // ---- Expectations

  scenario::Expectation expectation(std::size_t index, const ReadExchange& exchange, KeyNow& key) {
    const TimelineItem& item = *items_[index];
    scenario::Expectation out;
    out.cites = cite(requirement_of(item, exchange, key));  // of the key as it was
    if (item.reply != nullptr) {
      ReplyOutcome reply = reply_outcome(*item.reply, exchange);
      out.outcomes.push_back(std::move(reply.outcome));
      divergences_.merge(reply.divergences);
      out.timestamp = checks_.check(item, exchange, key);
      proves_ = true;
    } else if (item.reply_unknown) {
      out_.notes.push_back(fmt::format("step {}: the response was not seen", mark_name(index)));
    } else if (ends_connection(items_, index)) {
      needs_transport_ = true;
      out.outcomes.push_back({scenario::Disconnection{}});
    } else {
      out.outcomes.push_back({scenario::NoReply{}});
    }
    if (exchange.shows_key() && key.expires_after && !key.mark.empty() &&
        *key.expires_after <= scenario::kMaxDuration) {
      out.before = scenario::TimePoint{.mark = key.mark, .offset = *key.expires_after};
    }
    return out;
  }

  // ---- Notifications

  void add_notification(const CapturedStep& given) {
    const TimelineItem& item = *given.item;
    const auto notification = codec::decode_notification(item.message->payload);
    KeyNow& key = keys_[item.key];
    const auto leave_out = [&](std::string_view why) {
      out_.notes.push_back(fmt::format("a notification of key {} to client {} was left out: {}",
                                       names_.at(item.key), clients_.name_of(item.client_id), why));
      if (!given.flagged.empty()) flagged_.push_back(one_line_of(given.flagged));
    };
    if (!notification) return leave_out("it is malformed");
    const bool sets = notification->operation == codec::Operation::kSet;
    if (!sets) let_expire(key, item, true);
    const std::string* version = item.message->property(codec::kTimestampProperty);
    if (sets && (version == nullptr || versions_.name_of(*version) == nullptr)) {
      return leave_out("no request in this recording caused it");
    }
    const bool explained = sets || (!key.exists && key.pending_observers.erase(item.client_id) > 0);
    if (!explained && given.flagged.empty()) {
      return leave_out("no request in this recording caused it");
    }
    scenario::NotificationStep out{.client = clients_.name_of(item.client_id),
                                   .key = key_of(names_.at(item.key)),
                                   .operation = notification->operation};
    if (sets) {
      out.value = bytes_of(notification->value);
      out.timestamp = {.present = true, .equals = *versions_.name_of(*version)};
      out.cites = cite("NTF-SEND-1");
    } else {
      divergences_.insert(codec::Divergence::kDeleteOperation);
      out.cites = cite(key.expired ? "NTF-EXPIRY-1" : "NTF-SEND-2");
    }
    flag(given, add_step("notification", std::move(out)));
    clients_.observes(item.client_id);
    proves_ = true;
  }

  const Capture& capture_;
  const CaptureOptions& options_;
  const CaseSettings& settings_;
  const std::vector<CapturedStep>& given_;
  std::vector<const TimelineItem*> items_;
  std::map<std::string, std::string> names_;  // of keys
  CaptureClients clients_;
  CaptureVersions versions_;
  VersionChecks checks_{versions_};
  std::map<std::string, KeyNow> keys_;
  std::set<std::string> connected_;
  std::set<std::string> ended_;                // by the store
  std::optional<microseconds> last_received_;  // the reply to the request before
  std::vector<Step> steps_;
  std::vector<std::string> requirements_;  // in the order in which they are cited
  std::set<codec::Divergence> divergences_;
  std::vector<std::string> flagged_;
  bool needs_transport_ = false;
  bool proves_ = false;
  CapturedCase out_;
};

}  // namespace

CapturedCase captured_case(const Capture& capture, const std::vector<CapturedStep>& steps,
                           const CaptureOptions& options, const CaseSettings& settings) {
  return CaseBuilder(capture, steps, options, settings).run();
}

}  // namespace fencepost::record
