// The keys that each mapping of a scenario file may have. The loader refuses any other, and a test
// keeps the JSON Schema for editors (scenarios/scenario.schema.json) equal to these lists.
#pragma once

#include <array>
#include <string_view>

#include "base/joined.h"
#include "endpoint/disturbance.h"

namespace fencepost::scenario::fields {

using namespace std::string_view_literals;

inline constexpr std::array kFile = {"area"sv, "cases"sv};
inline constexpr std::array kCase = {"id"sv,       "title"sv, "requirements"sv, "divergence"sv,
                                     "requires"sv, "tags"sv,  "exclusive"sv,    "clients"sv,
                                     "steps"sv,    "note"sv,  "recorded"sv,     "axes"sv,
                                     "parts"sv,    "only"sv,  "except"sv,       "cover"sv};
inline constexpr std::array kRecorded = {"by"sv,      "when"sv,        "endpoint"sv,
                                         "seed"sv,    "requirement"sv, "signature"sv,
                                         "message"sv, "expected"sv,    "actual"sv};
// Values of `by`.
inline constexpr std::array kRecordedBy = {"explore"sv, "record"sv, "hand"sv};
// What a value of an axis may say of its cases; any other name in it is a placeholder.
inline constexpr std::array kAxisValue = {"requirements"sv, "requires"sv, "tags"sv, "exclusive"sv,
                                          "note"sv};
inline constexpr std::array kClient = {"role"sv,
                                       "subscribes"sv,
                                       "observes"sv,
                                       "clean_start"sv,
                                       "session_expiry"sv,
                                       "same_id_as"sv,
                                       "receive_maximum"sv,
                                       "max_packet_size"sv,
                                       "will"sv,
                                       "protocol"sv,
                                       "connect_properties"sv,
                                       "subscribe_properties"sv,
                                       "subscription_options"sv,
                                       "topic_aliases"sv};
inline constexpr std::array kWill = {"topic"sv, "payload"sv};

// Steps: one action each, and an expectation when the action is a request.
inline constexpr auto kActions = joined(
    std::array{"set"sv, "get"sv, "del"sv, "vdel"sv, "keynotify"sv, "send"sv, "pipeline"sv,
               "notification"sv, "silence"sv, "wait"sv, "connect"sv, "disconnect"sv, "drop"sv,
               "subscribe"sv, "unsubscribe"sv, "fill_quota"sv, "write_many"sv, "fan_out"sv},
    endpoint::kDisturbanceNames);
inline constexpr auto kStep = joined(kActions, std::array{"expect"sv, "note"sv});

// A request: what is sent (the first six; which of them depends on the verb), then how.
inline constexpr std::array kRequest = {"key"sv,
                                        "value"sv,
                                        "options"sv,
                                        "command"sv,
                                        "payload"sv,
                                        "writes"sv,
                                        "client"sv,
                                        "ts"sv,
                                        "ft"sv,
                                        "qos"sv,
                                        "retain"sv,
                                        "topic"sv,
                                        "response_topic"sv,
                                        "correlation"sv,
                                        "content_type"sv,
                                        "payload_format"sv,
                                        "expiry"sv,
                                        "properties"sv,
                                        "packet"sv,
                                        "mark"sv};
// How its packet differs from what a client library makes.
inline constexpr std::array kPacket = {
    "dup"sv, "qos"sv, "id"sv, "topic_alias"sv, "twice"sv, "more_properties"sv, "wrong_length"sv};
// Values of `twice`.
inline constexpr std::array kTwice = {"response_topic"sv, "correlation"sv, "content_type"sv,
                                      "payload_format"sv, "expiry"sv};

inline constexpr std::array kExpect = {
    "reply"sv, "ts"sv, "properties"sv, "content_type"sv, "payload_format"sv, "before"sv, "cites"sv};
inline constexpr std::array kReply = {"value"sv,  "count"sv,      "error"sv,
                                      "bytes"sv,  "documented"sv, "deployed"sv,
                                      "any_of"sv, "open"sv,       "by"sv};
inline constexpr std::array kTimestampCheck = {"save"sv, "equals"sv, "of_value"sv,
                                               "greater_than"sv};
inline constexpr std::array kBytes = {
    "escaped"sv, "hex"sv,    "repeat"sv,    "times"sv,       "size"sv,   "join"sv, "command"sv,
    "key"sv,     "append"sv, "all_bytes"sv, "fill_packet"sv, "filled"sv, "wire"sv};
inline constexpr std::array kKey = {"name"sv, "append"sv, "exact"sv};
inline constexpr std::array kLiteralTimestamp = {"text"sv};
inline constexpr std::array kNotification = {"client"sv, "key"sv,      "operation"sv,    "value"sv,
                                             "ts"sv,     "within"sv,   "content_type"sv, "qos"sv,
                                             "when"sv,   "optional"sv, "cites"sv};
inline constexpr std::array kOptional = {"writer"sv, "point"sv, "came"sv, "missing"sv};
inline constexpr std::array kSilence = {"client"sv, "writer"sv, "cites"sv, "shows"sv, "when"sv};
inline constexpr std::array kWait = {"until"sv};
inline constexpr std::array kSubscribe = {"client"sv, "filter"sv};
inline constexpr std::array kFillQuota = {"client"sv, "key"sv, "cites"sv};
inline constexpr std::array kWriteMany = {"client"sv, "key"sv, "keys"sv, "reads"sv, "cites"sv};
inline constexpr std::array kFanOut = {"client"sv, "key"sv, "observers"sv, "cites"sv};

// Names in `requires`.
inline constexpr auto kCapabilities =
    joined(std::array{"transport"sv, "quota"sv, "restricted-client"sv, "packet-limit"sv},
           endpoint::kDisturbanceNames,
           made_of(endpoint::kDisturbances,
                   [](const endpoint::DisturbanceKind& kind) { return kind.durable; }),
           std::array{"exact-clock"sv, "many-keys"sv, "raw-packets"sv, "store-in-broker"sv});

}  // namespace fencepost::scenario::fields
