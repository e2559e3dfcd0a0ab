#include "clients/rules.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace fencepost::clients {
namespace {

using enum RuleLevel;

constexpr std::array kRules = {
    Rule{"ENV-MQTT5-1", kMust, "A client talks to the store over MQTT 5."},
    Rule{"ENV-QOS-2", kMust, "A client publishes its requests with QoS 1."},
    Rule{"ENV-RESPONSE-TOPIC-2", kMust, "The request topic is not used as a response topic."},
    Rule{"ENV-RESPONSE-TOPIC-3", kMust,
         "A response topic does not begin with the prefix of the store's own topics."},
    Rule{"ENV-RESPONSE-TOPIC-5", kMust, "A request has a Response Topic."},
    Rule{"ENV-RESPONSE-TOPIC-6", kShould,
         "The response topic is clients/{clientId}/services/statestore/_any_/command/invoke/"
         "response."},
    Rule{"ENV-CORRELATION-2", kMust, "A request has Correlation Data."},
    Rule{"ENV-CORRELATION-3", kMust,
         "No two requests of a client that are under way have the same Correlation Data."},
    Rule{"ENV-CLOCK-1", kMust, "A client's clock is within one minute of the broker's clock."},
    Rule{"RESP-ARRAY-1", kMust, "A request is a RESP3 array."},
    Rule{"RESP-INVALID-3", kMust, "The first element of a request is a verb of the protocol."},
    Rule{"RESP-INVALID-4", kMust, "Lengths and counts of a request fit the bytes that follow."},
    Rule{"CASE-VERB-1", kMust, "A client sends verbs in upper case."},
    Rule{"CASE-OPTION-1", kMust, "A client sends options in upper case."},
    Rule{"ERR-ARITY-1", kMust, "A request has as many arguments as its verb takes."},
    Rule{"ERR-SYNTAX-1", kMust, "A request has the options that its verb knows, and no others."},
    Rule{"KEY-EMPTY-1", kMust, "A key has at least one byte."},
    Rule{"SET-PX-1", kMust, "PX is followed by a number of milliseconds."},
    Rule{"HLC-REQUIRED-2", kMust, "A client sets __ts on every SET, as an HLC of its clock."},
    Rule{"HLC-CLIENT-1", kMust, "A client's clock never goes back."},
    Rule{"HLC-CLIENT-2", kMust, "A client's clock is ahead of every version that it has received."},
    Rule{"FT-FORMAT-1", kMust, "A fencing token is an HLC."},
    Rule{"LOCK-TOKEN-2", kMust, "A version is sent as a fencing token unmodified."},
    Rule{"NTF-SUBSCRIBE-1", kShould,
         "A client subscribes to its notification topic, and waits for the SUBACK, before it sends "
         "KEYNOTIFY."},
    Rule{"NTF-TOPIC-4", kMust, "A client publishes nothing to the store's own topics."},
    Rule{"LIFE-RECONNECT-1", kMust,
         "After a reconnect a client sends KEYNOTIFY again for each key it needs."},
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
