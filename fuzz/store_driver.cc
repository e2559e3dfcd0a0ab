#include "fuzz/store_driver.h"

#include <array>
#include <chrono>
#include <utility>

#include "base/bytes.h"
#include "codec/command.h"
#include "codec/dialect.h"
#include "hlc/hlc.h"
#include "workload/rendering.h"

namespace fencepost::fuzz {

namespace {

using workload::Kind;
using workload::Operation;
using workload::Prediction;

constexpr std::uint64_t kNoon = 1'696'374'425'000;
// One less than keys in the pool, so that the quota is met but seldom.
constexpr std::size_t kQuota = workload::kKeys - 1;
constexpr std::uint8_t kRestricted = 2;

const std::array<std::string, workload::kClients>& clients() {
  static const std::array<std::string, workload::kClients> ids = {"c", "d", "cc", "\r\n"};
  return ids;
}

// The restricted client may not read one key, and may not write another.
std::vector<std::string> all_keys_but(std::size_t left_out) {
  std::vector<std::string> out(workload::keys().begin(), workload::keys().end());
  out.erase(out.begin() + static_cast<std::ptrdiff_t>(left_out));
  return out;
}

store::StoreOptions store_options(const store::Rules& rules) {
  store::StoreOptions options;
  options.quota = kQuota;
  options.rules = rules;
  return options;
}

store::StoreOptions restricted_options(const store::Rules& rules) {
  using store::KeyType;
  using store::Method;
  store::Policy restricted{.client_ids = {}, .user_names = {"restricted"}, .rules = {}};
  restricted.rules.push_back(
      {.method = Method::kRead, .key_type = KeyType::kString, .keys = all_keys_but(4)});
  restricted.rules.push_back(
      {.method = Method::kWrite, .key_type = KeyType::kString, .keys = all_keys_but(1)});
  store::Policy others{.client_ids = {}, .user_names = {"*"}, .rules = {}};
  others.rules.push_back(
      {.method = Method::kReadWrite, .key_type = KeyType::kPattern, .keys = {"*"}});
  store::StoreOptions options = store_options(rules);
  options.authorization = store::Authorization({std::move(restricted), std::move(others)});
  return options;
}

workload::NaiveOptions model_options() { return {.quota = kQuota, .clients = clients()}; }

workload::NaiveOptions restricted_model_options() {
  workload::NaiveOptions options = model_options();
  options.restrictions = {
      {.client = kRestricted, .readable = all_keys_but(4), .writable = all_keys_but(1)}};
  return options;
}

std::string text_of(const std::optional<hlc::Timestamp>& version) {
  return version ? hlc::format(*version, hlc::Padding::kNone) : "none";
}

std::string text_of(codec::ReplyKind kind, std::string_view value, std::int64_t count,
                    codec::ErrorCode error, const std::optional<hlc::Timestamp>& version) {
  constexpr std::array<std::string_view, 6> kNames = {"ok",      "not applied", "value",
                                                      "missing", "count",       "error"};
  std::string text(kNames.at(static_cast<std::size_t>(kind)));
  if (kind == codec::ReplyKind::kValue) text += " " + escape(value);
  if (kind == codec::ReplyKind::kCount) text += " " + std::to_string(count);
  if (kind == codec::ReplyKind::kError) text += " " + std::string(name(error));
  return text + ", version " + text_of(version);
}

std::string text_of(std::string_view client, codec::Operation operation, std::string_view key,
                    std::string_view value, const hlc::Timestamp& version) {
  return escape(client, 16) + (operation == codec::Operation::kSet ? " SET " : " DELETE ") +
         escape(key) + " " + escape(value) + " " + text_of(version);
}

}  // namespace

StoreDriver::StoreDriver(const store::Rules& rules)
    : open_{store_options(rules), workload::NaiveModel(model_options())},
      restricted_{restricted_options(rules), workload::NaiveModel(restricted_model_options())},
      store_(open_.options) {}

std::optional<std::string> StoreDriver::run(const workload::Trace& trace) {
  const bool restricted = !trace.empty() && trace.front().client == kRestricted;
  World& world = restricted ? restricted_ : open_;
  store_ = store::Store(world.options);
  model_ = &world.model;
  run_.emplace(*model_, kNoon);
  now_ = {.wall_ms = kNoon, .steady = std::chrono::microseconds{0}};
  events_.clear();
  expected_.clear();
  difference_.reset();
  for (const Operation& operation : trace) {
    step(operation);
    if (difference_) return difference_;
  }
  // What the trace has left behind: values and observers.
  for (std::uint8_t key = 0; key < workload::kKeys; ++key) {
    step({.kind = Kind::kGet, .key = key});
    step({.kind = Kind::kSet,
          .key = key,
          .value = "end",
          .timestamp = {.base = workload::StampBase::kNow},
          .token = {.base = workload::StampBase::kToken}});
    if (difference_) return difference_;
  }
  return std::nullopt;
}

void StoreDriver::step(const Operation& operation) {
  if (difference_) return;
  const Prediction& expected = run_->step(operation);
  now_ = {.wall_ms = run_->now().wall_ms, .steady = run_->now().steady};
  expected_.insert(expected_.end(), expected.notifications.begin(), expected.notifications.end());
  if (is_request(operation.kind)) {
    const store::Outcome outcome = request(operation);
    compare(operation, expected, outcome);
  } else if (operation.kind == Kind::kDisconnect) {
    // What is due before it is notified before it.
    store_.expire(now_, events_);
    store_.disconnect(clients()[operation.client]);
  } else if (!operation.timer) {
    return;  // The store has not been called: what expires, it tells with the next request.
  }
  store_.expire(now_, events_);
  compare_events();
  if (store_.size() != model_->size()) differ("number of keys");
  if (store_.next_expiry() != model_->next_expiry()) differ("next expiry");
  if (difference_)
    *difference_ = "operation " + std::to_string(run_->steps() - 1) + ": " + *difference_;
}

store::Outcome StoreDriver::request(const Operation& operation) {
  timestamp_text_.clear();
  token_text_.clear();
  append_text(timestamp_text_, operation.timestamp, run_->timestamp());
  append_text(token_text_, operation.token, run_->token());
  codec::Command command;
  if (operation.kind == Kind::kRawPayload) {
    const auto parsed =
        codec::parse_command(operation.value, codec::dialect(codec::DialectId::kDeployed));
    if (!parsed) {
      return {.reply = {.kind = codec::ReplyKind::kError, .error = parsed.error()}};
    }
    command = *parsed;
  } else {
    command = command_of(operation, workload::keys()[operation.key]);
  }
  const bool stamped = run_->timestamp().form != workload::Offered::Form::kAbsent;
  const bool tokened = run_->token().form != workload::Offered::Form::kAbsent;
  return store_.apply({.client_id = clients()[operation.client],
                       .user_name = operation.client == kRestricted ? "restricted" : "other"},
                      {.command = command,
                       .timestamp = stamped ? &timestamp_text_ : nullptr,
                       .token = tokened ? &token_text_ : nullptr},
                      now_, events_);
}

void StoreDriver::compare(const Operation& operation, const Prediction& expected,
                          const store::Outcome& outcome) {
  const codec::Reply& reply = outcome.reply;
  const bool same = reply.kind == expected.kind && outcome.version == expected.version &&
                    (reply.kind != codec::ReplyKind::kValue || reply.value == expected.value) &&
                    (reply.kind != codec::ReplyKind::kCount || reply.count == expected.count) &&
                    (reply.kind != codec::ReplyKind::kError || reply.error == expected.error);
  if (same) return;
  differ("kind " + std::to_string(static_cast<int>(operation.kind)) + ": the store says " +
         text_of(reply.kind, reply.value, reply.count, reply.error, outcome.version) +
         "; the model says " +
         text_of(expected.kind, expected.value, expected.count, expected.error, expected.version));
}

void StoreDriver::compare_events() {
  bool same = events_.size() == expected_.size();
  for (std::size_t i = 0; same && i < events_.size(); ++i) {
    const store::Event& seen = events_[i];
    const workload::ExpectedNotification& expected = expected_[i];
    same = seen.client_id == clients()[expected.client] && seen.key == expected.key &&
           seen.operation == expected.operation && seen.value == expected.value &&
           seen.version == expected.version;
  }
  if (!same) {
    std::string text = "notifications: the store says";
    for (const store::Event& e : events_) {
      text += " [" + text_of(e.client_id, e.operation, e.key, e.value, e.version) + "]";
    }
    text += "; the model says";
    for (const workload::ExpectedNotification& e : expected_) {
      text += " [" + text_of(clients()[e.client], e.operation, e.key, e.value, e.version) + "]";
    }
    differ(text);
  }
  events_.clear();
  expected_.clear();
}

void StoreDriver::differ(const std::string& what) {
  if (!difference_) difference_ = what;
}

}  // namespace fencepost::fuzz
