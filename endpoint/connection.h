// One MQTT 5 connection: its state, and what has not been read. Private to
// endpoint/.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "endpoint/endpoint.h"
#include "endpoint/held_bytes.h"
#include "endpoint/mqtt_extras.h"
#include "endpoint/poll_loop.h"
#include "endpoint/stream.h"
#include "endpoint/wire/packet.h"
#include "endpoint/wire/raw_publish.h"
#include "endpoint/wire/topic_alias.h"

namespace fencepost::endpoint {

// Bytes of messages that are kept unread. A connection with more than this is not read from until
// somebody wants its messages, and the broker has to wait; while an answer is waited for, beyond
// kMaxUnread, it ends. That, and what all may hold together, is in held_bytes.h.
inline constexpr std::size_t kMaxUnreadUnasked = std::size_t{16} << 20U;
// Limit of one packet to us, unless the endpoint is known to take larger ones. No case sends a
// larger one.
inline constexpr std::size_t kMaxPacketBytes = std::size_t{20} << 20U;

// Reading is done by the thread that waits for something, else by the loop's: a reply needs no
// hand-over between threads. Its methods are called by one thread at a time, and by the loop's.
class Connection final : public PollLoop::Handler, public std::enable_shared_from_this<Connection> {
 public:
  // `on_event`, `read_late`: see ClientOptions; the first may be empty.
  Connection(std::unique_ptr<Stream> stream, PollLoop& loop, std::size_t most_packet_bytes,
             std::function<void()> on_event = {}, bool read_late = false);
  ~Connection() override = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Sends the CONNECT, with the properties that `extras` has for it, and waits for the CONNACK.
  // After an error the connection is of no use; kInvalid: a property of `extras` is not one that
  // may stand there.
  [[nodiscard]] Result<wire::Connack, Error> open(wire::Connect connect, Duration timeout,
                                                  const MqttExtras& extras = {});

  [[nodiscard]] Result<wire::Suback, Error> subscribe(const std::string& filter, Duration timeout);
  [[nodiscard]] Result<wire::Unsuback, Error> unsubscribe(const std::string& filter,
                                                          Duration timeout);
  [[nodiscard]] Result<void, Error> publish(wire::Publish message);
  // Waits until the broker's Receive Maximum allows it; with its own packet id, or the next one.
  // kTimeout: it does not for 30 s.
  [[nodiscard]] Result<void, Error> publish_raw(wire::RawPublish raw, bool numbered);
  [[nodiscard]] std::optional<Event> receive(Duration timeout);
  [[nodiscard]] std::optional<Event> take();

  // See Client.
  void await_acknowledgements(Duration timeout);
  void gather(bool on);

  // Says farewell and waits a moment for the broker to read it. Nothing is received afterwards.
  void disconnect();
  void drop();

  void on_ready() override;
  void on_tick(Duration now) override;

 private:
  using Lock = std::unique_lock<std::mutex>;

  // All of these with the lock.
  template <typename Done>
  bool wait(Lock& lock, Duration timeout, const Done& done);
  void send(const wire::Packet& packet);
  void send_bytes(std::string_view bytes);
  void flush();
  void settle(bool waits = false);
  void read_some();
  void take_packets();
  bool make_room();
  void take(wire::Packet packet);
  void take(wire::Connack& packet);
  void take(wire::Publish& packet);
  void take(wire::Ack& packet);
  void take_other(wire::Packet& packet);
  [[nodiscard]] bool is_retained_too_often(const wire::Publish& packet);
  void deliver(wire::Publish& packet);
  void acknowledged(const wire::Ack& packet);
  void send_waiting();
  void expect_acknowledgement(const wire::Publish& packet, bool raw);
  [[nodiscard]] Result<void, Error> wait_until_written(Lock& lock);
  void push(Event event, std::size_t bytes);
  [[nodiscard]] Event pop();
  // The broker did what it may not, by this section of MQTT 5, or what is too much for us (no
  // section): it is notified, and the connection ends.
  void refuse(std::uint8_t reason, const std::string& text, std::string_view section);
  void refuse_reasons(std::string_view packet, std::size_t count);
  void end(std::optional<int> reason, const std::string& text, std::string_view section = {});
  void leave(bool politely);
  void rearm();
  [[nodiscard]] bool has_enough() const;
  // A waiter must be notified that receive() has something.
  [[nodiscard]] bool has_news() const { return on_event_ && !events_.empty() && !attended_; }
  [[nodiscard]] bool has_packet_id() const;
  [[nodiscard]] static Error no_packet_id();
  [[nodiscard]] std::uint16_t next_packet_id();
  [[nodiscard]] Error lost(const std::string& what) const;
  [[nodiscard]] std::string why_no_connack() const;

  struct Unread {
    Event event;
    std::size_t bytes;
  };
  // A PUBLISH of ours that the broker has not acknowledged.
  struct Pending {
    std::string correlation_data;
    std::uint8_t qos;
    bool received;  // its PUBREC has come
    bool raw;       // nobody knows whether such a packet is acknowledged
  };

  std::mutex mutex_;
  std::unique_ptr<Stream> stream_;
  PollLoop& loop_;
  const std::size_t most_packet_bytes_;
  const std::function<void()> on_event_;  // called without the lock
  const bool read_late_;
  std::uint64_t loop_id_ = 0;  // 0: not watched by the loop
  bool watched_ = false;       // the loop may call on_ready()
  bool attended_ = false;      // somebody waits, and reads
  bool paused_ = false;        // more has been read than is wanted
  bool closing_ = false;       // by us: no event reports it
  bool said_farewell_ = false;
  bool ended_ = false;
  std::string end_text_;

  std::string in_;        // what has been read, and is no whole packet yet
  std::size_t done_ = 0;  // bytes of it that have been dealt with
  std::string out_;       // what could not be written yet, or is gathered
  bool gathers_ = false;
  bool reads_ = false;    // packets are taken from what has been read
  bool blocked_ = false;  // more of out_ cannot be written at the moment
  Duration last_sent_{0};
  std::optional<Duration> pinged_{};  // a PINGREQ without an answer
  Duration keep_alive_{0};            // 0: none

  bool clean_start_ = true;
  std::optional<wire::Connack> connack_;
  std::uint16_t last_packet_id_ = 0;
  std::optional<std::uint16_t> awaited_;  // of the SUBSCRIBE or UNSUBSCRIBE in flight
  std::optional<wire::Suback> suback_;
  std::optional<wire::Unsuback> unsuback_;
  std::map<std::uint16_t, Pending> pending_;
  std::deque<wire::Publish> waiting_;              // until the broker takes more
  std::size_t broker_receives_ = 65'535;           // in flight: its Receive Maximum
  std::size_t we_receive_ = 65'535;                // ours
  std::vector<std::uint16_t> received_at_once_{};  // of QoS 1, since we could acknowledge any
  MqttExtras extras_;
  std::size_t subscribed_ = 0;      // how often
  std::string retained_topic_{};    // of the last message with RETAIN
  std::size_t retained_times_ = 0;  // that such messages had this topic
  wire::TopicAliases aliases_of_broker_;
  wire::TopicAliases aliases_for_broker_;
  std::deque<Unread> events_;
  std::size_t unread_ = 0;     // bytes of them
  std::size_t announced_ = 0;  // bytes that a large packet, of which a part is there, takes
  HeldBytes held_;             // of both
};

}  // namespace fencepost::endpoint
