// Tells the author of a client, line by line, what a store made of each request, and by which rule:
//
//   me: SET my-key "one": +OK, SET-OK-1
//   me: GET my-key at QoS 0: ignored, ENV-QOS-1: A request must be of QoS 1; ...
//   watcher: is sent NOTIFY SET my-key "one", NTF-SEND-1
//
//   Explainer explainer([&](std::string_view id) { return text_of(id); });
//   for (const CapturedEvent& event : log) explainer.see(event, lines);
//   explainer.settle(now, lines);   // from time to time
//
// Pure: the time is an argument. Not thread safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "traffic/record/capture.h"
#include "traffic/record/capture_keys.h"

namespace fencepost::record {

// What the catalogue says of a requirement; empty when it has no such one.
using RuleText = std::function<std::string(std::string_view requirement)>;

class Explainer {
 public:
  explicit Explainer(RuleText text_of_rule) : text_of_rule_(std::move(text_of_rule)) {}

  // Appends what is known by now: nothing about a request until its response has come. Events come
  // in the order in which the broker has seen them.
  void see(const CapturedEvent& event, std::vector<std::string>& lines);

  // Tells of the requests that no store answers. A wrong one may, so that see() does this when the
  // next request comes, and settle() when some time has passed.
  void tell_ignored(std::vector<std::string>& lines);

  // Tells of the requests that no store answers, when a wrong one has had kGrace to do so all the
  // same, and of those that have waited for kPatience.
  void settle(std::chrono::microseconds now, std::vector<std::string>& lines);

  static constexpr std::chrono::milliseconds kGrace{20};
  static constexpr std::chrono::seconds kPatience{5};

 private:
  void see_message(const CapturedMessage& message, std::vector<std::string>& lines);
  void see_end(const CapturedConnection& connection, std::vector<std::string>& lines);
  void tell_answer(const CapturedMessage& request, const CapturedMessage& reply,
                   std::vector<std::string>& lines);
  void tell_unanswered(const CapturedMessage& request, const std::string& outcome,
                       std::vector<std::string>& lines) const;
  void tell_notification(const CapturedMessage& message, std::vector<std::string>& lines) const;
  [[nodiscard]] std::string with_sentence(std::string_view requirement) const;
  [[nodiscard]] KeyNow& key_now(std::string_view key, std::chrono::microseconds at);

  RuleText text_of_rule_;
  std::vector<CapturedMessage> waiting_;  // requests without a reply yet
  std::map<std::string, KeyNow> keys_;
};

}  // namespace fencepost::record
