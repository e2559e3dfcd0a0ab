#include "conformance/record/capture_log.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "codec/base16.h"

namespace fencepost::record {
namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;
// The clock of the store is that of the log and an offset, both read to the millisecond.
constexpr std::int64_t kClockDoubtMs = 3;

std::string bytes_of(const Json& json) {
  const auto bytes = codec::base16_decode(json.get<std::string>());
  if (!bytes) throw Json::other_error::create(0, "not Base16", nullptr);
  return *bytes;
}

codec::Message message_of(const Json& json) {
  codec::Message out;
  out.topic = json.at("topic").get<std::string>();
  out.payload = bytes_of(json.at("payload"));
  out.qos = json.value("qos", 1);
  out.retain = json.value("retain", false);
  const auto text = [&](const char* name, std::optional<std::string>& member) {
    if (json.contains(name)) member = json.at(name).get<std::string>();
  };
  text("response_topic", out.response_topic);
  text("content_type", out.content_type);
  if (json.contains("correlation_data")) out.correlation_data = bytes_of(json["correlation_data"]);
  if (json.contains("payload_format")) out.payload_format = json["payload_format"];
  if (json.contains("expiry_seconds")) out.expiry_seconds = json["expiry_seconds"];
  if (json.contains("user_properties")) {
    for (const Json& pair : json["user_properties"]) {
      out.user_properties.emplace_back(pair.at(0).get<std::string>(),
                                       pair.at(1).get<std::string>());
    }
  }
  return out;
}

CapturedMessage captured_message(const Json& json, CaptureDirection direction) {
  return {.direction = direction,
          .client_id = json.at("client").get<std::string>(),
          .client_known = true,
          .time = std::chrono::microseconds{json.at("time_us").get<std::int64_t>()},
          .message = message_of(json.at("message"))};
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
  try {
    const Json json = Json::parse(line);
    const auto event = json.at("event").get<std::string>();
    if (event == "start") {
      if (json.at("version") != kVersion) return "a log of another version";
      const auto offset = json.at("clock_offset_ms").get<std::int64_t>();
      capture_.clock = judge::ClockBounds{offset - kClockDoubtMs, offset + kClockDoubtMs};
      // Another store: what the first one held is gone.
      if (++starts_ > 1)
        return "the log has more than one store in it: record each to its own file";
    } else if (event == "request" || event == "delivery") {
      capture_.events.emplace_back(captured_message(
          json, event == "request" ? CaptureDirection::kToStore : CaptureDirection::kToClient));
    } else if (event == "disconnect") {
      capture_.events.emplace_back(CapturedConnection{
          .client_id = json.at("client").get<std::string>(),
          .time = std::chrono::microseconds{json.at("time_us").get<std::int64_t>()},
          .begins = false,
          .by_store = json.value("by_store", false)});
    } else {
      return "an unknown event: " + event;
    }
  } catch (const Json::exception& error) {
    return std::string("not a line of such a log: ") + error.what();
  }
  return std::nullopt;
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
  if (number == 0) return fail(std::string("it is empty"));
  return log.capture();
}

}  // namespace fencepost::record
