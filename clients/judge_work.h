// The inside of the judge. Private to clients/.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "clients/judge.h"
#include "clients/session.h"
#include "clients/token_watch.h"

namespace fencepost::clients {

// A packet of a connection, and when.
struct Seen {
  ConnectionState& connection;
  std::string_view bytes;
  Time at;
};

class Judge::Work {
 public:
  explicit Work(JudgeOptions options)
      : options_(std::move(options)),
        saw_all_(options_.from_start && options_.sees_packets),
        issued_all_(options_.from_start) {}

  void opened(std::uint64_t connection, Time at);
  void sent(std::uint64_t connection, std::string_view bytes, Time at);
  void delivered(std::uint64_t connection, std::string_view bytes, Time at);
  void closed(std::uint64_t connection, Time at);
  void lost(std::uint64_t connection);

  std::vector<Finding> take_findings() { return std::exchange(findings_, {}); }
  [[nodiscard]] const Tally& tally() const { return tally_; }

 private:
  void find(const Seen& seen, const Rule& rule, std::string because);
  void find_all(const Seen& seen, std::vector<Diagnostic> diagnostics);
  void ignore(ConnectionState& connection);

  // judge.cc: connections and sessions.
  void on_sent(ConnectionState& connection, const wire::ReadPacket& packet, Time at);
  void on_bad_bytes(const Seen& seen, const wire::DecodeError& error);
  void on_accepted(const Seen& seen, const wire::Packet& packet);
  void on_connack(const Seen& seen, const wire::Connack& connack);
  void on_subscribe(const Seen& seen, const wire::Subscribe& subscribe);
  void on_suback(const Seen& seen, const wire::Suback& suback);
  void on_unsuback(ConnectionState& connection, const wire::Unsuback& unsuback);

  // judge_ends.cc: how connections end, and what the broker refuses.
  void check_keep_alive(const Seen& seen);
  void on_disconnect(const Seen& seen, const wire::Disconnect& last);
  // The broker has refused `what` with this reason code, or ended the connection.
  void on_refused(const Seen& seen, const std::string& what, std::uint8_t reason);
  // At the end: was all sent again that a resumed session had to?
  void check_resent(const Seen& end);
  // At the end, orderly: has the client answered each packet of QoS 2?
  void check_released(const Seen& end);
  static void remember_aliases(const ConnectionState& connection);

  // judge_packets.cc: QoS 1.
  void check_new_identifier(const Seen& seen, std::uint16_t packet_id);
  // True: it was sent before, so that it is no new message.
  bool check_identifier(const Seen& seen, const wire::Publish& publish);
  void check_resend(const Seen& seen, const SentPacket& packet, std::uint16_t packet_id);
  void check_limits(const Seen& seen, const wire::Publish& publish);
  void on_puback_of_broker(const Seen& seen, const wire::Ack& ack);
  void on_delivered(const Seen& seen, const wire::Publish& publish);
  void on_ack_of_client(const Seen& seen, const wire::Ack& ack);
  void on_ack_of_qos_2(const Seen& seen, const wire::Ack& ack);
  void check_silence(const Seen& seen);

  // judge_requests.cc: what a request is, and what answers it.
  void on_publish(const Seen& seen, const wire::Publish& publish);
  // The topic of a packet, also of one with an alias; nothing when the alias is unknown.
  std::optional<std::string> topic_of(const Seen& seen, const wire::Publish& publish);
  void on_request(const Seen& seen, const wire::Publish& publish, bool again);
  void check_correlation(const Seen& seen, const wire::Publish& publish, Request& request);
  void check_subscriptions(const Seen& seen, const wire::Publish& publish, const Request& request);
  // KEYNOTIFY, and whether it comes again after a reconnect.
  void on_keynotify(const Seen& seen, const wire::Publish& publish);
  void check_renewed(const Seen& end);
  void check_clock(const Seen& seen, const wire::Publish& publish, bool again);
  void check_token(const Seen& seen, const hlc::Timestamp& token, std::string_view text);
  [[nodiscard]] std::optional<hlc::Timestamp> issued_like(const hlc::Timestamp& token,
                                                          Time at) const;
  // What the store has answered.
  void on_response(const Seen& seen, const Request& request, const wire::Publish& response,
                   const std::optional<hlc::Timestamp>& version);
  [[nodiscard]] bool anybody_subscribed(const ConnectionState& connection,
                                        std::string_view topic) const;
  // The request that it answers, which is no longer in flight.
  std::optional<Request> take_answered(const ConnectionState& connection,
                                       const wire::Publish& publish, Time at);
  void end_requests_of(std::uint64_t connection);
  // How long nothing had been in flight before the current request.
  [[nodiscard]] static std::optional<Time> idle_for(ConnectionState& connection, Time at);

  JudgeOptions options_;
  Tally tally_{};
  std::vector<Finding> findings_{};
  ClientState unknown_{};  // clients that have not been accepted
  std::map<std::uint64_t, ConnectionState> connections_{};
  std::map<std::string, ClientState, std::less<>> clients_{};
  // Response topic, a NUL, correlation data -> who waits for that.
  std::multimap<std::string, Request, std::less<>> requests_{};
  std::set<hlc::Timestamp> issued_{};  // versions that the store has sent
  TokenWatch tokens_{};
  std::set<hlc::Timestamp> stamps_{};  // of clients
  std::uint64_t sent_packets_ = 0;     // SentPacket::order
  std::optional<Time> first_at_{};     // when the first connection was opened
  bool all_named_ = true;              // no connection ended before it was known whose it is
  bool saw_all_;                       // connections from their begin, from the broker's start on
  bool issued_all_;                    // they are all here
};

// What stays the same when the packet is sent again.
[[nodiscard]] std::uint64_t content_hash(const wire::Publish& publish);

}  // namespace fencepost::clients
