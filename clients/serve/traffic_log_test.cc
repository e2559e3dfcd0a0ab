#include "clients/serve/traffic_log.h"

#include <fstream>
#include <string>
#include <vector>

#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "codec/command.h"
#include "codec/message_json.h"
#include "codec/topics.h"
#include "suite/testing/temporary_folder.h"

namespace fencepost::serve {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr microseconds kBegin{1'767'225'600'000'000};

// A log, and the plugin that writes it, as the test says.
class Writer {
 public:
  explicit Writer(const TrafficOptions& options) {
    auto begun = TrafficLog::begin(options);
    EXPECT_TRUE(begun) << begun.error();
    log = std::move(*begun);
    line({{"event", "start"}, {"version", 2}, {"clock_offset_ms", 0}});
  }

  void line(nlohmann::ordered_json event) {
    event["time_us"] = (now += 1ms).count();
    text(event.dump() + "\n");
  }
  void text(const std::string& bytes) const {
    std::ofstream(log->path(), std::ios::binary | std::ios::app) << bytes;
  }

  void request(const std::string& client, const std::vector<std::string_view>& words,
               bool timestamp = true) {
    codec::Message message{.topic = std::string(codec::kRequestTopic),
                           .payload = codec::encode_command(words),
                           .response_topic = codec::recommended_response_topic(client),
                           .correlation_data = std::to_string(now.count())};
    if (timestamp) message.user_properties = {{"__ts", stamp("client")}};
    line({{"event", "request"}, {"client", client}, {"message", to_json(message)}});
    last_ = std::move(message);
  }
  // To the last request.
  void answer(const std::string& payload) {
    const codec::Message message{
        .topic = *last_.response_topic,
        .payload = payload,
        .correlation_data = last_.correlation_data,
        .user_properties = {{"__stat", "200"}, {"__ts", stamp("StateStore")}}};
    line({{"event", "delivery"}, {"client", ""}, {"message", to_json(message)}});
  }
  [[nodiscard]] record::Said look() const { return log->look(now); }

  std::unique_ptr<TrafficLog> log;
  microseconds now = kBegin;

 private:
  [[nodiscard]] std::string stamp(const std::string& node) const {
    return std::to_string(now.count() / 1000) + ":0:" + node;
  }

  codec::Message last_;
};

// --- what is reported ----------------------------------------------------------------------------

TEST(TrafficLog, IsNotWrittenWhereNobodyWantsToKnow) {
  const auto log = TrafficLog::begin({});
  ASSERT_TRUE(log);
  EXPECT_EQ((*log)->path(), "");
  EXPECT_EQ((*log)->look(kBegin).output, "");
  const record::Recording made = (*log)->end(kBegin);
  EXPECT_EQ(made.code, run::ExitCode::kConformant);
  EXPECT_EQ(made.said.output + made.said.errors, "");
}

TEST(TrafficLog, HasALineForEachAnsweredRequest) {
  Writer writer({.explain = true});
  EXPECT_EQ(writer.look().output, "");
  writer.request("me", {"SET", "k", "one"});
  EXPECT_EQ(writer.look().output, "");
  writer.answer("+OK\r\n");
  writer.request("me", {"SET", "k", "two"}, false);
  writer.answer("-ERR missing timestamp\r\n");
  EXPECT_THAT(writer.look().output,
              StartsWith("me: SET k \"one\": +OK, SET-OK-1\n"
                         "me: SET k \"two\": -ERR missing timestamp, HLC-REQUIRED-1: A SET without "
                         "the user property"));
  EXPECT_EQ(writer.look().output, "");
}

TEST(TrafficLog, ReadsALineWhenItIsWhole) {
  Writer writer({.explain = true});
  writer.request("me", {"SET", "k", "one"});
  const std::string before = R"({"event":"elsewhere","time_us":1,"client":"me","topic")";
  writer.text(before);
  EXPECT_EQ(writer.look().output, "");
  writer.text(":\"a/b\"}\n");
  EXPECT_THAT(writer.look().output,
              HasSubstr("me: a message to a/b, which is not the request topic: ignored, "
                        "ENV-TOPIC-2: "));
}

TEST(TrafficLog, TellsOfWhatIsIgnoredWhenTheNextComes) {
  Writer writer({.explain = true});
  codec::Message silent{.topic = std::string(codec::kRequestTopic),
                        .payload = codec::encode_command({"GET", "k"}),
                        .qos = 0};
  writer.line({{"event", "request"}, {"client", "me"}, {"message", to_json(silent)}});
  writer.line({{"event", "elsewhere"}, {"client", "a\nb"}, {"topic", "statestore/v1"}});
  const std::string text = writer.look().output;
  EXPECT_THAT(text, StartsWith("me: GET k at QoS 0: ignored, ENV-QOS-1: "));
  EXPECT_THAT(text, HasSubstr("\na b: a message to statestore/v1, "));
}

TEST(TrafficLog, TellsInTheEndOfWhatHasNoAnswer) {
  Writer writer({.explain = true});
  writer.request("me", {"GET", "k"});
  EXPECT_EQ(writer.look().output, "");
  const record::Recording made = writer.log->end(writer.now);
  EXPECT_EQ(made.said.output,
            "me: GET k: no response within 5 s, but a conforming store sends one\n");
  EXPECT_EQ(made.code, run::ExitCode::kConformant);
}

TEST(TrafficLog, TellsWhatClientsHaveSwitched) {
  Writer writer({.control = true});
  writer.line({{"event", "control"}, {"client", "me"}, {"text", "fault S01"}});
  writer.line({{"event", "elsewhere"}, {"client", "me"}, {"topic", "statestore/v1"}});
  writer.request("me", {"SET", "k", "one"});
  writer.answer("+OK\r\n");
  EXPECT_EQ(writer.look().output, "fencepost: control by me: fault S01\n");
}

TEST(TrafficLog, RejectsMalformedLines) {
  Writer writer({.explain = true});
  writer.line({{"event", "dance"}});
  writer.request("me", {"SET", "k", "one"});
  writer.answer("+OK\r\n");
  const record::Said said = writer.look();
  EXPECT_THAT(said.errors, AllOf(StartsWith("fencepost: " + writer.log->path() + ": "),
                                 HasSubstr("an unknown event: dance")));
  EXPECT_EQ(said.output, "me: SET k \"one\": +OK, SET-OK-1\n");
}

// --- recordings ----------------------------------------------------------------------------------

class TrafficRecording : public testing::Test {
 protected:
  test::TemporaryFolder folder_;
  std::string out_ = (folder_.path() / "made.yaml").string();
};

TEST_F(TrafficRecording, BecomesAScenarioFile) {
  Writer writer({.record = out_});
  EXPECT_EQ(writer.log->path(), out_ + ".log");
  struct stat log {};
  ASSERT_EQ(stat(writer.log->path().c_str(), &log), 0);
  EXPECT_EQ(log.st_mode & 0777U, 0600U);
  writer.request("me", {"SET", "k", "one"});
  writer.answer("+OK\r\n");
  EXPECT_EQ(writer.look().output, "");
  const record::Recording made = writer.log->end(writer.now);
  EXPECT_EQ(made.code, run::ExitCode::kConformant);
  EXPECT_EQ(made.said.output, "fencepost: 1 request, 1 case, written to " + out_ + "\n");
  EXPECT_THAT(folder_.read("made.yaml"), HasSubstr("value: one"));
  EXPECT_FALSE(std::filesystem::exists(out_ + ".log"));
}

TEST_F(TrafficRecording, AgreesWithTheNotifications) {
  Writer writer({.record = out_, .explain = true});
  writer.request("me", {"SET", "k", "one"});
  writer.answer("+OK\r\n");
  const record::Recording made = writer.log->end(writer.now);
  EXPECT_EQ(made.said.output,
            "me: SET k \"one\": +OK, SET-OK-1\nfencepost: 1 request, 1 case, "
            "written to " +
                out_ + "\n");
}

TEST_F(TrafficRecording, IsFlaggedWhileItGoesOn) {
  Writer writer({.record = out_});
  writer.request("a", {"SET", "k", "one"});
  writer.answer("+OK\r\n");
  EXPECT_EQ(writer.look().errors, "");
  writer.request("b", {"SET", "k", "two", "NX"});
  writer.answer("+OK\r\n");
  writer.request("c", {"GET", "other"});
  writer.answer("$-1\r\n");
  EXPECT_THAT(writer.look().errors, StartsWith("record: client b, SET k: broke SET-N"));
  EXPECT_EQ(writer.look().errors, "");
  const record::Recording made = writer.log->end(writer.now);
  EXPECT_EQ(made.code, run::ExitCode::kFailed);
  EXPECT_EQ(made.said.errors, "");
  EXPECT_FALSE(std::filesystem::exists(out_ + ".log"));
}

TEST_F(TrafficRecording, KeepsTheLogWhereTheFileCannotBeWritten) {
  Writer writer({.record = out_});
  writer.request("me", {"SET", "k", "one"});
  writer.answer("+OK\r\n");
  std::filesystem::create_directory(out_);
  const record::Recording made = writer.log->end(writer.now);
  EXPECT_EQ(made.code, run::ExitCode::kInternal);
  EXPECT_THAT(made.said.errors, HasSubstr(out_));
  EXPECT_TRUE(std::filesystem::exists(out_ + ".log"));
}

TEST_F(TrafficRecording, LeavesAnOldLogAlone) {
  folder_.write("made.yaml.log", "mine");
  const auto log = TrafficLog::begin({.record = out_});
  ASSERT_FALSE(log);
  EXPECT_EQ(log.error(), out_ + ".log exists already: convert it with `fencepost record --from " +
                             out_ + ".log --out FILE`, or remove it");
  EXPECT_EQ(folder_.read("made.yaml.log"), "mine");
}

TEST_F(TrafficRecording, SaysThatTheLogCannotBeMade) {
  const auto log = TrafficLog::begin({.record = (folder_.path() / "no/made.yaml").string()});
  ASSERT_FALSE(log);
  EXPECT_THAT(log.error(), AllOf(StartsWith("cannot write to "), HasSubstr("No such file")));
}

TEST_F(TrafficRecording, IsDiscardedWhereNothingWasLogged) {
  const Writer writer({.record = out_});
  writer.log->discard();
  EXPECT_FALSE(std::filesystem::exists(out_ + ".log"));
}

}  // namespace
}  // namespace fencepost::serve
