// What the judge remembers of one client and of one connection. Private to clients/.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "clients/clock_watch.h"
#include "clients/finding.h"
#include "clients/packet_rules.h"
#include "clients/request_rules.h"
#include "codec/command.h"
#include "codec/reply.h"
#include "endpoint/wire/packet.h"
#include "endpoint/wire/packet_reader.h"

namespace fencepost::clients {

// A PUBLISH of QoS 1 or 2 of the client.
struct SentPacket {
  std::uint64_t connection = 0;
  std::uint64_t content = 0;  // a hash of what has to stay the same when it is sent again
  std::uint64_t order = 0;    // of its first sending
  bool expires = false;       // with a Message Expiry Interval
  bool acknowledged = false;
  bool released = false;  // of QoS 2: its PUBREL was sent
};

// One of the broker, of QoS 1, that the client has to acknowledge.
struct DeliveredPacket {
  std::uint16_t packet_id = 0;
  Time at{};
  std::optional<hlc::Timestamp> version{};  // of a response that came in time
};

// A request that waits for its response.
struct Request {
  std::string client_id{};
  std::uint64_t connection = 0;
  std::uint16_t packet_id = 0;
  Time at{};
  Time free_at{};  // its client may have given up then
  std::uint64_t content = 0;
  std::optional<codec::Verb> verb{};
  std::string key{};
  std::string value{};
  std::optional<std::chrono::milliseconds> expires_after{};
  bool has_token = false;
  // What is unusual about it: where the store refuses it, that is the client's mistake.
  std::optional<Diagnostic> odd{};
  std::string bytes{};  // of the packet; of an unusual one, or a change without a token
};

// By its client id, over all its connections.
struct ClientState {
  std::string id{};
  std::size_t connections = 0;
  std::uint64_t connection = 0;  // the one that it has now, or had last
  std::map<std::string, std::size_t, std::less<>> reported{};  // rule -> findings
  std::set<std::string> observed{};                            // keys of KEYNOTIFYs without a STOP

  // These belong to the session.
  std::set<std::string> subscribed{};             // acknowledged
  std::map<std::uint16_t, SentPacket> sent{};     // by packet id
  std::set<std::uint16_t> delivered_ids{};        // of QoS 1
  std::set<std::uint16_t> delivered_qos_2_ids{};  // of QoS 2
  std::unordered_set<std::uint64_t> contents{};   // hashes of all that it has sent
  std::set<std::uint16_t> old_aliases{};          // of connections before
};

struct ConnectionState {
  std::uint64_t number = 0;
  wire::PacketReader from_client;
  wire::PacketReader from_broker;
  ClientState* client = nullptr;  // null: until the CONNACK, and after a takeover
  std::optional<wire::Connect> connect{};
  bool accepted = false;
  bool ignored = false;                                   // judged no further
  std::deque<std::pair<wire::ReadPacket, Time>> early{};  // before the CONNACK
  std::map<std::uint16_t, std::string> aliases{};
  Announced announced{};
  bool session_present = false;
  std::uint32_t keep_alive_s = 0;     // 0: none
  bool keep_alive_of_broker = false;  // and not of the CONNECT
  bool reported_keep_alive = false;
  Time accepted_at{};
  Time last_sent{};                // when the client sent a packet last
  std::string last_packet{};       // its first bytes
  bool disconnected = false;       // by a DISCONNECT of the client
  bool broken = false;             // a rule of level must was found broken
  std::size_t unacknowledged = 0;  // PUBLISHes of the client
  std::uint64_t last_resent = 0;   // SentPacket::order
  std::uint16_t least_new_id = 65'535;
  // For QoS 2: what the client has to answer, since when: PUBREC with PUBREL, PUBLISH with PUBREC,
  // PUBREL with PUBCOMP.
  std::map<std::uint16_t, Time> unreleased{};
  std::map<std::uint16_t, Time> unreceived{};
  std::map<std::uint16_t, Time> uncompleted{};
  // Requests without a response: key of Work::requests_ -> until when it may be in flight.
  std::multimap<std::string, Time> unanswered{};
  Time busy_until{};                   // when something was in flight last
  std::deque<DeliveredPacket> owed{};  // PUBACKs
  bool reported_silence = false;
  std::map<std::uint16_t, std::vector<wire::Subscription>> subscribing{};
  std::map<std::uint16_t, std::vector<std::string>> unsubscribing{};
  std::set<std::string> asked_for{};  // filters of SUBSCRIBEs, acknowledged or not
  // Keys whose own notification topic it has subscribed to, though not yet registered for again.
  std::map<std::string, Time> renewed{};
  std::set<std::string> registered{};  // keys of its KEYNOTIFYs
  std::size_t answered = 0;            // requests
  Time last_request{};
  ClockWatch clock{};
};

}  // namespace fencepost::clients
