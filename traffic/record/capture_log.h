// Reads the log that `fencepost serve --record` leaves, line by line; the format is described in
// reference_store/served/traffic_log.h.
//
//   CaptureLog log;
//   if (auto wrong = log.add_line(line)) complain(*wrong);
//   use(log.capture());
//
// Not thread safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "traffic/record/capture.h"

namespace fencepost::record {

// What the log has beside the traffic of the store, and no scenario is made of.
struct LogRemark {
  enum class Kind {
    kElsewhere,  // a message to a topic that looks like the request topic; `text` is the topic
    kControl,    // a message to the control topic; `text` is what came of it
  };
  Kind kind = Kind::kElsewhere;
  std::string client_id{};
  std::string text{};
};

class CaptureLog {
 public:
  CaptureLog();

  // What is wrong with the line, which is left out then.
  [[nodiscard]] std::optional<std::string> add_line(std::string_view line);
  [[nodiscard]] const Capture& capture() const { return capture_; }
  // What the last line was, if it was one of these.
  [[nodiscard]] const std::optional<LogRemark>& remark() const { return remark_; }
  // Forgets what has happened so far.
  void forget_events() { capture_.events.clear(); }

 private:
  void add_start(std::int64_t clock_offset_ms);

  Capture capture_;
  std::optional<LogRemark> remark_;
  std::size_t starts_ = 0;
};

// Reads a whole file. A last line without its end, of a broker that was killed, is left out.
[[nodiscard]] Result<Capture, std::string> read_capture_log(std::string_view content);

}  // namespace fencepost::record
