#include "endpoint/tap.h"

#include <condition_variable>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include "endpoint/cancellation.h"
#include "endpoint/connector.h"
#include "endpoint/echo_broker.h"
#include "endpoint/memory_file.h"
#include "endpoint/socket.h"
#include "endpoint/stream.h"
#include "endpoint/throw_away_certificate.h"

namespace fencepost::endpoint {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kPatience{300};

class Watched : public TapWatcher {
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

  void on_no_handshake(std::uint64_t connection, std::string_view why) override {
    const std::lock_guard lock(mutex_);
    all_[connection].no_handshake = why;
  }

  struct Connection {
    std::string sent{};
    std::string delivered{};
    std::string no_handshake{};
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
  // What fits into the buffers of three sockets together; the echo does not wait for its reader.
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

// Is busy with the first bytes until it may continue.
class BusyWatcher final : public Watched {
 public:
  void on_sent(std::uint64_t connection, std::string_view bytes) override {
    if (bytes == "first") {
      is_busy.set_value();
      go_on.get_future().wait();
    }
    Watched::on_sent(connection, bytes);
  }

  std::promise<void> is_busy;
  std::promise<void> go_on;
};

// A command that is judged may have ended before the tap has read the last of what it sent.
TEST(Tap, ShowsWhatClientsSentBeforeItEnds) {
  // It answers nothing: to a client that is gone, answers would be a reset, which loses bytes.
  std::uint16_t broker_port = 0;
  const Socket broker = listen_on_free_port(broker_port);
  BusyWatcher watcher;
  auto tap = Tap::start({.to_port = broker_port}, watcher);
  ASSERT_TRUE(tap) << tap.error();
  const std::uint16_t port = (*tap)->port();
  const std::string rest = some_bytes(200'000);  // more than one read
  std::string expected = "first";
  std::thread ends;
  {
    const auto client = connect_tcp("127.0.0.1", port, kPatience);
    ASSERT_TRUE(client) << client.error();
    ASSERT_EQ(send(client->descriptor(), "first", 5, MSG_NOSIGNAL), 5);
    watcher.is_busy.get_future().wait();
    ends = std::thread([&tap] { tap->reset(); });
    const ssize_t sent =
        send(client->descriptor(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    ASSERT_GT(sent, 100'000);
    expected += rest.substr(0, static_cast<std::size_t>(sent));
    const auto late = connect_tcp("127.0.0.1", port, kPatience);
    ASSERT_TRUE(late) << late.error();
    ASSERT_EQ(send(late->descriptor(), "late", 4, MSG_NOSIGNAL), 4);
  }
  // The tap has to end while all that is still to be read; were it not, this would pass too.
  std::this_thread::sleep_for(50ms);
  watcher.go_on.set_value();
  ends.join();
  EXPECT_EQ(watcher.once_closed(1).sent, expected);
  EXPECT_EQ(watcher.once_closed(2).sent, "late");
}

// A tap with TLS, and clients of it.
struct TlsTap {
  explicit TlsTap(const EchoBroker& broker, TapWatcher& watcher)
      : tap(Tap::start(
            {.to_port = broker.port(), .certificate = certificate.path(), .key = key.path()},
            watcher)) {}

  // Trusts the authorities of that file.
  Result<std::unique_ptr<Stream>, std::string> connect(const MemoryFile& trusted) {
    peer.host = "127.0.0.1";
    peer.port = (*tap)->port();
    peer.tls = true;
    peer.ca = trusted.path();
    const auto context = make_tls_context(peer, {});
    if (!context) return fail(context.error());
    return Stream::connect(peer, context->get(), kPatience);
  }

  ThrowAwayCertificate made = *throw_away_certificate({"127.0.0.1"});
  MemoryFile ca{"ca", made.authority};
  MemoryFile certificate{"certificate", made.certificate};
  MemoryFile key{"key", made.key};
  MqttOptions peer{};
  Result<std::unique_ptr<Tap>, std::string> tap;
};

std::string read_all(Stream& stream, std::size_t size) {
  const Duration deadline = steady_now() + kPatience;
  std::string out;
  std::string buffer(4096, '\0');
  while (out.size() < size) {
    const Moved moved = stream.read(buffer.data(), buffer.size());
    out.append(buffer, 0, moved.bytes);
    // OpenSSL may hold what is decrypted, of which the descriptor shows nothing.
    const bool is_there = moved.bytes > 0;
    if (moved.ended ||
        (!is_there && !wait_for_descriptor(stream.descriptor(), true, false, deadline))) {
      break;
    }
  }
  return out;
}

TEST(Tap, EndsTlsAndShowsWhatWasEncrypted) {
  const EchoBroker broker;
  Watched watched;
  TlsTap tls(broker, watched);
  ASSERT_TRUE(tls.tap) << tls.tap.error();
  const std::string bytes = some_bytes(50'000);
  {
    const auto client = tls.connect(tls.ca);
    ASSERT_TRUE(client) << client.error();
    std::size_t written = 0;
    while (written < bytes.size()) {
      const Moved moved = (*client)->write(std::string_view(bytes).substr(written));
      ASSERT_FALSE(moved.ended) << moved.error;
      written += moved.bytes;
    }
    EXPECT_EQ(read_all(**client, bytes.size()), bytes);
    (*client)->end_writing();
    EXPECT_EQ(read_all(**client, 1), "");
  }
  const Watched::Connection seen = watched.once_closed(1);
  EXPECT_TRUE(seen.closed);
  EXPECT_EQ(seen.sent, bytes);
  EXPECT_EQ(seen.delivered, bytes);
  EXPECT_EQ(seen.no_handshake, "");
}

TEST(Tap, SaysWhyAHandshakeHasFailed) {
  const EchoBroker broker;
  Watched watched;
  TlsTap tls(broker, watched);
  ASSERT_TRUE(tls.tap) << tls.tap.error();
  const ThrowAwayCertificate other = *throw_away_certificate({"127.0.0.1"});
  const MemoryFile wrong("wrong", other.authority);
  EXPECT_FALSE(tls.connect(wrong));
  EXPECT_NE(watched.once_closed(1).no_handshake.find("alert"), std::string::npos);
  {
    const auto plain = connect_tcp("127.0.0.1", (*tls.tap)->port(), kPatience);
    ASSERT_TRUE(plain);
    (void)exchange(*plain, "not a handshake", 1, kPatience);
  }
  const Watched::Connection seen = watched.once_closed(2);
  EXPECT_NE(seen.no_handshake, "");
  EXPECT_EQ(seen.sent, "");
}

// Its end may come before it has read why.
TEST(Tap, SaysWhyAHandshakeHasFailedAlsoWhereItEnds) {
  const EchoBroker broker;
  const ThrowAwayCertificate other = *throw_away_certificate({"127.0.0.1"});
  const MemoryFile wrong("wrong", other.authority);
  for (int i = 0; i < 20; ++i) {
    Watched watched;
    TlsTap tls(broker, watched);
    ASSERT_TRUE(tls.tap) << tls.tap.error();
    EXPECT_FALSE(tls.connect(wrong));
    tls.tap->reset();
    EXPECT_NE(watched.once_closed(1).no_handshake.find("alert"), std::string::npos);
  }
}

TEST(Tap, RefusesACertificateThatIsNone) {
  const EchoBroker broker;
  Watched watched;
  const MemoryFile none("none", "hello");
  const auto tap = Tap::start(
      {.to_port = broker.port(), .certificate = none.path(), .key = none.path()}, watched);
  ASSERT_FALSE(tap);
  EXPECT_NE(tap.error().find("cannot use the certificate"), std::string::npos);
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
  const auto nobody = reserve_port("127.0.0.1");
  Watched watched;
  const auto tap = Tap::start({.to_port = nobody->port}, watched);
  ASSERT_TRUE(tap) << tap.error();
  const auto client = connect_tcp("127.0.0.1", (*tap)->port(), kPatience);
  ASSERT_TRUE(client) << client.error();
  EXPECT_EQ(exchange(*client, "", 1, kPatience), std::nullopt);
}

TEST(Tap, TakesClientsAgainWhenThereAreDescriptors) {
  std::uint16_t broker_port = 0;
  const Socket broker = listen_on_free_port(broker_port);
  Watched watched;
  const auto tap = Tap::start({.to_port = broker_port}, watched);
  ASSERT_TRUE(tap) << tap.error();
  const Socket client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  {
    const Socket next(fcntl(client.descriptor(), F_DUPFD_CLOEXEC, 0));
    none.rlim_cur = static_cast<rlim_t>(next.descriptor());
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons((*tap)->port());
  const auto* generic = reinterpret_cast<sockaddr*>(&address);  // NOLINT: the sockets API is so
  const bool connected = connect(client.descriptor(), generic, sizeof(address)) == 0;
  std::this_thread::sleep_for(100ms);  // it is not accepted meanwhile: that has no event
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(connected);
  EXPECT_TRUE(exchange(client, "hello", 0, kPatience));
  const Socket accepted(accept(broker.descriptor(), nullptr, nullptr));
  EXPECT_EQ(exchange(accepted, "", 5, kPatience), "hello");
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
TEST(Tap, HoldsPubacksAsLongAsRequested) {
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
