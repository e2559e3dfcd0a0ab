#include "clients/rules.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace fencepost::clients {
namespace {

using enum RuleLevel;

constexpr std::array kRules = {
    Rule{"ENV-MQTT5-1"},
    Rule{"ENV-TOPIC-1"},
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
    Rule{"VER-UPDATE-2", kShould},
    Rule{"FT-FORMAT-1"},
    Rule{"FT-REQUIRED-1"},
    Rule{"FT-CLIENT-1", kShould},
    Rule{"HLC-SKEW-2"},
    Rule{"LOCK-TOKEN-2"},
    Rule{"NTF-SUBSCRIBE-1", kShould},
    Rule{"LIFE-RECONNECT-1"},
    Rule{"MQTT-1.5.4-1", kMust, "A text is well-formed UTF-8."},
    Rule{"MQTT-1.5.4-2", kMust, "A text has no U+0000."},
    Rule{"MQTT-1.5.5-1", kMust, "A length has the fewest possible bytes."},
    Rule{"MQTT-2.1.2", kMust, "A client sends no packet that only brokers send."},
    Rule{"MQTT-2.1.3-1", kMust, "Reserved flags have the value that the standard lists."},
    Rule{"MQTT-2.2.1-3", kMust,
         "A new packet has a Packet Identifier that is neither in use nor 0."},
    Rule{"MQTT-2.2.1-5", kMust, "A PUBACK has the Packet Identifier of its PUBLISH."},
    Rule{"MQTT-3.1.0-1", kMust, "The first packet is a CONNECT."},
    Rule{"MQTT-3.1.0-2", kMust, "A connection has one CONNECT."},
    Rule{"MQTT-3.1.2-1", kMust, "The protocol name of a CONNECT is \"MQTT\"."},
    Rule{"MQTT-3.1.2-2", kMust, "The protocol version of a CONNECT is 5 or older."},
    Rule{"MQTT-3.1.2-3", kMust, "The reserved flag of a CONNECT is 0."},
    Rule{"MQTT-3.1.2-11", kMust, "Without a will, the Will QoS is 0."},
    Rule{"MQTT-3.1.2-12", kMust, "The Will QoS is 0, 1 or 2."},
    Rule{"MQTT-3.1.2-13", kMust, "Without a will, Will Retain is 0."},
    Rule{"MQTT-3.1.2-20", kMust, "A client sends a packet within each Keep Alive interval."},
    Rule{"MQTT-3.1.2.11.10", kMust, "Authentication Data requires an Authentication Method."},
    Rule{"MQTT-3.2.2-11", kMust, "No PUBLISH has a QoS above the broker's Maximum QoS."},
    Rule{"MQTT-3.2.2-14", kMust,
         "No PUBLISH has RETAIN if the broker does not support retained messages."},
    Rule{"MQTT-3.2.2-15", kMust, "No packet is larger than the broker's Maximum Packet Size."},
    Rule{"MQTT-3.2.2-17", kMust, "No Topic Alias is above the broker's Topic Alias Maximum."},
    Rule{"MQTT-3.2.2-18", kMust,
         "No Topic Alias is sent if the broker has no Topic Alias Maximum."},
    Rule{"MQTT-3.2.2-21", kMust, "A client keeps to the Server Keep Alive."},
    Rule{"MQTT-3.3.1-1", kMust, "DUP is set when a packet is sent again."},
    Rule{"MQTT-3.3.1-2", kMust, "A PUBLISH of QoS 0 has no DUP."},
    Rule{"MQTT-3.3.1-4", kMust, "A PUBLISH does not have QoS 3."},
    Rule{"MQTT-3.3.2-2", kMust, "A topic has no wildcards."},
    Rule{"MQTT-3.3.2-7", kMust, "A Topic Alias is used only on its own connection."},
    Rule{"MQTT-3.3.2-8", kMust, "A Topic Alias is not 0."},
    Rule{"MQTT-3.3.2-14", kMust, "A Response Topic has no wildcards."},
    Rule{"MQTT-3.3.2.3.2", kMust, "A payload that is declared as UTF-8 is UTF-8."},
    Rule{"MQTT-3.3.2.3.4", kMust, "A Topic Alias without a topic was sent with a topic before."},
    Rule{"MQTT-3.3.4-1", kMust, "A PUBLISH is acknowledged as its QoS requires."},
    Rule{"MQTT-3.3.4-6", kMust, "A PUBLISH of a client has no Subscription Identifier."},
    Rule{"MQTT-3.3.4-7", kMust,
         "No more PUBLISHes than the broker's Receive Maximum wait for their PUBACK."},
    Rule{"MQTT-3.4.2-1", kMust, "A PUBACK has a reason code that is defined for PUBACK."},
    Rule{"MQTT-3.5.2-1", kMust, "A PUBREC has a reason code that is defined for PUBREC."},
    Rule{"MQTT-3.6.2-1", kMust, "A PUBREL has a reason code that is defined for PUBREL."},
    Rule{"MQTT-3.7.2-1", kMust, "A PUBCOMP has a reason code that is defined for PUBCOMP."},
    Rule{"MQTT-3.8.3-2", kMust, "A SUBSCRIBE has a filter."},
    Rule{"MQTT-3.8.3-4", kMust, "No Local is not set on a shared subscription."},
    Rule{"MQTT-3.8.3-5", kMust, "Subscription options have no reserved bits set."},
    Rule{"MQTT-3.8.3.1", kMust, "A subscription has a QoS and a Retain Handling of 0, 1 or 2."},
    Rule{"MQTT-3.10.3-2", kMust, "An UNSUBSCRIBE has a filter."},
    Rule{"MQTT-3.14.2-1", kMust, "A DISCONNECT has a reason code that clients may send."},
    Rule{"MQTT-3.14.2.2.2", kMust,
         "A DISCONNECT sets no session expiry if that of the CONNECT was 0."},
    Rule{"MQTT-3.14.4-1", kMust, "Nothing is sent after a DISCONNECT."},
    Rule{"MQTT-4.3.2-2", kMust, "A PUBLISH that is sent for the first time has no DUP."},
    Rule{"MQTT-4.3.2-4", kMust, "Each PUBLISH of QoS 1 is acknowledged with a PUBACK."},
    Rule{"MQTT-4.3.3-4", kMust, "A PUBREC is answered with a PUBREL."},
    Rule{"MQTT-4.3.3-8", kMust, "Each PUBLISH of QoS 2 is answered with a PUBREC."},
    Rule{"MQTT-4.3.3-11", kMust, "Each PUBREL is answered with a PUBCOMP."},
    Rule{"MQTT-4.4.0-1", kMust,
         "In a resumed session, and only then, a packet without a PUBACK is sent again, with the "
         "same identifier and content."},
    Rule{"MQTT-4.6.0-1", kMust, "Packets are sent again in the order in which they were sent."},
    Rule{"MQTT-4.6.0-2", kMust, "PUBACKs are sent in the order of their PUBLISHes."},
    Rule{"MQTT-4.7.0-1", kMust, "Only filters have wildcards, not topics."},
    Rule{"MQTT-4.7.1-1", kMust, "# is a whole level, and the last one of a filter."},
    Rule{"MQTT-4.7.1-2", kMust, "+ is a whole level."},
    Rule{"MQTT-4.7.3-1", kMust, "Topics and filters are not empty."},
    Rule{"MQTT-4.8.2-1", kMust, "A shared subscription has a share name."},
    Rule{"MQTT-4.8.2-2", kMust,
         "A share name has no /, + or #, and is followed by a / and a filter."},
    Rule{"MQTT-4.10", kShould,
         "A client subscribes to its response topic before it sends a request."},
    Rule{"MQTT-4.12.0-7", kMust,
         "A client whose CONNECT has no Authentication Method sends no AUTH."},
    Rule{"MQTT-4.13", kMust, "A client sends nothing that a broker must refuse."},
    Rule{"MQTT-4.13.1-1", kMust, "A packet has the format of MQTT 5."},
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
