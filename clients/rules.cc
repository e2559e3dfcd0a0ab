#include "clients/rules.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace fencepost::clients {
namespace {

using enum RuleLevel;

constexpr std::array kRules = {
    Rule{"ENV-MQTT5-1"},
    Rule{"ENV-QOS-2"},
    Rule{"ENV-RESPONSE-TOPIC-2"},
    Rule{"ENV-RESPONSE-TOPIC-3"},
    Rule{"ENV-RESPONSE-TOPIC-5"},
    Rule{"ENV-RESPONSE-TOPIC-6", kShould},
    Rule{"ENV-CORRELATION-2"},
    Rule{"ENV-CORRELATION-3"},
    Rule{"ENV-CLOCK-1"},
    Rule{"RESP-ARRAY-1"},
    Rule{"RESP-INVALID-3"},
    Rule{"RESP-INVALID-4"},
    Rule{"CASE-VERB-1"},
    Rule{"CASE-OPTION-1"},
    Rule{"ERR-ARITY-1"},
    Rule{"ERR-SYNTAX-1"},
    Rule{"KEY-EMPTY-1"},
    Rule{"SET-PX-1"},
    Rule{"HLC-REQUIRED-2"},
    Rule{"HLC-CLIENT-1"},
    Rule{"HLC-CLIENT-2"},
    Rule{"FT-FORMAT-1"},
    Rule{"LOCK-TOKEN-2"},
    Rule{"NTF-SUBSCRIBE-1", kShould},
    Rule{"LIFE-RECONNECT-1"},
    Rule{"MQTT-2.2.1-3", kMust, "A new packet has a Packet Identifier that is not in use."},
    Rule{"MQTT-2.2.1-5", kMust, "A PUBACK has the Packet Identifier of its PUBLISH."},
    Rule{"MQTT-3.1.0-1", kMust, "The first packet is a CONNECT."},
    Rule{"MQTT-3.1.0-2", kMust, "A connection has one CONNECT."},
    Rule{"MQTT-3.2.2-15", kMust, "No packet is larger than the broker's Maximum Packet Size."},
    Rule{"MQTT-3.3.1-1", kMust, "DUP is set when a packet is sent again, and not before."},
    Rule{"MQTT-3.3.2-14", kMust, "A Response Topic has no wildcards."},
    Rule{"MQTT-3.3.4-6", kMust, "A PUBLISH of a client has no Subscription Identifier."},
    Rule{"MQTT-3.3.4-7", kMust,
         "No more packets than the broker's Receive Maximum wait for their PUBACK."},
    Rule{"MQTT-3.8.3-4", kMust, "No Local is not set on a shared subscription."},
    Rule{"MQTT-4.3.2-4", kMust, "Each PUBLISH of QoS 1 is acknowledged with a PUBACK."},
    Rule{"MQTT-4.4.0-1", kMust,
         "A packet is sent again only after a reconnect, with its identifier and its content."},
    Rule{"MQTT-4.6.0-2", kMust, "PUBACKs are sent in the order of their PUBLISHes."},
    Rule{"MQTT-4.10", kShould,
         "A client subscribes to its response topic before it sends a request."},
    Rule{"MQTT-4.13.1-1", kMust, "A packet has the form that MQTT 5 gives it."},
};

}  // namespace

std::span<const Rule> rules() { return kRules; }

const Rule& rule(std::string_view id) {
  const auto* const found =
      std::find_if(kRules.begin(), kRules.end(), [id](const Rule& each) { return each.id == id; });
  FENCEPOST_CHECK(found != kRules.end());
  return *found;
}

bool is_of_mqtt(const Rule& rule) { return rule.id.starts_with("MQTT-"); }

}  // namespace fencepost::clients
