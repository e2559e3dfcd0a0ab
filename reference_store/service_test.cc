// The reference store behind MQTT: exact bytes, properties, order and envelope, in both dialects.
#include "reference_store/service.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "codec/topics.h"

namespace fencepost::store {
namespace {

using namespace std::chrono_literals;
using codec::DialectId;
using codec::Message;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Properties = std::vector<std::pair<std::string, std::string>>;

constexpr std::uint64_t kNoon = 1'696'374'425'000;
constexpr const char* kTimestamp = "1696374425000:0:Client1";
constexpr const char* kResponseTopic =
    "clients/c/services/statestore/_any_/command/invoke/response";
constexpr const char* kNode = "0190f6a5-7c1e-7a44-9b0e-1f1df3c0a8d2";
const std::string kCorrelation("\x01\x90\xf6\xa5\x7c\x1e\x7a\x44\x9b\x0e\x1f\x00\xf3\xc0\xa8\xd2",
                               16);
const std::string kPadded = std::string("001696374425000:00000:") + kNode;

Message request(std::string payload, Properties properties = {{"__ts", kTimestamp}}) {
  Message message;
  message.topic = std::string(codec::kRequestTopic);
  message.payload = std::move(payload);
  message.response_topic = kResponseTopic;
  message.correlation_data = kCorrelation;
  message.user_properties = std::move(properties);
  return message;
}

Message command(const std::vector<std::string_view>& arguments,
                Properties properties = {{"__ts", kTimestamp}}) {
  return request(codec::encode_command(arguments), std::move(properties));
}

// A service whose clocks stand still, and all that it sent.
struct Wire {
  explicit Wire(ServiceOptions options = {}) : service(std::move(options)) {}

  Handling handle(const Message& message, std::string_view client = "c") {
    out.clear();
    return service.handle({.client_id = client}, message, now, out);
  }

  // The response to a request that is answered.
  Message send(const Message& message, std::string_view client = "c") {
    EXPECT_EQ(handle(message, client), Handling::kAnswered);
    if (out.empty()) return {};
    EXPECT_EQ(out.back().client_id, "");
    return out.back().message;
  }

  Service service;
  Instant now{.wall_ms = kNoon, .steady = 0us};
  std::vector<Delivery> out;
};

Message expected_response(std::string payload, Properties properties) {
  Message message;
  message.topic = kResponseTopic;
  message.payload = std::move(payload);
  message.qos = 1;
  message.retain = false;
  message.correlation_data = kCorrelation;
  message.content_type = "application/octet-stream";
  message.payload_format = std::uint8_t{0};
  message.user_properties = std::move(properties);
  return message;
}

// The text of `__ts`, or that there is none.
std::string version_of(const Message& message) {
  const std::string* version = message.property("__ts");
  return version != nullptr ? *version : "no __ts";
}

// One request of a script, and its response.
struct Step {
  std::vector<std::string_view> arguments;
  std::string documented;
  std::string deployed;
  std::string version{};  // wall clock and counter of `__ts` are noon and this; empty: no `__ts`
  Properties properties = {{"__ts", kTimestamp}};
};

Properties response_properties(const std::string& counter, DialectId dialect) {
  Properties properties = {{"__stat", "200"}};
  if (counter.empty()) return properties;
  const std::string text = dialect == DialectId::kDocumented
                               ? "1696374425000:" + counter + ":StateStore"
                               : "001696374425000:0000" + counter + ":StateStore";
  properties.emplace_back("__ts", text);
  return properties;
}

void run(const std::vector<Step>& steps, const ServiceOptions& options) {
  for (const DialectId dialect : codec::kDialects) {
    ServiceOptions with_dialect = options;
    with_dialect.dialect = dialect;
    Wire wire(with_dialect);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      const Message seen = wire.send(command(step.arguments, step.properties));
      const std::string payload =
          dialect == DialectId::kDocumented ? step.documented : step.deployed;
      const Message expected =
          expected_response(payload, response_properties(step.version, dialect));
      EXPECT_EQ(seen, expected) << "step " << i << " in " << codec::dialect(dialect).name << ": "
                                << escape(seen.payload);
    }
  }
}

// ---- Responses

TEST(ServiceResponse, HasTheExactBytesOfEveryOutcome) {
  run({{{"SET", "k", "v"}, "+OK\r\n", "+OK\r\n", "1"},
       {{"SET", "k", "w", "NX"}, "-1\r\n", ":-1\r\n", "1"},
       {{"SET", "k", "w", "NEX"}, "-1\r\n", ":-1\r\n", "1"},
       {{"GET", "k"}, "$1\r\nv\r\n", "$1\r\nv\r\n", "1"},
       {{"SET", "k", "v", "NEX", "PX", "1000"}, "+OK\r\n", "+OK\r\n", "2"},
       {{"GET", "absent"}, "$-1\r\n", "$-1\r\n"},
       {{"SET", "e", ""}, "+OK\r\n", "+OK\r\n", "3"},
       {{"GET", "e"}, "$0\r\n\r\n", "$0\r\n\r\n", "3"},
       {{"VDEL", "k", "w"}, "-1\r\n", ":-1\r\n"},
       {{"VDEL", "k", "v"}, ":1\r\n", ":1\r\n", "2"},
       {{"VDEL", "k", "v"}, ":0\r\n", ":0\r\n"},
       {{"DEL", "e"}, ":1\r\n", ":1\r\n", "3"},
       {{"DEL", "e"}, ":0\r\n", ":0\r\n"},
       {{"KEYNOTIFY", "k"}, "+OK\r\n", "+OK\r\n"},
       {{"KEYNOTIFY", "k", "STOP"}, "+OK\r\n", "+OK\r\n"},
       {{"KEYNOTIFY", "k", "STOP"}, ":0\r\n", ":0\r\n"}},
      {});
}

TEST(ServiceResponse, HasTheExactBytesOfEveryError) {
  const Properties future = {{"__ts", "1696374485001:0:n"}};
  const Properties lower = {{"__ts", kTimestamp}, {"__ft", "4:0:n"}};
  const Properties token = {{"__ts", kTimestamp}, {"__ft", "5:0:n"}};
  const Properties future_token = {{"__ts", kTimestamp}, {"__ft", "1696374485001:0:n"}};
  const auto same = [](const std::string& text) { return "-ERR " + text + "\r\n"; };
  const std::string ahead =
      " is too far in the future; ensure that the client and broker system clocks are synchronized";
  const auto row = [&](std::vector<std::string_view> arguments, const std::string& text,
                       Properties properties = {{"__ts", kTimestamp}}) {
    return Step{std::move(arguments), same(text), same(text), "", std::move(properties)};
  };
  const ServiceOptions options = {
      .store = {.quota = 1, .authorization = Authorization({{{"c"}, {}, {{.keys = {"k*"}}}}})}};
  run({{{"SET", "k", "v"}, "+OK\r\n", "+OK\r\n", "1", token},
       row({"SET", "k", "v"}, "the request timestamp" + ahead, future),
       row({"SET", "k", "v"}, "a fencing token is required for this request"),
       row({"DEL", "k"}, "a fencing token is required for this request"),
       row({"SET", "k", "v"}, "the request fencing token timestamp" + ahead, future_token),
       {{"VDEL", "k", "v"},
        same("the request fencing token is a lower version that the fencing token protecting the "
             "resource"),
        same("the request fencing token is a lower version than the fencing token protecting the "
             "resource"),
        "",
        lower},
       row({"SET", "k2", "v"}, "the quota has been exceeded"),
       row({"SET", "k", "v", "nx"}, "syntax error"),
       row({"GET", "secret"}, "not authorized"),
       row({"get", "k"}, "unknown command"),
       row({"GET", "k", "x"}, "wrong number of arguments"),
       row({"SET", "k", "v"}, "missing timestamp", {}),
       row({"SET", "k", "v"}, "malformed timestamp", {{"__ts", "NotValid"}}),
       row({"DEL", "k"}, "malformed timestamp", {{"__ft", ""}}),
       row({"GET", ""}, "the key length is zero"),
       row({"SET", "", "v"}, "the key length is zero"),
       row({"DEL", ""}, "the key length is zero"),
       row({"VDEL", "", "v"}, "the key length is zero")},
      options);
}

TEST(ServiceResponse, SpellsTheErrorsOfKeynotifyInTheDialect) {
  const ServiceOptions options = {
      .store = {.authorization = Authorization({{{"c"}, {}, {{.keys = {"k"}}}}})}};
  const auto row = [](std::vector<std::string_view> arguments, const std::string& text) {
    return Step{std::move(arguments), "-ERR: " + text + "\r\n", "-ERR " + text + "\r\n"};
  };
  run({row({"KEYNOTIFY", ""}, "the key length is zero"),
       row({"KEYNOTIFY"}, "wrong number of arguments"),
       row({"KEYNOTIFY", "k", "STOP", "x"}, "wrong number of arguments"),
       row({"KEYNOTIFY", "k", "stop"}, "syntax error"),
       row({"KEYNOTIFY", "k", "GET"}, "syntax error"),
       row({"KEYNOTIFY", "secret"}, "not authorized")},
      options);
}

TEST(ServiceResponse, AnswersPayloadsThatAreNoCommandAndForgetsThem) {
  const std::vector<std::string> payloads = {"",
                                             "*",
                                             "*0\r\n",
                                             "GET k\r\n",
                                             "*-1\r\n",
                                             "$-2\r\n",
                                             "*1000000000\r\n",
                                             "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$5\r\nab",
                                             "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nwX\r\n",
                                             "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nw\r\nX",
                                             "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\nw\r\n",
                                             "*2\r\n$3\r\nGET\r\n$4294967297\r\nk\r\n",
                                             "*2\r\n+GET\r\n$1\r\nk\r\n"};
  Wire wire;
  wire.send(command({"SET", "k", "v"}));
  for (const std::string& payload : payloads) {
    EXPECT_EQ(wire.send(request(payload)),
              expected_response("-ERR syntax error\r\n", {{"__stat", "200"}}))
        << escape(payload);
    EXPECT_EQ(wire.send(command({"GET", "k"})).payload, "$1\r\nv\r\n") << escape(payload);
  }
}

TEST(ServiceResponse, RepeatsNoByteOfTheRequest) {
  Wire wire;
  EXPECT_EQ(wire.send(command({"X\r\n+OK", "k"})).payload, "-ERR unknown command\r\n");
  EXPECT_EQ(wire.send(command({"SET", "k", "v", "\r\n+OK"})).payload, "-ERR syntax error\r\n");
}

TEST(ServiceResponse, CarriesBinaryValuesUnchanged) {
  Wire wire;
  const std::vector<std::string> values = {std::string("a\0b", 3), "\r\n$-1\r\n", "\xff\xfe",
                                           std::string(65'537, 'x')};
  for (const std::string& value : values) {
    wire.send(command({"SET", "k", value}));
    EXPECT_EQ(wire.send(command({"GET", "k"})).payload,
              "$" + std::to_string(value.size()) + "\r\n" + value + "\r\n");
  }
}

TEST(ServiceResponse, EchoesTopicAndCorrelationDataOfItsRequest) {
  Wire wire;
  for (const std::string& correlation :
       {std::string(), std::string("\0", 1), std::string(65'535, '\xff'), std::string("x")}) {
    Message message = command({"GET", "k"});
    message.correlation_data = correlation;
    message.response_topic = "some/other/topic";
    const Message response = wire.send(message);
    EXPECT_EQ(response.correlation_data, correlation);
    EXPECT_EQ(response.topic, "some/other/topic");
  }
}

TEST(ServiceResponse, RespectsTheDecoderLimitsOfTheOptions) {
  ServiceOptions options;
  options.limits.max_bulk_bytes = 10;
  Wire wire(options);
  EXPECT_EQ(wire.send(command({"SET", "k", "0123456789"})).payload, "+OK\r\n");
  EXPECT_EQ(wire.send(command({"SET", "k", "0123456789x"})).payload, "-ERR syntax error\r\n");
}

// ---- Timestamps and tokens in user properties

TEST(ServiceProperties, OfOneNameTheLastCounts) {
  Wire wire;
  const Properties good_last = {{"__ts", "bad"}, {"__ts", kTimestamp}};
  const Properties bad_last = {{"__ts", kTimestamp}, {"__ts", "bad"}};
  EXPECT_EQ(wire.send(command({"SET", "k", "v"}, good_last)).payload, "+OK\r\n");
  EXPECT_EQ(wire.send(command({"SET", "k", "v"}, bad_last)).payload,
            "-ERR malformed timestamp\r\n");
  const Properties tokens = {{"__ts", kTimestamp}, {"__ft", "bad"}, {"__ft", "5:0:n"}};
  EXPECT_EQ(wire.send(command({"SET", "k", "v"}, tokens)).payload, "+OK\r\n");
  EXPECT_EQ(wire.send(command({"DEL", "k"}, {{"__ft", "5:0:n"}, {"__ft", "4:0:n"}})).payload,
            "-ERR the request fencing token is a lower version than the fencing token protecting "
            "the resource\r\n");
}

TEST(ServiceProperties, AreFoundByTheirExactName) {
  Wire wire;
  for (const char* name : {"__TS", "_ts", "__ts ", "ts", ""}) {
    EXPECT_EQ(wire.send(command({"SET", "k", "v"}, {{name, kTimestamp}})).payload,
              "-ERR missing timestamp\r\n")
        << name;
  }
}

TEST(ServiceProperties, TheTimestampIsNeitherNeededNorReadWhereNoVersionIsMade) {
  const std::vector<Properties> all = {
      {}, {{"__ts", "bad"}}, {{"__ts", ""}}, {{"__ts", "9999999999999:0:n"}}};
  for (const Properties& properties : all) {
    Wire wire;
    wire.send(command({"SET", "k", "v"}));
    EXPECT_EQ(wire.send(command({"GET", "k"}, properties)).payload, "$1\r\nv\r\n");
    EXPECT_EQ(wire.send(command({"KEYNOTIFY", "k"}, properties)).payload, "+OK\r\n");
    EXPECT_EQ(wire.send(command({"KEYNOTIFY", "k", "STOP"}, properties)).payload, "+OK\r\n");
    EXPECT_EQ(wire.send(command({"VDEL", "k", "w"}, properties)).payload, ":-1\r\n");
    EXPECT_EQ(wire.send(command({"DEL", "k"}, properties)).payload, ":1\r\n");
  }
}

// ---- Notifications

Message expected_notification(std::string topic, std::string payload, std::string version) {
  Message message;
  message.topic = std::move(topic);
  message.payload = std::move(payload);
  message.content_type = "application/octet-stream";
  message.payload_format = std::uint8_t{0};
  message.user_properties = {{"__ts", std::move(version)}};
  return message;
}

constexpr const char* kNotificationTopic =
    "clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/636C69656E742D696431/command/"
    "notify/534F4D454B4559";

TEST(ServiceNotification, HasTheExactTopicPayloadAndVersion) {
  for (const DialectId dialect : codec::kDialects) {
    const bool deployed = dialect == DialectId::kDeployed;
    Wire wire({.dialect = dialect});
    wire.send(command({"KEYNOTIFY", "SOMEKEY"}), "client-id1");
    const Message set = wire.send(command({"SET", "SOMEKEY", "abc"}));
    ASSERT_THAT(wire.out, SizeIs(2));
    EXPECT_EQ(wire.out[0].client_id, "client-id1");
    EXPECT_EQ(
        wire.out[0].message,
        expected_notification(kNotificationTopic,
                              "*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$3\r\nabc\r\n",
                              version_of(set)));
    const Message del = wire.send(command({"DEL", "SOMEKEY"}));
    ASSERT_THAT(wire.out, SizeIs(2));
    EXPECT_EQ(wire.out[0].message,
              expected_notification(kNotificationTopic,
                                    deployed ? "*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n"
                                             : "*2\r\n$6\r\nNOTIFY\r\n$3\r\nDEL\r\n",
                                    version_of(del)));
    EXPECT_EQ(version_of(del), version_of(set));
  }
}

TEST(ServiceNotification, SpellsAnEmptyValueAndBinaryNames) {
  Wire wire;
  const std::string client("\x00\xab\xff", 3);
  wire.send(command({"KEYNOTIFY", "\r\n\xc3"}), client);
  wire.send(command({"SET", "\r\n\xc3", ""}));
  ASSERT_THAT(wire.out, SizeIs(2));
  EXPECT_EQ(wire.out[0].client_id, client);
  EXPECT_EQ(wire.out[0].message.topic,
            "clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/00ABFF/command/notify/"
            "0D0AC3");
  EXPECT_EQ(wire.out[0].message.payload,
            "*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$0\r\n\r\n");
}

TEST(ServiceNotification, PrecedesTheResponseAlsoForTheWriterItself) {
  Wire wire;
  wire.send(command({"KEYNOTIFY", "k"}), "c");
  wire.send(command({"KEYNOTIFY", "k"}), "d");
  wire.send(command({"SET", "k", "v"}), "c");
  ASSERT_THAT(wire.out, SizeIs(3));
  EXPECT_EQ(wire.out[0].client_id, "c");
  EXPECT_EQ(wire.out[1].client_id, "d");
  EXPECT_EQ(wire.out[2].message.payload, "+OK\r\n");
}

TEST(ServiceNotification, IsSentOnceAndNotAgainWithTheNextRequest) {
  Wire wire;
  wire.send(command({"KEYNOTIFY", "k"}));
  wire.send(command({"SET", "k", "v"}));
  EXPECT_THAT(wire.out, SizeIs(2));
  wire.send(command({"GET", "k"}));
  EXPECT_THAT(wire.out, SizeIs(1));
}

TEST(ServiceNotification, OfAnExpiryComesWithTheTimerOrWithTheNextRequest) {
  for (const bool timer : {true, false}) {
    Wire wire;
    wire.send(command({"KEYNOTIFY", "SOMEKEY"}), "client-id1");
    const Message set = wire.send(command({"SET", "SOMEKEY", "v", "PX", "10"}));
    EXPECT_EQ(wire.service.next_expiry(), 10ms);
    wire.now.steady += 10ms;
    wire.out.clear();
    if (timer) {
      wire.service.expire(wire.now, wire.out);
      ASSERT_THAT(wire.out, SizeIs(1));
    } else {
      EXPECT_EQ(wire.send(command({"GET", "SOMEKEY"})).payload, "$-1\r\n");
      ASSERT_THAT(wire.out, SizeIs(2));
    }
    EXPECT_EQ(wire.out[0].client_id, "client-id1");
    EXPECT_EQ(wire.out[0].message,
              expected_notification(kNotificationTopic, "*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n",
                                    version_of(set)));
    EXPECT_EQ(wire.service.key_count(), 0U);
    EXPECT_EQ(wire.service.next_expiry(), std::nullopt);
  }
}

TEST(ServiceNotification, EndsWhenTheClientDisconnects) {
  Wire wire;
  wire.send(command({"KEYNOTIFY", "k"}), "c");
  wire.send(command({"KEYNOTIFY", "k"}), "d");
  wire.service.disconnect("c");
  wire.send(command({"SET", "k", "v"}), "c");
  ASSERT_THAT(wire.out, SizeIs(2));
  EXPECT_EQ(wire.out[0].client_id, "d");
}

// The longest key that can be observed makes the longest topic that there is.
TEST(ServiceNotification, ReachesTheLongestTopic) {
  Wire wire;
  const std::string key(32'730 - 1, 'k');
  EXPECT_EQ(wire.send(command({"KEYNOTIFY", key})).payload, "+OK\r\n");
  EXPECT_EQ(wire.send(command({"KEYNOTIFY", key + "k"})).payload, "-ERR syntax error\r\n");
  wire.send(command({"SET", key, "v"}));
  ASSERT_THAT(wire.out, SizeIs(2));
  EXPECT_EQ(wire.out[0].message.topic.size(), codec::kMaxTopicBytes);
}

// ---- Envelope

TEST(ServiceEnvelope, ServesTheRequestTopicAlone) {
  const Service service;
  EXPECT_TRUE(service.serves(codec::kRequestTopic));
  for (const std::string& topic : {std::string(), std::string(codec::kRequestTopic) + "/response",
                                   std::string(kResponseTopic)}) {
    EXPECT_FALSE(service.serves(topic)) << topic;
  }
}

TEST(ServiceEnvelope, IgnoresRequestsThatAreNotQos1OrCannotBeAnswered) {
  std::vector<Message> messages(4, command({"SET", "k", "v"}));
  messages[0].qos = 0;
  messages[1].qos = 2;
  messages[2].response_topic.reset();
  messages[3].correlation_data.reset();
  for (const Message& message : messages) {
    Wire wire;
    EXPECT_EQ(wire.handle(message), Handling::kIgnored) << message.qos;
    EXPECT_THAT(wire.out, IsEmpty());
    EXPECT_EQ(wire.service.key_count(), 0U);
  }
}

TEST(ServiceEnvelope, DisconnectsForAnIllegalResponseTopic) {
  const std::string prefix(codec::kStorePrefix);
  const std::vector<std::string> topics = {"",
                                           std::string(codec::kRequestTopic),
                                           prefix,
                                           prefix + "/63/command/notify/6B",
                                           prefix + "x",
                                           "a/+/b",
                                           "a/#",
                                           "$SYS/x",
                                           "$share/g/t",
                                           std::string("a\0b", 3),
                                           std::string(65'536, 'x')};
  for (const std::string& topic : topics) {
    for (const int qos : {0, 1}) {
      Wire wire;
      Message message = command({"SET", "k", "v"});
      message.response_topic = topic;
      message.qos = qos;
      EXPECT_EQ(wire.handle(message), Handling::kDisconnect) << escape(topic, 80);
      EXPECT_THAT(wire.out, IsEmpty());
      EXPECT_EQ(wire.service.key_count(), 0U);
    }
  }
}

TEST(ServiceEnvelope, AcceptsResponseTopicsThatOnlyLookIllegal) {
  const std::vector<std::string> topics = {
      "clients/c/services/statestore/_any_/command/invoke/response",
      "clients/636C/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke/response",
      "clients/c/services/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke/"
      "response",
      "clients/c/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke",
      "clients/statestore/v1/fa9ae35f-2f64-47cd-9bff-08e2b32a0fe8/x",
      "statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke/x",
      "x",
      "/",
      std::string(65'535, 'x')};
  for (const std::string& topic : topics) {
    Wire wire;
    Message message = command({"SET", "k", "v"});
    message.response_topic = topic;
    EXPECT_EQ(wire.send(message).topic, topic) << escape(topic, 80);
  }
}

TEST(ServiceEnvelope, TellsNoTwoClientsApartByTheirCorrelationData) {
  Wire wire;
  const Message first = wire.send(command({"SET", "k", "v"}), "c");
  const Message second = wire.send(command({"SET", "k", "v"}), "d");
  EXPECT_NE(version_of(first), version_of(second));
}

// ---- Requests as the public client SDKs send them

// Everything but payload and `__ft`; `client` is the MQTT client id.
Properties sdk_properties(const std::string& client) {
  return {{"__protVer", "1.0"},       {"__srcId", client}, {"$partition", client},
          {"$high_priority", ""},     {"__ts", kPadded},   {"__invId", client},
          {"aio-persistence", "true"}};
}

Message sdk_request(const std::string& payload, Properties properties) {
  Message message = request(payload, std::move(properties));
  message.response_topic =
      "clients/636C/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke/response";
  message.content_type = "application/octet-stream";
  message.payload_format = std::uint8_t{0};
  message.expiry_seconds = 10;
  return message;
}

TEST(ServiceSdk, PropertiesMayComeInAnyOrder) {
  Properties properties = sdk_properties("cl");
  properties.emplace_back("__ft", "000000000000005:00001:" + std::string(kNode));
  const std::string payload = "*3\r\n$3\r\nSET\r\n$7\r\nSETKEY2\r\n$6\r\nVALUE5\r\n";
  std::sort(properties.begin(), properties.end());
  int orders = 0;
  do {
    // Every seventh order is enough: it puts each property into each place.
    if (++orders % 7 != 0) continue;
    Wire wire;
    const Message response = wire.send(sdk_request(payload, properties));
    ASSERT_EQ(response.payload, "+OK\r\n");
    ASSERT_EQ(response.user_properties,
              (Properties{{"__stat", "200"}, {"__ts", "001696374425000:00001:StateStore"}}));
  } while (std::next_permutation(properties.begin(), properties.end()));
}

TEST(ServiceSdk, CommandsAreUnderstoodByteForByte) {
  const std::vector<std::pair<std::string, std::string>> exchanges = {
      {"*3\r\n$3\r\nSET\r\n$7\r\nSETKEY2\r\n$6\r\nVALUE5\r\n", "+OK\r\n"},
      {"*2\r\n$3\r\nGET\r\n$7\r\nSETKEY2\r\n", "$6\r\nVALUE5\r\n"},
      {"*3\r\n$4\r\nVDEL\r\n$7\r\nSETKEY2\r\n$3\r\nABC\r\n", ":-1\r\n"},
      {"*2\r\n$3\r\nDEL\r\n$7\r\nSETKEY2\r\n", ":1\r\n"},
      {"*4\r\n$3\r\nSET\r\n$7\r\ntestkey\r\n$9\r\ntestvalue\r\n$2\r\nNX\r\n", "+OK\r\n"},
      {"*4\r\n$3\r\nSET\r\n$7\r\ntestkey\r\n$9\r\ntestvalue\r\n$3\r\nNEX\r\n", "+OK\r\n"},
      {"*5\r\n$3\r\nSET\r\n$7\r\ntestkey\r\n$9\r\ntestvalue\r\n$2\r\nPX\r\n$2\r\n10\r\n",
       "+OK\r\n"},
      {"*6\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n$2\r\nNX\r\n$2\r\nPX\r\n$4\r\n1000\r\n",
       "+OK\r\n"},
      {"*6\r\n$3\r\nSET\r\n$3\r\nkey\r\n$5\r\nvalue\r\n$3\r\nNEX\r\n$2\r\nPX\r\n$4\r\n1000\r\n",
       "+OK\r\n"},
      {"*3\r\n$3\r\nSET\r\n$3\r\nkey\r\n$0\r\n\r\n", "+OK\r\n"},
      {"*3\r\n$3\r\nSET\r\n$0\r\n\r\n$0\r\n\r\n", "-ERR the key length is zero\r\n"},
      {"*2\r\n$9\r\nKEYNOTIFY\r\n$3\r\nkey\r\n", "+OK\r\n"},
      {"*3\r\n$9\r\nKEYNOTIFY\r\n$3\r\nkey\r\n$4\r\nSTOP\r\n", "+OK\r\n"}};
  Wire wire;
  for (const auto& [payload, reply] : exchanges) {
    EXPECT_EQ(wire.send(sdk_request(payload, sdk_properties("cl"))).payload, reply)
        << escape(payload);
  }
}

TEST(ServiceSdk, AnExpiryOfZeroIsLegal) {
  for (const DialectId dialect : codec::kDialects) {
    Wire wire({.dialect = dialect});
    EXPECT_EQ(wire.send(command({"SET", "k", "v", "PX", "0"})).payload, "+OK\r\n");
    EXPECT_EQ(wire.send(command({"GET", "k"})).payload, "$-1\r\n");
  }
}

TEST(ServiceSdk, AFractionalExpiryIsCutInTheDeployedDialectAndRefusedInTheOther) {
  Wire deployed;
  EXPECT_EQ(deployed.send(command({"SET", "k", "v", "PX", "1500.5"})).payload, "+OK\r\n");
  EXPECT_EQ(deployed.service.next_expiry(), 1500ms);
  deployed.now.steady += 1499ms;
  EXPECT_EQ(deployed.send(command({"GET", "k"})).payload, "$1\r\nv\r\n");
  deployed.now.steady += 1ms;
  EXPECT_EQ(deployed.send(command({"GET", "k"})).payload, "$-1\r\n");
  Wire documented({.dialect = DialectId::kDocumented});
  EXPECT_EQ(documented.send(command({"SET", "k", "v", "PX", "1500.5"})).payload,
            "-ERR syntax error\r\n");
}

TEST(ServiceSdk, ExpiriesThatAreNoNumberOrTooLargeAreRefused) {
  Wire wire;
  wire.send(command({"SET", "k", "v"}));
  const std::string longest = std::to_string(codec::kMaxExpiry.count());
  const std::string too_long = std::to_string(codec::kMaxExpiry.count() + 1);
  for (const std::string& px :
       {std::string("-1"), std::string("+5"), std::string("abc"), std::string(),
        std::string("1E+16"), std::string("1500,5"), std::string("9223372036854775807"),
        std::string("99999999999999999999"), too_long}) {
    EXPECT_EQ(wire.send(command({"SET", "k", "w", "PX", px})).payload, "-ERR syntax error\r\n")
        << px;
    EXPECT_EQ(wire.send(command({"GET", "k"})).payload, "$1\r\nv\r\n") << px;
  }
  EXPECT_EQ(wire.send(command({"SET", "k", "w", "PX", longest})).payload, "+OK\r\n");
  EXPECT_EQ(wire.send(command({"GET", "k"})).payload, "$1\r\nw\r\n");
}

TEST(ServiceSdk, ALockIsTakenRenewedAndReleased) {
  Wire wire;
  const auto lock = [&](const char* holder) {
    return wire.send(command({"SET", "LockName", holder, "NEX", "PX", "10000"}));
  };
  const Message taken = lock("Client1");
  EXPECT_EQ(taken.payload, "+OK\r\n");
  EXPECT_EQ(lock("Client2").payload, ":-1\r\n");
  const Message renewed = lock("Client1");
  EXPECT_EQ(renewed.payload, "+OK\r\n");
  const Properties old_token = {{"__ts", kTimestamp}, {"__ft", version_of(taken)}};
  const Properties token = {{"__ts", kTimestamp}, {"__ft", version_of(renewed)}};
  EXPECT_EQ(wire.send(command({"SET", "ProtectedKey", "v"}, token)).payload, "+OK\r\n");
  EXPECT_THAT(wire.send(command({"SET", "ProtectedKey", "v"}, old_token)).payload,
              ::testing::StartsWith("-ERR the request fencing token is a lower version than"));
  EXPECT_EQ(wire.send(command({"VDEL", "LockName", "Client2"})).payload, ":-1\r\n");
  EXPECT_EQ(wire.send(command({"VDEL", "LockName", "Client1"})).payload, ":1\r\n");
  EXPECT_EQ(lock("Client2").payload, "+OK\r\n");
}

}  // namespace
}  // namespace fencepost::store
