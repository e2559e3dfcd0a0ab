// What the clients of a stress run request, as data: mixes of requests, by name.
//
//   Script script({.mix = find_mix("hot-key"), .clients = 16, .seed = 7, .prefix = "x/"});
//   history::Operation wanted = script.next(3);  // of client 3: action, key, value, options
//   script.answered(wanted);                     // with its reply
//
// Which request is the next one of a client follows from the seed, the number of the client and
// what it was answered, not from the time. Values are unique, but for those of locks. Pure; not
// thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "concurrency/history/history.h"
#include "workload/random.h"

namespace fencepost::stress {

// The requests for some keys. The numbers of requests are shares of their sum.
struct Row {
  std::string_view name{};
  std::size_t share = 1;  // of the requests of a mix, out of the sum of its rows
  std::size_t keys = 1;
  // Clients that share a key; there are more keys accordingly; 0: all clients share all keys.
  std::size_t clients_of_key = 0;
  std::size_t set = 0;
  std::size_t get = 0;
  std::size_t del = 0;
  std::size_t nx = 0;
  std::size_t nex = 0;   // with the value that was last seen
  std::size_t vdel = 0;  // the same
  std::size_t observe = 0;
  std::size_t stop = 0;
  std::size_t percent_px = 0;     // of SET, NX and NEX
  std::size_t percent_large = 0;  // of values
  std::size_t observers = 0;      // clients that send KEYNOTIFY; 0: all
  bool lease = false;  // locks with NEX and PX, and what they guard, written with fencing tokens
};

struct Mix {
  std::string_view name;
  std::string_view text;  // what it is, for people
  std::vector<Row> rows;
  std::size_t window = 1;        // requests of one client in flight
  std::size_t renew_after = 0;   // requests, then all keys are new ones
  history::Time renew_every{0};  // the same, of time; 0: never
};

// In the order in which they are shown.
[[nodiscard]] const std::vector<Mix>& mixes();
// Null when there is no mix of that name.
[[nodiscard]] const Mix* find_mix(std::string_view name);
// The smallest mix with the same requests for a key of this mix; null when there is none.
[[nodiscard]] const Mix* mix_of_key(const Mix& mix, std::string_view key);

struct ScriptOptions {
  const Mix* mix = nullptr;
  std::uint32_t clients = 16;
  std::uint64_t seed = 1;
  std::string prefix{};  // of keys
};

class Script {
 public:
  explicit Script(const ScriptOptions& options);

  // The next request, without times, timestamp and reply.
  [[nodiscard]] history::Operation next(std::uint32_t client);

  // What a client was answered to such a request, or that it was not.
  void answered(const history::Operation& operation);

  // From now on all keys are new ones.
  void renew();

  // The client's connection has ended, and its registrations with it.
  void disconnected(std::uint32_t client);

  // How often all keys have been replaced; part of each key.
  [[nodiscard]] std::size_t generation() const { return generation_; }
  // What all keys of that generation begin with.
  [[nodiscard]] std::string prefix_of(std::size_t generation) const;

 private:
  struct ClientState {
    workload::Random random{0};
    std::uint64_t written = 0;
    std::string received{};  // a value, and the key that had it
    std::string is_notified_of{};
    bool holds = false;     // the lock, as far as it knows
    bool renews = true;     // and does not let it expire
    std::string watched{};  // the key that it has registered for, where it registers once
    std::optional<hlc::Timestamp> token{};
  };

  [[nodiscard]] std::string key_of(std::size_t row, std::uint32_t client, ClientState& state);
  [[nodiscard]] history::Operation leased(std::size_t row, std::uint32_t client,
                                          ClientState& state);
  [[nodiscard]] std::string new_value(const Row& row, std::uint32_t client, ClientState& state);
  void choose(const Row& row, history::Operation& operation, ClientState& state);

  const Mix& mix_;
  std::uint32_t clients_;
  std::uint64_t seed_;
  std::string prefix_;
  std::string current_;  // prefix of the keys of this generation
  std::size_t generation_ = 0;
  std::size_t asked_ = 0;  // in this generation
  std::size_t shares_ = 0;
  std::vector<ClientState> states_;
};

}  // namespace fencepost::stress
