#include "concurrency/stress/delivery.h"

#include <algorithm>
#include <utility>

namespace fencepost::stress {

std::string describe(const DeliveryDoubts& doubts) {
  std::string out;
  const auto add = [&](std::uint64_t count, std::string_view what) {
    if (count == 0) return;
    out += (out.empty() ? "" : ", ") + std::to_string(count) +
           (count == 1 ? " request " : " requests ") + std::string(what);
  };
  add(doubts.lost, "lost with a connection that ended");
  add(doubts.refused, "refused by the broker");
  add(doubts.late, "answered too late");
  add(doubts.silent, "without a response when no client received one any more");
  return out;
}

history::KeyVerdict verdict_of(const DeliveryFinding& finding) {
  history::KeyVerdict out;
  out.verdict.answer = history::Answer::kViolation;
  out.verdict.requirement = finding.requirement;
  out.verdict.text = finding.text;
  if (finding.times != 1) out.verdict.text += " (" + std::to_string(finding.times) + " times)";
  if (!finding.operation) return out;
  out.key = finding.operation->key;
  out.verdict.shown = {*finding.operation};
  return out;
}

void Delivery::without_reply(std::uint64_t number, const history::Operation& operation,
                             Without why) {
  if (excused_.erase(number) > 0) return;
  if (open_.size() >= kMaxOpen) {
    ++lost_;
    return;
  }
  open_[number] = {.operation = operation, .why = why};
}

void Delivery::lost_with_connection(std::uint64_t number) {
  if (const auto found = open_.find(number); found != open_.end()) {
    found->second.why = Without::kLost;
  }
}

void Delivery::answered(history::Time called) {
  last_answered_ = std::max(last_answered_.value_or(called), called);
}

void Delivery::unmatched_reply(std::optional<std::uint64_t> number, bool is_redelivery,
                               const std::string& what) {
  if (!number) {
    return wrong("ENV-CORRELATION-1",
                 "a response whose correlation data belongs to no request: " + what, nullptr);
  }
  const auto found = open_.find(*number);
  if (found == open_.end()) {
    // MQTT 5, 4.4: on a connection of its own each message comes once, but for redeliveries.
    if (is_redelivery) return;
    return wrong("ENV-RESPONSE-1", "a second response to one request: " + what, nullptr);
  }
  if (found->second.why == Without::kRefused) {
    wrong("ENV-PUBACK-1", "a response to a request that the broker has refused: " + what,
          &found->second.operation);
  } else if (found->second.why == Without::kTime) {
    ++late_;
  }
  open_.erase(found);
}

void Delivery::wrong(std::string_view requirement, std::string text,
                     const history::Operation* operation) {
  auto found = wrong_.find(requirement);
  if (found == wrong_.end()) {
    found = wrong_.emplace(std::string(requirement), DeliveryFinding{}).first;
    found->second.requirement = requirement;
    found->second.text = std::move(text);
    if (operation != nullptr) found->second.operation = *operation;
  }
  ++found->second.times;
}

std::vector<DeliveryFinding> Delivery::findings() const {
  std::vector<DeliveryFinding> out;
  for (const auto& [requirement, found] : wrong_) out.push_back(found);
  // A broker that does not acknowledge what was published keeps later requests from being sent.
  // (MQTT 5, 4.9)
  if (wrong_.contains("ENV-MQTT5-3")) return out;
  DeliveryFinding unanswered{.requirement = "ENV-RESPONSE-1",
                             .text = "no response, though requests that were sent later have one"};
  for (const auto& [number, open] : open_) {
    if (!was_passed_over(open)) continue;
    if (unanswered.times == 0) unanswered.operation = open.operation;
    ++unanswered.times;
  }
  if (unanswered.times > 0) out.push_back(std::move(unanswered));
  return out;
}

DeliveryDoubts Delivery::doubts() const {
  DeliveryDoubts out{.lost = lost_, .late = late_};
  for (const auto& [number, open] : open_) {
    if (open.why == Without::kLost) ++out.lost;
    if (open.why == Without::kRefused) ++out.refused;
    if (open.why == Without::kTime && !was_passed_over(open)) ++out.silent;
  }
  return out;
}

}  // namespace fencepost::stress
