// Runs a trace against any store, one request after the other, and lets the oracle judge what comes
// back. Nothing is known beforehand of what the store will answer: timestamps and tokens relate to
// what it has answered so far.
//
//   JudgedRun run = run_judged(*session, trace, {.key_prefix = "mine/1/"});
//   if (run.rejection) complain(*run.rejection);
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "codec/message.h"
#include "endpoint/endpoint.h"
#include "suite/judge/oracle.h"
#include "suite/run/client_pool.h"
#include "suite/run/run_slots.h"
#include "suite/run/time_limits.h"
#include "workload/operation.h"

namespace fencepost::search {

struct JudgedRunOptions {
  judge::OracleOptions oracle{.starts_empty = true, .limited = false};
  std::string key_prefix{};        // so that only this run has these keys
  std::string client_id_prefix{};  // and so are the ids of its clients
  std::uint32_t number = 0;        // begins the correlation data of its requests: no other run's
  endpoint::Duration timeout{run::kReplyTimeout};   // of a reply
  endpoint::Duration standstill{run::kStandstill};  // until a missing reply or PUBACK is judged
  // Where time has to be waited for: a PX below a minute becomes this one, waits after it change in
  // the same proportion, and none is longer than it takes until that is over. Nothing: times are
  // those of the trace.
  std::optional<std::chrono::milliseconds> short_expiry{};
  // Called before each operation: true ends the run there. Empty: nothing does.
  std::function<bool()> stop{};
  // Rejections that are known: they are counted, and the run continues. Empty: none is.
  std::function<bool(const judge::Judgement&)> is_known{};
  bool keeps_packets = false;  // fills JudgedRun::packets
  bool removes_keys = false;   // afterwards those that it has written, as far as the store lets it
  // Connections that runs have left clean; clients that the trace does not disconnect use them, and
  // leave theirs. Null: all connections are new, and are closed. Must outlive the run.
  run::ClientPool* pool = nullptr;
  // The run holds a slot of these, and lends it while it waits for time to pass. Null: no limit.
  run::RunSlots* slots = nullptr;
  // The most that is kept of a payload that was received: many runs are kept at a time, and an
  // endpoint may send what it likes.
  std::size_t most_payload = std::size_t{256} << 10U;
};

struct Rejection {
  std::size_t operation = 0;  // of the trace
  judge::Judgement judgement{};
  std::optional<codec::Message> request{};  // the one that was judged; none of a notification
  std::optional<codec::Message> reply{};
  std::size_t reply_bytes = 0;  // of its payload, before it was cut
};

// What went over the network, as the run saw it.
struct Packet {
  enum class Kind { kRequest, kReceived, kDisconnected };
  Kind kind = Kind::kRequest;
  std::string client_id{};
  endpoint::Duration at{0};       // on the session's clock
  codec::Message message{};       // empty of kDisconnected
  std::size_t payload_bytes = 0;  // before it was cut
};

struct JudgedRun {
  std::size_t requests = 0;
  std::size_t undecidable = 0;
  std::size_t known = 0;                 // rejections that options.is_known
  std::optional<Rejection> rejection{};  // the first: the run ends there
  std::optional<endpoint::Error> lost{};
  bool stopped = false;                           // by options.stop, before its end
  std::map<std::string, std::string> observed{};  // what is open: see Oracle::observed()
  std::set<std::string> open{};  // requirements because of which something is undecidable
  // Our wall clock minus the session's, in the beginning.
  std::chrono::microseconds clocks_apart{0};
  std::vector<Packet> packets{};  // in the order in which they were judged
};

[[nodiscard]] JudgedRun run_judged(endpoint::Session& session, const workload::Trace& trace,
                                   const JudgedRunOptions& options);

}  // namespace fencepost::search
