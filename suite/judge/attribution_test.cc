#include "suite/judge/attribution.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/dialect.h"
#include "codec/error_code.h"
#include "codec/message.h"
#include "codec/resp3.h"

namespace fencepost::judge {
namespace {

using codec::ReplyKind;
using std::chrono::milliseconds;
using testing::Contains;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

constexpr std::string_view kAccepted = "+OK\r\n";

// A client's requests, one after the other, of which the last is judged.
class Talk {
 public:
  // Each is answered 1 ms after it is sent, and 1 ms before the next one.
  Talk& ask(const std::vector<std::string_view>& command, std::optional<std::string> reply,
            const std::string& version = "") {
    codec::Message request;
    request.payload = codec::encode_command(command);
    return send(std::move(request), std::move(reply), version);
  }
  Talk& send(codec::Message request, std::optional<std::string> reply,
             const std::string& version = "") {
    if (!all_.empty()) keys_.note(all_.back());
    now_ += milliseconds{2};
    Exchange& exchange = all_.emplace_back(std::move(request), now_, 0);
    if (!reply) return *this;
    codec::Message response{.payload = *std::move(reply)};
    if (!version.empty()) {
      response.user_properties.emplace_back(codec::kTimestampProperty, version);
    }
    exchange.reply.emplace(std::move(response), now_ + milliseconds{1}, 0);
    return *this;
  }
  Talk& cites(const std::string& rule) {
    step_.expect.cites = rule;
    return *this;
  }
  template <typename Kind>
  Talk& wants(Kind outcome) {
    step_.expect.outcomes.push_back({std::move(outcome)});
    return *this;
  }

  [[nodiscard]] ResponseDifference differs(Mismatch kind = Mismatch::kReply) const {
    return {
        .kind = kind, .step = step_, .exchange = all_.back(), .keys = keys_, .of_client = &all_};
  }
  scenario::RequestStep& step() { return step_; }
  [[nodiscard]] const KeyStates& keys() const { return keys_; }
  [[nodiscard]] const Exchanges& all() const { return all_; }

 private:
  Exchanges all_;
  KeyStates keys_;
  scenario::RequestStep step_;
  milliseconds now_{0};
};

scenario::PlainReply plain(ReplyKind kind) { return {kind}; }
scenario::ValueReply value(const std::string& bytes) { return {{scenario::LiteralBytes{bytes}}}; }

TEST(AttributionOfResponse, TheStepKnowsWhatItsReplyIsFor) {
  Talk talk;
  talk.ask({"SET", "k", "v"}, ":-1\r\n").wants(plain(ReplyKind::kOk)).cites("SET-PX-6");
  const Attribution attribution = attribute(talk.differs());
  EXPECT_EQ(attribution.requirement, "SET-PX-6");
  EXPECT_EQ(attribution.direct, "SET-OK-1");
}

TEST(AttributionOfResponse, WhatTheDifferenceShowsIsBelievedBeforeTheStep) {
  Talk talk;
  talk.ask({"SET", "k", "v"}, std::string(kAccepted))
      .wants(plain(ReplyKind::kOk))
      .cites("SET-NX-1");
  const Attribution attribution = attribute(talk.differs(Mismatch::kVersionMissing));
  EXPECT_EQ(attribution.requirement, "VER-SET-1");
  EXPECT_EQ(attribution.direct, "VER-SET-1");
}

// Another rule that a lost write or a version of before would break is one that the store kept
// until its broker ended.
TEST(AttributionOfResponse, WhatTheEndOfTheBrokerHasChangedIsAMatterOfDurability) {
  Talk talk;
  talk.ask({"SET", "k", "v"}, std::string(kAccepted)).ask({"GET", "k"}, "$-1\r\n");
  talk.wants(value("v")).cites("LIFE-DURABLE-1");
  for (const Mismatch kind :
       {Mismatch::kReply, Mismatch::kVersionOther, Mismatch::kVersionNotLater}) {
    const Attribution attribution = attribute(talk.differs(kind));
    EXPECT_EQ(attribution.requirement, "LIFE-DURABLE-1") << name(kind);
    EXPECT_EQ(attribution.direct, "LIFE-DURABLE-1") << name(kind);
  }
  // What no end of a broker changes.
  EXPECT_EQ(attribute(talk.differs(Mismatch::kStatus)).requirement, "ENV-STATUS-1");
  Talk malformed;
  malformed.ask({"GET", "k"}, "$x\r\n").wants(value("v")).cites("LIFE-DURABLE-1");
  EXPECT_NE(attribute(malformed.differs()).direct, "LIFE-DURABLE-1");
}

TEST(AttributionOfResponse, ASpellingIsNoBehaviour) {
  Talk talk;
  talk.ask({"SET", "k", "v", "NX"}, ":-1\r\n").wants(plain(ReplyKind::kOk)).cites("SET-NX-2");
  ResponseDifference difference = talk.differs();
  difference.other_form = codec::Divergence::kSetNotApplied;
  EXPECT_EQ(attribute(difference).requirement, "SET-NOT-APPLIED-1");
}

TEST(AttributionOfResponse, AVerbThatIsUnknownIsNoMatterOfItsGrammar) {
  Talk talk;
  talk.ask({"VDEL", "k", "v"}, "-ERR unknown command\r\n").wants(scenario::CountReply{0});
  talk.cites("VDEL-GRAMMAR-1");
  EXPECT_EQ(attribute(talk.differs()).requirement, "RESP-VERBS-1");
}

TEST(AttributionOfResponse, AnotherValueIsNoMatterOfARuleOfVersions) {
  Talk talk;
  talk.ask({"SET", "k", "v"}, std::string(kAccepted)).ask({"GET", "k"}, "$1\r\nw\r\n");
  talk.wants(value("v")).cites("VER-GET-2");
  EXPECT_EQ(attribute(talk.differs()).requirement, "GET-HIT-3");
}

TEST(AttributionOfResponse, TheReasonOfARefusalSaysWhatTheStoreHasMisread) {
  Talk talk;
  const std::string_view text =
      codec::text(codec::ErrorCode::kTokenRequired, codec::dialect(codec::DialectId::kDeployed));
  talk.ask({"GET", "k"}, fmt::format("-ERR {}\r\n", text)).wants(plain(ReplyKind::kMissing));
  const Attribution attribution = attribute(talk.differs());
  EXPECT_EQ(attribution.requirement, "");  // the first that the case is about
  EXPECT_EQ(attribution.direct, "FT-GET-1");
}

TEST(AttributionOfResponse, AnEffectIsWhatAnEarlierReplyHasPromised) {
  Talk talk;
  talk.ask({"SET", "k", "v"}, std::string(kAccepted)).ask({"GET", "k"}, "$1\r\nw\r\n");
  talk.wants(value("v"));
  ResponseDifference difference = talk.differs();
  difference.promised = "ERR-STATE-1";
  const Attribution attribution = attribute(difference);
  EXPECT_EQ(attribution.requirement, "ERR-STATE-1");
  EXPECT_EQ(attribution.direct, "ERR-STATE-1");
  EXPECT_THAT(attribution.candidates, IsEmpty());
}

TEST(AttributionOfResponse, WhatProvesNothingShowsNoRuleByItself) {
  Talk talk;
  talk.ask({"SET", "k", "v"}, std::string(kAccepted))
      .wants(plain(ReplyKind::kOk))
      .cites("SET-NX-1");
  ResponseDifference difference = talk.differs(Mismatch::kVersionMissing);
  difference.failed = false;
  EXPECT_EQ(attribute(difference).requirement, "SET-NX-1");
}

TEST(AttributionOfResponse, ARefusedRequestThatWasCarriedOutShowsLater) {
  Talk talk;
  talk.ask({"SET", "k", "v"}, std::string(kAccepted)).ask({"SET", "k", "w", "NX"}, ":-1\r\n");
  talk.ask({"GET", "k"}, "$1\r\nw\r\n").wants(value("v"));
  const Attribution attribution = attribute(talk.differs());
  EXPECT_EQ(attribution.direct, "SET-NOT-APPLIED-2");
}

TEST(AttributionOfResponse, AVersionThatIsNoLegalOneOfItsKeyIsTheDifference) {
  Talk talk;
  talk.ask({"SET", "k", "v"}, std::string(kAccepted), "5:0:s")
      .ask({"SET", "k", "w"}, std::string(kAccepted), "4:0:s");
  talk.ask({"GET", "k"}, "$1\r\nw\r\n", "4:0:s").wants(value("w"));
  EXPECT_EQ(attribute(talk.differs(Mismatch::kVersionOther)).direct, "VER-UPDATE-3");
}

TEST(AttributionOfResponse, OfTwoRequestsInFlightTheReplyMayBeTheOthers) {
  Talk talk;
  talk.ask({"GET", "a"}, std::nullopt).ask({"GET", "b"}, "$1\r\nv\r\n");
  talk.wants(plain(ReplyKind::kMissing));
  EXPECT_THAT(attribute(talk.differs()).candidates, Contains("ENV-CORRELATION-1"));
  ResponseDifference alone = talk.differs();
  alone.of_client = nullptr;
  EXPECT_THAT(attribute(alone).candidates, Not(Contains("ENV-CORRELATION-1")));
}

TEST(AttributionOfResponse, AValueThatWasReplacedIsNoMatterOfTheGet) {
  Talk talk;
  talk.ask({"SET", "k", "v"}, std::string(kAccepted))
      .ask({"SET", "k", "w"}, std::string(kAccepted));
  talk.ask({"GET", "k"}, "$1\r\nv\r\n").wants(value("w"));
  EXPECT_EQ(attribute(talk.differs()).direct, "SET-WRITE-2");
  // A GET that has returned the new one has shown that the SET was carried out.
  Talk seen;
  seen.ask({"SET", "k", "v"}, std::string(kAccepted))
      .ask({"SET", "k", "w"}, std::string(kAccepted));
  seen.ask({"GET", "k"}, "$1\r\nw\r\n").ask({"GET", "k"}, "$1\r\nv\r\n").wants(value("w"));
  EXPECT_EQ(attribute(seen.differs()).direct, "GET-HIT-3");
}

TEST(AttributionOfResponse, AKeyThatIsNotThereBehindItsSetWasNotWritten) {
  Talk talk;
  talk.ask({"SET", "k", "v"}, std::string(kAccepted)).ask({"GET", "k"}, "$-1\r\n");
  EXPECT_EQ(attribute(talk.wants(value("v")).differs()).direct, "SET-WRITE-1");
  Talk read;
  read.ask({"SET", "k", "v"}, std::string(kAccepted)).ask({"GET", "k"}, "$1\r\nv\r\n");
  read.ask({"GET", "k"}, "$-1\r\n").wants(value("v"));
  EXPECT_EQ(attribute(read.differs()).direct, "GET-HIT-3");
}

TEST(AttributionOfResponse, AReplyThatIsGivenOnceMoreAnswersNothing) {
  const auto request = [](const std::vector<std::string_view>& command,
                          const std::string& correlation) {
    return codec::Message{.payload = codec::encode_command(command),
                          .correlation_data = correlation};
  };
  Talk talk;
  talk.send(request({"SET", "k", "v"}, "c"), std::string(kAccepted), "5:0:s");
  talk.send(request({"GET", "k"}, "c"), std::string(kAccepted), "5:0:s").wants(value("v"));
  EXPECT_EQ(attribute(talk.differs()).requirement, "ENV-RESPONSE-1");
  Talk other;
  other.send(request({"SET", "k", "v"}, "c"), std::string(kAccepted), "5:0:s");
  other.send(request({"GET", "k"}, "d"), std::string(kAccepted), "5:0:s").wants(value("v"));
  EXPECT_NE(attribute(other.differs()).requirement, "ENV-RESPONSE-1");
}

TEST(AttributionOfResponse, AStoreThatRefusesItsOwnVersionMayHaveMovedItsClock) {
  const std::string_view text =
      codec::text(codec::ErrorCode::kTokenTooFarAhead, codec::dialect(codec::DialectId::kDeployed));
  const auto candidates = [&](const std::string& version, const std::string& token) {
    Talk talk;
    codec::Message request{.payload = codec::encode_command({"SET", "guard", "x"})};
    request.user_properties.emplace_back(codec::kTokenProperty, token);
    talk.ask({"SET", "k", "v"}, std::string(kAccepted), version);
    talk.send(std::move(request), fmt::format("-ERR {}\r\n", text)).wants(plain(ReplyKind::kOk));
    return attribute(talk.differs()).candidates;
  };
  EXPECT_THAT(candidates("90000:0:s", "90000:0:s"),
              UnorderedElementsAre("HLC-SKEW-1", "HLC-SKEW-6"));
  EXPECT_THAT(candidates("90000:0:s", "900000:0:s"), IsEmpty());
  EXPECT_THAT(candidates("50000:0:s", "50000:0:s"), IsEmpty());
}

TEST(AttributionOfResponse, TokensThatDifferBehindTheWallClockMayBeComparedWrongly) {
  const auto candidates = [](const std::string& token) {
    const auto request = [](const std::string& text) {
      codec::Message out{.payload = codec::encode_command({"SET", "k", "v"})};
      out.user_properties.emplace_back(codec::kTokenProperty, text);
      return out;
    };
    Talk talk;
    talk.send(request("1000:5:m"), std::string(kAccepted));
    talk.send(request(token), std::string(kAccepted));
    talk.wants(scenario::ErrorReply{codec::ErrorCode::kTokenLower});
    return attribute(talk.differs()).candidates;
  };
  EXPECT_THAT(candidates("1000:4:m"), Contains("HLC-ORDER-1"));
  EXPECT_THAT(candidates("999:9:m"), Not(Contains("HLC-ORDER-1")));
}

TEST(AttributionOfNoResponse, WhatIsLikeAnyRequestHasToBeAnswered) {
  Talk talk;
  talk.ask({"GET", "k"}, std::nullopt).wants(plain(ReplyKind::kMissing)).cites("GET-MISS-1");
  const Attribution attribution = attribute(talk.differs(Mismatch::kNoResponse));
  EXPECT_EQ(attribution.direct, "ENV-RESPONSE-1");
  EXPECT_EQ(attribution.requirement, "");
}

TEST(AttributionOfNoResponse, SoHasOneThatIsMalformed) {
  Talk talk;
  codec::Message request{.payload = "*1\r\n"};
  talk.send(std::move(request), std::nullopt).wants(scenario::AnyError{});
  EXPECT_EQ(attribute(talk.differs(Mismatch::kNoResponse)).direct, "RESP-INVALID-1");
}

TEST(AttributionOfNoResponse, OfAnUnusualOneTheStepKnowsMore) {
  Talk talk;
  talk.ask({"GET", "k"}, std::nullopt).wants(plain(ReplyKind::kMissing)).cites("ENV-QOS-1");
  talk.step().qos = 2;
  EXPECT_EQ(attribute(talk.differs(Mismatch::kNoResponse)).direct, "ENV-QOS-1");
}

TEST(AttributionOfNoResponse, WhereThereMustBeNoneTheStepKnowsTheRule) {
  Talk talk;
  talk.ask({"GET", "k"}, std::nullopt).wants(scenario::NoReply{}).cites("ENV-RETAIN-1");
  EXPECT_EQ(attribute(talk.differs(Mismatch::kOther)).requirement, "ENV-RETAIN-1");
  ResponseDifference unsure = talk.differs(Mismatch::kOther);
  unsure.failed = false;
  EXPECT_EQ(attribute(unsure).requirement, "");
}

NotificationDifference missing(const Talk& talk, Cause cause) {
  return {.kind = Mismatch::kNotificationMissing,
          .operation = codec::Operation::kSet,
          .key = "k",
          .cites = "NTF-SEND-1",
          .keys = talk.keys(),
          .cause = cause};
}

TEST(AttributionOfNotification, OneOfTheObserversOwnChangeHasARuleOfItsOwn) {
  const Talk talk;
  EXPECT_EQ(attribute(missing(talk, Cause::kOwnChange)).requirement, "NTF-SELF-1");
  EXPECT_EQ(attribute(missing(talk, Cause::kOthersChange)).requirement, "NTF-SEND-1");
}

TEST(AttributionOfNotification, BehindAStopOrADeletionItMayBeThat) {
  const Talk talk;
  NotificationDifference stopped = missing(talk, Cause::kOwnChange);
  stopped.stop_before = true;
  EXPECT_EQ(attribute(stopped).requirement, "NTF-SEND-1");
  Talk deleted;
  deleted.ask({"SET", "k", "v"}, std::string(kAccepted)).ask({"DEL", "k"}, ":1\r\n");
  deleted.ask({"SET", "k", "w"}, std::string(kAccepted));
  const Attribution attribution = attribute(missing(deleted, Cause::kOwnChange));
  EXPECT_EQ(attribution.requirement, "NTF-SEND-1");
  EXPECT_THAT(attribution.candidates, Contains("NTF-KEEP-1"));
}

TEST(AttributionOfNotification, AnotherStopMayHaveEndedTheRegistration) {
  const Talk talk;
  NotificationDifference difference = missing(talk, Cause::kOthersChange);
  difference.other_stop = true;
  EXPECT_THAT(attribute(difference).candidates, UnorderedElementsAre("NTF-SEND-1", "NTF-STOP-2"));
}

TEST(AttributionOfNotification, AnotherValueIsNoMatterOfWhetherItIsSent) {
  const Talk talk;
  NotificationDifference difference = missing(talk, Cause::kOthersChange);
  difference.kind = Mismatch::kNotificationValue;
  EXPECT_EQ(attribute(difference).requirement, "NTF-VALUE-1");
}

TEST(AttributionOfNotification, OneThatIsMissingIsNoMatterOfWhatIsInIt) {
  const Talk talk;
  NotificationDifference difference = missing(talk, Cause::kOthersChange);
  difference.cites = "NTF-TOPIC-1";
  EXPECT_EQ(attribute(difference).requirement, "NTF-SEND-1");
}

TEST(AttributionOfNotification, AKeyThatIsCutIsTheDifference) {
  const Talk talk;
  NotificationDifference difference = missing(talk, Cause::kUnknown);
  difference.kind = Mismatch::kNotification;
  difference.key = "prefix/k";
  difference.seen_key = "prefix/";
  EXPECT_EQ(attribute(difference).requirement, "KEY-BINARY-1");
}

struct Unasked {
  std::vector<std::pair<std::vector<std::string_view>, std::optional<std::string>>> asked;
  std::string_view rule;
  bool observed = false;
};

class RuleOfUnasked : public testing::TestWithParam<Unasked> {};

TEST_P(RuleOfUnasked, IsByWhatTheClientHasAsked) {
  Talk talk;
  for (const auto& [command, reply] : GetParam().asked) talk.ask(command, reply);
  EXPECT_EQ(
      rule_of_unasked({.key = "key", .of_client = talk.all(), .observed = GetParam().observed}),
      GetParam().rule);
}

INSTANTIATE_TEST_SUITE_P(
    Registrations, RuleOfUnasked,
    testing::Values(Unasked{{}, "NTF-SEND-3"}, Unasked{{}, "LIFE-DISCONNECT-1", true},
                    Unasked{{{{"KEYNOTIFY", "key"}, "+OK\r\n"}}, "NTF-SEND-4"},
                    Unasked{{{{"KEYNOTIFY", "key"}, std::nullopt}}, "NTF-SEND-3"},
                    Unasked{{{{"KEYNOTIFY", "key"}, "-ERR syntax error\r\n"}}, "ERR-STATE-1"},
                    Unasked{{{{"KEYNOTIFY", "ke*"}, "+OK\r\n"}}, "NTF-REQUEST-3"},
                    Unasked{{{{"KEYNOTIFY", "key"}, "+OK\r\n"},
                             {{"KEYNOTIFY", "key", "STOP"}, "+OK\r\n"}},
                            "NTF-STOP-1"},
                    Unasked{{{{"KEYNOTIFY", "KEY"}, "+OK\r\n"}}, "KEY-BINARY-1"}));

TEST(RuleOfUnasked, OfAChangeThatWasToldIsThatOfTelling) {
  Talk talk;
  talk.ask({"KEYNOTIFY", "key"}, "+OK\r\n");
  EXPECT_EQ(
      rule_of_unasked({.key = "key", .of_client = talk.all(), .again = codec::Operation::kSet}),
      "NTF-SEND-1");
  EXPECT_EQ(
      rule_of_unasked({.key = "key", .of_client = talk.all(), .again = codec::Operation::kDelete}),
      "NTF-SEND-2");
}

TEST(RuleOfUnaskedResponse, IsByWhatOfItFitsARequest) {
  const auto message = [](const std::string& topic, const std::string& correlation) {
    return codec::Message{.topic = topic, .correlation_data = correlation};
  };
  Talk talk;
  talk.send({.payload = "x", .response_topic = "mine", .correlation_data = "1"}, std::nullopt);
  EXPECT_EQ(rule_of_unasked(message("mine", "2"), talk.all()), "ENV-CORRELATION-1");
  EXPECT_EQ(rule_of_unasked(message("other", "1"), talk.all()), "ENV-RESPONSE-TOPIC-1");
  EXPECT_EQ(rule_of_unasked(message("other", "2"), talk.all()), "");
  talk.send({.payload = "x", .response_topic = "mine", .correlation_data = "2"}, "+OK\r\n");
  codec::Message again = message("mine", "2");
  again.payload = "+OK\r\n";
  EXPECT_EQ(rule_of_unasked(again, talk.all()), "ENV-RESPONSE-1");
  // Another response, while a request waits for one, has the wrong correlation data.
  again.payload = "$1\r\na\r\n";
  EXPECT_EQ(rule_of_unasked(again, talk.all()), "ENV-CORRELATION-1");
  Talk answered;
  answered.send({.payload = "x", .response_topic = "mine", .correlation_data = "2"}, "+OK\r\n");
  EXPECT_EQ(rule_of_unasked(again, answered.all()), "ENV-RESPONSE-1");
}

}  // namespace
}  // namespace fencepost::judge
