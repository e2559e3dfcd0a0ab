// What connections show of a store and its broker regardless of the order of requests: requests
// without a response, responses that come twice, unmatched or malformed ones. Histories do not show
// these.
//
//   Delivery delivery;
//   delivery.without_reply(7, {.key = "k"}, Delivery::Without::kTime);
//   delivery.answered(std::chrono::seconds{1});
//   for (const DeliveryFinding& found : delivery.findings()) print(found.requirement, found.text);
//
// Pure; not thread safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "concurrency/history/checker.h"

namespace fencepost::stress {

// One kind of what is wrong.
struct DeliveryFinding {
  std::string requirement{};
  std::string text{};                             // of the first
  std::uint64_t times = 0;                        // 1 or more
  std::optional<history::Operation> operation{};  // the request of the first, where one is known
};

// Why it is not known whether a request would have been answered.
struct DeliveryDoubts {
  std::uint64_t lost = 0;     // with a connection that ended
  std::uint64_t refused = 0;  // by the broker
  std::uint64_t late = 0;     // answered after its time, which proves nothing
  std::uint64_t silent = 0;   // no client was answered any more at its time-out

  [[nodiscard]] std::uint64_t all() const { return lost + refused + late + silent; }
};

// "3 lost with a connection that ended, 1 refused by the broker"; empty when there is no doubt.
[[nodiscard]] std::string describe(const DeliveryDoubts& doubts);

// The same as a violation of the key of its request: "no reply, though ... (17 times)". The key is
// empty where no request is known.
[[nodiscard]] history::KeyVerdict verdict_of(const DeliveryFinding& finding);

class Delivery {
 public:
  // The network has lost the request or its reply: no store can do anything about it.
  void excuse(std::uint64_t number) { excused_.insert(number); }

  // Why a request has no reply.
  enum class Without : std::uint8_t { kTime, kLost, kRefused };

  // The request with this number, which no other has, has no reply; it may still come.
  void without_reply(std::uint64_t number, const history::Operation& operation, Without why);
  // The connection of a request that was given up has ended, and brought no response after it: the
  // response may have been lost with the connection.
  void lost_with_connection(std::uint64_t number);
  // A request that was called then has been answered.
  void answered(history::Time called);
  // An unmatched response: to no request in flight. `number`: of the request that it names;
  // nothing: it names none.
  void unmatched_reply(std::optional<std::uint64_t> number, bool is_redelivery,
                       const std::string& what);
  // Something else that is wrong with what came; `operation` may be null.
  void wrong(std::string_view requirement, std::string text, const history::Operation* operation);

  // When all has come that will come. (Req: ENV-RESPONSE-1, ENV-CORRELATION-1, ENV-PUBACK-1)
  [[nodiscard]] std::vector<DeliveryFinding> findings() const;
  [[nodiscard]] DeliveryDoubts doubts() const;

 private:
  struct Open {
    history::Operation operation{};
    Without why = Without::kTime;
  };
  // A request that was sent later has been answered: the store serves, and not this one.
  [[nodiscard]] bool was_passed_over(const Open& open) const {
    return open.why == Without::kTime && last_answered_ && *last_answered_ > open.operation.called;
  }

  std::map<std::uint64_t, Open> open_{};  // at most kMaxOpen
  std::uint64_t lost_ = 0;                // beyond these
  std::uint64_t late_ = 0;
  std::set<std::uint64_t> excused_{};
  std::optional<history::Time> last_answered_{};                 // when that request was called
  std::map<std::string, DeliveryFinding, std::less<>> wrong_{};  // by requirement

  static constexpr std::size_t kMaxOpen = 100'000;
};

}  // namespace fencepost::stress
