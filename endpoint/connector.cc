#include "endpoint/connector.h"

#include <array>
#include <cstdio>

extern "C" {  // which this header of Paho does not say
#include <MQTTReasonCodes.h>
}

namespace fencepost::endpoint {

std::string reason_text(int reason_code) {
  std::array<char, 80> text{};
  const char* words = MQTTReasonCode_toString(static_cast<MQTTReasonCodes>(reason_code));
  std::snprintf(text.data(), text.size(), words == nullptr ? "0x%02x" : "0x%02x (%s)",
                static_cast<unsigned>(reason_code), words);
  return text.data();
}

Error refused_connection(int reason_code) {
  Error out{ErrorKind::kUnreachable,
            "the broker refused the connection with " + reason_text(reason_code), reason_code};
  switch (reason_code) {
    case 0x85:  // client identifier not valid
    case 0x86:  // bad user name or password
    case 0x87:  // not authorized
    case 0x8a:  // banned
    case 0x8c:  // bad authentication method
      out.kind = ErrorKind::kNotAllowed;
      break;
    default:
      break;
  }
  return out;
}

// A broker may grant less QoS than was asked for (MQTT 5, 3.9.3); messages could then be lost, and
// what does not arrive would prove nothing.
Error refused_subscription(const std::string& filter, int reason_code) {
  if (reason_code < kFirstErrorReason) {
    return {ErrorKind::kNotAllowed,
            "the broker granted the subscription to " + filter + " with QoS " +
                std::to_string(reason_code) + ", not " + std::to_string(kSubscriptionQos),
            reason_code};
  }
  return {ErrorKind::kNotAllowed,
          "the broker refused the subscription to " + filter + " with " + reason_text(reason_code),
          reason_code};
}

const Credentials* credentials_for(const MqttOptions& options, const std::string& role) {
  if (role.empty()) return &options.credentials;
  const auto found = options.roles.find(role);
  return found == options.roles.end() ? nullptr : &found->second;
}

}  // namespace fencepost::endpoint
