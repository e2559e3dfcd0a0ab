// Judges what a store sent against what a scenario expects. Pure: bytes in, verdict out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text/phrase.h"
#include "codec/dialect.h"
#include "codec/message.h"
#include "suite/judge/exchange.h"
#include "suite/scenario/scenario.h"

namespace fencepost::judge {

// What stands for {fill_packet: N} and {filled: N}, by N.
using Fillings = std::map<std::int64_t, std::string>;

// The bytes of a spec in a case with this key prefix. A filling that is not there is empty.
[[nodiscard]] std::string resolve(const scenario::BytesSpec& spec, const std::string& key_prefix,
                                  const Fillings& fillings = {});

// A place where the dialects differ, and the form that was seen.
using SeenForm = std::pair<codec::Divergence, codec::DialectId>;

struct ReplyMatch {
  const scenario::Outcome* outcome = nullptr;  // the expected outcome that the reply is
  std::optional<SeenForm> form{};
};

struct ReplyContext {
  std::optional<codec::Verb> verb{};  // of the request, when it has a known one
  codec::Profile profile = codec::Profile::kAuto;
  std::string key_prefix;
  const Fillings* fillings = nullptr;  // null: there are none
};

// The first expected outcome that the reply is, byte for byte, in one of the profile's dialects.
// Nothing when it is not one of them.
[[nodiscard]] std::optional<ReplyMatch> match_reply(const std::vector<scenario::Outcome>& expected,
                                                    const ReceivedReply& reply,
                                                    const ReplyContext& context);

// Is it the listed text of an expected error, in one of the profile's dialects, with more behind it
// on the same line? (Req: ERR-EXACT-1, ERR-DETAIL-OPEN-1)
[[nodiscard]] bool is_error_with_detail(const std::vector<scenario::Outcome>& expected,
                                        const ReceivedReply& reply, const ReplyContext& context);

// The payloads that are right for an expected outcome in one dialect; none for what is no bytes,
// and where the outcome is not of this dialect.
[[nodiscard]] std::vector<std::string> right_payloads(const scenario::Outcome& outcome,
                                                      const ReplyContext& context,
                                                      codec::DialectId id);

// `:-1\r\n (not applied)`, one or more forms: what people should have seen.
[[nodiscard]] text::Phrase describe(const std::vector<scenario::Outcome>& expected,
                                    const ReplyContext& context);

// The reply in bytes and words, e.g. `:-1\r\n (not applied)`. In terms of any case, it is "a
// value", "+OK" or what is malformed.
[[nodiscard]] text::Phrase describe(const ReceivedReply& reply);
[[nodiscard]] std::string describe_reply(std::string_view payload);

}  // namespace fencepost::judge
