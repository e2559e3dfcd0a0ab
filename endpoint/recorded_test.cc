#include "endpoint/recorded.h"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/frame.h"

namespace fencepost::endpoint {
namespace {

using namespace std::chrono_literals;
using evidence::Details;
using evidence::Kind;
using evidence::Record;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A file, record by record.
class File {
 public:
  explicit File(const std::string& head = "{}") {
    if (!head.empty()) text(Kind::kHead, 0, head);
  }
  File& add(Record record) {
    encoder_.add(record);
    return *this;
  }
  File& add(Record record, Details details) {
    record.details = std::make_unique<Details>(std::move(details));
    return add(std::move(record));
  }
  File& text(Kind kind, std::uint32_t session, std::string text) {
    return add({.kind = kind, .session = session}, {.text = std::move(text)});
  }
  File& opened(std::uint32_t session, std::string caller) {
    return text(Kind::kOpened, session, std::move(caller));
  }
  File& closed(std::uint32_t session) { return add({.kind = Kind::kClosed, .session = session}); }
  File& connect(std::uint32_t session, std::uint32_t client, std::string id) {
    return add({.kind = Kind::kConnect, .session = session, .client = client},
               {.text = std::move(id)});
  }
  File& received(std::uint32_t client, std::int64_t time, std::string payload) {
    return add({.kind = Kind::kReceived, .session = 1, .client = client, .time = time},
               {.message = codec::Message{.payload = std::move(payload)}});
  }
  // What follows is in a frame of its own.
  File& frame() {
    bytes_ += evidence::make_frame(encoder_.take());
    return *this;
  }
  File& raw(std::string_view records) {
    bytes_ += evidence::make_frame(records);
    return *this;
  }
  [[nodiscard]] std::string bytes() {
    if (encoder_.size() > 0) frame();
    return bytes_;
  }

 private:
  evidence::Encoder encoder_;
  std::string bytes_{evidence::kMagic};
};

// --- reading

TEST(Recorded, HasWhatTheFileSaysOfItsRun) {
  File file("head");
  file.text(Kind::kCase, 0, "first").text(Kind::kCase, 0, "second");
  file.text(Kind::kHistory, 0, "lines").text(Kind::kHead, 0, "another head");
  file.text(Kind::kEnd, 0, "end");
  const std::string bytes = file.bytes();
  const auto recorded = Recorded::read(bytes);
  ASSERT_TRUE(recorded) << recorded.error();
  EXPECT_EQ(recorded->head(), "head");
  EXPECT_EQ(recorded->last_head(), "another head");
  EXPECT_THAT(recorded->cases(), ElementsAre("first", "second"));
  EXPECT_EQ(recorded->end(), "end");
  EXPECT_TRUE(recorded->has_history());
  EXPECT_EQ(recorded->diagnostic(), "");
}

TEST(Recorded, CountsWhatSessionsHaveSentAndReceived) {
  File file;
  file.opened(1, "a").add({.kind = Kind::kPublish, .session = 1}).received(1, 5, "x");
  file.received(1, 6, "y").add({.kind = Kind::kNothing, .session = 1});
  // Records of a session that was never opened, and of one that is closed.
  file.add({.kind = Kind::kPublish, .session = 7}).closed(7).closed(1).received(1, 7, "late");
  const std::string bytes = file.bytes();
  const auto recorded = Recorded::read(bytes);
  EXPECT_EQ(recorded->published(), 1U);
  EXPECT_EQ(recorded->received(), 2U);
  EXPECT_THAT(recorded->find("a")->records, SizeIs(4));
  EXPECT_TRUE(recorded->has("a"));
  EXPECT_FALSE(recorded->has("b"));
  EXPECT_EQ(recorded->find("b"), nullptr);
}

TEST(Recorded, OfACallerThatOpensTwiceHasTheFirstSession) {
  File file;
  file.opened(1, "a").opened(2, "a");
  file.add({.kind = Kind::kNow, .session = 1, .time = 1});
  file.add({.kind = Kind::kNow, .session = 2, .time = 2}).closed(2);
  const std::string bytes = file.bytes();
  const auto recorded = Recorded::read(bytes);
  ASSERT_THAT(recorded->find("a")->records, SizeIs(1));
  EXPECT_EQ(recorded->find("a")->records[0].time, 1);
  EXPECT_FALSE(recorded->has("a"));
  EXPECT_THAT(recorded->twice(), ElementsAre("a"));
  EXPECT_FALSE(recorded->has_history());
}

TEST(Recorded, KeepsTheFirstAnswerToEachLookForTheEndpoint) {
  File file;
  file.add({.kind = Kind::kReachable}, {.text = "a", .failure = evidence::Failure{1, "gone", {}}});
  file.text(Kind::kReachable, 0, "a").text(Kind::kReachable, 0, "b");
  const std::string bytes = file.bytes();
  const auto recorded = Recorded::read(bytes);
  ASSERT_NE(recorded->reachable("a"), nullptr);
  EXPECT_EQ((*recorded->reachable("a"))->text, "gone");
  EXPECT_FALSE(*recorded->reachable("b"));
  EXPECT_EQ(recorded->reachable("c"), nullptr);
}

TEST(Recorded, SaysWhyAFileIsNoEvidence) {
  File other_records;
  other_records.frame().raw("\x7f");
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "is not an evidence file"},
      {"fencepost evidence 2\n", "is not an evidence file"},
      {std::string(evidence::kMagic), "is truncated: it ends before its header"},
      {File("").opened(1, "a").bytes(), "is truncated: it ends before its header"},
      {other_records.bytes(), "has a record that no version of this suite writes"}};
  for (const auto& [bytes, why] : rows) {
    const auto recorded = Recorded::read(bytes);
    ASSERT_FALSE(recorded) << why;
    EXPECT_EQ(recorded.error(), why);
  }
}

// Times are added and subtracted: none may be so far away that a sum is no time any more.
TEST(Recorded, RefusesTimesThatNoClockHas) {
  constexpr std::int64_t kMax = 1'000'000'000'000'000;
  const auto error_of = [](Record record) -> std::string {
    record.session = 1;
    const auto recorded = Recorded::read(File().opened(1, "a").add(std::move(record)).bytes());
    return recorded ? "" : recorded.error();
  };
  for (const Kind kind : {Kind::kNow, Kind::kWall, Kind::kReceived}) {
    EXPECT_EQ(error_of({.kind = kind, .time = kMax}), "");
    EXPECT_EQ(error_of({.kind = kind, .time = -kMax}), "");
    EXPECT_EQ(error_of({.kind = kind, .time = kMax + 1}),
              "has a record that no version of this suite writes");
    EXPECT_EQ(error_of({.kind = kind, .time = -kMax - 1}),
              "has a record that no version of this suite writes");
  }
  EXPECT_EQ(error_of({.kind = Kind::kMeasured, .number = kMax}), "");
  EXPECT_EQ(error_of({.kind = Kind::kMeasured, .number = kMax + 1}),
            "has a record that no version of this suite writes");
}

TEST(Recorded, RefusesMoreRecordsThanItMayHave) {
  evidence::Encoder encoder;
  // The head is one.
  for (std::size_t i = 1; i < Recorded::kMaxRecords; ++i) encoder.add({.kind = Kind::kNothing});
  const std::string most = encoder.take();
  EXPECT_TRUE(Recorded::read(File().frame().raw(most).bytes()));
  encoder.add({.kind = Kind::kNothing});
  const auto recorded = Recorded::read(File().frame().raw(most).raw(encoder.take()).bytes());
  ASSERT_FALSE(recorded);
  EXPECT_EQ(recorded.error(), "has too many records");
}

File three_sessions() {
  File file;
  std::uint32_t session = 0;
  for (const char* caller : {"one", "two", "three"}) {
    file.frame().opened(++session, caller);
    file.add({.kind = Kind::kNow, .session = session, .time = 5});
    file.text(Kind::kCase, 0, caller).closed(session);
  }
  return file;
}

TEST(Recorded, IsWholeUpToACutOrAChangedByte) {
  const std::string bytes = three_sessions().bytes();
  std::size_t most = 0;
  const auto count = [](const Recorded& recorded) {
    std::size_t out = 0;
    for (const char* caller : {"one", "two", "three"}) {
      if (!recorded.has(caller)) break;
      EXPECT_THAT(recorded.find(caller)->records, SizeIs(1));
      ++out;
    }
    return out;
  };
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const auto cut = Recorded::read(std::string_view(bytes).substr(0, at));
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const auto changed = Recorded::read(damaged);
    ASSERT_EQ(cut.has_value(), changed.has_value()) << at;
    if (!cut) continue;
    // A change is found in its frame, as a cut is; what comes before is the same.
    ASSERT_EQ(count(*cut), count(*changed)) << at;
    ASSERT_GE(count(*cut), most);
    most = count(*cut);
    ASSERT_THAT(changed->diagnostic(), HasSubstr("the frame at byte ")) << at;
  }
  EXPECT_EQ(most, 2U);
}

// --- playing

// The answers to one caller, to be requested again.
class Played {
 public:
  explicit Played(File& file)
      : bytes_(file.bytes()),
        recorded_(Recorded::read(bytes_)),
        endpoint_(play(*recorded_, "url", {.disturbances = {"restart"}})),
        session_(std::move(*endpoint_->open_session({"me", true}))) {}
  Session& operator*() { return *session_; }
  Session* operator->() { return session_.get(); }
  [[nodiscard]] std::unique_ptr<Client> client(const std::string& id = "c") {
    return std::move(*session_->connect({.client_id = id}));
  }
  [[nodiscard]] Endpoint& endpoint() { return *endpoint_; }

 private:
  std::string bytes_;
  Result<Recorded, std::string> recorded_;
  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<Session> session_;
};

std::string payload_of(const std::optional<Event>& event) {
  return event ? std::get<MessageReceived>(event->what).message.payload : "nothing";
}

// A caller that renames a session, or leaves out some of its requests, leaves something unread.
TEST(Play, KnowsWhatNobodyHasComeTo) {
  const codec::Message one{.payload = "one"};
  const codec::Message two{.payload = "two"};
  const auto file_of = [&] {
    File file;
    file.opened(1, "me").connect(1, 1, "c");
    file.add({.kind = Kind::kPublish, .session = 1, .client = 1}, {.message = one});
    file.received(1, 5, "reply").add({.kind = Kind::kNothing, .session = 1, .client = 1});
    file.add({.kind = Kind::kNow, .session = 1, .time = 6});
    file.add({.kind = Kind::kPublish, .session = 1, .client = 1}, {.message = two});
    return file.received(1, 7, "next").closed(1).bytes();
  };
  const std::string bytes = file_of();
  const auto unread = [&](const auto& ask) {
    const auto recorded = Recorded::read(bytes);
    const auto endpoint = play(*recorded, "url", {});
    ask(*endpoint);
    return recorded->unread();
  };
  EXPECT_THAT(unread([](Endpoint&) {}), ElementsAre("me"));
  const auto ask = [&](Endpoint& endpoint, bool first, bool second, int receive) {
    const auto session = std::move(*endpoint.open_session({.caller = "me"}));
    const auto client = std::move(*session->connect({.client_id = "c"}));
    if (first) {
      EXPECT_TRUE(client->publish(one));
    }
    if (first && receive > 0) {
      EXPECT_TRUE(client->receive(1s));
    }
    if (second) {
      EXPECT_TRUE(client->publish(two));
    }
    if (second && receive > 1) {
      EXPECT_TRUE(client->receive(1s));
    }
  };
  EXPECT_THAT(unread([&](Endpoint& endpoint) { ask(endpoint, true, true, 2); }), IsEmpty());
  EXPECT_THAT(unread([&](Endpoint& endpoint) { ask(endpoint, true, true, 1); }), ElementsAre("me"));
  EXPECT_THAT(unread([&](Endpoint& endpoint) { ask(endpoint, true, false, 1); }),
              ElementsAre("me"));
  EXPECT_THAT(unread([&](Endpoint& endpoint) { ask(endpoint, false, true, 2); }),
              ElementsAre("me"));
}

TEST(Play, OfASessionThatDidNotBeginTheFailureHasToBeAskedFor) {
  File file;
  file.add({.kind = Kind::kOpened, .session = 1},
           {.text = "me", .failure = evidence::Failure{2, "not you", {}}});
  const std::string bytes = file.closed(1).bytes();
  const auto recorded = Recorded::read(bytes);
  EXPECT_THAT(recorded->unread(), ElementsAre("me"));
  EXPECT_FALSE(play(*recorded, "url", {})->open_session({.caller = "me"}));
  EXPECT_THAT(recorded->unread(), IsEmpty());
}

TEST(Play, OfASessionThatNeverEndedSomethingIsUnread) {
  File file;
  const std::string bytes = file.opened(1, "me").bytes();
  const auto recorded = Recorded::read(bytes);
  EXPECT_TRUE(play(*recorded, "url", {})->open_session({.caller = "me"}));
  EXPECT_THAT(recorded->unread(), ElementsAre("me"));
}

TEST(Play, IsTheEndpointThatItIsSaidToBe) {
  File file;
  Played played(file.opened(1, "me").opened(2, ""));
  EXPECT_EQ(played.endpoint().url(), "url");
  EXPECT_THAT(played.endpoint().capabilities().disturbances, ElementsAre("restart"));
  EXPECT_TRUE(played.endpoint().open_session());
  const auto reached = played.endpoint().check_reachable(1s);
  ASSERT_FALSE(reached);
  EXPECT_EQ(reached.error().kind, ErrorKind::kInternal);
  EXPECT_THAT(reached.error().text,
              HasSubstr("the evidence has no record of a look for the endpoint"));
}

TEST(Play, AnswersFailuresWithTheirKindTextAndCode) {
  const evidence::Failure refused{2, "not you", 0x87};
  File file;
  file.add({.kind = Kind::kOpened, .session = 2}, {.text = "other", .failure = refused});
  file.add({.kind = Kind::kReachable}, {.text = "me", .failure = refused});
  file.opened(1, "me");
  file.add({.kind = Kind::kConnect, .session = 1, .client = 1}, {.text = "x", .failure = refused});
  file.add({.kind = Kind::kDisturbance, .session = 1}, {.failure = refused});
  // A record from a later version of the suite.
  file.add({.kind = Kind::kDisturbance, .session = 1},
           {.failure = evidence::Failure{99, "new", {}}});
  Played played(file);
  const auto check = [](const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::kNotAllowed);
    EXPECT_EQ(error.text, "not you");
    EXPECT_EQ(error.reason_code, 0x87);
  };
  check(played.endpoint().open_session({.caller = "other"}).error());
  check(played.endpoint().check_reachable(1s, "me").error());
  check(played->connect({.client_id = "x"}).error());
  check(played->disturb({kRestartOfBroker, "x"}).error());
  const auto unknown = played->disturb({kRestartOfBroker, "x"});
  EXPECT_EQ(unknown.error().kind, ErrorKind::kInternal);
  EXPECT_EQ(unknown.error().text, "new");
  EXPECT_FALSE(unknown.error().reason_code);
  EXPECT_THAT(played->disturb({kRestartOfBroker, "x"}).error().text,
              HasSubstr("a restart of the broker"));
}

TEST(Play, SaysWhatTheEvidenceDoesNotHave) {
  File file;
  Played played(file.opened(1, "me").connect(1, 1, "c"));
  const auto text = [](const auto& result) { return result.error().text; };
  EXPECT_THAT(text(played.endpoint().open_session({.caller = "you"})),
              HasSubstr("has no record of a session for you: the version of the suite"));
  EXPECT_THAT(text(played->connect({.client_id = "d"})), HasSubstr("a connection as d"));
  const auto client = played.client();
  EXPECT_THAT(text(client->subscribe("f")), HasSubstr("a subscription to f"));
  EXPECT_THAT(text(client->unsubscribe("f")), HasSubstr("a subscription to f"));
  EXPECT_THAT(text(client->publish({.topic = "t"})), HasSubstr("this request"));
  EXPECT_THAT(text(client->publish_raw({.topic = "t"}, {})), HasSubstr("this request"));
  EXPECT_FALSE(client->packet_limit());
  EXPECT_EQ(played->measured(7us), 7us);
}

TEST(Play, TellsEventsAsTheyCame) {
  File file;
  file.opened(1, "me").connect(1, 1, "c").received(1, 10, "x");
  file.add({.kind = Kind::kNothing, .session = 1, .client = 1});
  file.add({.kind = Kind::kRefused, .session = 1, .client = 1, .time = 20, .number = 0x97},
           {.text = "data"});
  file.add({.kind = Kind::kEnded, .session = 1, .client = 1, .time = 30, .number = 0x8e});
  file.add({.kind = Kind::kEnded, .session = 1, .client = 1, .time = 40, .number = -1},
           {.text = "why"});
  file.add({.kind = Kind::kReceived, .session = 1, .client = 1, .time = 50});
  Played played(file);
  const auto client = played.client();
  const auto message = client->receive(1ms);
  EXPECT_EQ(payload_of(message), "x");
  EXPECT_EQ(message->time, 10us);
  EXPECT_FALSE(client->receive(1ms));
  const auto refused = client->receive(1ms);
  EXPECT_EQ(std::get<PublishRefused>(refused->what).reason_code, 0x97);
  EXPECT_EQ(std::get<PublishRefused>(refused->what).correlation_data, "data");
  const auto ended = client->receive(1ms);
  EXPECT_EQ(std::get<Disconnected>(ended->what).reason_code, 0x8e);
  const auto lost = client->receive(1ms);
  EXPECT_FALSE(std::get<Disconnected>(lost->what).reason_code);
  EXPECT_EQ(std::get<Disconnected>(lost->what).text, "why");
  EXPECT_EQ(payload_of(client->receive(1ms)), "");  // a message without one
}

// A caller that requests more than was there gets nothing, and time passes so that no loop is
// endless.
TEST(Play, LetsTimePassWhereNothingMoreCame) {
  File file;
  file.opened(1, "me").connect(1, 1, "c").connect(1, 2, "d").received(2, 10, "for d");
  Played played(file);
  const auto c = played.client();
  const auto d = played.client("d");
  EXPECT_FALSE(c->receive(2ms));
  EXPECT_EQ(played->clock().now(), 2ms);
  EXPECT_FALSE(c->receive(0us));
  EXPECT_EQ(played->clock().now(), 2ms + 1us);
  EXPECT_EQ(payload_of(d->receive(0us)), "for d");
}

TEST(Play, AnswersADisturbanceOfTheSameKind) {
  File file;
  file.opened(1, "me");
  file.add({.kind = Kind::kDisturbance, .session = 1}, {.name = "another"});
  Played another(file);
  EXPECT_FALSE(another->disturb({kRestartOfBroker, "c"}));
  file.add({.kind = Kind::kDisturbance, .session = 1}, {.name = "restart"});
  Played same(file);
  EXPECT_TRUE(same->disturb({kRestartOfBroker, "c"}));
}

TEST(Play, DoesNotReceiveBeyondWhatWasAskedNext) {
  File file;
  file.opened(1, "me").connect(1, 1, "c");
  file.add({.kind = Kind::kNow, .session = 1, .time = 3}).received(1, 10, "first");
  file.text(Kind::kDisturbance, 1, "c").received(1, 20, "second");
  Played played(file);
  const auto client = played.client();
  EXPECT_EQ(payload_of(client->receive(1ms)), "first");  // the clock may be read, or not
  EXPECT_FALSE(client->receive(1ms));
  EXPECT_TRUE(played->disturb({kRestartOfBroker, "c"}));
  EXPECT_EQ(payload_of(client->receive(1ms)), "second");
}

TEST(Play, GivesEachClientItsMessagesThatWerePassedOver) {
  File file;
  file.opened(1, "me").connect(1, 1, "c").connect(1, 2, "d");
  file.received(1, 10, "c1").received(2, 11, "d1").received(1, 12, "c2");
  file.add({.kind = Kind::kNow, .session = 1, .time = 500});
  file.add({.kind = Kind::kPacketLimit, .session = 1, .client = 2, .number = 77});
  Played played(file);
  const auto c = played.client();
  const auto d = played.client("d");
  EXPECT_EQ(d->packet_limit(), 77U);
  EXPECT_EQ(played->clock().now(), 500us);  // of what was passed over
  EXPECT_EQ(payload_of(c->receive(1ms)), "c1");
  EXPECT_EQ(payload_of(c->receive(1ms)), "c2");
  EXPECT_EQ(payload_of(d->receive(1ms)), "d1");
  EXPECT_FALSE(c->receive(1ms));
}

TEST(Play, EndsAConnectionOnlyOfThatClient) {
  File file;
  file.opened(1, "me").connect(1, 1, "c").connect(1, 2, "d").received(1, 5, "x");
  file.add({.kind = Kind::kDrop, .session = 1, .client = 2});
  file.add({.kind = Kind::kDisconnect, .session = 1, .client = 1}).received(1, 9, "y");
  Played played(file);
  const auto c = played.client();
  const auto d = played.client("d");
  d->disconnect();  // it was dropped: nothing is passed over
  d->drop();        // passes over x
  c->disconnect();
  EXPECT_EQ(payload_of(c->receive(1ms)), "x");
  EXPECT_EQ(payload_of(c->receive(1ms)), "y");
}

TEST(Play, HasTheTimesOfTheRunAndGoesOnFromThere) {
  File file;
  file.opened(1, "me").add({.kind = Kind::kNow, .session = 1, .time = 1000});
  file.add({.kind = Kind::kWall, .session = 1, .time = 50'000});
  file.add({.kind = Kind::kWaited, .session = 1, .time = 6000});
  file.add({.kind = Kind::kMeasured, .session = 1, .number = 42});
  Played played(file);
  Clock& clock = played->clock();
  EXPECT_EQ(clock.now(), 1ms);
  EXPECT_EQ(clock.wall_ms(), 50'000U);
  clock.wait_until(6ms);
  EXPECT_EQ(played->measured(1us), 42us);
  // What was not requested then: as much later as has passed.
  EXPECT_EQ(clock.now(), 6ms);
  EXPECT_EQ(clock.wall_ms(), 50'005U);
  clock.wait_until(5ms);  // never back
  EXPECT_EQ(clock.now(), 6ms);
}

TEST(Play, NeverHasATimeBefore1970) {
  File file;
  file.opened(1, "me").add({.kind = Kind::kWall, .session = 1, .time = -5});
  Played played(file);
  EXPECT_EQ(played->clock().wall_ms(), 0U);
}

TEST(Play, TakesRequestsThatAreAlikeOneAfterTheOther) {
  File file;
  file.opened(1, "me").connect(1, 1, "c");
  const codec::Message message{.topic = "t", .payload = "p"};
  file.add({.kind = Kind::kPublish, .session = 1, .client = 1, .time = 5}, {.message = message});
  file.add({.kind = Kind::kPublish, .session = 1, .client = 1, .time = 9},
           {.failure = evidence::Failure{3, "lost", {}}, .message = message});
  Played played(file);
  const auto client = played.client();
  EXPECT_TRUE(client->publish(message));
  EXPECT_EQ(played->clock().now(), 5us);  // when it was sent
  const auto second = client->publish_raw(message, {.qos_3 = true});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::kLost);
  EXPECT_FALSE(client->publish(message));
}

}  // namespace
}  // namespace fencepost::endpoint
