#include "reference_store/served/traffic_log.h"

#include <cerrno>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "codec/message_json.h"

namespace fencepost::served {
namespace {

using Json = nlohmann::ordered_json;
using std::chrono::microseconds;

constexpr int kVersion = 2;
constexpr mode_t kOwnerOnly = 0600;  // it holds what clients store

Json event(std::string_view name, microseconds time) {
  return {{"event", name}, {"time_us", time.count()}};
}

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::string message_line(std::string_view name, microseconds time, const std::string& client_id,
                         const codec::Message& message) {
  Json json = event(name, time);
  json["client"] = client_id;
  json["message"] = codec::to_json(message);
  return line_of(json);
}

}  // namespace

Result<TrafficLog, std::string> TrafficLog::open(const std::string& path) {
  const int descriptor =
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, kOwnerOnly);
  if (descriptor < 0)
    return fail("cannot write to " + path + ": " + std::generic_category().message(errno));
  return TrafficLog(descriptor);
}

TrafficLog::~TrafficLog() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool TrafficLog::write_line(std::string_view line) const {
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

bool TrafficLog::started(microseconds time, std::chrono::milliseconds offset, bool holds_keys) {
  Json json = event("start", time);
  json["version"] = kVersion;
  json["clock_offset_ms"] = offset.count();
  if (holds_keys) json["holds_keys"] = true;
  return write_line(line_of(json));
}

bool TrafficLog::request(microseconds time, const std::string& client_id,
                         const codec::Message& message) {
  return write_line(message_line("request", time, client_id, message));
}

bool TrafficLog::delivery(microseconds time, const std::string& client_id,
                          const codec::Message& message) {
  return write_line(message_line("delivery", time, client_id, message));
}

bool TrafficLog::disconnected(microseconds time, const std::string& client_id, bool by_store) {
  Json json = event("disconnect", time);
  json["client"] = client_id;
  json["by_store"] = by_store;
  return write_line(line_of(json));
}

bool TrafficLog::elsewhere(microseconds time, const std::string& client_id,
                           std::string_view topic) {
  Json json = event("elsewhere", time);
  json["client"] = client_id;
  json["topic"] = escape(topic);
  return write_line(line_of(json));
}

bool TrafficLog::control(microseconds time, const std::string& client_id, std::string_view text) {
  Json json = event("control", time);
  json["client"] = client_id;
  json["text"] = text;
  return write_line(line_of(json));
}

}  // namespace fencepost::served
