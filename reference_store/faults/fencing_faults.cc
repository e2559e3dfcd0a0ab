// Faults of fencing tokens.

#include <algorithm>
#include <map>
#include <string>

#include "reference_store/faults/decorator.h"

namespace fencepost::store {
namespace {

using codec::ErrorCode;
using codec::Verb;
using MaybeError = std::optional<ErrorCode>;
using Token = const hlc::Timestamp*;

// ---- rules with another function in their place

MaybeError lower_accepted(Token held, Token offered) {
  return held != nullptr && offered == nullptr ? MaybeError(ErrorCode::kTokenRequired)
                                               : std::nullopt;
}

MaybeError equal_refused(Token held, Token offered) {
  if (held != nullptr && offered != nullptr && *held == *offered) return ErrorCode::kTokenLower;
  return fencing_error(held, offered);
}

MaybeError compare_ignores_the_counter(Token held, Token offered) {
  if (held == nullptr || offered == nullptr) return fencing_error(held, offered);
  return offered->wall_ms < held->wall_ms ? MaybeError(ErrorCode::kTokenLower) : std::nullopt;
}

MaybeError compare_ignores_the_wall(Token held, Token offered) {
  if (held == nullptr || offered == nullptr) return fencing_error(held, offered);
  return offered->counter < held->counter ? MaybeError(ErrorCode::kTokenLower) : std::nullopt;
}

MaybeError compare_ignores_the_node(Token held, Token offered) {
  if (held == nullptr || offered == nullptr) return fencing_error(held, offered);
  const hlc::Timestamp a{held->wall_ms, held->counter, {}};
  const hlc::Timestamp b{offered->wall_ms, offered->counter, {}};
  return b < a ? MaybeError(ErrorCode::kTokenLower) : std::nullopt;
}

// F25: as long as a UUID, and no longer.
MaybeError compare_36_bytes_of_the_node(Token held, Token offered) {
  if (held == nullptr || offered == nullptr) return fencing_error(held, offered);
  const hlc::Timestamp a{held->wall_ms, held->counter, held->node.substr(0, 36)};
  const hlc::Timestamp b{offered->wall_ms, offered->counter, offered->node.substr(0, 36)};
  return b < a ? MaybeError(ErrorCode::kTokenLower) : std::nullopt;
}

MaybeError compare_as_text(Token held, Token offered) {
  if (held == nullptr || offered == nullptr) return fencing_error(held, offered);
  return hlc::format(*offered, hlc::Padding::kNone) < hlc::format(*held, hlc::Padding::kNone)
             ? MaybeError(ErrorCode::kTokenLower)
             : std::nullopt;
}

MaybeError texts_swapped(Token held, Token offered) {
  const MaybeError error = fencing_error(held, offered);
  if (error == ErrorCode::kTokenLower) return ErrorCode::kTokenRequired;
  if (error == ErrorCode::kTokenRequired) return ErrorCode::kTokenLower;
  return error;
}

Token higher_is_not_stored(Token held, Token offered) { return held != nullptr ? held : offered; }

Token last_instead_of_highest(Token held, Token offered) {
  return offered != nullptr ? offered : held;
}

Token first_is_not_stored(Token held, Token offered) {
  return held == nullptr ? nullptr : store::token_after(held, offered);
}

using MaybeToken = Result<std::optional<hlc::Timestamp>, ErrorCode>;

MaybeToken far_future_accepted(const std::string* text, std::uint64_t wall_ms) {
  MaybeToken token = check_token(text, wall_ms);
  if (token || token.error() != ErrorCode::kTokenTooFarAhead) return token;
  return std::optional(*hlc::parse(*text));
}

MaybeToken malformed_is_absent(const std::string* text, std::uint64_t wall_ms) {
  MaybeToken token = check_token(text, wall_ms);
  if (!token && token.error() == ErrorCode::kMalformedTimestamp) {
    return std::optional<hlc::Timestamp>();
  }
  return token;
}

MaybeToken far_future_has_the_text_of_timestamps(const std::string* text, std::uint64_t wall_ms) {
  MaybeToken token = check_token(text, wall_ms);
  if (!token && token.error() == ErrorCode::kTokenTooFarAhead) {
    return fail(ErrorCode::kTimestampTooFarAhead);
  }
  return token;
}

// ---- between the store and the network

// F01, F02, F03: a request of this verb without a token gets that of the key.
class NeedsNoToken : public Decorator {
 public:
  NeedsNoToken(const ServiceOptions& options, Verb verb) : Decorator(options), verb_(verb) {}

 private:
  void before(const Caller& /*caller*/, codec::Message& request, const Instant& /*now*/) override {
    const auto command = codec::parse_command(request.payload, dialect());
    if (!command || command->verb != verb_) return;
    if (request.property(codec::kTokenProperty) != nullptr) return;
    const auto* token = Tamper(service()).token(command->key);
    if (token == nullptr || !*token) return;
    set_property(request, codec::kTokenProperty, hlc::format(**token));
  }

  Verb verb_;
};

MakeHandler needs_no_token(Verb verb) {
  return [verb](const ServiceOptions& options, std::uint64_t /*seed*/) {
    return std::make_unique<NeedsNoToken>(options, verb);
  };
}

// DEL and VDEL take any token.
class DeleteTakesALowerToken final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  void before(const Caller& /*caller*/, codec::Message& request, const Instant& now) override {
    const auto command = codec::parse_command(request.payload, dialect());
    if (!command || (command->verb != Verb::kDel && command->verb != Verb::kVdel)) return;
    const std::string* offered = request.property(codec::kTokenProperty);
    const auto* held = Tamper(service()).token(command->key);
    if (offered == nullptr || held == nullptr || !*held) return;
    const auto parsed = check_token(offered, now.wall_ms);
    if (parsed) set_property(request, codec::kTokenProperty, hlc::format(**held));
  }
};

// F10: the token is compared with the version of the value.
class ComparesWithTheVersion final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  void before(const Caller& /*caller*/, codec::Message& request, const Instant& /*now*/) override {
    key_.reset();
    const auto command = codec::parse_command(request.payload, dialect());
    if (!command || request.property(codec::kTokenProperty) == nullptr) return;
    Tamper store(service());
    auto* token = store.token(command->key);
    if (token == nullptr || !*token) return;
    key_ = std::string(command->key);
    held_ = **token;
    *token = *store.version(command->key);
  }
  // What was refused leaves the true token.
  void after(Exchange& exchange) override {
    if (!key_) return;
    auto* token = exchange.store.token(*key_);
    const bool refused =
        exchange.response() != nullptr && exchange.response()->payload.starts_with("-ERR");
    if (token != nullptr && refused) *token = held_;
  }

  std::optional<std::string> key_;
  hlc::Timestamp held_;
};

// F12: the token of a key that was deleted is still required.
class TokenSurvivesDel final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  void before(const Caller& /*caller*/, codec::Message& request, const Instant& now) override {
    refusal_.reset();
    deleting_.reset();
    const auto command = codec::parse_command(request.payload, dialect());
    if (!command) return;
    Tamper store(service());
    const std::string key(command->key);
    if (const auto* token = store.token(key)) {
      deleting_ = *token;
      return;
    }
    const auto old = tokens_.find(key);
    if (command->verb != Verb::kSet || old == tokens_.end()) return;
    const auto offered = check_token(request.property(codec::kTokenProperty), now.wall_ms);
    if (!offered) return;
    refusal_ = fencing_error(&old->second, *offered ? &**offered : nullptr);
    if (refusal_) request.payload = codec::encode_command({"GET", key});
  }
  void after(Exchange& exchange) override {
    if (refusal_ && exchange.response() != nullptr) {
      answer_error(exchange, *refusal_);
    } else if (exchange.command && deleting_ && exchange.response() != nullptr &&
               exchange.response()->payload == ":1\r\n") {
      tokens_[std::string(exchange.command->key)] = *deleting_;
    }
  }

  std::map<std::string, hlc::Timestamp> tokens_;
  std::optional<hlc::Timestamp> deleting_;
  MaybeError refusal_;
};

// F15: a SET that is not applied leaves its token.
void failed_nx_stores_the_token(Exchange& exchange) {
  if (!exchange.command || exchange.command->verb != Verb::kSet) return;
  if (!exchange.replies(codec::ReplyKind::kNotApplied)) return;
  const auto offered =
      check_token(exchange.request.property(codec::kTokenProperty), exchange.now.wall_ms);
  if (offered && *offered) *exchange.store.token(exchange.command->key) = **offered;
}

// F16: one token for all keys.
class TokenIsGlobal final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  void before(const Caller& /*caller*/, codec::Message& request, const Instant& now) override {
    refusal_.reset();
    const auto command = codec::parse_command(request.payload, dialect());
    if (!command || command->verb != Verb::kSet) return;
    const auto offered = check_token(request.property(codec::kTokenProperty), now.wall_ms);
    if (!offered) return;
    refusal_ = fencing_error(token_ ? &*token_ : nullptr, *offered ? &**offered : nullptr);
    if (refusal_) {
      request.payload = codec::encode_command({"GET", command->key});
    } else if (*offered) {
      token_ = **offered;
    }
  }
  void after(Exchange& exchange) override {
    if (refusal_ && exchange.response() != nullptr) {
      answer_error(exchange, *refusal_);
    }
  }

  std::optional<hlc::Timestamp> token_;
  MaybeError refusal_;
};

// F17: GET of a fenced key requires the token.
void get_requires_the_token(Exchange& exchange) {
  if (!exchange.command || exchange.command->verb != Verb::kGet) return;
  const auto* token = exchange.store.token(exchange.command->key);
  if (token == nullptr || !*token || exchange.response() == nullptr) return;
  if (exchange.request.property(codec::kTokenProperty) != nullptr) return;
  answer_error(exchange, ErrorCode::kTokenRequired);
}

// F23: registering for a fenced key requires the token. What was registered is gone.
class KeynotifyRequiresTheToken final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  void after(Exchange& exchange) override {
    const bool registered = exchange.command && exchange.command->verb == Verb::kKeynotify &&
                            !exchange.command->stop && exchange.replies(codec::ReplyKind::kOk);
    if (!registered || exchange.request.property(codec::kTokenProperty) != nullptr) return;
    const auto* token = exchange.store.token(exchange.command->key);
    if (token == nullptr || !*token) return;
    std::erase(exchange.store.observers(exchange.command->key), exchange.caller.client_id);
    std::string& payload = exchange.response()->payload;
    payload.clear();
    codec::append_reply(payload,
                        {.kind = codec::ReplyKind::kError, .error = ErrorCode::kTokenRequired},
                        Verb::kKeynotify, dialect());
  }
};

// F24: of a token that has no node id the rest counts.
Result<std::optional<hlc::Timestamp>, ErrorCode> token_may_lack_its_node(const std::string* text,
                                                                         std::uint64_t wall_ms) {
  if (text == nullptr || std::count(text->begin(), text->end(), ':') != 1) {
    return check_token(text, wall_ms);
  }
  const std::string whole = *text + ":node";
  return check_token(&whole, wall_ms);
}

MakeHandler with_comparison(decltype(&fencing_error) rule) {
  return with_rules([rule](Rules& rules) { rules.fencing_error = rule; });
}
MakeHandler with_token_after(decltype(&token_after) rule) {
  return with_rules([rule](Rules& rules) { rules.token_after = rule; });
}
MakeHandler with_token_check(decltype(&check_token) rule) {
  return with_rules([rule](Rules& rules) { rules.check_token = rule; });
}

}  // namespace

// A table. NOLINTNEXTLINE(readability-function-size)
std::vector<Fault> fencing_faults() {
  return {
      {.id = "F01",
       .name = "set-needs-no-token",
       .text = "SET of a fenced key does not need __ft",
       .requirements = {"FT-REQUIRED-1"},
       .make = needs_no_token(Verb::kSet)},
      {.id = "F02",
       .name = "del-needs-no-token",
       .text = "DEL of a fenced key does not need __ft",
       .requirements = {"FT-REQUIRED-2"},
       .make = needs_no_token(Verb::kDel)},
      {.id = "F03",
       .name = "vdel-needs-no-token",
       .text = "VDEL of a fenced key does not need __ft",
       .requirements = {"FT-REQUIRED-3"},
       .make = needs_no_token(Verb::kVdel)},
      {.id = "F04",
       .name = "lower-token-accepted",
       .text = "any __ft is accepted for a fenced key",
       .requirements = {"FT-LOWER-1", "FT-LOWER-2", "FT-LOWER-3"},
       .make = with_comparison(lower_accepted)},
      {.id = "F05",
       .name = "equal-token-refused",
       .text = "an __ft equal to the token of the key is refused",
       .requirements = {"FT-ACCEPT-1", "FT-ACCEPT-2", "FT-ACCEPT-3"},
       .make = with_comparison(equal_refused)},
      {.id = "F06",
       .name = "higher-token-not-stored",
       .text = "a newer token is accepted, and the old one is kept",
       .requirements = {"FT-ADVANCE-1", "FT-STORE-2"},
       .make = with_token_after(higher_is_not_stored)},
      {.id = "F07",
       .name = "last-token-instead-of-highest",
       .text = "the token of the last request is kept, also if the store must not keep it",
       .requirements = {"FT-ADVANCE-2", "FT-LOWER-1"},
       .make = with_rules([](Rules& rules) {
         rules.token_after = last_instead_of_highest;
         rules.fencing_error = lower_accepted;
       })},
      {.id = "F08",
       .name = "compare-ignores-the-counter",
       .text = "tokens of the same millisecond are taken as equal",
       .requirements = {"FT-LOWER-1", "HLC-ORDER-1"},
       .make = with_comparison(compare_ignores_the_counter)},
      {.id = "F10",
       .name = "token-compared-with-the-version",
       .text = "a token must be newer than the version of the value",
       .requirements = {"FT-COMPARE-1", "FT-ACCEPT-1", "FT-ACCEPT-2", "FT-ACCEPT-3"},
       .make = with_decorator<ComparesWithTheVersion>()},
      {.id = "F11",
       .name = "first-token-not-stored",
       .text = "the token of the first SET is lost",
       .requirements = {"FT-STORE-1", "FT-STORE-2"},
       .make = with_token_after(first_is_not_stored)},
      {.id = "F12",
       .name = "token-survives-del",
       .text = "a key that was deleted and set again still requires its token",
       .requirements = {"FT-DELETE-1"},
       .make = with_decorator<TokenSurvivesDel>()},
      {.id = "F13",
       .name = "far-future-token-accepted",
       .text = "an __ft far ahead of the store's clock is accepted",
       .requirements = {"HLC-SKEW-2"},
       .make = with_token_check(far_future_accepted)},
      {.id = "F14",
       .name = "malformed-token-is-absent",
       .text = "a malformed __ft is treated as absent",
       .requirements = {"FT-MALFORMED-1", "HLC-PARSE-1"},
       .make = with_token_check(malformed_is_absent)},
      {.id = "F16",
       .name = "token-is-global",
       .text = "a token of one key is required for every key",
       .requirements = {"FT-STORE-3"},
       .make = with_decorator<TokenIsGlobal>()},
      {.id = "F17",
       .name = "get-requires-the-token",
       .text = "GET of a fenced key needs the token",
       .requirements = {"FT-GET-1"},
       .make = with_exchange(get_requires_the_token)},
      {.id = "F18",
       .name = "token-texts-swapped",
       .text = "the error texts for a missing and for an older token are swapped",
       .requirements = {"ERR-TEXT-2", "ERR-TEXT-4"},
       .make = with_comparison(texts_swapped)},
      {.id = "F19",
       .name = "tokens-compared-as-text",
       .text = "tokens are compared as text, so counter 10 is lower than counter 9",
       .requirements = {"HLC-ORDER-1", "FT-ACCEPT-1"},
       .make = with_comparison(compare_as_text)},
      {.id = "F20",
       .name = "compare-ignores-the-wall",
       .text = "tokens are compared only by their counters",
       .requirements = {"HLC-ORDER-1", "FT-LOWER-1", "FT-ACCEPT-1"},
       .make = with_comparison(compare_ignores_the_wall)},
      {.id = "F21",
       .name = "delete-takes-a-lower-token",
       .text = "DEL and VDEL accept any __ft",
       .requirements = {"FT-LOWER-2", "FT-LOWER-3"},
       .make = with_decorator<DeleteTakesALowerToken>()},
      {.id = "F22",
       .name = "far-future-token-text",
       .text = "an __ft far ahead gets the error text for __ts",
       .requirements = {"ERR-TEXT-3"},
       .make = with_token_check(far_future_has_the_text_of_timestamps)},
      {.id = "F23",
       .name = "keynotify-requires-the-token",
       .text = "KEYNOTIFY of a fenced key needs the token",
       .requirements = {"FT-KEYNOTIFY-1"},
       .make = with_decorator<KeynotifyRequiresTheToken>()},
      {.id = "F24",
       .name = "token-without-a-node",
       .text = "an __ft of two parts is accepted as a token",
       .requirements = {"FT-FORMAT-1", "FT-MALFORMED-1", "HLC-PARSE-1"},
       .make = with_token_check(token_may_lack_its_node)},
      {.id = "F25",
       .name = "compares-36-bytes-of-the-node",
       .text = "only the first 36 bytes of the node ids of two tokens are compared",
       .requirements = {"HLC-ORDER-1"},
       .make = with_comparison(compare_36_bytes_of_the_node)},
      // The article leaves these open.
      {.id = "F09",
       .name = "compare-ignores-the-node",
       .text = "tokens that differ only in the node id count as equal",
       .kind = FaultKind::kBenign,
       .make = with_comparison(compare_ignores_the_node)},
      {.id = "F15",
       .name = "failed-nx-stores-the-token",
       .text = "a SET with NX that is not applied still sets the token of the key",
       .kind = FaultKind::kBenign,
       .make = with_exchange(failed_nx_stores_the_token)},
  };
}

}  // namespace fencepost::store
