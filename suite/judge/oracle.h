// Judges what any store answers, without knowing its state or its clock: it follows what it sees.
// For each key it holds every state that a conforming store could be in by now; a request and its
// reply leave those that fit. When none fits, the store is wrong.
//
//   Oracle oracle({.clock = bounds, .starts_empty = true});
//   Exchange exchange(request, sent, sent_ms);
//   exchange.reply.emplace(reply, received, received_ms);
//   Judgement judgement = oracle.judge("a", exchange);
//   if (judgement.answer == Answer::kRejected) complain(judgement.requirement, judgement.because);
//
// Exchanges are given in an order in which the store may have handled them: for requests of which
// one was answered before the next was sent, that is the only one there is. The rules are those of
// reference_store/rules.h, which the Store applies too. What the article leaves open is right in
// any way, but in one way only: what a store was seen to do there, it has to do again.
//
// All times are those of our clocks, and those without a name of the steady one. Pure: time and
// randomness come in as arguments. Not thread safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/message.h"
#include "suite/judge/exchange.h"
#include "suite/judge/judgement.h"
#include "suite/judge/oracle_basis.h"
#include "suite/judge/store_clock.h"

namespace fencepost::judge {

struct OracleOptions {
  ClockBounds clock{};  // the store's wall clock minus ours
  // No key exists and nobody observes one. Otherwise nothing is known of a key that was not seen.
  bool starts_empty = false;
  // Clients may be denied what they request, and there may be a quota: neither is known.
  bool limited = true;
  // How long after its time a key may still be there. (Req: SET-PX-OPEN-8)
  std::chrono::microseconds expiry_slack{250'000};
  // How long after the end of a connection the store may take to notice it. (Req:
  // LIFE-DISCONNECT-1)
  std::chrono::microseconds disconnect_settling{100'000};
  // Otherwise the store is a client of the broker, and need not notice the end of a connection.
  bool store_in_broker = true;
  OracleBasis basis{};
};

class Oracle {
 public:
  explicit Oracle(OracleOptions options = {});
  ~Oracle();
  Oracle(const Oracle&) = delete;
  Oracle& operator=(const Oracle&) = delete;

  // Judges the reply, and follows it: after a rejected one nothing is known of the key any more.
  // Without a reply, none came, though there was time for it.
  Judgement judge(std::string_view client_id, const Exchange& exchange);

  // The client has sent this, to which a reply has come at `replied`, or none until then. A
  // registration may be in force before its reply arrives: to be called before the notifications
  // that came before it are given. Nothing happens where it is no KEYNOTIFY.
  void asked(std::string_view client_id, const Exchange& exchange,
             std::chrono::microseconds replied);

  // A notification has come. It is judged against the changes that are known by now; one that comes
  // before the reply to the request that caused it has to be given after that exchange.
  Judgement notified(std::string_view client_id, const codec::Message& message,
                     std::chrono::microseconds received);

  // Notifications that should have reached the client before `sent`, when it sent a request whose
  // reply has come since: the first that is missing, or accepted. (Req: NTF-ORDER-1)
  Judgement missing(std::string_view client_id, std::chrono::microseconds sent);

  // Has an expiry certainly happened that a client must still be notified of? That may be as late
  // as kExpiryNotified. (Req: SET-PX-OPEN-8)
  [[nodiscard]] bool awaits_expiry() const;
  // Must a client still be notified of any change? By the article alone that may be as late as
  // kNotificationLag. (Req: NTF-ORDER-OPEN-2)
  [[nodiscard]] bool awaits_notification() const;

  // The connection of a client has ended, and with it its registrations, where the store is in the
  // broker. (Req: LIFE-DISCONNECT-1)
  void disconnected(std::string_view client_id, std::chrono::microseconds at);

  // What was seen of what is open: requirement and outcome, e.g. {"VER-OPEN-4", "deleted version"}.
  [[nodiscard]] const std::map<std::string, std::string>& observed() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fencepost::judge
