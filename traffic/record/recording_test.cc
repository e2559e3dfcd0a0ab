#include "traffic/record/recording.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/command.h"
#include "codec/topics.h"
#include "suite/testing/temporary_folder.h"

namespace fencepost::record {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr std::chrono::milliseconds kBegin{1'767'225'600'000};

// That of the value which the last SET that was carried out has written.
std::string version_in(const Capture& capture) {
  std::string out;
  for (const CapturedEvent& event : capture.events) {
    const codec::Message& message = std::get<CapturedMessage>(event).message;
    if (message.payload == "+OK\r\n") out = message.user_properties.back().second;
  }
  return out;
}

// Adds a SET with NX of a new client, and what it was answered.
void add_nx(Capture& capture, const std::string& client, const std::string& answer) {
  const auto time = kBegin + std::chrono::milliseconds(capture.events.size());
  codec::Message request{.topic = std::string(codec::kRequestTopic),
                         .payload = codec::encode_command({"SET", "k", client, "NX"}),
                         .response_topic = codec::recommended_response_topic(client),
                         .correlation_data = client,
                         .user_properties = {{"__ts", std::to_string(time.count()) + ":0:c"}}};
  codec::Message reply{.topic = *request.response_topic,
                       .payload = answer,
                       .correlation_data = client,
                       .user_properties = {{"__stat", "200"}}};
  reply.user_properties.emplace_back(
      "__ts", answer == "+OK\r\n" ? std::to_string(time.count()) + ":1:s" : version_in(capture));
  capture.events.emplace_back(CapturedMessage{
      .client_id = client, .client_known = true, .time = time, .message = std::move(request)});
  capture.events.emplace_back(CapturedMessage{.direction = CaptureDirection::kToClient,
                                              .time = time + std::chrono::milliseconds(1),
                                              .message = std::move(reply)});
}

Capture capture(const std::string& second_answer) {
  Capture out;
  out.in_order = true;
  out.sees_replies = true;
  out.sees_notifications = true;
  out.sees_packets = true;
  out.from_start = true;
  out.clock = judge::ClockBounds{-3, 3};
  add_nx(out, "a", "+OK\r\n");
  add_nx(out, "b", second_answer);
  return out;
}
Capture right() { return capture(":-1\r\n"); }
Capture wrong() { return capture("+OK\r\n"); }

TEST(FlagWatcher, ReportsOnceWhatNoConformingStoreDoes) {
  FlagWatcher watcher;
  EXPECT_EQ(watcher.judge_new(right()).errors, "");
  Capture seen = wrong();
  add_nx(seen, "c", ":-1\r\n");
  const Said said = watcher.judge_new(seen);
  EXPECT_THAT(said.errors, StartsWith("record: client b, SET k: broke SET-N"));
  EXPECT_EQ(said.output, "");
  EXPECT_EQ(watcher.judge_new(seen).errors, "");  // nothing new in it
  add_nx(seen, "d", ":-1\r\n");
  EXPECT_EQ(watcher.judge_new(seen).errors, "");
}

TEST(FlagWatcher, LeavesLongCapturesToTheEnd) {
  Capture seen = wrong();
  while (seen.events.size() <= 20'000) seen.events.push_back(seen.events.back());
  FlagWatcher watcher;
  EXPECT_EQ(watcher.judge_new(seen).errors, "");
  seen.events.resize(4);
  EXPECT_NE(watcher.judge_new(seen).errors, "");
}

class Recordings : public testing::Test {
 protected:
  [[nodiscard]] std::string path(const char* name) const {
    return (folder_.path() / name).string();
  }

  test::TemporaryFolder folder_;
  FlagWatcher watcher_;
};

TEST_F(Recordings, HaveTheCasesThatWereSeen) {
  const Recording made = write_recording(right(), path("made.yaml"), watcher_);
  EXPECT_EQ(made.code, run::ExitCode::kConformant);
  EXPECT_EQ(made.said.errors, "");
  EXPECT_EQ(made.said.output,
            "fencepost: 2 requests, 1 case, written to " + path("made.yaml") + "\n");
  EXPECT_THAT(folder_.read("made.yaml"), HasSubstr("options: [NX]"));
}

TEST_F(Recordings, AreFlaggedWhereNoConformingStoreAnswersSo) {
  const Recording made = write_recording(wrong(), path("made.yaml"), watcher_);
  EXPECT_EQ(made.code, run::ExitCode::kFailed);
  EXPECT_THAT(made.said.errors, StartsWith("record: client b, SET k: broke SET-N"));
  EXPECT_THAT(made.said.output,
              testing::EndsWith("\nfencepost: 1 answer that no conforming store gives\n"));
  EXPECT_THAT(folder_.read("made.yaml"), HasSubstr("broke SET-N"));
  // What was said while it continued is not said again, and counts.
  const Recording again = write_recording(wrong(), "", watcher_);
  EXPECT_EQ(again.code, run::ExitCode::kFailed);
  EXPECT_EQ(again.said.errors, "");
  EXPECT_EQ(again.said.output, "fencepost: 1 answer that no conforming store gives\n");
}

TEST_F(Recordings, SayThatNoCaseIsMade) {
  const Recording made = write_recording({}, path("made.yaml"), watcher_);
  EXPECT_EQ(made.code, run::ExitCode::kConformant);
  EXPECT_THAT(made.said.errors, testing::EndsWith("record: no case could be made of 0 requests: " +
                                                  path("made.yaml") + " is empty\n"));
  EXPECT_EQ(made.said.output, "");
}

TEST_F(Recordings, SayThatTheyCannotBeWritten) {
  const Recording made = write_recording(wrong(), path("no/made.yaml"), watcher_);
  EXPECT_EQ(made.code, run::ExitCode::kInternal);
  EXPECT_THAT(made.said.errors, AllOf(HasSubstr("\nfencepost: "), HasSubstr(path("no/made.yaml"))));
  EXPECT_EQ(made.said.output, "");
}

TEST_F(Recordings, AreHistoriesToo) {
  const Recording made = write_history(right(), path("made.jsonl"), std::chrono::milliseconds(0));
  EXPECT_EQ(made.code, run::ExitCode::kConformant);
  EXPECT_EQ(made.said.output,
            "fencepost: 2 operations of 1 key, written to " + path("made.jsonl") + "\n");
  EXPECT_THAT(folder_.read("made.jsonl"), HasSubstr(R"("request":"SET")"));
  const Recording lost =
      write_history(right(), path("no/made.jsonl"), std::chrono::milliseconds(0));
  EXPECT_EQ(lost.code, run::ExitCode::kInternal);
  EXPECT_THAT(lost.said.errors, AllOf(StartsWith("fencepost: "), HasSubstr(path("no/made.jsonl"))));
}

}  // namespace
}  // namespace fencepost::record
