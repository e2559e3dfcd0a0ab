// A scenario case, as it is run: what scenarios/FORMAT.md describes, loaded and checked. Data only:
// values without pointers, which threads may share as long as nobody changes them.
//
// What the loader has checked, and code that runs a Case may take for granted: ids are unique in a
// library; each name in `requirements` exists; each client that a step names is one of `clients`;
// a mark or a saved timestamp is made by an earlier step than the first that uses it. Code
// that builds a Case without the loader (record, canary, tests) keeps the same rules.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "codec/command.h"
#include "codec/dialect.h"
#include "codec/error_code.h"
#include "codec/notification.h"
#include "codec/reply.h"
#include "endpoint/disturbance.h"
#include "endpoint/mqtt_extras.h"

namespace fencepost::scenario {

struct Position {
  std::string file;
  int line = 0;    // from 1; 0 when unknown
  int column = 0;  // from 1
};

// Bytes that may depend on the case that runs them: keys get the case's own prefix.
struct BytesSpec;
struct LiteralBytes {
  std::string bytes;
  friend bool operator==(const LiteralBytes&, const LiteralBytes&) = default;
};
// Many bytes, which are made where they are needed: so that starting the program does not
// wait for all megabytes of all cases.
struct LongBytes {
  std::string unit;      // repeated; empty: `0,1,2,3,` and so on
  std::size_t size = 0;  // of all, in bytes; a multiple of the unit's
  friend bool operator==(const LongBytes&, const LongBytes&) = default;
};
struct KeyBytes {
  std::string name;    // symbolic: becomes <case prefix><name><append>
  std::string append;  // arbitrary bytes after the name
  friend bool operator==(const KeyBytes&, const KeyBytes&) = default;
};
struct JoinedBytes {
  std::vector<BytesSpec> parts;
  friend bool operator==(const JoinedBytes&, const JoinedBytes&);
};
struct CommandBytes {
  std::vector<BytesSpec> arguments;  // encoded as an array of bulk strings
  friend bool operator==(const CommandBytes&, const CommandBytes&);
};
// As many bytes as make the packet of the request that they stand in as large as the broker takes,
// and `excess` more.
struct FillBytes {
  std::int64_t excess = 0;
  bool again = false;  // those that the last such request had, wherever they stand now
  friend bool operator==(const FillBytes&, const FillBytes&) = default;
};
// Bytes of any form, right or wrong, around whole keys and their lengths: what `command` makes of a
// key is always right.
struct WireBytes {
  struct Piece {
    std::string bytes;        // before the key
    std::string key{};        // its name; empty: there is none
    bool is_length = false;   // the number of its bytes stands here, and not the key
    std::int64_t change = 0;  // what is added to its length, or how many of its last bytes go: -2
    friend bool operator==(const Piece&, const Piece&) = default;
  };
  std::vector<Piece> pieces;
  friend bool operator==(const WireBytes&, const WireBytes&) = default;
};
struct BytesSpec {
  std::variant<LiteralBytes, LongBytes, KeyBytes, JoinedBytes, CommandBytes, FillBytes, WireBytes>
      what;
  friend bool operator==(const BytesSpec&, const BytesSpec&);
};

// `now + 61s`, `v1`, `v1 - 1ms`, `v1 counter + 1`, `v1 node "B"`.
struct TimestampExpression {
  std::string base;  // "now", "skew-limit", or a name saved earlier
  std::int64_t offset_ms = 0;
  std::int64_t counter_offset = 0;
  std::optional<std::uint64_t> counter{};  // replaces the base's
  std::optional<std::string> node{};       // replaces the base's
  friend bool operator==(const TimestampExpression&, const TimestampExpression&) = default;
};
struct NoTimestamp {
  friend bool operator==(const NoTimestamp&, const NoTimestamp&) = default;
};
struct LiteralTimestamp {
  std::string text;
  friend bool operator==(const LiteralTimestamp&, const LiteralTimestamp&) = default;
};
using TimestampSpec = std::variant<NoTimestamp, LiteralTimestamp, TimestampExpression>;

// One acceptable outcome of a request.
struct AnyError {  // any reply that begins with -ERR
  friend bool operator==(const AnyError&, const AnyError&) = default;
};
struct NoReply {  // proved by a later request that is answered
  friend bool operator==(const NoReply&, const NoReply&) = default;
};
struct Disconnection {
  friend bool operator==(const Disconnection&, const Disconnection&) = default;
};
struct ExactBytes {
  BytesSpec bytes;
  friend bool operator==(const ExactBytes&, const ExactBytes&) = default;
};
struct ErrorReply {
  codec::ErrorCode code;
  friend bool operator==(const ErrorReply&, const ErrorReply&) = default;
};
struct ValueReply {
  BytesSpec value;
  friend bool operator==(const ValueReply&, const ValueReply&) = default;
};
struct CountReply {
  std::int64_t count;
  friend bool operator==(const CountReply&, const CountReply&) = default;
};
struct PlainReply {
  codec::ReplyKind kind;  // kOk, kNotApplied or kMissing
  friend bool operator==(const PlainReply&, const PlainReply&) = default;
};
struct Outcome {
  std::variant<PlainReply, ValueReply, CountReply, ErrorReply, ExactBytes, AnyError, NoReply,
               Disconnection>
      what;
  std::string name{};                         // of an open outcome: reported as observed
  std::string after{};                        // expected if Expectation::by had this outcome
  std::optional<codec::DialectId> only_in{};  // judged by this dialect alone
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// What the `__ts` of a reply or notification must be. At most one of `absent` and `present`; the
// others imply that it is present.
struct TimestampCheck {
  bool absent = false;
  bool present = false;
  std::optional<std::string> save{};
  std::optional<std::string> equals{};
  std::map<std::string, std::string> of_value{};  // the value in the reply -> what it equals
  std::vector<std::string> greater_than{};        // saved names; "sent" is the request's own
  friend bool operator==(const TimestampCheck&, const TimestampCheck&) = default;
};

// How long after a mark something may count as evidence, or is waited for.
struct TimePoint {
  std::string mark;
  bool after_reply =
      false;  // counted from the reply to the marked request rather than from its sending
  std::chrono::milliseconds offset{0};
  friend bool operator==(const TimePoint&, const TimePoint&) = default;
};

struct Expectation {
  std::vector<Outcome> outcomes{};  // any of them; empty: any well-formed reply
  bool open = false;                // unspecified: the outcome that is seen is reported
  // The mark of an earlier request with open outcomes: which of them it had decides which of these
  // are expected. Each has an `after` then.
  std::string by{};
  std::optional<TimestampCheck> timestamp{};
  std::map<std::string, std::string> user_properties{};
  std::optional<std::string> content_type{};
  std::optional<int> payload_format{};
  std::optional<TimePoint> before{};  // a reply after this proves nothing: inconclusive
  std::string cites{};                // requirement id; the case's first when empty
  // Is an outcome of this kind (NoReply, Disconnection, ...) among them?
  template <typename Kind>
  [[nodiscard]] bool allows() const {
    return std::any_of(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) {
      return std::holds_alternative<Kind>(outcome.what);
    });
  }
  friend bool operator==(const Expectation&, const Expectation&) = default;
};

// How the packet of a request differs from what a client library makes of it.
struct PacketSpec {
  bool duplicate = false;
  bool qos_3 = false;  // there is none
  std::optional<std::uint16_t> id{};
  std::optional<std::uint16_t> topic_alias{};
  std::vector<std::string> twice{};  // names of members: the properties that it has once more
  std::string more_properties{};     // bytes behind all others, which their length counts
  std::int32_t wrong_length = 0;     // what that length says too much
  friend bool operator==(const PacketSpec&, const PacketSpec&) = default;
};

// A PUBLISH to the store, and what must come back. `no_response_topic` and `no_correlation` leave
// the property out; the member before it is not set then.
struct RequestStep {
  std::string client;
  BytesSpec payload;
  TimestampSpec timestamp;  // `__ts`
  TimestampSpec token;      // `__ft`
  int qos = 1;
  bool retain = false;
  std::optional<BytesSpec> topic{};           // default: the request topic
  std::optional<BytesSpec> response_topic{};  // default: the client's own
  bool no_response_topic = false;
  std::optional<BytesSpec> correlation{};  // default: 16 fresh bytes
  bool no_correlation = false;
  std::optional<std::string> content_type{};
  std::optional<std::uint8_t> payload_format{};
  std::optional<std::uint32_t> expiry_seconds{};
  std::vector<std::pair<std::string, std::string>> user_properties{};  // before __ts and __ft
  std::optional<PacketSpec> packet{};
  std::string mark{};
  Expectation expect{};
  std::vector<BytesSpec> written_keys{};  // what the case has to remove in the end
  friend bool operator==(const RequestStep&, const RequestStep&) = default;
};

// Requests sent without waiting in between; then each reply is awaited and judged.
struct PipelineStep {
  std::vector<RequestStep> requests;
  friend bool operator==(const PipelineStep&, const PipelineStep&) = default;
};

// That a request had one of these open outcomes.
struct OutcomeSeen {
  std::string mark;
  std::vector<std::string> outcomes;
  friend bool operator==(const OutcomeSeen&, const OutcomeSeen&) = default;
};

// A notification that need not come: whether it does is a choice of the store.
struct Optional {
  std::string writer;  // who writes a fence, behind which it cannot come any more
  std::string point;   // the open requirement
  std::string came;    // its outcomes
  std::string missing;
  friend bool operator==(const Optional&, const Optional&) = default;
};

struct NotificationStep {
  std::string client;
  BytesSpec key;
  codec::Operation operation = codec::Operation::kSet;
  std::optional<BytesSpec> value{};
  std::optional<TimestampCheck> timestamp{};
  std::optional<std::string> content_type{};
  std::optional<int> qos{};
  std::chrono::milliseconds within{5'000};
  std::optional<OutcomeSeen> when{};  // otherwise there is none
  std::optional<Optional> optional{};
  std::string cites{};
  friend bool operator==(const NotificationStep&, const NotificationStep&) = default;
};

// Nothing more has arrived for this client: a fence proves it.
struct SilenceStep {
  std::string client;  // whose silence
  std::string writer;  // who writes the fence
  std::string cites{};
  std::map<std::string, std::string> shows{};  // open requirement -> its outcome, if it is silent
  std::optional<OutcomeSeen> when{};           // otherwise nothing is proved
  friend bool operator==(const SilenceStep&, const SilenceStep&) = default;
};

// Exactly one of the two.
struct WaitStep {
  std::optional<std::chrono::milliseconds> duration{};
  std::optional<TimePoint> until{};
  friend bool operator==(const WaitStep&, const WaitStep&) = default;
};
struct ConnectStep {
  std::string client;
  friend bool operator==(const ConnectStep&, const ConnectStep&) = default;
};
struct DisconnectStep {
  std::string client;
  bool drop = false;
  friend bool operator==(const DisconnectStep&, const DisconnectStep&) = default;
};
// Subscribes to any topic, e.g. to see retained messages.
struct SubscribeStep {
  std::string client;
  BytesSpec filter;
  friend bool operator==(const SubscribeStep&, const SubscribeStep&) = default;
};
// Ends the subscription to its notifications.
struct UnsubscribeStep {
  std::string client;
  friend bool operator==(const UnsubscribeStep&, const UnsubscribeStep&) = default;
};
// Writes new keys until the store refuses one because of its quota.
struct FillQuotaStep {
  std::string client;
  std::string key;  // symbolic name: keys are <name>-0, <name>-1, ...
  std::string cites{};
  friend bool operator==(const FillQuotaStep&, const FillQuotaStep&) = default;
};
// Writes new keys, each with a value of its own, and reads all of them back.
struct WriteManyStep {
  std::string client;
  std::string key;        // symbolic name: keys are <name>-0, <name>-1, ...
  std::size_t keys = 0;   // how many
  std::size_t reads = 1;  // of each key
  std::string cites{};
  std::string ending{};  // of what is read and was not written: a wrong expectation of a canary
  friend bool operator==(const WriteManyStep&, const WriteManyStep&) = default;
};
// N extra clients observe one key; each must get every notification exactly once.
struct FanOutStep {
  std::string client;  // who writes
  std::string key;     // symbolic name
  std::size_t observers = 0;
  std::string cites{};
  std::string ending{};  // of the value in their notifications: a wrong expectation of a canary
  friend bool operator==(const FanOutStep&, const FanOutStep&) = default;
};
struct DisturbStep {
  const endpoint::DisturbanceKind* kind = nullptr;  // of the table
  friend bool operator==(const DisturbStep&, const DisturbStep&) = default;
};

struct Step {
  Position position{};
  std::string title{};  // the action, as files call it: "set", "get", ...
  std::variant<RequestStep, PipelineStep, NotificationStep, SilenceStep, WaitStep, ConnectStep,
               DisconnectStep, SubscribeStep, UnsubscribeStep, FillQuotaStep, WriteManyStep,
               FanOutStep, DisturbStep>
      what;
  std::string note{};  // for readers of the file
  // Wherever it stands.
  friend bool operator==(const Step& left, const Step& right);
};

// What the broker publishes when the connection of a client is lost.
struct Will {
  BytesSpec topic;
  BytesSpec payload;
  friend bool operator==(const Will&, const Will&) = default;
};

struct ClientSpec {
  std::string name;
  std::string role{};
  bool observes = false;   // subscribes to its notifications
  bool subscribes = true;  // subscribes to its response topic
  bool clean_start = true;
  std::uint32_t session_expiry_seconds = 0;
  // The value in its CONNECT; 0: what the client library takes, and no limit.
  std::uint16_t receive_maximum = 0;
  std::uint32_t max_packet_size = 0;
  std::optional<Will> will{};
  std::string same_id_as{};  // shares another client's MQTT client id: session takeover
  endpoint::MqttExtras extras{};
  bool drops = false;  // a step drops its connection
  bool old = false;    // speaks MQTT 3.1.1
  friend bool operator==(const ClientSpec&, const ClientSpec&) = default;
};

// What one axis of a family of cases is in one of its members.
struct AxisBinding {
  std::string axis;
  std::string value;
  friend bool operator==(const AxisBinding&, const AxisBinding&) = default;
};

// Where a case comes from, and how it failed there, if it did, so that `replay` can say
// whether it still does.
struct Recorded {
  std::string by;          // explore, record or hand
  std::string when{};      // 2026-01-01T00:00:00Z
  std::string endpoint{};  // a URL without password
  std::optional<std::uint64_t> seed{};
  // The failure: one of these two at least, or none of the five.
  std::string requirement{};
  std::string signature{};  // see run/failure.h
  std::string message{};
  std::string expected{};
  std::string actual{};

  [[nodiscard]] bool failed() const { return !requirement.empty() || !signature.empty(); }
  friend bool operator==(const Recorded&, const Recorded&) = default;
};

struct Case {
  std::string id;
  std::string area;
  std::string title;
  std::vector<std::string> requirements;
  std::set<codec::Divergence> divergences;  // declared
  std::vector<std::string> requires_;       // capabilities (`requires` is a keyword): capability.h
  std::vector<std::string> tags;
  bool exclusive = false;  // runs while no other case does
  std::vector<ClientSpec> clients;
  std::vector<Step> steps;
  Position position;
  std::string source{};  // its lines in the file, from `position.line` on
  std::string family{};  // the id that its members have in common; empty for a case without axes
  std::vector<AxisBinding> axes{};  // which member it is, in the order of the axes
  std::optional<Recorded> recorded{};
  std::string note{};  // for readers of the file

  // How long its waits take at least, and how often it waits for a reply: cases are started longest
  // first.
  [[nodiscard]] std::chrono::milliseconds expected_wait() const;
  [[nodiscard]] std::size_t exchanges() const;

  // Do both say the same? Where they stand in which file does not count, nor does `source`.
  friend bool operator==(const Case& left, const Case& right);
};

}  // namespace fencepost::scenario
