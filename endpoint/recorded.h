// Evidence instead of an endpoint: the same requests get the recorded answers
// at the recorded times. So a run is judged again by those who judge runs, without a broker.
//
//   auto recorded = Recorded::read(file);
//   auto endpoint = play(*recorded, "mqtt://host", capabilities);
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "endpoint/endpoint.h"
#include "evidence/record.h"

namespace fencepost::endpoint {

class Recorded {
 public:
  // Records of a file; more are refused, as they would take too much memory.
  static constexpr std::size_t kMaxRecords = 1'500'000;

  // What one SessionRequest::caller was answered.
  struct Stream {
    std::vector<evidence::Record> records{};  // without kOpened and kClosed
    std::optional<evidence::Failure> failure{};
    bool whole = false;       // the session was closed: nothing of it is missing
    std::size_t answers = 0;  // calls and events among the records; not clocks, not waits
    mutable std::atomic<bool> asked{false};    // for the session, of play()'s endpoint
    mutable std::atomic<std::size_t> read{0};  // of the answers, those that were given
    [[nodiscard]] bool is_read() const { return asked && read >= answers; }
  };

  // The error says why the bytes are not evidence. A file that is cut, or damaged somewhere, is
  // read up to there: see complaint().
  [[nodiscard]] static Result<Recorded, std::string> read(std::string_view file);

  // The first record: which run it is; JSON.
  [[nodiscard]] const std::string& head() const { return head_; }
  // The same, as the file states it last: updated by the preflight.
  [[nodiscard]] const std::string& last_head() const { return last_head_; }
  // The records of the cases that had finished, in that order; JSON.
  [[nodiscard]] const std::vector<std::string>& cases() const { return cases_; }
  // The record of the end, if the run came to it; else empty. JSON.
  [[nodiscard]] const std::string& end() const { return end_; }
  // Why the file could not be read to its end; empty when it could.
  [[nodiscard]] const std::string& diagnostic() const { return diagnostic_; }
  // Is there a history of requests that met?
  [[nodiscard]] bool has_history() const { return has_history_; }
  // Requests that were published.
  [[nodiscard]] std::size_t published() const { return published_; }
  [[nodiscard]] std::size_t received() const { return received_; }

  // Was this caller's session there, from its begin to its end?
  [[nodiscard]] bool has(const std::string& caller) const;
  // Callers whose sessions nobody has come to the end of, or that have none: what they were
  // answered is not judged. Empty for a run that came to its end and is judged as it was then.
  [[nodiscard]] std::vector<std::string> unread() const;
  // Callers with two sessions, which no run has.
  [[nodiscard]] const std::set<std::string>& twice() const { return twice_; }
  // Null when there is none.
  [[nodiscard]] const Stream* find(const std::string& caller) const;
  [[nodiscard]] const std::optional<evidence::Failure>* reachable(const std::string& caller) const;

 private:
  void add(evidence::Record record);

  std::string head_;
  std::string last_head_;
  std::vector<std::string> cases_;
  std::string end_;
  std::string diagnostic_;
  bool has_history_ = false;
  std::size_t published_ = 0;
  std::size_t received_ = 0;
  std::map<std::uint32_t, std::string> open_;               // callers, while the file is read
  std::map<std::string, std::unique_ptr<Stream>> streams_;  // by caller
  std::set<std::string> twice_;
  std::map<std::string, std::optional<evidence::Failure>> reachable_;
};

// `recorded` must outlive the result. Sessions may be used by different threads in parallel. What
// was never requested is answered with kInternal, so that a case that requests it is inconclusive.
[[nodiscard]] std::unique_ptr<Endpoint> play(const Recorded& recorded, std::string url,
                                             Capabilities capabilities);

}  // namespace fencepost::endpoint
