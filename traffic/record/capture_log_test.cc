#include "traffic/record/capture_log.h"

#include <string>
#include <utility>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::record {
namespace {

using std::chrono::microseconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kStart = R"({"event":"start","time_us":1,"version":2,"clock_offset_ms":-1000})";

TEST(CaptureLog, ReadsWhatThePluginWrites) {
  const std::string request =
      R"({"event":"request","time_us":2,"client":"c","message":{"topic":"t",)"
      R"("payload":"\\x00\\xff","qos":2,"retain":false,"correlation_data":"",)"
      R"("user_properties":[["a","b"],["a","c"]]}})";
  const auto capture = read_capture_log(kStart + "\n" + request + "\n" + R"({"event":"requ)");
  ASSERT_TRUE(capture.has_value()) << capture.error();
  ASSERT_THAT(capture->events, SizeIs(1));
  const auto& message = std::get<CapturedMessage>(capture->events[0]);
  EXPECT_EQ(message.message.payload, std::string("\0\xff", 2));
  EXPECT_EQ(message.message.qos, 2);
  EXPECT_EQ(message.message.correlation_data, "");
  EXPECT_THAT(message.message.user_properties, SizeIs(2));
  EXPECT_LT(capture->clock->high_ms, 0);
}

TEST(CaptureLog, SaysWhichLineIsWrongAndWhere) {
  const std::string message = R"({"topic":"t","payload":"","qos":1,"retain":false})";
  const std::pair<std::string, std::string> rows[] = {
      {"", "it is not JSON"},
      {"{", "it is not JSON"},
      {"[]", "/: must be an object, not an array"},
      {R"({"event":"dance","time_us":1})", "an unknown event: dance"},
      {R"({"event":"start","version":1,"clock_offset_ms":0})", "the log is of another version"},
      {R"({"event":"start","version":2})", "/: has no member \"clock_offset_ms\""},
      {R"({"event":"request","time_us":1,"client":"c"})", "/: has no member \"message\""},
      {R"({"event":"request","time_us":1,"client":"c","message":)" + message + "}",
       "/message: has no member \"user_properties\""},
      {R"({"event":"disconnect","time_us":"1","client":"c"})",
       "/time_us: must be a whole number, 0 or greater, not \"1\""}};
  for (const auto& [wrong, why] : rows) {
    const auto capture = read_capture_log(wrong + "\n");
    ASSERT_FALSE(capture.has_value()) << wrong;
    EXPECT_THAT(capture.error(), HasSubstr("line 1: ")) << wrong;
    EXPECT_THAT(capture.error(), HasSubstr(why)) << wrong;
  }
}

TEST(CaptureLog, KnowsWhatABrokerSees) {
  const auto capture = read_capture_log(kStart + "\n");
  ASSERT_TRUE(capture) << capture.error();
  EXPECT_THAT(capture->events, IsEmpty());
  EXPECT_TRUE(capture->from_start);
  EXPECT_TRUE(capture->in_order);
  EXPECT_TRUE(capture->sees_replies);
  EXPECT_TRUE(capture->sees_notifications);
  EXPECT_TRUE(capture->sees_packets);
  // Both clocks are read to the millisecond.
  EXPECT_EQ(capture->clock->low_ms, -1003);
  EXPECT_EQ(capture->clock->high_ms, -997);
}

TEST(CaptureLog, TellsDeliveriesAndEndsOfConnections) {
  const auto capture = read_capture_log(
      R"({"event":"delivery","time_us":5,"client":"c","message":{"topic":"t","payload":"",)"
      R"("qos":1,"retain":false,"user_properties":[]}})"
      "\n"
      R"({"event":"disconnect","time_us":6,"client":"c","by_store":true})"
      "\n"
      R"({"event":"disconnect","time_us":7,"client":"d"})"
      "\n");
  ASSERT_TRUE(capture) << capture.error();
  ASSERT_THAT(capture->events, SizeIs(3));
  const auto& delivery = std::get<CapturedMessage>(capture->events[0]);
  EXPECT_EQ(delivery.direction, CaptureDirection::kToClient);
  EXPECT_EQ(delivery.client_id, "c");
  EXPECT_TRUE(delivery.client_known);
  const auto& ended = std::get<CapturedConnection>(capture->events[1]);
  EXPECT_EQ(ended.client_id, "c");
  EXPECT_TRUE(ended.by_store);
  EXPECT_FALSE(ended.begins);
  EXPECT_FALSE(std::get<CapturedConnection>(capture->events[2]).by_store);
  EXPECT_EQ(time_of(capture->events[0]), microseconds{5});
  EXPECT_EQ(time_of(capture->events[2]), microseconds{7});
}

TEST(CaptureLog, HasOneStore) {
  const auto twice = read_capture_log(kStart + "\n" + kStart + "\n");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error(),
            "line 2: the log has more than one store: record each store to its own file");
}

TEST(CaptureLog, RemarksOnWhatNoScenarioIsMadeOf) {
  CaptureLog log;
  EXPECT_FALSE(log.add_line(R"({"event":"elsewhere","client":"c","topic":"t"})"));
  ASSERT_TRUE(log.remark());
  EXPECT_EQ(log.remark()->kind, LogRemark::Kind::kElsewhere);
  EXPECT_EQ(log.remark()->client_id, "c");
  EXPECT_EQ(log.remark()->text, "t");
  EXPECT_FALSE(log.add_line(R"({"event":"control","client":"d","text":"what came of it"})"));
  EXPECT_EQ(log.remark()->kind, LogRemark::Kind::kControl);
  EXPECT_EQ(log.remark()->text, "what came of it");
  EXPECT_FALSE(log.add_line(R"({"event":"disconnect","time_us":7,"client":"d"})"));
  EXPECT_FALSE(log.remark());  // the last line was none
  EXPECT_THAT(log.capture().events, SizeIs(1));
}

TEST(CaptureLog, LeavesALineOutThatIsWrongAndGoesOn) {
  CaptureLog log;
  EXPECT_TRUE(log.add_line(R"({"event":"disconnect","client":"d"})"));
  EXPECT_FALSE(log.add_line(R"({"event":"disconnect","time_us":7,"client":"d"})"));
  EXPECT_THAT(log.capture().events, SizeIs(1));
  log.forget_events();
  EXPECT_THAT(log.capture().events, IsEmpty());
  EXPECT_TRUE(log.capture().from_start);
}

TEST(CaptureLog, OfNoWholeLineIsEmpty) {
  for (const std::string& content : {std::string(), kStart}) {
    const auto capture = read_capture_log(content);
    ASSERT_FALSE(capture);
    EXPECT_EQ(capture.error(), "the file is empty");
  }
}

// They are added to each other, and to what a key may live.
TEST(CaptureLog, RefusesTimesThatNoClockHas) {
  const auto error_of = [](const std::string& line) {
    const auto capture = read_capture_log(line + "\n");
    return capture ? std::string() : capture.error();
  };
  const std::string end = R"(,"client":"c"})";
  const std::string disconnect = R"({"event":"disconnect","time_us":)";
  EXPECT_EQ(error_of(disconnect + "1000000000000000000" + end), "");
  EXPECT_THAT(error_of(disconnect + "1000000000000000001" + end), HasSubstr("/time_us: must be"));
  const std::string start = R"({"event":"start","version":2,"clock_offset_ms":)";
  EXPECT_EQ(error_of(start + "-1000000000000000}"), "");
  EXPECT_EQ(error_of(start + "1000000000000000}"), "");
  for (const char* wrong : {"-1000000000000001}", "1000000000000001}", "-9223372036854775808}"}) {
    EXPECT_THAT(error_of(start + wrong), HasSubstr("/clock_offset_ms: must be")) << wrong;
  }
}

}  // namespace
}  // namespace fencepost::record
