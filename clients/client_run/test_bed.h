// Where one case is played: our broker on its own port on 127.0.0.1, the judge of clients, and
// the adapter, looked after by one loop.
//
//   auto bed = TestBed::open(options, adapter);
//   adapter.send(line);
//   (*bed)->run_until([&] { return (*bed)->broker().awaited(0).came; }, deadline);
//
// Used by one thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <poll.h>

#include "base/result.h"
#include "clients/client_run/adapter_process.h"
#include "clients/client_run/scripted_broker.h"
#include "clients/judge.h"
#include "endpoint/socket.h"

namespace fencepost::client_run {

using Moment = std::chrono::steady_clock::time_point;

class TestBed {
 public:
  // Clients can connect when it returns. The adapter has to live longer. The error says why there
  // is no port.
  [[nodiscard]] static Result<std::unique_ptr<TestBed>, std::string> open(
      const BrokerOptions& options, AdapterProcess& adapter);

  [[nodiscard]] ScriptedBroker& broker() { return broker_; }
  [[nodiscard]] clients::Judge& judge() { return judge_; }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  // The time of the broker and of the judge. Never goes back.
  [[nodiscard]] Time now();

  // From now on run_until() ends when this is set.
  void stop_with(const std::atomic<bool>* stop) { stop_ = stop; }

  // What keeps our side from going on, such as descriptors that are used up; empty: nothing. What
  // has happened since says nothing of the client.
  [[nodiscard]] const std::string& error() const { return error_; }

  // Moves bytes until `done` says so: true. False: the deadline has come, the adapter is gone, it
  // was stopped, or there is an error.
  bool run_until(const std::function<bool()>& done, Moment deadline);
  // Moves bytes until no client is connected any more, for at most that time.
  void run_until_nobody_is_connected(Milliseconds most);
  // Ends the connections, and closes the port.
  void close();

 private:
  struct Link {
    endpoint::Socket socket;
    std::string to_write{};
    bool ends = false;  // when that is written
    bool ended = false;
  };

  TestBed(const BrokerOptions& options, AdapterProcess& adapter, endpoint::Socket listener,
          std::uint16_t port);
  void wait(Moment deadline);
  void serve();
  void accept_all();
  void read_link(std::uint64_t number, Link& link);
  static void write_link(Link& link);
  void send_due();
  void end_finished();

  AdapterProcess& adapter_;
  ScriptedBroker broker_;
  clients::Judge judge_;
  endpoint::Socket listener_;
  std::uint16_t port_;
  const std::atomic<bool>* stop_ = nullptr;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Link> links_{};
  std::vector<pollfd> entries_{};
  std::string error_{};
  Time began_;
  Moment began_steady_;
};

}  // namespace fencepost::client_run
