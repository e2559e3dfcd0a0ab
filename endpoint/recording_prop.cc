// Regardless of what an endpoint answers: the same requests to its evidence get the same answers,
// at the same times.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "endpoint/recorded.h"
#include "endpoint/recorder.h"
#include "endpoint/recording.h"
#include "evidence/record.h"

namespace fencepost::endpoint {
namespace {

// Decides the requests and the answers.
class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  [[nodiscard]] unsigned below(unsigned count) {
    return static_cast<unsigned>(random_() >> 8U) % count;
  }
  [[nodiscard]] std::string text() { return std::string(below(4), 't') + std::to_string(below(9)); }
  [[nodiscard]] codec::Message message() {
    codec::Message out{.topic = text(), .payload = std::string("\0\xff", 2) + text(), .qos = 1};
    if (below(2) == 0) out.correlation_data = text();
    if (below(2) == 0) out.user_properties = {{"__ts", text()}};
    return out;
  }
  [[nodiscard]] Result<void, Error> success_or_error() {
    if (below(4) != 0) return {};
    Error out{static_cast<ErrorKind>(below(6)), text()};
    if (below(2) == 0) out.reason_code = static_cast<int>(below(256));
    return fail(out);
  }
  [[nodiscard]] decltype(Event::what) what() {
    switch (below(3)) {
      case 0:
        return MessageReceived{message()};
      case 1:
        return PublishRefused{static_cast<int>(0x80 + below(128)), text()};
      default:
        return below(2) == 0 ? Disconnected{{}, text()}
                             : Disconnected{static_cast<int>(below(256))};
    }
  }

 private:
  std::minstd_rand random_;
};

class AnyClock final : public Clock {
 public:
  explicit AnyClock(Dice& dice) : dice_(dice) {}
  [[nodiscard]] std::uint64_t wall_ms() const override {
    return 1'767'225'600'000 + dice_.below(9);
  }
  // It continues whenever it is read.
  [[nodiscard]] Duration now() const override { return now_ += Duration{dice_.below(2000)}; }
  void wait_until(Duration time) override { now_ = std::max(now_, time); }

 private:
  Dice& dice_;
  mutable Duration now_{0};
};

class AnyClient final : public Client {
 public:
  AnyClient(Dice& dice, Clock& clock) : dice_(dice), clock_(clock) {}
  Result<void, Error> subscribe(const std::string& /*filter*/) override {
    return dice_.success_or_error();
  }
  Result<void, Error> unsubscribe(const std::string& /*filter*/) override {
    return dice_.success_or_error();
  }
  Result<void, Error> publish(const codec::Message& /*message*/) override {
    return dice_.success_or_error();
  }
  Result<void, Error> publish_raw(const codec::Message& /*message*/,
                                  const RawPacket& /*odd*/) override {
    return dice_.success_or_error();
  }
  std::optional<Event> receive(Duration /*timeout*/) override {
    if (dice_.below(3) == 0) return std::nullopt;
    return Event{dice_.what(), clock_.now()};
  }
  [[nodiscard]] std::optional<std::uint32_t> packet_limit() const override {
    if (dice_.below(2) == 0) return std::nullopt;
    return dice_.below(2) == 0 ? UINT32_MAX : dice_.below(1000);
  }
  void disconnect() override {}
  void drop() override {}

 private:
  Dice& dice_;
  Clock& clock_;
};

class AnySession final : public Session {
 public:
  explicit AnySession(Dice& dice) : dice_(dice), clock_(dice) {}
  Clock& clock() override { return clock_; }
  Result<std::unique_ptr<Client>, Error> connect(const ClientOptions& /*options*/) override {
    if (auto done = dice_.success_or_error(); !done) return fail(done.error());
    return std::make_unique<AnyClient>(dice_, clock_);
  }
  Duration measured(Duration time) override { return time + Duration{dice_.below(100)}; }
  Result<void, Error> disturb(const Disturbance& /*disturbance*/) override {
    return dice_.success_or_error();
  }

 private:
  Dice& dice_;
  AnyClock clock_;
};

class AnyEndpoint final : public Endpoint {
 public:
  explicit AnyEndpoint(unsigned seed) : dice_(seed) {}
  [[nodiscard]] const std::string& url() const override { return url_; }
  [[nodiscard]] const Capabilities& capabilities() const override { return capabilities_; }
  Result<std::unique_ptr<Session>, Error> open_session(const SessionRequest& /*request*/) override {
    if (auto done = dice_.success_or_error(); !done) return fail(done.error());
    return std::make_unique<AnySession>(dice_);
  }
  Result<void, Error> check_reachable(Duration /*timeout*/,
                                      const std::string& /*caller*/) override {
    return dice_.success_or_error();
  }

 private:
  Dice dice_;
  std::string url_ = "any:";
  Capabilities capabilities_{};
};

// --- all that a caller sees, as text

std::string shown(const Result<void, Error>& result) {
  if (result) return "ok\n";
  std::ostringstream out;
  out << static_cast<int>(result.error().kind) << ' ' << result.error().text << ' '
      << result.error().reason_code.value_or(-1) << '\n';
  return out.str();
}

std::string shown(const std::optional<Event>& event) {
  if (!event) return "nothing\n";
  std::ostringstream out;
  out << event->time.count() << ' ' << event->what.index() << ' ';
  if (const auto* received = std::get_if<MessageReceived>(&event->what)) {
    out << received->message.topic << ' ' << received->message.payload << ' '
        << received->message.correlation_data.value_or("none");
    for (const auto& [name, value] : received->message.user_properties) out << name << value;
  } else if (const auto* refused = std::get_if<PublishRefused>(&event->what)) {
    out << refused->reason_code << ' ' << refused->correlation_data;
  } else {
    const auto& ended = std::get<Disconnected>(event->what);
    out << ended.reason_code.value_or(-1) << ' ' << ended.text;
  }
  return out.str() + "\n";
}

std::string ask(Client& client, Dice& dice) {
  switch (dice.below(9)) {
    case 0:
      return shown(client.subscribe(dice.text()));
    case 1:
      return shown(client.unsubscribe(dice.text()));
    case 2:
      return shown(client.publish(dice.message()));
    case 3:
      return shown(client.publish_raw(dice.message(), {.duplicate = true}));
    case 4:
      return std::to_string(client.packet_limit().value_or(7)) + "\n";
    case 5:
      client.disconnect();
      return {};
    case 6:
      client.drop();
      return {};
    default:
      return shown(client.receive(Duration{dice.below(5000)}));
  }
}

std::string ask(Session& session, Dice& dice) {
  std::string out;
  std::vector<std::unique_ptr<Client>> clients;
  for (unsigned left = dice.below(60); left > 0; --left) {
    const unsigned what = dice.below(10);
    if (what == 0) {
      auto client = session.connect({.client_id = dice.text()});
      out += shown(client ? Result<void, Error>{} : Result<void, Error>{fail(client.error())});
      if (client) clients.push_back(std::move(*client));
    } else if (what == 1) {
      out += std::to_string(session.clock().now().count()) + "\n";
    } else if (what == 2) {
      out += std::to_string(session.clock().wall_ms()) + "\n";
    } else if (what == 3) {
      session.clock().wait_until(Duration{dice.below(10'000)});
    } else if (what == 4) {
      out += std::to_string(session.measured(Duration{dice.below(100)}).count()) + "\n";
    } else if (what == 5) {
      out += shown(session.disturb({kRestartOfBroker, dice.text()}));
    } else if (!clients.empty()) {
      out += ask(*clients[dice.below(static_cast<unsigned>(clients.size()))], dice);
    }
  }
  return out;
}

// Several callers, each once.
std::string ask(Endpoint& endpoint, unsigned seed) {
  Dice dice(seed);
  std::string out;
  for (unsigned left = 1 + dice.below(4); left > 0; --left) {
    const std::string caller = "SET-1/" + std::to_string(left);
    out += shown(endpoint.check_reachable(Duration{1}, caller));
    const auto session = endpoint.open_session({caller, dice.below(2) == 0});
    out += shown(session ? Result<void, Error>{} : Result<void, Error>{fail(session.error())});
    if (session) out += ask(**session, dice);
  }
  return out;
}

RC_GTEST_PROP(Recording, IsPlayedAsItWas, ()) {
  const auto seed = *rc::gen::inRange(1U, 1'000'000U);
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("recording_prop-" + std::to_string(::getpid()) + ".fpe"))
                               .string();
  std::string then;
  {
    AnyEndpoint endpoint(seed + 1);
    const auto recorder = Recorder::create(path);
    RC_ASSERT(recorder.has_value());
    auto details = std::make_unique<evidence::Details>();
    details->text = "{}";
    (*recorder)->add({.kind = evidence::Kind::kHead, .details = std::move(details)});
    then = ask(*record(endpoint, **recorder), seed);
  }
  std::ostringstream file;
  file << std::ifstream(path, std::ios::binary).rdbuf();
  std::filesystem::remove(path);
  const std::string content = file.str();
  const auto recorded = Recorded::read(content);
  RC_ASSERT(recorded.has_value());
  RC_ASSERT(recorded->diagnostic().empty());
  RC_ASSERT(ask(*play(*recorded, "url", {}), seed) == then);
}

}  // namespace
}  // namespace fencepost::endpoint
