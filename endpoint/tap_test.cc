#include "endpoint/tap.h"

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <sys/socket.h>

#include <gtest/gtest.h>

#include "endpoint/test_listener.h"

namespace fencepost::endpoint {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kPatience{30};

class Watched final : public TapWatcher {
 public:
  void on_opened(std::uint64_t connection) override {
    const std::lock_guard lock(mutex_);
    all_[connection] = {};
  }
  void on_sent(std::uint64_t connection, std::string_view bytes) override {
    const std::lock_guard lock(mutex_);
    all_[connection].sent += bytes;
  }
  void on_delivered(std::uint64_t connection, std::string_view bytes) override {
    const std::lock_guard lock(mutex_);
    all_[connection].delivered += bytes;
  }
  void on_closed(std::uint64_t connection) override {
    const std::lock_guard lock(mutex_);
    all_[connection].closed = true;
    changed_.notify_all();
  }

  struct Connection {
    std::string sent{};
    std::string delivered{};
    bool closed = false;
  };
  [[nodiscard]] Connection once_closed(std::uint64_t connection) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kPatience, [&] { return all_[connection].closed; });
    return all_[connection];
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint64_t, Connection> all_{};
};

// A broker that sends everything back, and ends when its client does.
class EchoBroker {
 public:
  EchoBroker() : listener_(listen_on_free_port(port_)), thread_([this] { run(); }) {}
  ~EchoBroker() {
    shutdown(listener_.descriptor(), SHUT_RDWR);
    thread_.join();
  }
  EchoBroker(const EchoBroker&) = delete;
  EchoBroker& operator=(const EchoBroker&) = delete;
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  void run() const {
    while (true) {
      const Socket client(accept(listener_.descriptor(), nullptr, nullptr));
      if (client.descriptor() < 0) return;
      std::string buffer(4096, '\0');
      while (true) {
        const ssize_t got = recv(client.descriptor(), buffer.data(), buffer.size(), 0);
        if (got <= 0) break;
        const auto size = static_cast<std::size_t>(got);
        if (send(client.descriptor(), buffer.data(), size, MSG_NOSIGNAL) != got) break;
      }
    }
  }

  std::uint16_t port_ = 0;
  Socket listener_;
  std::thread thread_;
};

std::string some_bytes(std::size_t size) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>(i * 7 % 251);
  return out;
}

TEST(Tap, PassesAllBytesAndShowsThem) {
  const EchoBroker broker;
  Watched watched;
  const auto tap = Tap::start({.to_port = broker.port()}, watched);
  ASSERT_TRUE(tap) << tap.error();
  // What fits into the buffers of three sockets at once; the echo does not wait for its reader.
  const std::string bytes = some_bytes(50'000);
  {
    const auto client = connect_tcp("127.0.0.1", (*tap)->port(), kPatience);
    ASSERT_TRUE(client) << client.error();
    EXPECT_EQ(exchange(*client, bytes, bytes.size(), kPatience), bytes);
    EXPECT_EQ(exchange(*client, "more", 4, kPatience), "more");
  }
  const Watched::Connection seen = watched.once_closed(1);
  EXPECT_TRUE(seen.closed);
  EXPECT_EQ(seen.sent, bytes + "more");
  EXPECT_EQ(seen.delivered, bytes + "more");
}

TEST(Tap, PassesWhatComesBehindTheEndOfTheOtherSide) {
  const EchoBroker broker;
  Watched watched;
  const auto tap = Tap::start({.to_port = broker.port()}, watched);
  ASSERT_TRUE(tap) << tap.error();
  const auto client = connect_tcp("127.0.0.1", (*tap)->port(), kPatience);
  ASSERT_TRUE(client) << client.error();
  EXPECT_TRUE(exchange(*client, "last", 0, kPatience));
  shutdown(client->descriptor(), SHUT_WR);
  EXPECT_EQ(exchange(*client, "", 4, kPatience), "last");
  EXPECT_EQ(exchange(*client, "", 1, kPatience), std::nullopt);  // the broker has ended, too
  EXPECT_EQ(watched.once_closed(1).delivered, "last");
}

TEST(Tap, EndsTheClientWhereThereIsNoBroker) {
  std::uint16_t port = free_loopback_port();
  Watched watched;
  const auto tap = Tap::start({.to_port = port}, watched);
  ASSERT_TRUE(tap) << tap.error();
  const auto client = connect_tcp("127.0.0.1", (*tap)->port(), kPatience);
  ASSERT_TRUE(client) << client.error();
  EXPECT_EQ(exchange(*client, "", 1, kPatience), std::nullopt);
}

TEST(Tap, TellsOfConnectionsThatItEnds) {
  const EchoBroker broker;
  Watched watched;
  auto tap = Tap::start({.to_port = broker.port()}, watched);
  ASSERT_TRUE(tap) << tap.error();
  const auto client = connect_tcp("127.0.0.1", (*tap)->port(), kPatience);
  ASSERT_TRUE(client) << client.error();
  EXPECT_EQ(exchange(*client, "a", 1, kPatience), "a");
  tap->reset();
  EXPECT_TRUE(watched.once_closed(1).closed);
  EXPECT_EQ(exchange(*client, "", 1, kPatience), std::nullopt);
}

// The echo of a PUBACK is one of the broker.
TEST(Tap, HoldsPubacksAsLongAsItIsTold) {
  const EchoBroker broker;
  Watched watched;
  const auto tap = Tap::start({.to_port = broker.port(), .pubacks = {.hold = 50ms}}, watched);
  ASSERT_TRUE(tap) << tap.error();
  const std::string puback("\x40\x02\x00\x01", 4);
  const std::string publish("\x30\x04\x00\x01tx", 6);
  {
    const auto client = connect_tcp("127.0.0.1", (*tap)->port(), kPatience);
    ASSERT_TRUE(client) << client.error();
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(exchange(*client, puback + publish, 10, kPatience), publish + puback);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 50ms);
  }
  EXPECT_EQ(watched.once_closed(1).delivered, publish + puback);
}

TEST(Tap, EndsAConnectionInThePlaceOfAPuback) {
  const EchoBroker broker;
  Watched watched;
  const auto tap = Tap::start({.to_port = broker.port(), .pubacks = {.drop_every = 2}}, watched);
  ASSERT_TRUE(tap) << tap.error();
  const std::string puback("\x40\x02\x00\x01", 4);
  const auto client = connect_tcp("127.0.0.1", (*tap)->port(), kPatience);
  ASSERT_TRUE(client) << client.error();
  EXPECT_EQ(exchange(*client, puback, 4, kPatience), puback);
  EXPECT_EQ(exchange(*client, puback, 4, kPatience), std::nullopt);
  EXPECT_EQ(watched.once_closed(1).delivered, puback);
}

TEST(Tap, SaysWhyItCannotListen) {
  std::uint16_t port = 0;
  const Socket taken = listen_on_free_port(port);
  Watched watched;
  const auto tap = Tap::start({.port = port, .to_port = 1}, watched);
  ASSERT_FALSE(tap);
  EXPECT_EQ(tap.error(), "Address already in use");
  EXPECT_FALSE(Tap::start({.address = "nowhere", .to_port = 1}, watched));
}

}  // namespace
}  // namespace fencepost::endpoint
