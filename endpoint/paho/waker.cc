#include "endpoint/paho/waker.h"

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include <sys/socket.h>

#include <mqtt/async_client.h>

#include "endpoint/socket.h"
#include "endpoint/wait_clock.h"

namespace fencepost::endpoint {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kWakeInterval{1};
constexpr milliseconds kConnectTimeout{3'000};
// A CONNACK without session and without properties; a PUBLISH of QoS 0, topic "w", no properties,
// no payload.
constexpr std::array<unsigned char, 5> kConnack = {0x20, 3, 0, 0, 0};
constexpr std::array<unsigned char, 6> kWakeUp = {0x30, 4, 0, 1, 'w', 0};

}  // namespace

struct PahoWaker::Peer {
  std::uint16_t port = 0;
  Socket listener = listen_on_free_port(port);
  std::mutex mutex;
  std::condition_variable changed;
  int holds = 0;
  bool stopping = false;
  std::thread thread;
  std::unique_ptr<mqtt::async_client> client;

  // Plays the broker: answers the CONNECT, then sends a message every millisecond while there are
  // holds.
  void run() {
    const Socket connection(accept(listener.descriptor(), nullptr, nullptr));
    std::array<char, 512> request{};
    if (recv(connection.descriptor(), request.data(), request.size(), 0) <= 0) return;
    send(connection.descriptor(), kConnack.data(), kConnack.size(), MSG_NOSIGNAL);
    std::unique_lock lock(mutex);
    while (!stopping) {
      changed.wait(lock, [this] { return stopping || holds > 0; });
      send(connection.descriptor(), kWakeUp.data(), kWakeUp.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      const auto next = WaitClock::now() + kWakeInterval;
      changed.wait_until(lock, next, [this] { return stopping; });
    }
  }

  void add_holds(int change) {
    {
      const std::lock_guard lock(mutex);
      holds += change;
    }
    changed.notify_one();
  }
};

PahoWaker::PahoWaker() : peer_(std::make_unique<Peer>()) {
  peer_->thread = std::thread([peer = peer_.get()] { peer->run(); });
  try {
    peer_->client = std::make_unique<mqtt::async_client>(
        "tcp://127.0.0.1:" + std::to_string(peer_->port), "waker",
        mqtt::create_options(MQTTVERSION_5, 1), nullptr);
    mqtt::connect_options options;
    options.set_mqtt_version(MQTTVERSION_5);
    options.set_clean_start(true);
    options.set_keep_alive_interval(0);
    mqtt::token_ptr connecting;
    {
      const std::lock_guard lock(paho_calls());
      connecting = peer_->client->connect(options);
    }
    connecting->wait_for(kConnectTimeout);
  } catch (const mqtt::exception&) {
    peer_->client.reset();  // wakes nobody: connecting is slower, nothing else
  }
}

std::shared_ptr<PahoWaker> PahoWaker::shared() {
  static std::mutex mutex;
  static std::weak_ptr<PahoWaker> current;
  const std::lock_guard lock(mutex);
  std::shared_ptr<PahoWaker> waker = current.lock();
  if (!waker) {
    waker = std::make_shared<PahoWaker>();
    current = waker;
  }
  return waker;
}

PahoWaker::~PahoWaker() {
  {
    const std::lock_guard lock(paho_calls());
    peer_->client.reset();
  }
  {
    const std::lock_guard lock(peer_->mutex);
    peer_->stopping = true;
  }
  peer_->changed.notify_one();
  shutdown(peer_->listener.descriptor(), SHUT_RDWR);  // ends an accept() that nobody answered
  peer_->thread.join();
}

std::mutex& paho_calls() {
  static std::mutex calls;
  return calls;
}

PahoWaker::Hold::Hold(PahoWaker& waker) : waker_(waker) { waker_.peer_->add_holds(1); }
PahoWaker::Hold::~Hold() { waker_.peer_->add_holds(-1); }

}  // namespace fencepost::endpoint
