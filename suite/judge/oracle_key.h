// The states that a key may be in, and what a conforming store may answer in each: the part of the
// oracle that knows the rules. Pure, but for the memory that it uses again.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "codec/command.h"
#include "codec/error_code.h"
#include "codec/reply.h"
#include "hlc/hlc.h"
#include "reference_store/rules.h"
#include "suite/judge/unspecified_points.h"

namespace fencepost::judge {

// One state that a key may be in.
struct CandidateState {
  enum class Token : std::uint8_t { kNone, kHeld, kUnknown };
  enum class Expiry : std::uint8_t { kNever, kWindow, kUnknown };

  bool exists = false;
  std::optional<std::string> value{};       // nothing: unknown
  std::optional<hlc::Timestamp> version{};  // of the value, or the last that was seen; nothing:
                                            // unknown
  Token token = Token::kNone;               // of a key that expired: it may still count
  hlc::Timestamp held{};                    // kHeld
  Expiry expiry = Expiry::kNever;
  std::chrono::microseconds earliest{0};  // kWindow: when it expires, on our steady clock
  std::chrono::microseconds latest{0};
  bool expired = false;                      // it does not exist because its time has passed
  std::vector<UnspecifiedChoice> assumed{};  // what has to be so for the key to be in this state

  friend bool operator==(const CandidateState&, const CandidateState&) = default;
};

enum class VersionRule : std::uint8_t {
  kAny,    // present or not
  kNone,   // absent
  kFresh,  // of the value that this request has set
  kSame,   // that of the value
  kNewer,  // present, and newer than that of the value
};

enum class Change : std::uint8_t { kNone, kSet, kDelete };

// One thing that a conforming store may do.
struct Branch {
  codec::ReplyKind kind = codec::ReplyKind::kOk;
  std::optional<codec::ErrorCode> error{};  // kError: nothing means any
  std::optional<std::string> value{};       // kValue: nothing means any
  std::int64_t count = 0;                   // kCount
  VersionRule version = VersionRule::kAny;
  std::string_view rule{};     // the requirement that a store follows which does this
  UnspecifiedChoice choice{};  // what it decides there
  // It cannot be known whether a conforming store does this, e.g. what its quota is.
  bool unknowable = false;
  // It depends on the store's clock, or on a token, of which too little is known: a store that does
  // something else has broken the rule of another branch first.
  bool perhaps = false;
  Change change = Change::kNone;
  CandidateState next{};  // but for what the reply shows: a fresh version, an unknown value
};

// A request that is a command, and what is known of the time when the store handles it.
struct Asked {
  codec::Command command{};
  const std::string* timestamp = nullptr;  // `__ts`, null when absent
  const std::string* token = nullptr;      // `__ft`
  UnspecifiedChoice
      open_form{};  // it is open whether a SET may be spelled like this; the outcome is left empty
  const std::set<std::string, std::less<>>* store_nodes = nullptr;  // node ids of versions so far
  std::uint64_t wall_low = 0;  // the store's wall clock lies between these
  std::uint64_t wall_high = 0;
  std::chrono::microseconds sent{0};  // on our steady clock
  std::chrono::microseconds received{0};
  bool limited = true;  // quota and authorization are not known
};

// Appends the states that `state` may have become by the time the store handles a request: the
// key is there, gone, or one of the two. `slack`: how late a key may expire.
void pass_time(const CandidateState& state, std::chrono::microseconds sent,
               std::chrono::microseconds received, std::chrono::microseconds slack,
               std::vector<CandidateState>& out);

// Appends what a conforming store may do in this state with a SET, GET, DEL or VDEL. What it most
// likely does comes first.
void branches_of(const CandidateState& state, const Asked& asked, std::vector<Branch>& out);

}  // namespace fencepost::judge
