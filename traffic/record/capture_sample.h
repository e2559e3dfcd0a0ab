// Test only: captures, made message by message.
//
//   Traffic traffic;
//   const std::string version = traffic.set("c", {"SET", "k", "v"});
//   traffic.get("c", "k", "$1\r\nv\r\n", version);
//   EXPECT_THAT(traffic.made().text(), HasSubstr("equals: v1"));
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "codec/resp3.h"
#include "codec/topics.h"
#include "suite/scenario/scenario_loader.h"
#include "suite/testing/built_in_library.h"
#include "traffic/record/capture_scenario.h"
#include "traffic/record/capture_timeline.h"

namespace fencepost::record {

using std::chrono::microseconds;
using std::chrono::milliseconds;

inline constexpr milliseconds kBegin{1'767'225'600'000};

inline std::string stamp(milliseconds time, std::string_view node = "client") {
  return std::to_string(time.count()) + ":0:" + std::string(node);
}

inline const std::set<std::string>& requirement_ids() {
  static const std::set<std::string> ids = test::built_in_requirements().catalogue.ids();
  return ids;
}

// Makes captures: each message a millisecond after the one before.
class Traffic {
 public:
  Traffic() {
    capture.in_order = true;
    capture.sees_replies = true;
    capture.sees_notifications = true;
    capture.sees_packets = true;
  }

  codec::Message& request(const std::string& client,
                          const std::vector<std::string_view>& arguments) {
    codec::Message message;
    message.topic = codec::kRequestTopic;
    message.payload = codec::encode_command(arguments);
    message.response_topic = codec::recommended_response_topic(client);
    message.correlation_data = std::to_string(++number_);
    if (arguments.front() == "SET") message.user_properties = {{"__ts", stamp(now)}};
    return add(Direction::kToStore, client, std::move(message));
  }

  // To the last request of the client.
  void reply(const std::string& client, std::string payload, const std::string& version = {}) {
    codec::Message message;
    message.topic = codec::recommended_response_topic(client);
    message.payload = std::move(payload);
    message.correlation_data = std::to_string(number_);
    if (!version.empty()) message.user_properties = {{"__ts", version}};
    add(Direction::kToClient, "", std::move(message));
  }

  void notification(const std::string& client, const std::string& key, std::string payload,
                    const std::string& version) {
    codec::Message message;
    message.topic = *codec::notification_topic(client, key);
    message.payload = std::move(payload);
    message.user_properties = {{"__ts", version}};
    add(Direction::kToClient, client, std::move(message));
  }

  // A SET that is carried out; its version.
  std::string set(const std::string& client, const std::vector<std::string_view>& arguments) {
    request(client, arguments);
    const std::string version = stamp(now, "store");
    reply(client, "+OK\r\n", version);
    return version;
  }

  void get(const std::string& client, std::string_view key, std::string reply_payload,
           const std::string& version = {}) {
    request(client, {"GET", key});
    reply(client, std::move(reply_payload), version);
  }

  // What is made of it, which the loader must take where it is a file.
  CaptureScenario made(const CaptureOptions& options = {}) {
    CaptureScenario out = capture_scenario(capture, options);
    if (out.cases.empty()) return out;
    std::vector<scenario::LoadError> errors;
    (void)load_scenario({"recorded.yaml", out.text()}, requirement_ids(), errors);
    for (const scenario::LoadError& error : errors)
      ADD_FAILURE() << describe(error) << "\n" << out.text();
    return out;
  }

  Capture capture;
  milliseconds now = kBegin;

 private:
  using Direction = CaptureDirection;

  codec::Message& add(Direction direction, const std::string& client, codec::Message message) {
    now += milliseconds{1};
    capture.events.emplace_back(CapturedMessage{.direction = direction,
                                                .client_id = client,
                                                .client_known = true,
                                                .time = now,
                                                .message = std::move(message)});
    return std::get<CapturedMessage>(capture.events.back()).message;
  }

  int number_ = 0;
};

// The items of a timeline as those want them who look at a part of it.
inline std::vector<const TimelineItem*> pointers_to(const Timeline& timeline) {
  std::vector<const TimelineItem*> out;
  for (const TimelineItem& item : timeline.items) out.push_back(&item);
  return out;
}

}  // namespace fencepost::record
