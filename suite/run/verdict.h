// What a case comes to.
#pragma once

#include <string_view>

namespace fencepost::run {

enum class Verdict {
  kPassed,
  kFailed,           // the store broke a rule
  kExpectedFailure,  // not passed, in the way that the baseline expects
  kInconclusive,     // the evidence does not decide
  kSkipped,          // the endpoint lacks what the case needs
  kLost,             // the endpoint went away: no verdict
  kNotRun,           // the run ended before
};
[[nodiscard]] std::string_view name(Verdict verdict);

// For a lost case: its verdict if the endpoint turns out to be alive.
enum class Doubt {
  kNone,     // the store has thrown a client out: failed
  kSetUp,    // a CONNECT was refused, or it or a SUBSCRIBE not acknowledged in time: inconclusive
  kSilence,  // nobody was answered for a while: inconclusive, unless it happens again
};

// What a broker breaks that does what MQTT 5 forbids a server.
inline constexpr std::string_view kBrokerRule = "ENV-MQTT5-3";

}  // namespace fencepost::run
