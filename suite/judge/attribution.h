// Attribution: which rule a difference breaks. One pure function for each thing that can differ: a
// response, a notification, an unsolicited message. What may name the rule stands in attribution.cc
// in one table each, in the order in which it is believed; what failures say of rules together is
// in root_cause.h.
//
//   const Attribution found = attribute(ResponseDifference{
//       .kind = Mismatch::kVersionMissing, .step = step, .exchange = exchange, .keys = keys});
//   use(found.requirement, found.direct, found.candidates);
//
// Thread safe.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/dialect.h"
#include "codec/message.h"
#include "codec/notification.h"
#include "suite/judge/exchange.h"
#include "suite/judge/key_states.h"
#include "suite/judge/mismatch.h"
#include "suite/scenario/scenario.h"

namespace fencepost::judge {

// Ids of scenarios/requirements.yaml.
struct Attribution {
  std::string requirement{};  // the rule that the failure is attributed to; empty: the first that
                              // the case is about
  // The rule that such a difference breaks by itself, regardless of what the case is about; may be
  // empty.
  std::string direct{};
  // Other rules of which each, if it is broken, makes such a difference after what came before.
  std::vector<std::string> candidates{};

  // Takes from `other` what is empty here.
  void complete(Attribution other);
};

using Exchanges = std::deque<Exchange>;

// A response that is not the expected one, or does not come. What is referred to must outlive it.
struct ResponseDifference {
  Mismatch kind = Mismatch::kOther;
  bool failed = true;  // false: what differs proves nothing, and shows no rule by itself
  // With the outcomes that are right after what earlier requests have led to.
  const scenario::RequestStep& step;
  const Exchange& exchange;
  const KeyStates& keys;                 // before this exchange
  const Exchanges* of_client = nullptr;  // all of its client; null: this is the only one
  codec::Profile profile = codec::Profile::kAuto;
  // The rule by which an earlier request, whose outcome was open, has left the key; may be empty.
  std::string_view promised{};
  std::optional<codec::Divergence> other_form{};  // it would be right in the other dialect
  bool set_again = false;                         // see MismatchFacts
};
[[nodiscard]] Attribution attribute(const ResponseDifference& difference);

// A notification that is not the expected one, or does not come.
struct NotificationDifference {
  Mismatch kind = Mismatch::kOther;
  codec::Operation operation = codec::Operation::kSet;
  std::string_view key;                        // with the prefix of the case
  std::optional<std::string_view> seen_key{};  // of the one that came, if any
  std::string_view cites{};                    // of the step
  const KeyStates& keys;
  std::chrono::microseconds now{0};  // on the session's clock
  Cause cause = Cause::kUnknown;
  bool own_is_notified = true;  // must clients get their own changes?
  bool stop_before = false;     // its observer has sent a STOP, of any key
  bool other_stop = false;      // a STOP of another client, or of another key, was answered
  std::optional<codec::Divergence> other_form{};
  bool set_again = false;
};
[[nodiscard]] Attribution attribute(const NotificationDifference& difference);

// A notification of `key` that no step expects, and what its client has requested until then.
struct UnaskedNotification {
  std::string_view key;
  const Exchanges& of_client;
  bool named = true;      // a client of the case has named this key
  bool observed = false;  // an earlier connection of its client has
  // What it notifies of, where its client was notified of the same, and nobody has used the key
  // since.
  std::optional<codec::Operation> again{};
};
[[nodiscard]] std::string_view rule_of_unasked(const UnaskedNotification& notification);
// The same of a topic that is not its client's: `key` is what it names, empty where it names none.
[[nodiscard]] std::string_view rule_of_other_topic(std::optional<std::string_view> key,
                                                   const Exchanges& of_client);
// The same of a response that fits no open request of its client; may be empty.
[[nodiscard]] std::string_view rule_of_unasked(const codec::Message& response,
                                               const Exchanges& of_client);
// The rule for a response that another client waits for.
inline constexpr std::string_view kResponseOfAnother = "ENV-RESPONSE-TOPIC-1";

// Would any reply, however late, be wrong?
[[nodiscard]] bool forbids_replies(const scenario::RequestStep& step);

}  // namespace fencepost::judge
