// A small client of the state store with Paho MQTT C++, for adapter.cc.
//
//   statestore::Client client("mqtt://127.0.0.1:1883", "me", timeout);
//   client.ask({"SET", "key", "value"}, {.timeout = timeout});
//
// Everything throws Failure. Thread safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <mqtt/async_client.h>

namespace statestore {

using Milliseconds = std::chrono::milliseconds;

struct Failure : std::runtime_error {
  Failure(std::string what_kind, const std::string& text)
      : std::runtime_error(text), kind(std::move(what_kind)) {}
  std::string kind;
};

struct Reply {
  std::string payload{};
  std::optional<std::string> version{};
  bool lost = false;  // the connection has ended
};

struct Change {
  std::string key{};
  bool deleted = false;
  std::string value{};
  std::string version{};
};

struct How {
  Milliseconds timeout{};
  std::string token{};
};

// Greater than all that it has stamped and merged.
class HybridClock {
 public:
  explicit HybridClock(std::string node) : node_(std::move(node)) {}
  std::string now();
  // What is no timestamp, or more than a minute ahead, is a Failure, and is not merged.
  void merge(const std::string& text);

 private:
  std::mutex mutex_{};
  std::string node_;
  std::pair<std::uint64_t, std::uint64_t> last_{};  // wall clock and counter
};

// The bytes of an array of bulk strings.
[[nodiscard]] std::string array_of(const std::vector<std::string>& words);
// The value of a bulk string; nothing for any other bytes.
[[nodiscard]] std::optional<std::string> bulk_of(const std::string& bytes);
[[nodiscard]] std::string hex_of(const std::string& bytes, const char* digits = "0123456789abcdef");
[[nodiscard]] std::string bytes_of(const std::string& hex);

class Client {
 public:
  Client(const std::string& uri, const std::string& name, Milliseconds timeout);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // The reply to a request; an error of the store is a Failure of kind "service".
  Reply ask(const std::vector<std::string>& words, const How& how);
  // From now on, the client is notified of changes of these keys, or no longer.
  void observe(const std::string& key, bool observed);
  std::optional<Change> next_change(Milliseconds timeout);

 private:
  void on_message(const mqtt::message& message);
  void on_change(const mqtt::message& message);
  mqtt::delivery_token_ptr publish(const std::string& payload, const std::string& correlation,
                                   const std::string& token);

  HybridClock clock_;
  std::string response_topic_;
  std::string change_topics_;  // without the key
  std::mutex calls_{};         // of Paho, which forgets a lock of its own
  std::mutex mutex_{};
  std::condition_variable news_{};
  std::uint64_t last_correlation_ = 0;
  std::map<std::string, std::optional<Reply>> waiting_{};  // by correlation data
  std::set<std::string> observed_{};
  std::deque<Change> changes_{};
  std::size_t slots_ = 65'535;  // of the broker's Receive Maximum
  std::size_t largest_packet_ = 0;
  mqtt::async_client mqtt_;
};

}  // namespace statestore
