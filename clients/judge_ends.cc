// How connections end, and what the broker refuses.
#include <algorithm>

#include "base/bytes.h"
#include "clients/judge_work.h"

namespace fencepost::clients {
namespace {

using wire::PropertyId;

constexpr std::uint8_t kKeepAliveTimeout = 0x8d;

std::string seconds_text(Time time) {
  return std::to_string(time.count() / 1'000'000) + '.' +
         std::to_string(time.count() / 100'000 % 10) + " s";
}

const Rule& keep_alive_rule(const ConnectionState& connection) {
  return rule(connection.keep_alive_of_broker ? "MQTT-3.2.2-21" : "MQTT-3.1.2-20");
}

}  // namespace

void Judge::Work::check_keep_alive(const Seen& seen) {
  // In addition to the half that a broker adds to the time. (3.1.2.10)
  constexpr Time kMargin = std::chrono::seconds(1);
  ConnectionState& connection = seen.connection;
  if (!connection.accepted || !options_.sees_packets) return;
  if (connection.keep_alive_s == 0 || connection.reported_keep_alive) return;
  const Time silent = seen.at - std::max(connection.last_sent, connection.accepted_at);
  if (silent <= std::chrono::milliseconds(connection.keep_alive_s * std::int64_t{1500}) + kMargin) {
    return;
  }
  connection.reported_keep_alive = true;
  find({connection, {}, seen.at}, keep_alive_rule(connection),
       "no packet for " + seconds_text(silent) + ", but the Keep Alive is " +
           std::to_string(connection.keep_alive_s) + " s");
}

void Judge::Work::on_disconnect(const Seen& seen, const wire::Disconnect& last) {
  ConnectionState& connection = seen.connection;
  connection.disconnected = true;
  const auto before = connection.connect->properties.number(PropertyId::kSessionExpiry).value_or(0);
  const auto expiry = last.properties.number(PropertyId::kSessionExpiry).value_or(before);
  if (before == 0 && expiry != 0) {
    find(seen, rule("MQTT-3.14.2.2.2"),
         "a Session Expiry Interval of " + std::to_string(expiry) +
             " s in the DISCONNECT, but none in the CONNECT");
  }
  check_resent(seen);
  check_released(seen);
  if (connection.owed.empty() || expiry != 0) return;
  // The session ends here, so that there can be no PUBACK later. What came last, the client need
  // not have read, and some gather PUBACKs for a while.
  const DeliveredPacket& first = connection.owed.front();
  constexpr Time kTimeToRead = std::chrono::seconds(1);
  if (seen.at - first.at <= kTimeToRead) return;
  find(seen, rule("MQTT-4.3.2-4"),
       "no PUBACK with the identifier " + std::to_string(first.packet_id) + " in " +
           seconds_text(seen.at - first.at) + " before the client disconnected");
}

void Judge::Work::check_released(const Seen& end) {
  constexpr Time kTimeToRelease = std::chrono::seconds(1);
  const auto check = [&](const std::map<std::uint16_t, Time>& waiting, std::string_view id,
                         const std::string& what) {
    for (const auto& [packet_id, since] : waiting) {
      if (end.at - since <= kTimeToRelease) continue;
      find({end.connection, {}, end.at}, rule(id),
           "no " + what + " with the identifier " + std::to_string(packet_id) + " in " +
               seconds_text(end.at - since) + " before the client disconnected");
    }
  };
  check(end.connection.unreleased, "MQTT-4.3.3-4", "PUBREL");
  check(end.connection.unreceived, "MQTT-4.3.3-8", "PUBREC");
  check(end.connection.uncompleted, "MQTT-4.3.3-11", "PUBCOMP");
}

void Judge::Work::on_refused(const Seen& seen, const std::string& what, std::uint8_t reason) {
  ConnectionState& connection = seen.connection;
  const std::string_view mistake = clients_mistake(reason);
  // Usually it is the consequence of an earlier finding.
  if (mistake.empty() || connection.broken || !options_.sees_packets) return;
  const Seen shown{connection, connection.last_packet, seen.at};
  const std::string because = "the broker has " +
                              std::string(what == "the connection" ? "ended " : "refused ") + what +
                              ": " + std::string(mistake);
  if (reason == kKeepAliveTimeout) {
    connection.reported_keep_alive = true;
    return find({connection, {}, seen.at}, keep_alive_rule(connection),
                because + "; the Keep Alive is " + std::to_string(connection.keep_alive_s) + " s");
  }
  find(shown, rule("MQTT-4.13"), because + "; the last packet of the client is");
}

void Judge::Work::check_resent(const Seen& end) {
  constexpr Time kTimeToResend = std::chrono::seconds(5);
  ConnectionState& connection = end.connection;
  if (connection.client == nullptr || connection.client->connection != connection.number) return;
  if (!connection.session_present || !options_.sees_packets) return;
  if (!connection.disconnected && end.at - connection.accepted_at < kTimeToResend) return;
  connection.session_present = false;  // checked once
  for (const auto& [packet_id, packet] : connection.client->sent) {
    if (packet.connection == connection.number || packet.acknowledged || packet.expires) continue;
    if (packet.released) continue;  // of QoS 2, its PUBREL is what comes again
    // A client that has lost its session in a restart counts from the beginning again.
    const bool remembers = connection.last_resent != 0 || connection.least_new_id > packet_id;
    if (!remembers) continue;
    find({connection, {}, end.at}, rule("MQTT-4.4.0-1"),
         "the PUBLISH with the identifier " + std::to_string(packet_id) +
             " has no PUBACK and was not sent again in the resumed session");
  }
}

void Judge::Work::remember_aliases(const ConnectionState& connection) {
  if (connection.client == nullptr) return;
  for (const auto& [alias, topic] : connection.aliases) {
    connection.client->old_aliases.insert(alias);
  }
}

}  // namespace fencepost::clients
