#include "clients/serve/client_judge.h"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clients/play_fixture.h"

namespace fencepost::serve {
namespace {

using clients::Time;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

// A tap that the test plays: one client, with what is in its packets.
class FakeTap {
 public:
  explicit FakeTap(std::chrono::milliseconds clock_offset = {})
      : judge({.store_node = "StateStore", .clock_offset = clock_offset}, [this] { return now; }) {}

  void connect() {
    judge.on_opened(1);
    sent(wire::Connect{.client_id = "me"});
    received(wire::Connack{});
    for (const std::string& filter : {packets_.own_topic(), codec::notification_filter("me")}) {
      sent(wire::Subscribe{.packet_id = 900, .subscriptions = {{filter, 1}}});
      received(wire::Suback{.packet_id = 900, .reasons = {1}});
    }
  }
  void ask(const clients::Ask& what) { sent(packets_.publish_of(what)); }
  void puback() { received(wire::Ack{.packet_id = packets_.last_id()}); }
  void sent(const wire::Packet& packet) { judge.on_sent(1, *wire::encode(packet)); }
  void received(const wire::Packet& packet) { judge.on_delivered(1, *wire::encode(packet)); }

  Time now{std::chrono::milliseconds(clients::kNoonMs)};
  ClientJudge judge;

 private:
  clients::Play packets_;
};

TEST(ClientJudge, FindsNothingInAConformingClient) {
  FakeTap tap;
  tap.connect();
  tap.ask({});
  tap.judge.on_closed(1);
  EXPECT_THAT(tap.judge.take_lines(), IsEmpty());
  EXPECT_EQ(tap.judge.judged().tally.requests, 1U);
  EXPECT_EQ(tap.judge.judged().tally.connections, 1U);
  EXPECT_EQ(exit_code(tap.judge.judged(), false), run::ExitCode::kConformant);
}

TEST(ClientJudge, TellsOfEachFindingOnce) {
  FakeTap tap;
  tap.connect();
  tap.ask({.qos = 0});
  EXPECT_THAT(tap.judge.take_lines(),
              ElementsAre(StartsWith("fencepost: client \"me\" breaks ENV-QOS-2: ")));
  EXPECT_THAT(tap.judge.take_lines(), IsEmpty());
  ASSERT_THAT(tap.judge.judged().findings, SizeIs(1));
  EXPECT_EQ(tap.judge.judged().findings[0].rule->id, "ENV-QOS-2");
  EXPECT_EQ(exit_code(tap.judge.judged(), false), run::ExitCode::kFailed);
}

TEST(ClientJudge, KnowsWhatTheBrokerHasDelivered) {
  FakeTap tap(std::chrono::seconds(5));
  tap.connect();
  tap.ask({});
  tap.puback();
  wire::Publish answer{
      .qos = 1, .packet_id = 1, .topic = clients::Play().own_topic(), .payload = "+OK\r\n"};
  answer.properties.add(wire::PropertyId::kCorrelationData, "c");
  answer.properties.add_user("__ts", std::to_string(clients::kNoonMs + 5'000) + ":0:StateStore");
  tap.received(answer);
  tap.sent(wire::Ack{.packet_id = 1});
  tap.now += std::chrono::seconds(2);
  // With a clock that has not taken the store's over.
  tap.ask({.correlation = "d", .ts = std::to_string(clients::kNoonMs + 2'000) + ":0:me"});
  EXPECT_THAT(tap.judge.take_lines(),
              ElementsAre(StartsWith("fencepost: client \"me\" breaks HLC-CLIENT-2: ")));
}

TEST(ClientJudge, NeverSeesTimeGoBack) {
  FakeTap tap;
  tap.connect();
  tap.ask({});
  const Time later = tap.now;
  tap.now -= std::chrono::hours(1);
  tap.ask({.qos = 0});
  tap.judge.on_closed(1);
  (void)tap.judge.take_lines();
  EXPECT_EQ(tap.judge.judged().findings.at(0).at, later);
}

TEST(ClientJudge, TellsOncePerReasonWhyHandshakesFailed) {
  FakeTap tap;
  tap.judge.on_no_handshake(1, "unknown ca");
  tap.judge.on_no_handshake(2, "unknown ca");
  EXPECT_THAT(tap.judge.take_lines(),
              ElementsAre("fencepost: a connection ended during its TLS handshake: unknown ca"));
  for (int i = 0; i < 20; ++i) tap.judge.on_no_handshake(3, std::to_string(i));
  tap.judge.on_no_handshake(4, "unknown ca");
  EXPECT_THAT(tap.judge.take_lines(), SizeIs(9));
  EXPECT_THAT(tap.judge.take_lines(), IsEmpty());
}

TEST(ClientJudge, HasTheCommandInItsReports) {
  FakeTap tap;
  tap.judge.add_command({"pytest", "tests"});
  tap.judge.end_command(3);
  ASSERT_THAT(tap.judge.judged().commands, SizeIs(1));
  EXPECT_THAT(tap.judge.judged().commands[0].command, ElementsAre("pytest", "tests"));
  EXPECT_EQ(tap.judge.judged().commands[0].exit_code, 3);
}

TEST(ClientJudge, ComesToAnExitCode) {
  using run::ExitCode;
  const clients::Tally nothing{};
  const clients::Tally asked{.requests = 1};
  const clients::Tally broken{.requests = 1, .broken = {{"ENV-QOS-2", 1}}};
  const struct {
    clients::Tally tally;
    std::optional<int> command;  // how it has ended
    bool interrupted;
    ExitCode code;
  } kTable[] = {
      {nothing, {}, true, ExitCode::kConformant},      {asked, {}, true, ExitCode::kConformant},
      {broken, {}, true, ExitCode::kFailed},           {asked, 0, false, ExitCode::kConformant},
      {nothing, 0, false, ExitCode::kNothingSelected}, {asked, 3, false, ExitCode::kFailed},
      {nothing, 137, false, ExitCode::kFailed},        {broken, 0, false, ExitCode::kFailed},
      {broken, 143, true, ExitCode::kFailed},          {asked, 143, true, ExitCode::kInterrupted},
      {nothing, 143, true, ExitCode::kInterrupted},
  };
  for (const auto& row : kTable) {
    client_report::JudgedClients judged{.tally = row.tally};
    if (row.command) judged.commands.push_back({.command = {"x"}, .exit_code = *row.command});
    EXPECT_EQ(exit_code(judged, row.interrupted), row.code) << &row - kTable;
  }
}

}  // namespace
}  // namespace fencepost::serve
