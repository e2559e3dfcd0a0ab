#include "endpoint/recording.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/command.h"
#include "codec/topics.h"
#include "endpoint/in_process.h"
#include "endpoint/recorded.h"
#include "evidence/frame.h"

namespace fencepost::endpoint {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

codec::Message request(const std::vector<std::string_view>& arguments) {
  return {.topic = std::string(codec::kRequestTopic),
          .payload = codec::encode_command(arguments),
          .response_topic = "clients/c/r",
          .correlation_data = "0000000000000001",
          .user_properties = {{"__ts", "000000000001000:00000:c"}}};
}

// All that a caller sees of a session, as text.
std::string talk(Session& session) {
  std::ostringstream out;
  out << session.clock().now().count() << ' ' << session.clock().wall_ms() << '\n';
  auto client = session.connect({.client_id = "c"});
  out << client.has_value() << (*client)->packet_limit().has_value() << '\n';
  out << (*client)->subscribe("clients/c/r").has_value() << '\n';
  for (const auto& arguments : {std::vector<std::string_view>{"SET", "k", "v"},
                                std::vector<std::string_view>{"GET", "k"}}) {
    out << (*client)->publish(request(arguments)).has_value() << '\n';
    while (const auto event = (*client)->receive(10ms)) {
      out << event->time.count() << ' ';
      if (const auto* received = std::get_if<MessageReceived>(&event->what)) {
        out << received->message.topic << ' ' << received->message.payload << '\n';
      }
    }
  }
  session.clock().wait_until(session.clock().now() + 5s);
  out << session.clock().now().count() << ' ' << session.measured(7us).count() << '\n';
  out << session.disturb({kRestartOfBroker, "x"}).has_value() << '\n';
  (*client)->drop();
  return out.str();
}

class RecordingTest : public testing::Test {
 protected:
  RecordingTest()
      : path_((std::filesystem::temp_directory_path() /
               ("recording_test-" + std::to_string(::getpid()) + ".fpe"))
                  .string()) {}
  ~RecordingTest() override { std::filesystem::remove(path_); }

  // A file with this head, and what `with` requests from the recording endpoint.
  template <typename With>
  std::string recorded_file(const With& with) {
    {
      auto recorder = Recorder::create(path_);
      auto details = std::make_unique<evidence::Details>();
      details->text = "{}";
      (*recorder)->add({.kind = evidence::Kind::kHead, .details = std::move(details)});
      const auto recording = record(*store_, **recorder);
      with(*recording);
    }
    return content();
  }

  [[nodiscard]] std::string content() const {
    std::ostringstream out;
    out << std::ifstream(path_, std::ios::binary).rdbuf();
    return out.str();
  }

  std::string path_;
  std::unique_ptr<Endpoint> store_ = make_in_process_endpoint({});
};

TEST_F(RecordingTest, IsAnsweredAgainAsItWas) {
  std::string then;
  const std::string file = recorded_file([&](Endpoint& endpoint) {
    then = talk(**endpoint.open_session({.caller = "me"}));
    EXPECT_TRUE(endpoint.check_reachable(1s, "me"));
  });
  const auto recorded = Recorded::read(file);
  ASSERT_TRUE(recorded) << recorded.error();
  EXPECT_EQ(recorded->diagnostic(), "");
  EXPECT_EQ(recorded->published(), 2U);
  const auto again = play(*recorded, "url", {});
  EXPECT_EQ(talk(**again->open_session({.caller = "me"})), then);
  EXPECT_THAT(then, HasSubstr("v\r\n"));
  EXPECT_TRUE(again->check_reachable(1s, "me"));
}

TEST_F(RecordingTest, WhatWasNotAskedIsNotMadeUp) {
  const std::string file =
      recorded_file([&](Endpoint& endpoint) { talk(**endpoint.open_session({.caller = "me"})); });
  const auto recorded = Recorded::read(file);
  const auto again = play(*recorded, "url", {});
  EXPECT_FALSE(again->open_session({.caller = "you"}));
  EXPECT_FALSE(again->check_reachable(1s, "me"));
  auto session = again->open_session({.caller = "me"});
  EXPECT_FALSE((*session)->connect({.client_id = "other"}));
  auto client = (*session)->connect({.client_id = "c"});
  const auto sent = (*client)->publish(request({"DEL", "k"}));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::kInternal);
  EXPECT_THAT(sent.error().text, HasSubstr("the evidence has no record of this request"));
}

// A caller that skips what was done then gets the messages all the same, and time continues.
TEST_F(RecordingTest, AnotherCallerGetsWhatCame) {
  const std::string file =
      recorded_file([&](Endpoint& endpoint) { talk(**endpoint.open_session({.caller = "me"})); });
  const auto recorded = Recorded::read(file);
  const auto again = play(*recorded, "url", {});
  auto session = again->open_session({.caller = "me"});
  auto client = (*session)->connect({.client_id = "c"});
  ASSERT_TRUE((*client)->publish(request({"GET", "k"})));
  std::size_t events = 0;
  const Duration begin = (*session)->clock().now();
  for (int i = 0; i < 10; ++i) events += (*client)->receive(1s).has_value() ? 1 : 0;
  EXPECT_EQ(events, 2U);
  EXPECT_GE((*session)->clock().now() - begin, 5s);
}

TEST_F(RecordingTest, ASessionThatIsCutIsNotWhole) {
  auto recorder = Recorder::create(path_);
  auto details = std::make_unique<evidence::Details>();
  details->text = "{}";
  (*recorder)->add({.kind = evidence::Kind::kHead, .details = std::move(details)});
  const auto recording = record(*store_, **recorder);
  const auto session = recording->open_session({.caller = "me"});
  talk(**session);
  EXPECT_TRUE((*recorder)->flush());
  const auto recorded = Recorded::read(content());
  ASSERT_TRUE(recorded);
  EXPECT_FALSE(recorded->has("me"));
}

TEST_F(RecordingTest, IsReadUpToACut) {
  const std::string file = recorded_file([&](Endpoint& endpoint) {
    for (const char* caller : {"one", "two"}) talk(**endpoint.open_session({.caller = caller}));
  });
  for (std::size_t end = 0; end < file.size(); ++end) {
    const auto recorded = Recorded::read(std::string_view(file).substr(0, end));
    if (!recorded || end <= evidence::kMagic.size()) continue;
    EXPECT_NE(recorded->diagnostic(), "");
  }
}

TEST_F(RecordingTest, SaysWhatCannotBeWritten) {
  EXPECT_THAT(Recorder::create("/nowhere/x").error(), HasSubstr("/nowhere/x: No such file"));
  EXPECT_THAT(Recorder::create("/dev/full").error(), HasSubstr("No space left on device"));
}

}  // namespace
}  // namespace fencepost::endpoint
