#include "endpoint/connection.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "endpoint/cancellation.h"
#include "endpoint/connector.h"
#include "endpoint/wire/messages.h"

namespace fencepost::endpoint {
namespace {

using namespace std::chrono_literals;
using wire::PropertyId;

constexpr std::size_t kReadBytes = std::size_t{64} << 10U;
constexpr Duration kFarewell = 1s;     // for the broker to close
constexpr Duration kStandstill = 30s;  // a peer that takes or answers nothing for this time is gone
constexpr std::size_t kMaxUnwritten = std::size_t{4} << 20U;
constexpr std::size_t kEventBytes = 512;    // of a message beside its payload, about
constexpr std::uint8_t kUnexpected = 0x82;  // protocol error
constexpr std::uint8_t kQuota = 0x97;
constexpr std::size_t kPacketIds = 65'535;

// The first line of what a server of another protocol, such as HTTP, has sent; empty where `bytes`
// do not begin with a word.
std::string_view first_line(std::string_view bytes) {
  constexpr std::size_t kMaxLine = 60;
  constexpr std::size_t kWord = 4;
  const auto is_word_char = [](unsigned char c) { return std::isalnum(c) != 0; };
  const auto is_printable = [](unsigned char c) { return std::isprint(c) != 0; };
  const auto* const end = std::find_if_not(bytes.begin(), bytes.end(), is_printable);
  const std::string_view line = bytes.substr(0, static_cast<std::size_t>(end - bytes.begin()));
  const bool is_word =
      line.size() >= kWord && std::all_of(line.begin(), line.begin() + 3, is_word_char);
  return is_word ? line.substr(0, kMaxLine) : std::string_view{};
}

// "2.2.1" of "MQTT-2.2.1-3": where the standard says what the packet breaks. 4.13 is about all that
// is malformed.
std::string_view section_of(std::string_view statement) {
  constexpr std::string_view kStandard = "MQTT-";
  if (!statement.starts_with(kStandard)) return "4.13";
  statement.remove_prefix(kStandard.size());
  return statement.substr(0, statement.find('-'));
}

}  // namespace

Connection::Connection(std::unique_ptr<Stream> stream, PollLoop& loop,
                       std::size_t most_packet_bytes, std::function<void()> on_event,
                       bool read_late)
    : stream_(std::move(stream)),
      loop_(loop),
      most_packet_bytes_(most_packet_bytes),
      on_event_(std::move(on_event)),
      read_late_(read_late) {}

// The loop looks after what nobody waits for. A thread that waits reads for itself, so that a reply
// needs no hand-over between threads (docs/decisions/0019-own-client.md), and two of them must not
// read one stream. Nothing is done for a connection that has ended or that is paused: on_ready() is
// called once more at most, while a watch for nothing would report the end again and again.
void Connection::rearm() {
  if (loop_id_ == 0 || ended_) return;
  const bool to_read = !attended_ && !paused_;
  const bool to_write = !attended_ && !out_.empty() && !gathers_;
  if (to_read || to_write || (attended_ && watched_)) {
    loop_.watch(loop_id_, stream_->descriptor(), to_read, to_write);
  }
  watched_ = to_read || to_write;
}

// A connection with little is read from however much all hold together: the flood of one must not
// stop the replies of the others.
bool Connection::has_enough() const {
  return unread_ > kMaxUnreadUnasked || (unread_ > kHeldOfEach && held_.is_too_much());
}

// Reads and writes until `done`, or the connection has ended, or the time is up.
template <typename Done>
bool Connection::wait(Lock& lock, Duration timeout, const Done& done) {
  if (done()) return true;
  // Only what has come: the loop may keep watching, as it reads with the lock.
  if (timeout <= Duration::zero()) {
    settle();
    read_some();
    settle();
    if (blocked_) rearm();  // an acknowledgement for which there was no room
    return done();
  }
  const Duration deadline = steady_now() + timeout;
  attended_ = true;
  rearm();
  while (!done() && !ended_) {
    // A TLS connection may have to write before it can read.
    const bool to_write = !out_.empty() || stream_->waits_to_write();
    lock.unlock();
    const bool ready = wait_for_descriptor(stream_->descriptor(), true, to_write, deadline);
    lock.lock();
    if (!ready) break;
    flush();
    read_some();
    settle(!done());
    // A broker that never stops sending always has something to read.
    if (steady_now() >= deadline) break;
  }
  attended_ = false;
  // With the next tick the loop looks after one that is read late.
  if (!read_late_ || blocked_) rearm();
  return done();
}

void Connection::on_ready() {
  Lock lock(mutex_);
  watched_ = false;
  if (attended_ || closing_) return;  // who waits reads
  flush();
  // TCP makes the broker wait then, and what it sends takes no memory of ours.
  paused_ = has_enough();
  if (!paused_) read_some();
  if (has_news()) {
    // Without the lock: it may call publish() and take() (Client::serves_in_place()). What it
    // publishes and the acknowledgements of what was read take one packet of TCP.
    lock.unlock();
    on_event_();
    lock.lock();
  }
  settle();
  rearm();
}

void Connection::on_tick(Duration now) {
  Lock lock(mutex_);
  if (read_late_ && !watched_ && !attended_) rearm();
  // While paused nothing is read, and a PINGRESP would not be seen. A Keep Alive of 0 turns all
  // this off. (MQTT 5, 3.1.2.10)
  if (ended_ || closing_ || paused_ || keep_alive_ == Duration{0}) return;
  if (pinged_ && now - *pinged_ > kStandstill) {
    end(std::nullopt, "no PINGRESP within 30 s");
    const bool news = has_news();
    lock.unlock();
    if (news) on_event_();
    return;
  }
  // Not more than Keep Alive may lie between two packets of ours, and a tick comes but once a
  // second.
  if (!pinged_ && now - last_sent_ > keep_alive_ * 3 / 4) {
    pinged_ = now;
    send(wire::Pingreq{});
    rearm();
  }
}

void Connection::send(const wire::Packet& packet) {
  // Nothing may follow a DISCONNECT. (3.14.4)
  if (ended_ || said_farewell_) return;
  const auto bytes = wire::encode(packet);
  if (bytes) send_bytes(*bytes);  // publish() has checked; nothing else can be too long
}

void Connection::send_bytes(std::string_view bytes) {
  last_sent_ = steady_now();
  out_ += bytes;
  // What stands before it has to wait: the thread that writes that continues with this.
  if (!blocked_ && !gathers_ && !reads_) flush();
}

// Writes what may be written, and lets the broker's TCP know what has come: with that, or alone.
void Connection::settle(bool waits) {
  if (gathers_ && !waits) return;
  flush();
  stream_->acknowledge();
}

void Connection::gather(bool on) {
  const Lock lock(mutex_);
  gathers_ = on;
  if (on || ended_) return;
  settle();
  if (blocked_) rearm();
}

void Connection::flush() {
  std::size_t written = 0;
  while (written < out_.size()) {
    const Moved moved = stream_->write(std::string_view(out_).substr(written));
    written += moved.bytes;
    if (moved.ended) {
      // What the broker has sent before it went is read first: it may say why.
      out_.clear();
      read_some();
      end(std::nullopt, moved.error);
      return;
    }
    if (moved.bytes == 0) break;
  }
  out_.erase(0, written);
  blocked_ = !out_.empty();
}

void Connection::read_some() {
  std::array<char, kReadBytes> buffer;  // NOLINT(*-member-init): written by read()
  // Not without end: others wait, too, for a broker that sends faster than we read.
  for (int times = 0; times < 16 && !ended_; ++times) {
    const Moved moved = stream_->read_before_answer(buffer.data(), buffer.size());
    if (moved.bytes > 0) {
      // All that one read gives had come before any of it could be acknowledged. It is not known
      // how much the broker had seen acknowledged between two reads, so each is counted by itself.
      received_at_once_.clear();
      in_.append(buffer.data(), moved.bytes);
      // Acknowledgements are written when all has been read.
      reads_ = true;
      take_packets();
      reads_ = false;
    }
    if (moved.ended) end(std::nullopt, moved.error);
    // Saves a system call that would say that there is no more. TLS gives a record at a time, of 16
    // KiB at most (RFC 8446, 5.1): a short read says nothing there.
    if (moved.bytes < buffer.size() && stream_->is_plain()) return;
    if (moved.bytes == 0 || has_enough()) return;
  }
}

void Connection::take_packets() {
  while (!ended_) {
    auto decoded = wire::decode(std::string_view(in_).substr(done_), most_packet_bytes_);
    if (!decoded) {
      const bool ours = decoded.error().reason == wire::kTooLarge;  // a limit of our own
      refuse(decoded.error().reason, decoded.error().text,
             ours ? "" : section_of(decoded.error().statement));
      break;
    }
    if (!*decoded) {
      if (!make_room()) return;
      break;
    }
    done_ += (*decoded)->size;
    // deliver() counts the message from here on: together they would be counted twice.
    held_.remove(std::exchange(announced_, 0));
    take(std::move((*decoded)->packet));
  }
  // Not after each packet: all that is behind it would be moved each time. What one large packet
  // took is given back.
  if (done_ == in_.size() || done_ > kReadBytes) {
    in_.erase(0, done_);
    done_ = 0;
    if (in_.empty() && in_.capacity() > 16 * kReadBytes) in_.shrink_to_fit();
  }
}

// For all of a large packet, in one step: what grows step by step takes twice as much in between.
// What is made of it counts, too. False when there is none.
bool Connection::make_room() {
  if (announced_ != 0) return true;
  const std::size_t size = wire::size_of_first(std::string_view(in_).substr(done_));
  if (size <= kReadBytes) return true;
  if (!held_.try_add(2 * size)) {
    refuse(kQuota,
           "the endpoint floods: a packet of " + std::to_string(size) +
               " bytes, where all connections and cases together hold " +
               std::to_string(kMaxHeldOfAll >> 20U) + " MiB at most",
           {});
    return false;
  }
  announced_ = 2 * size;
  in_.erase(0, std::exchange(done_, 0));
  in_.reserve(size + kReadBytes);
  return true;
}

void Connection::take(wire::Packet packet) {
  const bool greeted = connack_.has_value();
  // Text that is not UTF-8 is malformed wherever it stands, so before all that goes by the kind of
  // packet.
  if (const auto error = wire::error_of_texts(packet)) {
    return refuse(error->reason, error->text, "1.5.4");
  }
  if (auto* connack = std::get_if<wire::Connack>(&packet)) return take(*connack);
  // Nothing may come before it but an AUTH, and that only where the CONNECT named a method. (3.2,
  // 4.12)
  if (!greeted) {
    return refuse(kUnexpected, wire::with_article(wire::name(packet)) + " before the CONNACK",
                  "3.2");
  }
  if (auto* publish = std::get_if<wire::Publish>(&packet)) return take(*publish);
  if (auto* ack = std::get_if<wire::Ack>(&packet)) return take(*ack);
  take_other(packet);
}

void Connection::take(wire::Connack& packet) {
  if (connack_) return refuse(kUnexpected, "a second CONNACK", "3.2");
  // Else what an earlier client of this id has subscribed to would come here. (4.1)
  if (packet.session_present && (clean_start_ || packet.reason != 0)) {
    return refuse(kUnexpected,
                  clean_start_ ? "a CONNACK with Session Present after a CONNECT with Clean Start"
                               : "a CONNACK with Session Present that refuses the connection",
                  "3.2.2.1.1");
  }
  broker_receives_ =
      packet.properties.number(PropertyId::kReceiveMaximum).value_or(kReceiveMaximum);
  if (extras_.topic_aliases) {
    aliases_for_broker_ = wire::TopicAliases(static_cast<std::uint16_t>(
        packet.properties.number(PropertyId::kTopicAliasMaximum).value_or(0)));
  }
  if (const auto seconds = packet.properties.number(PropertyId::kServerKeepAlive)) {
    keep_alive_ = std::chrono::seconds(*seconds);  // 3.2.2.3.14
  }
  connack_ = std::move(packet);
}

void Connection::take(wire::Publish& packet) {
  // First: with an alias the topic may be empty. (3.3.2.1)
  if (const auto error = aliases_of_broker_.resolve(packet)) {
    return refuse(0x94, *error, "3.3.2.3.4");
  }
  if (packet.topic.empty()) return refuse(kUnexpected, "a PUBLISH without a topic", "3.3.2.1");
  if (packet.topic.find_first_of("+#") != std::string::npos) {
    return refuse(0x90, "a PUBLISH whose topic has a wildcard", "3.3.2.1");
  }
  if (is_retained_too_often(packet)) {
    return refuse(kUnexpected, "messages of one topic with RETAIN more often than was subscribed",
                  "3.3.1.3");
  }
  if (packet.qos == 0) return deliver(packet);
  // The QoS that was granted is the most there may be.
  if (packet.qos > kSubscriptionQos) {
    return refuse(kUnexpected, "a PUBLISH of QoS 2 for subscriptions of QoS 1", "3.8.4");
  }
  const std::uint16_t id = packet.packet_id;
  // All of this was sent before any of it was acknowledged. (2.2.1, 4.9)
  const bool in_use =
      !packet.duplicate &&
      std::find(received_at_once_.begin(), received_at_once_.end(), id) != received_at_once_.end();
  if (in_use) {
    return refuse(kUnexpected,
                  "a PUBLISH with packet identifier " + std::to_string(id) +
                      ", as an earlier one that could not have been acknowledged",
                  "2.2.1");
  }
  received_at_once_.push_back(id);
  if (received_at_once_.size() > we_receive_) {
    return refuse(0x93,
                  "more PUBLISH packets of QoS 1 in flight than our Receive Maximum of " +
                      std::to_string(we_receive_),
                  "3.1.2.11.3");
  }
  deliver(packet);
  send(wire::Ack{.kind = wire::AckKind::kPuback, .packet_id = id});
}

// A retained message comes once for each subscription; what is published later comes without the
// flag, unless the client has asked to see it as it was published.
bool Connection::is_retained_too_often(const wire::Publish& packet) {
  constexpr std::uint8_t kAsPublished = 0x08;
  if (!packet.retain || (extras_.subscription_options & kAsPublished) != 0) return false;
  if (packet.topic != retained_topic_) {
    retained_topic_ = packet.topic;
    retained_times_ = 0;
  }
  return ++retained_times_ > subscribed_;
}

void Connection::deliver(wire::Publish& packet) {
  codec::Message message = wire::message_of(std::move(packet));
  const std::size_t bytes = bytes_unread(message);
  push({MessageReceived{std::move(message)}, steady_now()}, bytes);
}

void Connection::take(wire::Ack& packet) {
  using enum wire::AckKind;
  const std::uint16_t id = packet.packet_id;
  if (packet.kind == kPubrel) {
    // We have taken nothing of QoS 2: packet identifier not found. (3.7.2.1)
    return send(wire::Ack{.kind = kPubcomp, .packet_id = id, .reason = 0x92});
  }
  const auto found = pending_.find(id);
  const std::string what = wire::with_article(wire::name(packet)) + " for ";
  if (found == pending_.end()) {
    // It may belong to a QoS 2 exchange that an earlier connection of the session began. (4.3.3)
    if (packet.kind == kPubrec) {
      return send(wire::Ack{.kind = kPubrel, .packet_id = id, .reason = 0x92});
    }
    if (packet.kind == kPubcomp) return;
    return refuse(kUnexpected, what + "a packet that was not sent", "4.3.2");
  }
  Pending& sent = found->second;
  // An acknowledgement of another exchange than was begun: it once crashed the client library that
  // was in use (docs/HOSTILE.md).
  if ((packet.kind == kPuback) != (sent.qos == 1)) {
    return refuse(kUnexpected, what + "a PUBLISH of QoS " + std::to_string(sent.qos), "4.3");
  }
  if (packet.kind == kPubrec && packet.reason < kFirstErrorReason) {
    sent.received = true;
    return send(wire::Ack{.kind = kPubrel, .packet_id = id});
  }
  if (packet.kind == kPubcomp && !sent.received) {
    return refuse(kUnexpected, "a PUBCOMP before the PUBREC", "4.3.3");
  }
  // A PUBREC with an error ends the exchange; no PUBREL follows, and the identifier is free.
  // (4.3.3)
  acknowledged(packet);
}

void Connection::acknowledged(const wire::Ack& packet) {
  const auto sent = pending_.extract(packet.packet_id);
  // With its PUBREC the broker has taken the message; what a PUBCOMP says refuses nothing.
  const bool refused =
      packet.kind == wire::AckKind::kPuback
          ? wire::refuses(packet.reason)
          : packet.kind == wire::AckKind::kPubrec && packet.reason >= kFirstErrorReason;
  if (refused) {
    push({PublishRefused{packet.reason, sent.mapped().correlation_data}, steady_now()},
         kEventBytes);
  }
  send_waiting();
}

void Connection::take_other(wire::Packet& packet) {
  if (auto* suback = std::get_if<wire::Suback>(&packet)) {
    // One SUBSCRIBE or UNSUBSCRIBE is in flight at most, as each is waited for.
    if (awaited_ != suback->packet_id) {
      return refuse(kUnexpected, "a SUBACK for no SUBSCRIBE", "3.8.4");
    }
    if (suback->reasons.size() != 1) return refuse_reasons("SUBACK", suback->reasons.size());
    suback_ = std::move(*suback);
    awaited_.reset();
  } else if (auto* unsuback = std::get_if<wire::Unsuback>(&packet)) {
    if (awaited_ != unsuback->packet_id) {
      return refuse(kUnexpected, "an UNSUBACK for no UNSUBSCRIBE", "3.10.4");
    }
    if (unsuback->reasons.size() != 1) return refuse_reasons("UNSUBACK", unsuback->reasons.size());
    unsuback_ = std::move(*unsuback);
    awaited_.reset();
  } else if (const auto* disconnect = std::get_if<wire::Disconnect>(&packet)) {
    end(disconnect->reason, {});
  } else if (std::holds_alternative<wire::Pingresp>(packet)) {
    // MQTT 5, 3.13: it is sent in response to a PINGREQ.
    if (!pinged_) return refuse(kUnexpected, "a PINGRESP for no PINGREQ", "3.13");
    pinged_.reset();
  } else {
    refuse(kUnexpected, wire::with_article(wire::name(packet)) + ", which no broker sends",
           "2.1.2");
  }
}

void Connection::push(Event event, std::size_t bytes) {
  // Nobody will read it.
  if (closing_) return;
  if (unread_ + bytes > kMaxUnread || !held_.try_add(bytes)) {
    return refuse(kQuota,
                  "the endpoint floods: " + std::to_string(events_.size()) + " messages of " +
                      std::to_string(unread_) + " bytes are not read yet",
                  {});
  }
  unread_ += bytes;
  events_.push_back({std::move(event), bytes});
}

// 3.9.3, 3.11.3: one for each filter, and all that is sent here has one.
void Connection::refuse_reasons(std::string_view packet, std::size_t count) {
  refuse(
      kUnexpected,
      wire::with_article(packet) + " with " + std::to_string(count) + " reason codes for 1 filter",
      packet == "SUBACK" ? "3.9.3" : "3.11.3");
}

void Connection::refuse(std::uint8_t reason, const std::string& text, std::string_view section) {
  if (ended_) return;
  // 4.13: with the reason code that says what was wrong, then closed.
  if (connack_) {
    send(wire::Disconnect{.reason = reason});
    flush();
  }
  end(std::nullopt, text, section);
}

void Connection::end(std::optional<int> reason, const std::string& text, std::string_view section) {
  if (ended_) return;
  ended_ = true;
  end_text_ = text;
  out_.clear();
  blocked_ = false;
  pending_.clear();
  waiting_.clear();
  stream_->cut();  // wakes who waits
  if (closing_) return;
  // Counts nothing, so that the end is reported however much is unread.
  events_.push_back({{Disconnected{reason, text, std::string(section)}, steady_now()}, 0});
}

// 2.2.1: there are no more. A broker that acknowledges nothing leaves none for a SUBSCRIBE.
bool Connection::has_packet_id() const { return pending_.size() < kPacketIds; }

Error Connection::no_packet_id() {
  return {ErrorKind::kTimeout, "no packet identifier is free: " + std::to_string(kPacketIds) +
                                   " messages are unacknowledged"};
}

// 2.2.1: not 0, and none that is in use. One must be free.
std::uint16_t Connection::next_packet_id() {
  do {
    last_packet_id_ =
        static_cast<std::uint16_t>(last_packet_id_ == 65'535 ? 1 : last_packet_id_ + 1);
  } while (pending_.contains(last_packet_id_));
  return last_packet_id_;
}

Error Connection::lost(const std::string& what) const {
  return {ErrorKind::kLost, what + (end_text_.empty() ? "" : ": " + end_text_)};
}

std::string Connection::why_no_connack() const {
  if (const std::string_view line = first_line(in_); !line.empty()) {
    return "the port does not speak MQTT: its answer begins with \"" + std::string(line) + '"';
  }
  std::string why = "the broker did not answer the CONNECT in time";
  if (ended_) {
    why = "the broker ended the connection without answering the CONNECT" +
          (end_text_.empty() ? "" : ": " + end_text_);
  }
  // A port that wants TLS ends the connection, or sends an alert, which is no packet.
  return why + (stream_->is_plain() ? "; if the port uses TLS, write mqtts://" : "");
}

Result<wire::Connack, Error> Connection::open(wire::Connect connect, Duration timeout,
                                              const MqttExtras& extras) {
  Lock lock(mutex_);
  const auto more =
      wire::decode_properties(extras.connect_properties, wire::PropertiesOf::kConnect);
  if (!more) return fail(Error{ErrorKind::kInvalid, more.error().text});
  for (const wire::Property& property : more->all()) connect.properties.add(property);
  extras_ = extras;
  aliases_of_broker_ = wire::TopicAliases(static_cast<std::uint16_t>(
      connect.properties.number(PropertyId::kTopicAliasMaximum).value_or(0)));
  keep_alive_ = std::chrono::seconds(connect.keep_alive_s);
  clean_start_ = connect.clean_start;
  we_receive_ = connect.properties.number(PropertyId::kReceiveMaximum).value_or(kReceiveMaximum);
  // The loop does not know the connection yet: its answer is read by wait() alone.
  send(connect);
  const bool answered = wait(lock, timeout, [this] { return connack_.has_value(); });
  if (!answered) {
    closing_ = true;
    return fail(Error{ErrorKind::kUnreachable, why_no_connack()});
  }
  if (connack_->reason >= kFirstErrorReason) {
    closing_ = true;
    return fail(refused_connection(connack_->reason));
  }
  // add() is not to be called with a lock that on_ready() takes (PollLoop).
  lock.unlock();
  const std::uint64_t id = loop_.add(stream_->descriptor(), shared_from_this());
  lock.lock();
  loop_id_ = id;
  rearm();
  return *connack_;
}

Result<wire::Suback, Error> Connection::subscribe(const std::string& filter, Duration timeout) {
  Lock lock(mutex_);
  if (ended_) return fail(lost("the client is not connected"));
  auto properties =
      wire::decode_properties(extras_.subscribe_properties, wire::PropertiesOf::kSubscribe);
  if (!properties) return fail(Error{ErrorKind::kInvalid, properties.error().text});
  // 3.2.2.3.12: a broker may take none.
  if (connack_->properties.number(PropertyId::kSubscriptionIdAvailable) == 0U) {
    properties->remove(PropertyId::kSubscriptionId);
  }
  if (!has_packet_id()) return fail(no_packet_id());
  suback_.reset();
  awaited_ = next_packet_id();
  ++subscribed_;
  const auto options = static_cast<std::uint8_t>(kSubscriptionQos | extras_.subscription_options);
  send(wire::Subscribe{.packet_id = *awaited_,
                       .properties = *properties,
                       .subscriptions = {{.filter = filter, .options = options}}});
  if (wait(lock, timeout, [this] { return suback_.has_value(); })) return *suback_;
  awaited_.reset();
  if (ended_) return fail(lost("cannot subscribe to " + filter + ": the connection ended"));
  return fail(Error{ErrorKind::kTimeout, "no SUBACK in time for " + filter});
}

Result<wire::Unsuback, Error> Connection::unsubscribe(const std::string& filter, Duration timeout) {
  Lock lock(mutex_);
  if (ended_) return fail(lost("the client is not connected"));
  if (!has_packet_id()) return fail(no_packet_id());
  unsuback_.reset();
  awaited_ = next_packet_id();
  send(wire::Unsubscribe{.packet_id = *awaited_, .filters = {filter}});
  if (wait(lock, timeout, [this] { return unsuback_.has_value(); })) return *unsuback_;
  awaited_.reset();
  if (ended_) return fail(lost("cannot unsubscribe from " + filter + ": the connection ended"));
  return fail(Error{ErrorKind::kTimeout, "no UNSUBACK in time for " + filter});
}

Result<void, Error> Connection::publish(wire::Publish message) {
  Lock lock(mutex_);
  if (ended_) return fail(lost("the client is not connected"));
  message.packet_id = 1;  // its length is the same for all
  // Before it is queued: what no packet can hold is an error of this call.
  if (const auto encoded = wire::encode(message); !encoded) {
    return fail(Error{ErrorKind::kInvalid, "cannot publish: " + encoded.error()});
  }
  waiting_.push_back(std::move(message));
  send_waiting();
  return wait_until_written(lock);
}

Result<void, Error> Connection::publish_raw(wire::RawPublish raw, bool numbered) {
  Lock lock(mutex_);
  // 3.3.4, 4.9: no client sends more than the broker's Receive Maximum.
  const auto has_room = [this] { return waiting_.empty() && pending_.size() < broker_receives_; };
  const bool may_send = raw.packet.qos == 0 || wait(lock, kStandstill, has_room);
  if (ended_) return fail(lost("the client is not connected"));
  if (!may_send) {
    return fail(Error{ErrorKind::kTimeout,
                      "cannot publish: the broker's Receive Maximum has been used up for 30 s"});
  }
  if (!numbered && !has_packet_id()) return fail(no_packet_id());
  if (!numbered) raw.packet.packet_id = next_packet_id();
  const auto bytes = wire::encode(raw);
  if (!bytes) return fail(Error{ErrorKind::kInvalid, "cannot publish: " + bytes.error()});
  if (raw.packet.qos > 0) expect_acknowledgement(raw.packet, true);
  send_bytes(*bytes);
  return wait_until_written(lock);
}

Result<void, Error> Connection::wait_until_written(Lock& lock) {
  // A few packets may wait, so that requests can be in flight together; no more, since a broker may
  // stop to read. What is left is written by the loop, or by who waits next.
  const auto written = [this] { return out_.size() < kMaxUnwritten; };
  if (written() || wait(lock, kStandstill, written)) {
    if (!out_.empty() && !gathers_) rearm();
    return {};
  }
  if (ended_) return fail(lost("cannot publish: the connection ended"));
  return fail(Error{ErrorKind::kTimeout, "cannot publish: the broker has read nothing for 30 s"});
}

void Connection::send_waiting() {
  while (!waiting_.empty() && !ended_) {
    wire::Publish& next = waiting_.front();
    if (next.qos > 0) {
      // One of QoS 0 that is behind it waits as well, which 4.9 allows: the order stays that of the
      // calls.
      if (pending_.size() >= broker_receives_) return;  // 4.9
      next.packet_id = next_packet_id();
      expect_acknowledgement(next, false);
    }
    // Its alias is given now, as the broker learns aliases in the order of the packets.
    wire::Publish sent = std::move(next);
    waiting_.pop_front();
    aliases_for_broker_.use(sent);
    send(std::move(sent));
  }
}

void Connection::expect_acknowledgement(const wire::Publish& packet, bool raw) {
  // A PUBACK has the packet identifier alone; whose request was refused is known by this.
  const wire::Property* correlation = packet.properties.find(PropertyId::kCorrelationData);
  pending_[packet.packet_id] = {.correlation_data = correlation == nullptr ? "" : correlation->text,
                                .qos = packet.qos,
                                .received = false,
                                .raw = raw};
}

// 4.3.2, 4.3.3. A broker that was found wrong on a few connections is not waited for on each.
void Connection::await_acknowledgements(Duration timeout) {
  constexpr int kPatientConnections = 4;
  Lock lock(mutex_);
  const auto owed = [this] {
    return std::find_if(pending_.begin(), pending_.end(),
                        [](const auto& each) { return !each.second.raw; });
  };
  const auto done = [&] { return ended_ || (waiting_.empty() && owed() == pending_.end()); };
  // Each would wait in vain for the whole time, and a run has hundreds of them. What had not come
  // when all waits were ended proves nothing.
  const bool patient = loop_.unacknowledged() < kPatientConnections;
  if (wait(lock, patient ? timeout : Duration{0}, done) || waits_have_ended()) return;
  loop_.note_unacknowledged();
  const auto first = owed();
  const bool is_sent = first != pending_.end();
  refuse(kUnexpected,
         "no acknowledgement of " +
             (is_sent ? "the PUBLISH with packet identifier " + std::to_string(first->first) +
                            " and QoS " + std::to_string(first->second.qos)
                      : std::string("enough PUBLISH packets for another one")) +
             ", though it was waited for",
         "4.3.2");
}

std::optional<Event> Connection::receive(Duration timeout) {
  Lock lock(mutex_);
  if (events_.empty() && !ended_) {
    wait(lock, timeout, [this] { return !events_.empty(); });
  }
  if (events_.empty()) {
    if (!ended_) return std::nullopt;
    lock.unlock();
    sleep_until_or_end(steady_now() + timeout);  // as a connection on which nothing comes
    return std::nullopt;
  }
  return pop();
}

std::optional<Event> Connection::take() {
  const Lock lock(mutex_);
  if (events_.empty()) return std::nullopt;
  return pop();
}

Event Connection::pop() {
  Unread first = std::move(events_.front());
  events_.pop_front();
  unread_ -= first.bytes;
  held_.remove(first.bytes);
  if (paused_ && !has_enough()) {
    paused_ = false;
    rearm();
  }
  return std::move(first.event);
}

void Connection::leave(bool politely) {
  Lock lock(mutex_);
  closing_ = true;
  if (politely && !ended_ && connack_) {
    // Without it the broker would publish the will, as after drop(). (3.1.2.5)
    send(wire::Disconnect{});
    said_farewell_ = true;  // an answer to what comes now would find the way closed
    wait(lock, kFarewell, [this] { return out_.empty(); });
    stream_->end_writing();
    // Gone when it has read that: what comes next on another connection comes after it.
    wait(lock, kFarewell, [] { return false; });
  }
  end(std::nullopt, {});
  const std::uint64_t id = std::exchange(loop_id_, 0);
  lock.unlock();
  // Not with the lock (PollLoop). While the descriptor is open: its number may be another's later.
  if (id != 0) loop_.remove(id, stream_->descriptor());
}

void Connection::disconnect() { leave(true); }
void Connection::drop() { leave(false); }

}  // namespace fencepost::endpoint
