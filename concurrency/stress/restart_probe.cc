#include "concurrency/stress/restart_probe.h"

#include <chrono>
#include <thread>
#include <utility>
#include <variant>

#include "codec/resp3.h"
#include "codec/topics.h"
#include "hlc/hlc.h"

namespace fencepost::stress {
namespace {

using namespace std::chrono_literals;

constexpr endpoint::Duration kReplyTime = 2s;
constexpr endpoint::Duration kUntilItIsBack = 10s;
constexpr endpoint::Duration kPause = 50ms;

}  // namespace

std::optional<std::string> RestartProbe::ask(const codec::Command& command,
                                             std::uint64_t wall_ms) const {
  auto client = session_.connect({.client_id = client_id_});
  if (!client) return std::nullopt;
  const std::string topic = codec::recommended_response_topic(client_id_);
  if (!(*client)->subscribe(topic)) return std::nullopt;
  codec::Message request;
  request.topic = codec::kRequestTopic;
  request.payload = codec::encode(command);
  request.response_topic = topic;
  request.correlation_data = "restart-probe-" + std::to_string(writes_);
  request.user_properties.emplace_back(codec::kTimestampProperty,
                                       hlc::format({.wall_ms = wall_ms, .node = "probe"}));
  if (!(*client)->publish(request)) return std::nullopt;
  const auto deadline = session_.clock().now() + kReplyTime;
  while (session_.clock().now() < deadline) {
    const auto event = (*client)->receive(deadline - session_.clock().now());
    if (!event || std::holds_alternative<endpoint::Disconnected>(event->what)) return std::nullopt;
    const auto* received = std::get_if<endpoint::MessageReceived>(&event->what);
    if (received != nullptr && received->message.topic == topic) return received->message.payload;
  }
  return std::nullopt;
}

void RestartProbe::write(std::uint64_t wall_ms) {
  const std::string value = "before " + std::to_string(++writes_);
  const auto reply = ask({.verb = codec::Verb::kSet, .key = key_, .value = value}, wall_ms);
  written_ = reply == "+OK\r\n" ? value : "";
  written_at_ = wall_ms;
}

void RestartProbe::read() {
  if (written_.empty()) return;
  const auto deadline = session_.clock().now() + kUntilItIsBack;
  std::optional<std::string> reply;
  while (!reply && session_.clock().now() < deadline) {
    reply = ask({.verb = codec::Verb::kGet, .key = key_}, written_at_);
    if (!reply) std::this_thread::sleep_for(kPause);
  }
  if (!reply) return;
  const std::string expected =
      "$" + std::to_string(written_.size()) + "\r\n" + std::exchange(written_, "") + "\r\n";
  ++(*reply == expected ? kept_ : lost_);
  (void)ask({.verb = codec::Verb::kDel, .key = key_}, written_at_);
}

}  // namespace fencepost::stress
