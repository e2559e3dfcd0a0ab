// Histories in files: JSON Lines, docs/HISTORY.md, docs/history.schema.json. A driver writes the
// line of a call before it sends the request, and the line of its return when it has read the
// reply: what was in flight when a run was killed is in the file.
//
//   std::string out = header_line();
//   out += call_line(7, operation);
//   out += return_line(7, operation);
//   HistoryReader reader([](const Event& event) { use(event); });
//   const Result<void, std::string> read = reader.line(out.substr(0, out.find('\n')));
//
// The reader also takes logs of other harnesses, see edn_log.h. Pure. A library of its own,
// fencepost_history_file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "concurrency/history/history.h"

namespace fencepost::history {

// Each ends in a line feed. `id` is the driver's, for one operation.
[[nodiscard]] std::string header_line();
[[nodiscard]] std::string bounds_line(const Bounds& bounds);
[[nodiscard]] std::string call_line(std::uint64_t id, const Operation& operation);
// With an unknown outcome: there will be no reply (`reason`); or, where there is a time of return,
// the reply says nothing.
[[nodiscard]] std::string return_line(std::uint64_t id, const Operation& operation);
// The request was sent once more, with MQTT's DUP flag.
[[nodiscard]] std::string resent_line(std::uint64_t id, Time at);
[[nodiscard]] std::string notification_line(const Notification& notification);
[[nodiscard]] std::string connection_line(const Connection& connection);
[[nodiscard]] std::string restart_line(const Restart& restart);
[[nodiscard]] std::string disturbance_line(const Disturbance& disturbance);

// One operation as one object, as reports have it.
[[nodiscard]] nlohmann::ordered_json to_json(const Operation& operation);

class EdnLog;

class HistoryReader {
 public:
  // Called for each event as soon as it is complete: an operation when its reply has come.
  using Sink = std::function<void(const Event&)>;

  // `initial`: of logs of other harnesses, see edn_log.h.
  explicit HistoryReader(Sink sink, std::optional<std::string> initial = std::nullopt);
  ~HistoryReader();
  HistoryReader(const HistoryReader&) = delete;
  HistoryReader& operator=(const HistoryReader&) = delete;
  HistoryReader(HistoryReader&&) = delete;
  HistoryReader& operator=(HistoryReader&&) = delete;

  // The next line, without its end. The error says what is wrong and begins with the number of the
  // line; the line has changed nothing then.
  [[nodiscard]] Result<void, std::string> line(std::string_view text);

  // There is no more: hands on what has got no reply. Returns whether the last thing was complete.
  bool finish();

  // It is a log of another harness: times are numbers of lines, not nanoseconds.
  [[nodiscard]] bool counts_lines() const { return edn_ != nullptr; }

 private:
  [[nodiscard]] Result<void, std::string> json_line(std::string_view text);
  [[nodiscard]] Result<void, std::string> add_return(std::uint64_t id, Operation reply);

  Sink sink_;
  std::optional<std::string> initial_;
  std::uint64_t lines_ = 0;
  bool begun_ = false;                            // the header was there
  std::map<std::uint64_t, Operation> pending_{};  // by id
  std::unique_ptr<EdnLog> edn_{};                 // it is such a log
};

}  // namespace fencepost::history
