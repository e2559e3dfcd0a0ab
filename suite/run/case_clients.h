// The clients of one running case: connects them under ids of their own, lets them go, and sees to
// it that nothing that they received is overlooked.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "endpoint/endpoint.h"
#include "suite/run/failure.h"
#include "suite/run/request_client.h"
#include "suite/run/run_settings.h"
#include "suite/run/transcript.h"
#include "suite/scenario/scenario.h"

namespace fencepost::run {

// What an error of the endpoint means for the case: a connection that is gone, a subscription that
// was granted with too low a QoS, or an error that says nothing about the store, such as a
// subscription that the broker does not allow.
[[nodiscard]] Problem lost(const endpoint::Error& error);

// The connection of this client ended, and nothing in the case makes that right.
[[nodiscard]] Problem unexpected_disconnect(const RequestClient& client);

// Does this rule of an unsolicited notification say that it came before?
[[nodiscard]] bool is_told_again(std::string_view rule);

// Did the broker refuse the connection because it has enough of them, or enough for now? Then it is
// there. (MQTT 5, 3.2.2.2: server busy, quota exceeded, connection rate exceeded)
[[nodiscard]] bool has_enough_connections(const endpoint::Error& error);

class CaseClients {
 public:
  // `tag` distinguishes this case from the others of the run, and so does the prefix of its keys.
  // All references must outlive the object.
  CaseClients(const scenario::Case& test_case, endpoint::Session& session,
              const RunSettings& settings, std::string tag, std::string key_prefix,
              std::vector<TranscriptEntry>& transcript);

  // The client of that name, connected when it is not yet.
  [[nodiscard]] Result<RequestClient*, Problem> get(const std::string& name);

  // Connects it; a connection that it has ends first.
  [[nodiscard]] MaybeProblem connect(const std::string& name);

  // Ends its connection: with a DISCONNECT packet, or as a broken network does. Returns when the
  // store has had the time to notice.
  [[nodiscard]] MaybeProblem disconnect(const std::string& name, bool drop);

  // Ends its subscription to its notifications.
  [[nodiscard]] MaybeProblem unsubscribe(const std::string& name);

  // Does this to the broker. Where it ends connections, waits up to `timeout` until each has; the
  // clients are connected again when they are wanted.
  [[nodiscard]] MaybeProblem disturb(const endpoint::DisturbanceKind& kind,
                                     endpoint::Duration timeout);

  // An unsolicited message, if any client received one.
  [[nodiscard]] MaybeProblem check_unsolicited();
  // Has another client received the response to this request, which no other client has? Reads what
  // has come for all of them.
  [[nodiscard]] MaybeProblem check_misdirected(const judge::Exchange& exchange);
  // The rule that an unsolicited notification to this client breaks (judge/attribution.h).
  [[nodiscard]] std::string rule_of_unexpected(const RequestClient& client,
                                               const Notified& notified) const;
  // The same, and notifications that no step has consumed, and connections that ended.
  [[nodiscard]] MaybeProblem check_leftovers();

  // Drops notifications that a conforming store may send in any case; empty: drops none.
  void may_leave_out(std::function<void(RequestClient&)> leave_out) {
    leave_out_ = std::move(leave_out);
  }

  // An MQTT client id that nobody else uses.
  [[nodiscard]] std::string client_id(const std::string& name) const;
  // What the case says of the client of that name, which it has.
  [[nodiscard]] const scenario::ClientSpec& spec_of(const std::string& name) const;

  // Lets all clients go; returns how long each answered request took. `passed`: what they have left
  // clean goes to RunSettings::pool, else all connections are closed.
  [[nodiscard]] std::vector<endpoint::Duration> close(bool passed);

 private:
  [[nodiscard]] std::string client_id(const scenario::ClientSpec& spec) const;
  [[nodiscard]] std::optional<endpoint::Will> will_of(const scenario::ClientSpec& spec) const;
  [[nodiscard]] bool may_share(const scenario::ClientSpec& spec) const;
  [[nodiscard]] Result<std::unique_ptr<RequestClient>, Problem> fresh(
      const scenario::ClientSpec& spec, const std::string& id);
  [[nodiscard]] std::unique_ptr<RequestClient> reused(const scenario::ClientSpec& spec);
  [[nodiscard]] std::shared_ptr<Received> received_by(const std::string& id);
  [[nodiscard]] MaybeProblem check_leftovers(RequestClient& client);
  [[nodiscard]] MaybeProblem let_go(const std::string& name);
  void settle(const RequestClient& ended);
  void note_round_trips(const RequestClient& client);
  [[nodiscard]] bool is_for_another(RequestClient& client) const;
  // What it tells of, where it comes a second time: nobody has used its key since the first.
  [[nodiscard]] std::optional<codec::Operation> told_again(const Notified& notified) const;
  [[nodiscard]] bool any_exchange(const auto& holds) const;  // of any client

  const scenario::Case& case_;
  endpoint::Session& session_;
  const RunSettings& settings_;
  std::string id_prefix_;
  std::string key_prefix_;
  endpoint::Duration start_;
  const bool about_connections_;  // the case: each client has one that is as new as it says
  std::vector<TranscriptEntry>& transcript_;
  std::map<std::string, std::unique_ptr<RequestClient>> clients_;  // by name
  std::set<std::pair<std::string, std::string>> former_;  // client ids, and keys that they observed
  std::map<std::string, std::shared_ptr<Received>> received_;  // by client id
  std::set<std::string> subscribed_;                           // client ids
  std::vector<endpoint::Duration> round_trips_;
  std::function<void(RequestClient&)> leave_out_{};
};

}  // namespace fencepost::run
