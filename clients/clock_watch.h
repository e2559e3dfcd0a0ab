// The clock of a client as its requests show it, over one connection: is it near the broker's, does
// it go forwards, and is it ahead of what the client has received?
//
// A request may be queued after it was stamped, and several threads may stamp concurrently: the
// order of stamps is judged only where neither explains it. Pure; of one thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "clients/finding.h"
#include "clients/request_rules.h"
#include "hlc/hlc.h"

namespace fencepost::clients {

struct StampedRequest {
  Time at{};
  // The store's wall clock at that time; nothing: not known.
  std::optional<std::int64_t> store_ms{};
  std::optional<Time> idle_for{};  // how long nothing was in flight; nothing: something is
  bool sent_before = false;        // DUP
  bool sets = false;               // a SET
  std::uint64_t content = 0;       // a hash of its payload
  std::optional<hlc::Timestamp> stamp{};
  std::optional<hlc::Timestamp> token{};
};

class ClockWatch {
 public:
  // A version that a response has brought, once the client has acknowledged it.
  void received(const hlc::Timestamp& version, Time at);

  void sent(const StampedRequest& request, std::vector<Diagnostic>& out);

 private:
  void note_idle(const StampedRequest& request);
  void note_step(const StampedRequest& request);
  void check_distance(const StampedRequest& request, std::vector<Diagnostic>& out);
  void check_token_time(const StampedRequest& request, std::vector<Diagnostic>& out) const;
  void check_order(const StampedRequest& request, std::vector<Diagnostic>& out);
  void check_merged(const StampedRequest& request, std::vector<Diagnostic>& out);

  struct Received {
    hlc::Timestamp version{};
    Time at{};
  };
  std::optional<Received> latest_{};      // the greatest
  std::set<hlc::Timestamp> versions_{};   // all, up to a limit
  std::optional<hlc::Timestamp> last_{};  // the greatest stamp
  // The greatest stamp and version before nothing was in flight for a second in total. What comes
  // later was stamped later, but for single requests that were held up on their way.
  struct Floor {
    Time idle{};  // of idle_, when it was taken
    std::optional<hlc::Timestamp> stamp{};
    std::optional<hlc::Timestamp> version{};
  };
  Floor floor_{};
  std::deque<Floor> later_floors_{};            // one for each part of that second
  std::optional<hlc::Timestamp> sure_floor_{};  // the second was one piece: nothing was held up
  Time idle_{};                                 // nothing was in flight, in total
  std::size_t below_ = 0;                       // requests behind the stamp of a floor,
  std::size_t unmerged_ = 0;                    // its version,
  std::size_t too_old_ = 0;                     // and more than a minute behind
  struct Sent {
    hlc::Timestamp stamp{};
    Time at{};
  };
  std::optional<Sent> previous_{};
  bool in_step_ = false;       // the stamp is later than the one before by the time between them
  std::size_t backwards_ = 0;  // requests in a row, each behind the one before
  std::map<hlc::Timestamp, std::uint64_t> of_sets_{};  // stamps, and what was set
  std::string node_{};
  bool several_nodes_ = false;
};

}  // namespace fencepost::clients
