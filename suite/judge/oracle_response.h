// What the oracle requires of every response: its properties, its
// version, and that a store spells one thing one way.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "codec/dialect.h"
#include "codec/error_code.h"
#include "codec/reply.h"
#include "hlc/hlc.h"
#include "suite/judge/exchange.h"
#include "suite/judge/judgement.h"
#include "suite/judge/oracle_basis.h"
#include "suite/judge/oracle_key.h"

namespace fencepost::judge {

// A reply as it was read. Points into the exchange, or into itself: it stays where it was made.
struct Answered {
  Answered() = default;
  Answered(const Answered&) = delete;
  Answered& operator=(const Answered&) = delete;

  codec::DecodedReply reply{};
  std::optional<codec::ErrorCode> error{};  // of an error that the protocol lists
  std::optional<hlc::Timestamp> version{};
  bool has_version = false;
  bool has_detail = false;  // an error with more than its listed text
  std::string completed{};  // a payload without the final CR LF, with it
};

// What is wrong with the properties or the form of the reply; nothing when it is right, and then
// `answered` holds it. There must be a reply. Req: ENV-*
[[nodiscard]] std::optional<Judgement> check_envelope(const Exchange& exchange,
                                                      const OracleBasis& basis, Answered& answered);

// What is wrong with the version of a reply that stands for `branch`, of a key that was `before`;
// nothing when it is right. Req: VER-*
[[nodiscard]] std::optional<Judgement> check_version(const Branch& branch,
                                                     const CandidateState& before,
                                                     const Asked& asked, const Answered& answered,
                                                     const OracleBasis& basis);

// The forms that a store was seen to use. For one store, used by one thread.
class Spellings {
 public:
  explicit Spellings(const OracleBasis& basis) : dialect_(basis.dialect) {}

  // Notes the form of a reply. Rejects one that was spelled otherwise before.
  [[nodiscard]] std::optional<Judgement> check(codec::Verb verb, const Answered& answered);
  // The same of the word for a deletion in a notification.
  [[nodiscard]] std::optional<Judgement> check_deletion(codec::DialectId form);

 private:
  std::optional<Judgement> check(codec::Divergence where, codec::DialectId form);

  std::optional<codec::DialectId> dialect_;
  std::map<codec::Divergence, codec::DialectId> seen_{};
};

}  // namespace fencepost::judge
