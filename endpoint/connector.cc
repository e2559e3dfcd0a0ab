#include "endpoint/connector.h"

#include <array>
#include <cstddef>
#include <cstdio>

namespace fencepost::endpoint {
namespace {

// MQTT 5, 2.4: of the codes from 0x80 on.
// The standard leaves no gap between 0x80 and 0xa2, so that a place in this list is a code.
constexpr std::array kErrorReasons = {"Unspecified error",
                                      "Malformed Packet",
                                      "Protocol error",
                                      "Implementation specific error",
                                      "Unsupported Protocol Version",
                                      "Client Identifier not valid",
                                      "Bad User Name or Password",
                                      "Not authorized",
                                      "Server unavailable",
                                      "Server busy",
                                      "Banned",
                                      "Server shutting down",
                                      "Bad authentication method",
                                      "Keep Alive timeout",
                                      "Session taken over",
                                      "Topic filter invalid",
                                      "Topic name invalid",
                                      "Packet Identifier in use",
                                      "Packet Identifier not found",
                                      "Receive Maximum exceeded",
                                      "Topic Alias invalid",
                                      "Packet too large",
                                      "Message rate too high",
                                      "Quota exceeded",
                                      "Administrative action",
                                      "Payload format invalid",
                                      "Retain not supported",
                                      "QoS not supported",
                                      "Use another server",
                                      "Server moved",
                                      "Shared subscriptions not supported",
                                      "Connection rate exceeded",
                                      "Maximum connect time",
                                      "Subscription Identifiers not supported",
                                      "Wildcard Subscriptions not supported"};

}  // namespace

std::string reason_text(int reason_code) {
  std::array<char, 80> text{};
  // A lower code becomes a place far behind the list, and is printed without a name: 0x00 has
  // three, by the packet that it stands in. The argument that is too many then is not looked at.
  const auto at = static_cast<std::size_t>(reason_code - kFirstErrorReason);
  const char* words = at < kErrorReasons.size() ? kErrorReasons[at] : nullptr;
  std::snprintf(text.data(), text.size(), words == nullptr ? "0x%02x" : "0x%02x (%s)",
                static_cast<unsigned>(reason_code), words);
  return text.data();
}

Error refused_connection(int reason_code) {
  Error out{ErrorKind::kUnreachable,
            "the broker refused the connection with " + reason_text(reason_code), reason_code};
  // These refuse this client: another id or other credentials might be let in. All else counts as
  // not reachable, as a broker that is busy or shuts down (0x88, 0x89, 0x8b) is for everybody.
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

// A broker may grant less QoS than was requested (MQTT 5, 3.9.3); messages could then be lost, and
// what does not arrive would prove nothing.
Error refused_subscription(const std::string& filter, int reason_code) {
  // Below 0x80 it is the QoS that was granted. (3.9.3)
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
  // An unknown role gets no credentials, rather than the endpoint's own: with other rights than
  // those of its role, a client would show nothing.
  if (role.empty()) return &options.credentials;
  const auto found = options.roles.find(role);
  return found == options.roles.end() ? nullptr : &found->second;
}

}  // namespace fencepost::endpoint
