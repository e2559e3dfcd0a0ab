// Which requirement a reply stands for: what a store that answers like this follows, and what it
// breaks if it should have answered like this and has not. One table for all code that has to name
// a rule: the oracle that judges traffic, and what writes cases from traffic.
//
//   requirement_of({.verb = Verb::kSet, .condition = Condition::kIfAbsent},
//                  {.expired = true}, {.kind = ReplyKind::kOk})  ->  SET-NX-3
//
// A case that cites a requirement knows better. Pure and thread safe.
#pragma once

#include <optional>
#include <string_view>

#include "codec/command.h"
#include "codec/dialect.h"
#include "codec/error_code.h"
#include "codec/reply.h"

namespace fencepost::judge {

// What was requested. `verb` is empty for a payload that names none, and set also where the rest of
// the request is wrong.
struct RequestFacts {
  std::optional<codec::Verb> verb{};
  codec::Condition condition = codec::Condition::kAlways;
  bool has_token = false;  // `__ft`
  bool stop = false;       // KEYNOTIFY with STOP
  // What is malformed, of an answer that says so, is the token, not the timestamp.
  bool token_is_malformed = false;
};

// The key when the request came.
struct KeyFacts {
  bool exists = false;
  bool expired = false;  // it does not exist because its time has passed
  bool fenced = false;   // it has a token that counts
  bool expires = false;  // it has a time
};

// The answer. One that is no reply at all has no kind: it is taken for the usual one of its verb.
struct ReplyFacts {
  std::optional<codec::ReplyKind> kind{};
  std::optional<codec::ErrorCode> error{};  // kError: empty means one without a known text
  bool empty_value = false;                 // kValue
  bool removed = false;                     // kCount: not zero
};

// Never empty; an id of scenarios/requirements.yaml.
[[nodiscard]] std::string_view requirement_of(const RequestFacts& request, const KeyFacts& before,
                                              const ReplyFacts& reply);

// The same of an error, which says itself what was wrong with the request.
[[nodiscard]] std::string_view requirement_of(codec::ErrorCode error, const RequestFacts& request);

// The one that prescribes the form, where the documents and the deployed service differ in it.
[[nodiscard]] std::string_view requirement_of(codec::Divergence divergence);

}  // namespace fencepost::judge
