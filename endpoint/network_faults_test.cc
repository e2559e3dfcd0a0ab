#include "endpoint/network_faults.h"

#include <optional>
#include <string>
#include <thread>
#include <utility>

#include <sys/socket.h>

#include <gtest/gtest.h>

#include "endpoint/echo_broker.h"
#include "endpoint/socket.h"

namespace fencepost::endpoint {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::seconds kLimit{30};
// A PUBLISH, which comes back as a response does.
const std::string kMessage("\x30\x04\x00\x01tx", 6);

// The proxy's faults, after clients have sent until one has taken effect. `lost`: whether the bytes
// of a client did not come back.
struct Tried {
  std::vector<InjectedFault> log{};
  bool lost = false;
};
Tried try_out(const std::string& kinds) {
  Tried out;
  const EchoBroker broker;
  const auto network = NetworkFaults::start({.kinds = *parse_network_faults(kinds), .every = 20ms},
                                            {"127.0.0.1", broker.port()});
  EXPECT_TRUE(network);
  const auto end = std::chrono::steady_clock::now() + kLimit;
  (*network)->set_on(true);
  // Open until the count below: a client that closes its connection has ended it itself.
  std::optional<Socket> client;
  while (out.log.empty() && std::chrono::steady_clock::now() < end) {
    auto connected = connect_tcp("127.0.0.1", (*network)->port(), kLimit);
    if (!connected) continue;
    client.emplace(std::move(*connected));
    while (exchange(*client, kMessage, kMessage.size(), kLimit) == kMessage && out.log.empty()) {
      out.log = (*network)->take_log();
    }
    if (out.log.empty()) out.log = (*network)->take_log();
    out.lost = exchange(*client, kMessage, kMessage.size(), kLimit) != kMessage;
  }
  EXPECT_EQ((*network)->ended_themselves(), 0);
  return out;
}

TEST(NetworkFaults, InjectEachKind) {
  for (const NetworkFaultKind& kind : kNetworkFaults) {
    // Who echoes takes over no connection: load_test.cc has a real broker.
    if (kind.of_broker || kind.fault == NetworkFault::kTakeover) continue;
    const Tried tried = try_out(std::string(kind.name));
    ASSERT_FALSE(tried.log.empty()) << kind.name;
    EXPECT_EQ(tried.log.front().kind, kind.fault);
    const bool lets_go = kind.fault == NetworkFault::kDelay || kind.fault == NetworkFault::kSplit ||
                         kind.fault == NetworkFault::kStall ||
                         kind.fault == NetworkFault::kJitter || kind.fault == NetworkFault::kRate;
    EXPECT_EQ(tried.lost, !lets_go) << kind.name;
  }
}

TEST(NetworkFaults, AreOffAtFirst) {
  const EchoBroker broker;
  const auto network = NetworkFaults::start({.kinds = {NetworkFault::kReset}, .every = 1ms},
                                            {"127.0.0.1", broker.port()});
  ASSERT_TRUE(network);
  const auto client = connect_tcp("127.0.0.1", (*network)->port(), kLimit);
  ASSERT_TRUE(client);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(exchange(*client, kMessage, kMessage.size(), kLimit), kMessage);
    std::this_thread::sleep_for(5ms);
  }
  EXPECT_TRUE((*network)->take_log().empty());
}

// Read while the proxy's thread counts: ThreadSanitizer looks at it.
TEST(NetworkFaults, CountTheConnectionsThatTheBrokerEnds) {
  std::uint16_t port = 0;
  const Socket listener = listen_on_free_port(port);
  const auto network = NetworkFaults::start(
      {.kinds = {NetworkFault::kDelay}, .every = std::chrono::hours(1)}, {"127.0.0.1", port});
  ASSERT_TRUE(network);
  (*network)->set_on(true);
  const auto accepted = [&] { return Socket(accept(listener.descriptor(), nullptr, nullptr)); };
  for (std::uint64_t ended = 0; ended < 3; ++ended) {
    const auto other = connect_tcp("127.0.0.1", (*network)->port(), kLimit);
    ASSERT_TRUE(other);
    const Socket of_other = accepted();
    shutdown(other->descriptor(), SHUT_RDWR);
    char byte = 0;
    EXPECT_EQ(recv(of_other.descriptor(), &byte, 1, 0), 0) << "its client has ended it";
    const auto client = connect_tcp("127.0.0.1", (*network)->port(), kLimit);
    ASSERT_TRUE(client);
    { const Socket ends = accepted(); }
    const auto end = std::chrono::steady_clock::now() + kLimit;
    while ((*network)->ended_themselves() == ended && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    EXPECT_EQ((*network)->ended_themselves(), ended + 1);
  }
}

TEST(NetworkFaults, LeaveOutThoseOfPacketsWithTls) {
  const auto none = NetworkFaults::start({.kinds = {NetworkFault::kCutPacket}},
                                         {.host = "127.0.0.1", .port = 1, .tls = true});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error(), "faults of packets are not available with TLS");
}

}  // namespace
}  // namespace fencepost::endpoint
