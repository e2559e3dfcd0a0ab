#include "endpoint/fault_schedule.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace fencepost::endpoint {

Result<std::vector<NetworkFault>, std::string> parse_network_faults(std::string_view text) {
  std::vector<NetworkFault> out;
  if (text == "none") return out;
  std::string names;
  for (const NetworkFaultKind& kind : kNetworkFaults) {
    if (text == "all" && !kind.of_broker) out.push_back(kind.fault);
    names += (names.empty() ? "" : ", ") + std::string(kind.name);
  }
  if (text == "all") return out;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, comma);
    const auto* kind =
        std::find_if(kNetworkFaults.begin(), kNetworkFaults.end(),
                     [&](const NetworkFaultKind& each) { return each.name == word; });
    if (kind == kNetworkFaults.end()) {
      return fail("\"" + std::string(word) + "\" is not none, all, or one of " + names);
    }
    if (std::find(out.begin(), out.end(), kind->fault) == out.end()) out.push_back(kind->fault);
    if (comma == text.size()) return out;
    text.remove_prefix(comma + 1);
  }
}

FaultSchedule::FaultSchedule(std::uint64_t seed, std::vector<NetworkFault> kinds,
                             std::chrono::milliseconds mean)
    : random_(seed), kinds_(std::move(kinds)), mean_(mean) {
  FENCEPOST_CHECK(!kinds_.empty() && mean.count() > 0);
  plan_next();
}

FaultSchedule::FaultSchedule(FaultPlan plan) : plan_(std::move(plan)) {
  FENCEPOST_CHECK(!plan_.strikes.empty());
  plan_next();
}

void FaultSchedule::plan_next() {
  if (!plan_.strikes.empty()) {
    constexpr std::chrono::hours kNever{24 * 3'650};
    if (in_round_ == plan_.strikes.size() && plan_.repeat.count() > 0) {
      in_round_ = 0;
      round_at_ += plan_.repeat;
    }
    const bool over = in_round_ == plan_.strikes.size();
    next_ = over ? Strike{.at = kNever} : plan_.strikes[in_round_++];
    if (!over) next_.at += round_at_;
    return;
  }
  if (in_round_ == 0) {
    for (std::size_t left = kinds_.size(); left > 1; --left) {
      std::swap(kinds_[left - 1], kinds_[below(left)]);
    }
  }
  const NetworkFaultKind& kind = kind_of(kinds_[in_round_]);
  in_round_ = (in_round_ + 1) % kinds_.size();
  const auto mean = static_cast<std::uint64_t>(mean_.count());
  const auto range = static_cast<std::uint64_t>((kind.longest - kind.shortest).count());
  next_.at += std::chrono::nanoseconds(mean / 2 + below(mean + 1));
  next_.fault = kind.fault;
  next_.length = kind.shortest + std::chrono::milliseconds(below(range + 1));
  next_.up = below(2) == 0;
  next_.pick = random_();
}

std::optional<Strike> FaultSchedule::due(std::chrono::nanoseconds now) {
  if (now < next_.at) return std::nullopt;
  const Strike out = next_;
  plan_next();
  return out;
}

}  // namespace fencepost::endpoint
