// Does a store still have, after its broker was ended and started again, what it acknowledged
// before? Values, deletions, versions, fencing tokens and expiry, each on keys of its own, and what
// one client writes until the broker ends.
//
//   RestartProbe probe(session, {.client_id = "client-probe", .prefix = "prefix/probe"});
//   probe.write(wall_ms, RestartProbe::Extent::kAll);
//   restart();
//   probe.read();
//   print(probe.kept(), probe.lost(), probe.findings());
//
// Blocking; of one thread at a time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "concurrency/stress/delivery.h"
#include "concurrency/stress/restart_expectation.h"
#include "endpoint/endpoint.h"

namespace fencepost::stress {

struct RestartProbeOptions {
  std::string client_id{};
  std::string prefix{};  // of keys
  history::Bounds bounds{};
  endpoint::Duration patience = std::chrono::seconds{5};     // then a request has no reply
  endpoint::Duration max_outage = std::chrono::seconds{10};  // then the store does not come back
};

class RestartProbe {
 public:
  // The session must outlive this.
  RestartProbe(endpoint::Session& session, RestartProbeOptions options)
      : session_(session), options_(std::move(options)) {}
  ~RestartProbe() { end_threads(); }
  RestartProbe(const RestartProbe&) = delete;
  RestartProbe& operator=(const RestartProbe&) = delete;

  // What is written: a value; values of all kinds, and a deletion last; or these, and from another
  // thread more until read().
  enum class Extent : std::uint8_t { kOne, kAll, kUntilTheEnd };
  // What is not acknowledged, or is not right before the restart, counts for nothing.
  void write(std::uint64_t wall_ms, Extent extent);
  // Reads it, within `max_outage`, and deletes it; without an answer nothing is counted. What has
  // to expire is read once more at its time, from another thread, unless write() is called before.
  void read();
  // Reads what had to expire since.
  void finish();
  // Is there something in findings()? To be called from any thread.
  [[nodiscard]] bool has_findings() const { return has_findings_; }

  // How often a plain value was there, and was not.
  [[nodiscard]] std::size_t kept() const { return kept_; }
  [[nodiscard]] std::size_t lost() const { return lost_; }
  // What is wrong of all that was written with `all`, the first rule first; ends the threads.
  [[nodiscard]] std::vector<DeliveryFinding> findings();

 private:
  class Line;  // a connection
  struct Fixture;

  void write_plain(Line& line);
  void write_all(Line& line);
  bool await_expiry(Line& line, RestartExpectation& expected);
  void look_at_token(Line& line, const std::optional<hlc::Timestamp>& token);
  void write_until_the_end();
  void watch_expiry(const std::stop_token& stopped);
  void end_threads();
  void read_all(Line& line);
  void read_written_last(Line& line);
  void read_expiring(Line& line);
  void found(const RestartFlaw& flaw);
  [[nodiscard]] std::vector<Fixture> fixtures() const;
  [[nodiscard]] std::string key(std::string_view name) const;

  // What the writer has sent last for one key.
  struct Written {
    std::optional<history::Operation> acknowledged{};
    std::optional<history::Operation> in_flight{};
  };

  endpoint::Session& session_;
  RestartProbeOptions options_;
  std::uint64_t wall_ms_ = 0;
  bool all_ = false;
  std::size_t writes_ = 0;
  std::optional<RestartExpectation> plain_{};
  std::vector<RestartExpectation> expected_{};
  std::vector<RestartExpectation> expiring_{};  // also of earlier restarts
  std::optional<hlc::Timestamp> token_{};       // of the key "token"
  std::optional<hlc::Timestamp> version_{};     // of the key "clock", which was deleted
  std::map<std::string, Written> written_last_{};
  std::jthread writer_{};   // of written_last_
  std::jthread watcher_{};  // of expiring_ and findings_, while it runs
  std::atomic<bool> has_findings_{false};
  std::map<std::string, DeliveryFinding> findings_{};
  std::size_t kept_ = 0;
  std::size_t lost_ = 0;
};

}  // namespace fencepost::stress
