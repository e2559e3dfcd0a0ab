#include "endpoint/mqtt311_client.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "endpoint/cancellation.h"
#include "endpoint/wire/mqtt_3_1_1.h"

namespace fencepost::endpoint {
namespace {

using namespace std::chrono_literals;
using wire::v3::AnswerKind;

constexpr std::size_t kReadAtOnce = 4'096;
constexpr std::size_t kMaxUnreadBytes = std::size_t{1} << 20U;  // no message is expected

class Mqtt311Client final : public Client {
 public:
  Mqtt311Client(std::unique_ptr<Stream> stream, Duration timeout)
      : stream_(std::move(stream)), timeout_(timeout) {}
  ~Mqtt311Client() override { disconnect(); }
  Mqtt311Client(const Mqtt311Client&) = delete;
  Mqtt311Client& operator=(const Mqtt311Client&) = delete;

  Result<void, Error> open(const ClientOptions& options, const Credentials& credentials) {
    wire::v3::Connect connect{.client_id = options.client_id};
    if (!credentials.user.empty()) {
      connect.user = credentials.user;
      connect.password = credentials.password;
    }
    if (auto sent = send(wire::v3::encode(connect)); !sent) return sent;
    const auto answer = await(AnswerKind::kConnack);
    if (answer && answer->code == 0) return {};
    if (answer) {
      return fail(Error{ErrorKind::kNotAllowed,
                        "the broker refused an MQTT 3.1.1 CONNECT with return code " +
                            std::to_string(answer->code)});
    }
    if (ended_) {
      return fail(Error{ErrorKind::kNotAllowed,
                        "the broker ended the connection after an MQTT 3.1.1 CONNECT"});
    }
    return fail(Error{ErrorKind::kTimeout, "the broker did not answer an MQTT 3.1.1 CONNECT"});
  }

  Result<void, Error> subscribe(const std::string& filter) override {
    if (auto sent = send(wire::v3::encode(wire::v3::Subscribe{++packet_id_, filter})); !sent) {
      return sent;
    }
    if (await(AnswerKind::kSuback)) return {};
    if (ended_) return fail(lost());
    return fail(Error{ErrorKind::kTimeout, "no SUBACK in time for " + filter});
  }

  Result<void, Error> unsubscribe(const std::string& /*filter*/) override {
    return fail(Error{ErrorKind::kInvalid, "an MQTT 3.1.1 client cannot unsubscribe"});
  }

  Result<void, Error> publish(const codec::Message& message) override {
    return send(wire::v3::encode(wire::v3::Publish{++packet_id_, message.topic, message.payload}));
  }

  std::optional<Event> receive(Duration timeout) override {
    if (!ended_) (void)await(AnswerKind::kConnack, timeout);  // there is no second one
    if (!ended_ || notified_) return std::nullopt;
    notified_ = true;
    return Event{Disconnected{}, steady_now()};
  }

  void disconnect() override {
    if (ended_) return;
    (void)send(wire::v3::farewell());
    drop();
  }
  void drop() override {
    ended_ = notified_ = true;
    stream_->cut();
  }

 private:
  [[nodiscard]] static Error lost() {
    return {ErrorKind::kLost, "the connection of an MQTT 3.1.1 client ended"};
  }

  Result<void, Error> send(Result<std::string, std::string> bytes) {
    if (!bytes) return fail(Error{ErrorKind::kInvalid, "cannot send " + bytes.error()});
    const Duration deadline = steady_now() + timeout_;
    std::string_view left = *bytes;
    while (!left.empty() && !ended_) {
      const Moved moved = stream_->write(left);
      left.remove_prefix(moved.bytes);
      ended_ = moved.ended;
      const bool waits = moved.bytes == 0 && !ended_;
      if (waits && !wait_for_descriptor(stream_->descriptor(), false, true, deadline)) {
        return fail(Error{ErrorKind::kTimeout, "the broker does not read"});
      }
    }
    if (ended_) return fail(lost());
    return {};
  }

  std::optional<wire::v3::Answer> await(AnswerKind kind) { return await(kind, timeout_); }

  // The next answer of that kind; others are of no interest.
  std::optional<wire::v3::Answer> await(AnswerKind kind, Duration timeout) {
    const Duration deadline = steady_now() + timeout;
    while (true) {
      while (const auto answer = next()) {
        if (answer->kind == kind) return answer;
      }
      if (ended_) return std::nullopt;
      if (!wait_for_descriptor(stream_->descriptor(), true, stream_->waits_to_write(), deadline)) {
        return std::nullopt;
      }
      read();
    }
  }

  std::optional<wire::v3::Answer> next() {
    const auto answer = wire::v3::decode(in_);
    if (!answer || in_.size() > kMaxUnreadBytes) {
      ended_ = true;  // with such a broker there is nothing to talk about
      stream_->cut();
      in_.clear();
      return std::nullopt;
    }
    if (*answer) in_.erase(0, (*answer)->size);
    return *answer;
  }

  void read() {
    std::array<char, kReadAtOnce> buffer;  // NOLINT(*-member-init): written by read()
    const Moved moved = stream_->read(buffer.data(), buffer.size());
    in_.append(buffer.data(), moved.bytes);
    ended_ = moved.ended;
  }

  std::unique_ptr<Stream> stream_;
  Duration timeout_;
  std::string in_;
  std::uint16_t packet_id_ = 0;
  bool ended_ = false;
  bool notified_ = false;  // receive() has said so
};

}  // namespace

Result<std::unique_ptr<Client>, Error> connect_mqtt311_client(std::unique_ptr<Stream> stream,
                                                              const ClientOptions& options,
                                                              const Credentials& credentials,
                                                              Duration timeout) {
  auto out = std::make_unique<Mqtt311Client>(std::move(stream), timeout);
  if (auto opened = out->open(options, credentials); !opened) return fail(opened.error());
  return out;
}

}  // namespace fencepost::endpoint
