#include "traffic/record/capture_log.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"
#include "codec/message_json.h"

namespace fencepost::record {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 2;
// The clock of the store is that of the log and an offset, both read to the millisecond.
constexpr std::int64_t kClockDoubtMs = 3;

// Times are added to others, without overflow: none is more than 30,000 years from now.
constexpr std::int64_t kMaxTimeUs = 1'000'000'000'000'000'000;
constexpr std::int64_t kMaxOffsetMs = 1'000'000'000'000'000;

std::int64_t number_of(const JsonMembers& line, const char* name, std::int64_t least,
                       std::int64_t most) {
  const auto out = line.integer<std::int64_t>(name, least);
  if (out <= most) return out;
  line.wrong(name, fmt::format("a whole number up to {}", most));
  return 0;
}

std::chrono::microseconds time_of(const JsonMembers& line) {
  return std::chrono::microseconds{number_of(line, "time_us", 0, kMaxTimeUs)};
}

CapturedMessage captured_message(const JsonMembers& line, CaptureDirection direction) {
  return {.direction = direction,
          .client_id = line.text("client"),
          .client_known = true,
          .time = time_of(line),
          .message = codec::message_of(line.object("message"))};
}

}  // namespace

CaptureLog::CaptureLog() {
  capture_ = {.from_start = true,
              .in_order = true,
              .sees_replies = true,
              .sees_notifications = true,
              .sees_packets = true};
}

std::optional<std::string> CaptureLog::add_line(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded()) return "not a line of a log of serve --record: it is not JSON";
  JsonDiagnostic diagnostic;
  const JsonMembers members(json, "", diagnostic);
  const std::string event = json.is_object() ? members.text("event") : "";
  std::optional<CapturedEvent> captured;
  remark_.reset();
  if (event == "start") {
    if (members.integer<int>("version") != kVersion) return "the log is of another version";
    add_start(number_of(members, "clock_offset_ms", -kMaxOffsetMs, kMaxOffsetMs));
    capture_.from_start = !members.flag_if_there("holds_keys");
    // Another store: what the first one held is gone.
    if (starts_ > 1) return "the log has more than one store: record each store to its own file";
  } else if (event == "request") {
    captured = captured_message(members, CaptureDirection::kToStore);
  } else if (event == "delivery") {
    captured = captured_message(members, CaptureDirection::kToClient);
  } else if (event == "disconnect") {
    captured = CapturedConnection{.client_id = members.text("client"),
                                  .time = time_of(members),
                                  .begins = false,
                                  .by_store = members.flag_if_there("by_store")};
  } else if (event == "elsewhere" || event == "control") {
    const bool elsewhere = event == "elsewhere";
    remark_ = {.kind = elsewhere ? LogRemark::Kind::kElsewhere : LogRemark::Kind::kControl,
               .client_id = members.text("client"),
               .text = members.text(elsewhere ? "topic" : "text")};
  } else if (!diagnostic.any()) {
    return "an unknown event: " + event;
  }
  if (diagnostic.any()) return "not a line of a log of serve --record: " + diagnostic.text();
  if (captured) capture_.events.push_back(std::move(*captured));
  return std::nullopt;
}

void CaptureLog::add_start(std::int64_t clock_offset_ms) {
  capture_.clock =
      judge::ClockBounds{clock_offset_ms - kClockDoubtMs, clock_offset_ms + kClockDoubtMs};
  ++starts_;
}

Result<Capture, std::string> read_capture_log(std::string_view content) {
  CaptureLog log;
  std::size_t number = 0;
  while (!content.empty()) {
    const std::size_t end = content.find('\n');
    if (end == std::string_view::npos) break;
    ++number;
    if (const auto wrong = log.add_line(content.substr(0, end))) {
      return fail(fmt::format("line {}: {}", number, *wrong));
    }
    content.remove_prefix(end + 1);
  }
  if (number == 0) return fail(std::string("the file is empty"));
  return log.capture();
}

}  // namespace fencepost::record
