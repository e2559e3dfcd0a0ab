#include "suite/judge/key_states.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <span>
#include <utility>

#include "codec/command.h"
#include "codec/error_code.h"
#include "codec/message.h"

namespace fencepost::judge {

using codec::ReplyKind;
using codec::Verb;

namespace {

// Req: SET-NOT-APPLIED-2, VDEL-MISMATCH-1, DEL-REMOVE-1, VDEL-MATCH-1, FT-REJECT-1, ERR-STATE-1
std::string_view effect_of(Verb verb, const ReceivedReply& reply) {
  const auto error = reply.error();
  if (reply.is(ReplyKind::kError)) {
    const bool token = error == codec::ErrorCode::kTokenLower ||
                       error == codec::ErrorCode::kTokenRequired ||
                       error == codec::ErrorCode::kTokenTooFarAhead;
    // ERR-STATE-1 says it of every error; these have a sentence of their own.
    return token ? "FT-REJECT-1" : "ERR-STATE-1";
  }
  if (reply.is(ReplyKind::kNotApplied)) {
    return verb == Verb::kVdel ? "VDEL-MISMATCH-1" : "SET-NOT-APPLIED-2";
  }
  if (!reply.is(ReplyKind::kCount) || reply.decoded->count == 0) return {};
  return verb == Verb::kVdel ? "VDEL-MATCH-1" : "DEL-REMOVE-1";
}

// Also where the number is one that not every store takes, and so no command to us.
bool has_expiry(const Exchange& exchange) {
  if (exchange.command) return exchange.command->expires_after.has_value();
  const auto frame = codec::decode_command(exchange.request.payload);
  if (!frame) return false;
  // Behind the verb, the key and the value. Words that are not there are empty.
  const auto options = std::span(frame->arguments).subspan<3>();
  return std::find(options.begin(), options.end(), "PX") != options.end();
}

}  // namespace

std::string_view rule_of_effect(const Exchange& exchange) {
  if (!exchange.reply) return {};
  const ReceivedReply& reply = *exchange.reply;
  if (!reply.is(ReplyKind::kOk)) return effect_of(exchange.verb.value_or(Verb::kSet), reply);
  // Only a SET has a version among the requests that are answered so. The version may not be known,
  // as the payload need not be one that everybody takes. Req: VER-SET-1
  if (reply.message.property(codec::kTimestampProperty) != nullptr) {
    // With a PX the answer also promises that the key is there until then.
    return has_expiry(exchange) ? "SET-PX-2" : "SET-WRITE-1";
  }
  return exchange.verb == Verb::kKeynotify ? "NTF-RESPONSE-2" : "";
}

// What stores that take keys for text make one of two: cut at some length or at a NUL, trimmed, or
// with letters of one case. Req: KEY-BINARY-1
bool are_similar(std::string_view a, std::string_view b) {
  // Below 255, the most that a length of one byte can say: a store may cut keys there. Above the
  // prefix that all keys of a case share.
  constexpr std::size_t kMany = 200;
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  const std::string_view common = a.substr(0, static_cast<std::size_t>(in_a - a.begin()));
  if (common.size() >= kMany) return true;
  const auto ends = [](auto at, auto end) { return at == end || *at == '\0'; };
  if (ends(in_a, a.end()) && ends(in_b, b.end())) return true;
  const auto trimmed = [](std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
    return begin == text.size() ? ""
                                : text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
  };
  // Else all keys of blanks alone would be one.
  if (!trimmed(a).empty() && trimmed(a) == trimmed(b)) return true;
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

bool is_distorted(std::string_view seen, std::string_view key) {
  // None of these stores makes a key longer.
  if (seen.empty() || seen == key || seen.size() > key.size()) return false;
  return key.find(seen) != std::string_view::npos || are_similar(seen, key);
}

void KeyStates::note_past(const codec::Command& command, const Exchange& exchange) {
  const std::string key(command.key);
  const ReceivedReply& reply = *exchange.reply;
  KeyPast& past = pasts_[key];
  const auto state = states_.find(key);
  // Only an expiry that the case can live to see may show where it must not count any more.
  const bool timed = state != states_.end() && state->second.deadline;
  if (command.verb == Verb::kSet && reply.is(ReplyKind::kOk)) {
    const KeyFacts before = of(key, exchange.sent);
    past.write = before.exists ? "SET-WRITE-2" : "SET-WRITE-1";
    if (timed) {
      const bool renewed = command.condition == codec::Condition::kIfAbsentOrEqual;
      past.retimed = renewed ? "SET-NEX-5" : "SET-PX-5";
    }
    past.refusals.clear();
    past.written = exchange.sent;
    past.read = false;
    // A hash will do: values may be large, and the only question is whether two are the same.
    past.last_value = std::hash<std::string_view>()(command.value);
    past.values.insert(*past.last_value);
    if (const std::string* token = exchange.request.property(codec::kTokenProperty)) {
      past.token.reset();
      if (auto parsed = hlc::parse(*token)) past.token = *std::move(parsed);
      (before.fenced ? past.newer_token : past.first_token) = true;
    }
    return;
  }
  const std::string_view effect = effect_of(command.verb, reply);
  // A new life of the key: nothing of the old one may be seen, but for what was done to its expiry
  // (SET-PX-6).
  if (command.verb != Verb::kSet && reply.is(ReplyKind::kCount) && reply.decoded->count > 0) {
    const std::string_view retimed = timed ? "SET-PX-6" : past.retimed;
    // The values stay known, so that an old one that comes back is not taken for bytes that nobody
    // has written.
    past = {.removal = effect, .retimed = retimed, .values = std::move(past.values)};
    removals_.insert(effect);
  } else if (!effect.empty()) {
    past.refusals.push_back(effect);
  }
}

// Req: VER-UPDATE-3, LOCK-TOKEN-4. If requests overlap, it is not known which is the later.
void KeyStates::note_version(const codec::Command& command, const Exchange& exchange) {
  const std::string* text = exchange.reply->message.property(codec::kTimestampProperty);
  const auto version = hlc::parse(text == nullptr ? "" : *text);
  if (!version) return;
  latest_version_ms_ = std::max(latest_version_ms_, version->wall_ms);
  const auto last = versions_.find(command.key);
  const bool behind = last != versions_.end() && last->second.replied <= exchange.sent &&
                      *version <= last->second.value;
  const bool again = !of(command.key, exchange.sent).exists;
  versions_[std::string(command.key)] = {.value = *version,
                                         .replied = exchange.reply->time,
                                         .broken = !behind ? ""
                                                   : again ? "LOCK-TOKEN-4"
                                                           : "VER-UPDATE-3"};
}

void KeyStates::note(const Exchange& exchange) {
  if (!exchange.reply || !exchange.reply->decoded) return;
  // Before the command is looked at: one that is refused as no command may spoil the next, too.
  refused_ = exchange.reply->is(ReplyKind::kError);
  const auto& command = exchange.command;
  if (!command) return;
  const std::string key(command->key);
  const ReceivedReply& reply = *exchange.reply;
  const bool changes = codec::changes(command->verb);
  const bool read = command->verb == Verb::kGet && reply.is(ReplyKind::kValue);
  if (const auto past = pasts_.find(key); read && past != pasts_.end()) past->second.read = true;
  if (changes) {
    effects_[key] = effect_of(command->verb, reply);
    // This looks up what the key was when the request came, and so does note_version(): `states_`
    // is changed only behind them.
    note_past(*command, exchange);
  }
  if (command->verb == Verb::kSet && reply.is(ReplyKind::kOk)) {
    note_version(*command, exchange);
    const bool token = exchange.request.property(codec::kTokenProperty) != nullptr;
    const bool fenced = token || of(key, exchange.sent).fenced;
    State& state = states_[key] = {.fenced = fenced, .timed = command->expires_after.has_value()};
    constexpr std::chrono::milliseconds kMax = std::chrono::hours{1};  // no case waits for more
    if (command->expires_after && *command->expires_after <= kMax) {
      // The earliest end: the time runs from when the store handles the SET. Req: SET-PX-7
      state.deadline = exchange.sent + *command->expires_after;
    }
  } else if (codec::removes(command->verb)) {
    if (reply.is(ReplyKind::kCount) && reply.decoded->count > 0) {
      states_.erase(key);
      deleted_.insert(key);
    }
  }
}

std::string_view KeyStates::rule_of_effect(std::string_view key) const {
  const auto found = effects_.find(key);
  return found == effects_.end() ? std::string_view() : found->second;
}

std::string_view KeyStates::rule_of_version(std::string_view key) const {
  const auto found = versions_.find(key);
  return found == versions_.end() ? std::string_view() : found->second.broken;
}

KeyPast KeyStates::past_of(std::string_view key) const {
  const auto found = pasts_.find(key);
  return found == pasts_.end() ? KeyPast{} : found->second;
}

bool KeyStates::has_similar(std::string_view key) const {
  return std::any_of(pasts_.begin(), pasts_.end(), [&](const auto& each) {
    return each.first != key && are_similar(each.first, key);
  });
}

bool KeyStates::is_value_of_another(std::string_view key, std::size_t value) const {
  return std::any_of(pasts_.begin(), pasts_.end(), [&](const auto& each) {
    return each.first != key && each.second.values.contains(value);
  });
}

bool KeyStates::was_deleted(std::string_view key) const { return deleted_.contains(key); }

KeyFacts KeyStates::of(std::string_view key, std::chrono::microseconds now) const {
  const auto found = states_.find(key);
  if (found == states_.end()) return {};
  const State& state = found->second;
  if (state.deadline && *state.deadline <= now) return {.expired = true};
  return {.exists = true, .fenced = state.fenced, .expires = state.timed};
}

}  // namespace fencepost::judge
