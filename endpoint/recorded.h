// Evidence in the place of an endpoint: whoever asks what was asked then is answered as he was
// then, at the same times. So a run is judged again by those who judge runs, without a broker.
//
//   auto recorded = Recorded::read(file);
//   auto endpoint = play(*recorded, "mqtt://host", capabilities);
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
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
  // Of a file that is read along, as each takes a moment.
  static constexpr std::size_t kMostRead = 50'000'000;

  // What one caller of open_session_for() was answered.
  struct Stream {
    std::vector<evidence::Record> records{};  // without kOpened and kClosed
    std::optional<evidence::Failure> failure{};
    bool whole = false;       // the session was closed: nothing of it is missing
    std::size_t answers = 0;  // calls and events among the records; not clocks, not waits
    mutable std::atomic<bool> asked{false};    // for the session, of play()'s endpoint
    mutable std::atomic<std::size_t> read{0};  // of the answers, those that were given
    [[nodiscard]] bool is_read() const { return asked && read >= answers; }
  };

  // The error says why the bytes are no evidence. A file that is cut, or damaged somewhere, is read
  // up to there: see complaint().
  [[nodiscard]] static Result<Recorded, std::string> read(std::string_view file);
  // Of the first record of a file alone: see head().
  [[nodiscard]] static Result<std::string, std::string> read_head(std::string_view file);
  // The same as read() of a file that need not fit into memory: as soon as the session of a caller
  // is whole, `on_whole` is called with what was read until then, and then that session is
  // forgotten. Those of nobody, before the run, are kept.
  using OnWhole = std::function<void(const Recorded& so_far, const std::string& caller)>;
  [[nodiscard]] static Result<Recorded, std::string> read_along(std::string_view file,
                                                                const OnWhole& on_whole);

  // Of the first record: what run it is; JSON.
  [[nodiscard]] const std::string& head() const { return head_; }
  // Of each case that had finished, in that order; JSON.
  [[nodiscard]] const std::vector<std::string>& cases() const { return cases_; }
  // Of finished parts of a run that have names, in the place of cases: name -> JSON.
  [[nodiscard]] const std::map<std::string, std::string>& said() const { return said_; }
  // Of a run that came to its end; else empty. JSON.
  [[nodiscard]] const std::string& end() const { return end_; }
  // Why the file could not be read to its end; empty when it could.
  [[nodiscard]] const std::string& complaint() const { return complaint_; }
  // Is there a history of requests that met?
  [[nodiscard]] bool has_history() const { return has_history_; }
  // Requests that were published.
  [[nodiscard]] std::size_t published() const { return published_; }
  [[nodiscard]] std::size_t received() const { return received_; }

  // Was this caller's session there, from its begin to its end?
  [[nodiscard]] bool has(const std::string& caller) const;
  // Callers whose sessions nobody has come to the end of, or that have none: what they were
  // answered is not judged. Of a run that came to its end, judged as then, there are none.
  [[nodiscard]] std::vector<std::string> unread() const;
  // Callers that have asked for two sessions: of no run.
  [[nodiscard]] const std::set<std::string>& twice() const { return twice_; }
  // Null when there is none.
  [[nodiscard]] const Stream* find(const std::string& caller) const;
  [[nodiscard]] const std::optional<evidence::Failure>* reachable(const std::string& caller) const;

 private:
  [[nodiscard]] static Result<Recorded, std::string> read_up_to(std::string_view file,
                                                                std::size_t most_records,
                                                                const OnWhole& on_whole);
  void add(evidence::Record record, const OnWhole& on_whole);
  void close(std::uint32_t session, const OnWhole& on_whole);

  std::string head_;
  std::vector<std::string> cases_;
  std::map<std::string, std::string> said_;
  std::string end_;
  std::string complaint_;
  bool has_history_ = false;
  std::size_t published_ = 0;
  std::size_t received_ = 0;
  std::map<std::uint32_t, std::string> open_;               // callers, while the file is read
  std::map<std::string, std::unique_ptr<Stream>> streams_;  // by caller
  std::set<std::string> twice_;
  std::map<std::string, std::optional<evidence::Failure>> reachable_;
};

// `recorded` must outlive the result. Sessions may be used by different threads at once. What was
// never asked then is answered with kInternal, so that a case which asks it is inconclusive.
// `prefix`: as record() got it.
[[nodiscard]] std::unique_ptr<Endpoint> play(const Recorded& recorded, std::string url,
                                             Capabilities capabilities, std::string prefix = {});

}  // namespace fencepost::endpoint
