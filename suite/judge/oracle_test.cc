// Which rule a rejection names: that of the table of attribution.
#include "suite/judge/oracle.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "codec/dialect.h"
#include "codec/resp3.h"
#include "codec/topics.h"

namespace fencepost::judge {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kBegin{1'767'225'600'000};
constexpr std::string_view kClient = "c";
constexpr std::string_view kOk = "+OK\r\n";
constexpr std::string_view kSyntaxError = "-ERR syntax error\r\n";
constexpr std::string_view kTokenRequired = "-ERR a fencing token is required for this request\r\n";

std::string stamp(milliseconds time, std::string_view node = "client") {
  return std::to_string(time.count()) + ":0:" + std::string(node);
}

// A store that starts empty, with one client that sends a request each 10 ms.
class Conversation {
 public:
  std::string token = stamp(kBegin);  // a right one
  std::string client{kClient};
  std::string last_version{};  // of the last SET that was applied

  explicit Conversation(OracleOptions options = {.clock = {.low_ms = -1, .high_ms = 1},
                                                 .starts_empty = true,
                                                 .limited = false})
      : oracle_(std::move(options)) {}

  // The judgement on the reply. A SET that applies gets a version.
  Judgement ask(const std::vector<std::string_view>& arguments, std::string_view answer,
                const std::string& ft = {}, const std::optional<std::string>& ts = {}) {
    const bool sets = arguments.front() == "SET";
    codec::Message request{.payload = codec::encode_command(arguments)};
    if (sets || ts) {
      request.user_properties.emplace_back("__ts", ts.value_or(stamp(now_ + milliseconds{10})));
    }
    if (!ft.empty()) request.user_properties.emplace_back("__ft", ft);
    codec::Message reply{.payload = std::string(answer)};
    if (sets && answer == kOk) {
      last_version = stamp(now_ + milliseconds{11}, "store");
      reply.user_properties.emplace_back("__ts", last_version);
    }
    return exchange(std::move(request), std::move(reply));
  }

  // The same of any payload.
  Judgement ask_raw(std::string payload, std::string_view answer) {
    return exchange({.payload = std::move(payload)}, {.payload = std::string(answer)});
  }

  // A request with a response topic that is forbidden, and no reply.
  Judgement ask_in_vain(const std::vector<std::string_view>& arguments) {
    now_ += milliseconds{10};
    codec::Message request;
    request.topic = codec::kRequestTopic;
    request.payload = codec::encode_command(arguments);
    request.response_topic = std::string(codec::kRequestTopic);
    request.correlation_data = "1";
    request.user_properties.emplace_back("__ts", stamp(now_));
    return oracle_.judge(client, Exchange(std::move(request), now_, now_.count()));
  }

  void pass(milliseconds time) { now_ += time; }

  void disconnected() { oracle_.disconnected(client, now_); }

  Judgement notified_of_set(std::string_view key, std::string_view value,
                            const std::string& version) {
    codec::Message notified;
    notified.topic = *codec::notification_topic(client, key);
    notified.payload = codec::encode_command({"NOTIFY", "SET", "VALUE", value});
    notified.user_properties.emplace_back("__ts", version);
    return oracle_.notified(client, notified, now_);
  }

  Judgement missing() { return oracle_.missing(client, now_); }

  // The deletion of `key` is notified while a KEYNOTIFY of it is in flight, or while nothing is.
  Judgement notified_of_deletion(std::string_view key, bool while_asked) {
    now_ += milliseconds{10};
    if (while_asked) {
      codec::Message request;
      request.payload = codec::encode_command({"KEYNOTIFY", key});
      oracle_.asked(client, Exchange(std::move(request), now_, now_.count()), now_);
    }
    codec::Message notified;
    notified.topic = *codec::notification_topic(client, key);
    notified.payload = codec::encode_command({"NOTIFY", "DELETE"});
    notified.user_properties.emplace_back("__ts", stamp(kBegin + milliseconds{11}, "store"));
    return oracle_.notified(client, notified, now_);
  }

 private:
  // The judgement on the reply to a request, 10 ms after the last one.
  Judgement exchange(codec::Message request, codec::Message reply) {
    now_ += milliseconds{10};
    request.topic = codec::kRequestTopic;
    request.response_topic = codec::recommended_response_topic(client);
    request.correlation_data = "1";
    reply.topic = *request.response_topic;
    reply.correlation_data = request.correlation_data;
    reply.user_properties.emplace_back("__stat", "200");
    Exchange out(std::move(request), now_, now_.count());
    out.reply.emplace(std::move(reply), now_ + milliseconds{1}, now_.count() + 1);
    return oracle_.judge(client, out);
  }

  milliseconds now_ = kBegin;
  Oracle oracle_;
};

// A key that the client observes has expired, and no notification has come.
void expire_unnoticed(Conversation& store) {
  EXPECT_EQ(store.ask({"SET", "k", "v", "PX", "300"}, kOk).answer, Answer::kAccepted);
  EXPECT_EQ(store.ask({"KEYNOTIFY", "k"}, kOk).answer, Answer::kAccepted);
  store.pass(milliseconds{600});
  EXPECT_NE(store.missing().answer, Answer::kRejected);
}

// Req: ENV-RESPONSE-TOPIC-OPEN-4
TEST(Oracle, ARequestWithAForbiddenResponseTopicMayBeCarriedOut) {
  for (const bool carried_out : {true, false}) {
    Conversation talk;
    EXPECT_EQ(talk.ask({"SET", "k", "v"}, kOk).answer, Answer::kAccepted);
    EXPECT_NE(talk.ask_in_vain({"DEL", "k"}).answer, Answer::kRejected);
    const auto next =
        carried_out ? talk.ask({"SET", "k", "w", "NX"}, kOk) : talk.ask({"SET", "k", "w"}, kOk);
    EXPECT_NE(next.answer, Answer::kRejected) << next.because;
  }
}

// Req: FT-OPEN-5
TEST(Oracle, ADeletionOfAnExpiredKeyMayStillNeedItsToken) {
  for (const std::string_view answer : {std::string_view(":0\r\n"), kTokenRequired}) {
    Conversation talk;
    EXPECT_EQ(talk.ask({"SET", "k", "v", "PX", "300"}, kOk, talk.token).answer, Answer::kAccepted);
    talk.pass(milliseconds{600});
    const Judgement judgement = talk.ask({"VDEL", "k", "v"}, answer);
    EXPECT_NE(judgement.answer, Answer::kRejected) << answer << judgement.because;
  }
  for (const std::string_view answer : {std::string_view(":1\r\n"), kSyntaxError}) {
    Conversation talk;
    EXPECT_EQ(talk.ask({"SET", "k", "v", "PX", "300"}, kOk, talk.token).answer, Answer::kAccepted);
    talk.pass(milliseconds{600});
    EXPECT_EQ(talk.ask({"VDEL", "k", "v"}, answer).answer, Answer::kRejected) << answer;
  }
}

// Req: QUOTA-OPEN-1
TEST(Oracle, AStoreAtItsQuotaMayRefuseAnOverwrite) {
  Conversation talk({.clock = {.low_ms = -1, .high_ms = 1}, .starts_empty = true, .limited = true});
  EXPECT_EQ(talk.ask({"SET", "k", "v"}, kOk).answer, Answer::kAccepted);
  EXPECT_NE(talk.ask({"SET", "k", "w"}, "-ERR the quota has been exceeded\r\n").answer,
            Answer::kRejected);
  EXPECT_EQ(talk.ask({"DEL", "k"}, "-ERR the quota has been exceeded\r\n").answer,
            Answer::kRejected);
}

void expect_broken(const Judgement& judgement, std::string_view requirement) {
  EXPECT_EQ(judgement.answer, Answer::kRejected) << judgement.because;
  EXPECT_EQ(judgement.requirement, requirement) << judgement.because;
}

// Whether a name that looks like a pattern is refused is open, for STOP, too: but one that was
// taken can be given back. (NTF-WILDCARD-OPEN-1; `explore --exhaustive 2` found it)
TEST(OracleUnspecified, ANameLikeAPatternMayBeRefused) {
  for (const std::string_view key : {"#", "a*", "x/+", "?"}) {
    Conversation refusing;
    EXPECT_EQ(refusing.ask({"KEYNOTIFY", key, "STOP"}, kSyntaxError).answer, Answer::kUndecidable);
    EXPECT_EQ(refusing.ask({"KEYNOTIFY", key}, kSyntaxError).answer, Answer::kUndecidable);
    Conversation taking;
    EXPECT_EQ(taking.ask({"KEYNOTIFY", key}, kOk).answer, Answer::kAccepted);
    expect_broken(taking.ask({"KEYNOTIFY", key, "STOP"}, kSyntaxError), "NTF-STOP-1");
  }
}

// FT-MALFORMED-1 speaks of SET, HLC-PARSE-1 of every verb.
TEST(OracleRequirement, OfAMalformedTokenIsThatOfItsVerb) {
  const std::pair<std::vector<std::string_view>, std::string_view> rows[] = {
      {{"SET", "k", "v"}, "FT-MALFORMED-1"},
      {{"DEL", "k"}, "HLC-PARSE-1"},
      {{"VDEL", "k", "v"}, "HLC-PARSE-1"}};
  for (const auto& [arguments, requirement] : rows) {
    SCOPED_TRACE(arguments.front());
    Conversation store;
    ASSERT_EQ(store.ask({"SET", "k", "v"}, kOk, store.token).answer, Answer::kAccepted);
    expect_broken(store.ask(arguments, kSyntaxError, "NotValid"), requirement);
  }
}

TEST(OracleRequirement, OfATimestampThatIsTooFarAheadIsNotThatOfItsForm) {
  Conversation store;
  const std::string far_and_doubtful = stamp(kBegin + milliseconds{3'600'000}, "");
  expect_broken(store.ask({"SET", "k", "v"}, kSyntaxError, {}, far_and_doubtful), "HLC-SKEW-1");
}

// What may be malformed and is too far ahead may be refused for either. (Req: HLC-PARSE-OPEN-2)
TEST(Oracle, TakesEitherRefusalOfAGreatCounterFarAhead) {
  const std::string far =
      std::to_string((kBegin + milliseconds{3'600'000}).count()) + ":18446744073709551615:client";
  for (const std::string_view text :
       {"malformed timestamp",
        "the request timestamp is too far in the future; ensure that the "
        "client and broker system clocks are synchronized"}) {
    Conversation store;
    const std::string answer = "-ERR " + std::string(text) + "\r\n";
    const Judgement judgement = store.ask({"SET", "k", "v"}, answer, {}, far);
    EXPECT_NE(judgement.answer, Answer::kRejected) << judgement.because;
  }
  Conversation store;
  expect_broken(store.ask({"SET", "k", "v"}, kSyntaxError, {}, far), "HLC-SKEW-1");
}

// A store that takes the greatest counter of an earlier time need not count on from one of a later
// time. (Req: HLC-PARSE-OPEN-2)
TEST(Oracle, TakesARefusalOfACounterThatCannotBeCountedOnAfterItWasTaken) {
  for (const char* counter :
       {"2147483647", "4294967295", "9223372036854775807", "18446744073709551615"}) {
    Conversation store;
    const auto at = [&](milliseconds when) {
      return std::to_string((kBegin + when).count()) + ":" + counter + ":client";
    };
    EXPECT_NE(store.ask({"SET", "k", "v"}, kOk, stamp(kBegin), at(milliseconds{-60'000})).answer,
              Answer::kRejected);
    EXPECT_NE(
        store.ask({"SET", "k", "v"}, "-ERR malformed timestamp\r\n", {}, at(milliseconds{50'000}))
            .answer,
        Answer::kRejected)
        << counter;
  }
}

// The greatest number of a width may be refused as a token, too, or may mean something else: that
// says nothing of the others of the width. (Req: HLC-PARSE-OPEN-2)
TEST(Oracle, TakesTheRefusalOfTheGreatestCounterForNoneOfOthers) {
  constexpr std::string_view kRefused = "-ERR malformed timestamp\r\n";
  const auto token = [](const std::string& counter) {
    return std::to_string(kBegin.count()) + ":" + counter + ":client";
  };
  for (const std::string greatest : {"18446744073709551615", "4294967295"}) {
    const std::string other = greatest.substr(0, greatest.size() - 1) + "4";
    for (const bool greatest_first : {true, false}) {
      Conversation store;
      for (const bool is_greatest : {greatest_first, !greatest_first}) {
        const Judgement judgement = store.ask({"SET", "k", "v"}, is_greatest ? kRefused : kOk,
                                              token(is_greatest ? greatest : other));
        EXPECT_NE(judgement.answer, Answer::kRejected) << greatest << judgement.because;
      }
    }
  }
}

// A wall clock that no store need hold may be refused as malformed: that says nothing of the
// counter behind it, before and after. (Req: HLC-PARSE-OPEN-2, HLC-PARSE-OPEN-3)
TEST(Oracle, TakesTheRefusalOfAWallClockForNoneOfItsCounter) {
  const std::string near = std::to_string(kBegin.count()) + ":2147483648:client";
  const auto ask = [](Conversation& store, const std::string& token, std::string_view answer) {
    return store.ask({"SET", "k", "v"}, answer, token);
  };
  for (const std::string far :
       {"9223372036854775807:2147483648:client", "99999999999999999999:2147483648:client"}) {
    Conversation refused;
    EXPECT_NE(ask(refused, far, "-ERR malformed timestamp\r\n").answer, Answer::kRejected) << far;
    const Judgement taken = ask(refused, near, kOk);
    EXPECT_NE(taken.answer, Answer::kRejected) << far << taken.because;
    Conversation other;
    EXPECT_NE(ask(other, near, kOk).answer, Answer::kRejected);
    const Judgement second = ask(other, far, "-ERR malformed timestamp\r\n");
    EXPECT_NE(second.answer, Answer::kRejected) << far << second.because;
  }
}

// The store notices an expiry when the key is used, and then notifies also a client that has
// registered after it. (Req: SET-PX-OPEN-8)
TEST(Oracle, AnExpiryIsNotifiedLateAlsoBehindTheNextValueThatExpires) {
  Conversation store;
  expire_unnoticed(store);
  store.client = "later";
  EXPECT_EQ(store.ask({"KEYNOTIFY", "k"}, kOk).answer, Answer::kAccepted);
  store.client = kClient;
  EXPECT_NE(store.ask({"SET", "k", "v", "PX", "300"}, kOk).answer, Answer::kRejected);
  for (const std::string_view client : {kClient, std::string_view("later")}) {
    store.client = client;
    const Judgement judgement = store.notified_of_deletion("k", false);
    EXPECT_NE(judgement.answer, Answer::kRejected) << client << judgement.because;
  }
}

// The client registers after an expiry that the store has not noticed, and another one writes a
// value that expires immediately. (Req: SET-PX-OPEN-8)
TEST(Oracle, ALateExpiryIsNotTakenForThatOfTheNextValue) {
  Conversation store;
  store.client = "later";
  expire_unnoticed(store);
  store.client = kClient;
  EXPECT_EQ(store.ask({"KEYNOTIFY", "k"}, kOk).answer, Answer::kAccepted);
  store.client = "later";
  EXPECT_NE(store.ask({"SET", "k", "w", "PX", "0"}, kOk).answer, Answer::kRejected);
  EXPECT_NE(store.ask({"SET", "k", "x"}, kOk).answer, Answer::kRejected);
  store.client = kClient;
  const Judgement judgement = store.notified_of_deletion("k", false);
  EXPECT_NE(judgement.answer, Answer::kRejected) << judgement.because;
  // Both changes are still owed.
  store.pass(milliseconds{3'000});
  expect_broken(store.missing(), "NTF-SEND-1");
}

// What is notified of two changes may come in any order, but has to come. (Req: NTF-ORDER-OPEN-2)
TEST(Oracle, ANotificationMayOvertakeThatOfAnEarlierChange) {
  for (const bool comes_later : {true, false}) {
    Conversation store;
    EXPECT_EQ(store.ask({"SET", "k", "v"}, kOk).answer, Answer::kAccepted);
    EXPECT_EQ(store.ask({"KEYNOTIFY", "k"}, kOk).answer, Answer::kAccepted);
    store.client = "another";
    EXPECT_EQ(store.ask({"SET", "k", "w"}, kOk).answer, Answer::kAccepted);
    const std::string version = store.last_version;
    EXPECT_EQ(store.ask({"SET", "k", "x"}, kOk).answer, Answer::kAccepted);
    store.client = kClient;
    EXPECT_EQ(store.notified_of_set("k", "x", store.last_version).answer, Answer::kAccepted);
    if (comes_later) {
      EXPECT_EQ(store.notified_of_set("k", "w", version).answer, Answer::kAccepted);
    }
    store.pass(milliseconds{10});
    if (comes_later) {
      EXPECT_EQ(store.missing().answer, Answer::kAccepted);
    } else {
      expect_broken(store.missing(), "NTF-SEND-1");
    }
  }
}

// (Req: SET-PX-OPEN-8, NTF-ORDER-1)
TEST(Oracle, AnExpiryThatIsNoticedWhileAStopIsInFlightMayBeNotifiedBehindIt) {
  for (const char* px : {"25", "60000"}) {
    Conversation store;
    EXPECT_EQ(store.ask({"SET", "k", "v", "PX", px}, kOk).answer, Answer::kAccepted);
    EXPECT_EQ(store.ask({"KEYNOTIFY", "k"}, kOk).answer, Answer::kAccepted);
    store.pass(milliseconds{20});
    EXPECT_EQ(store.ask({"KEYNOTIFY", "k", "STOP"}, kOk).answer, Answer::kAccepted);
    const Judgement judgement = store.notified_of_deletion("k", false);
    EXPECT_EQ(judgement.answer == Answer::kRejected, px == std::string_view("60000"))
        << judgement.because;
  }
}

// Also to a client that has registered after the expiry.
TEST(Oracle, AnExpiryBeforeTheRegistrationMayBeNotifiedBehindAStop) {
  for (const bool has_expired : {true, false}) {
    Conversation store;
    store.client = "another";
    EXPECT_EQ(store.ask({"SET", "k", "v", "PX", has_expired ? "300" : "60000"}, kOk).answer,
              Answer::kAccepted);
    EXPECT_EQ(store.ask({"KEYNOTIFY", "k"}, kOk).answer, Answer::kAccepted);
    store.pass(milliseconds{600});
    EXPECT_NE(store.missing().answer, Answer::kRejected);
    store.client = kClient;
    EXPECT_EQ(store.ask({"KEYNOTIFY", "k"}, kOk).answer, Answer::kAccepted);
    EXPECT_EQ(store.ask({"KEYNOTIFY", "k", "STOP"}, kOk).answer, Answer::kAccepted);
    const Judgement judgement = store.notified_of_deletion("k", false);
    EXPECT_EQ(judgement.answer == Answer::kRejected, !has_expired) << judgement.because;
  }
}

// (Req: SET-PX-OPEN-8)
TEST(Oracle, AnExpiryThatIsNoticedAfterAStopIsNotNotified) {
  Conversation store;
  expire_unnoticed(store);
  EXPECT_EQ(store.ask({"KEYNOTIFY", "k", "STOP"}, kOk).answer, Answer::kAccepted);
  store.pass(milliseconds{3'000});
  const Judgement judgement = store.missing();
  EXPECT_NE(judgement.answer, Answer::kRejected) << judgement.because;
}

// (Req: HLC-REQUIRED-OPEN-1, ENV-PROPERTY-OPEN-2)
TEST(Oracle, TakesEachRefusalOfAnEmptyTimestampThatIsNotNeeded) {
  for (const char* error : {"malformed timestamp", "missing timestamp"}) {
    const std::string answer = "-ERR " + std::string(error) + "\r\n";
    for (const char* verb : {"GET", "DEL"}) {
      Conversation store;
      EXPECT_NE(store.ask({verb, "k"}, answer, {}, "").answer, Answer::kRejected) << verb << error;
    }
  }
  Conversation store;
  expect_broken(store.ask({"GET", "k"}, "-ERR missing timestamp\r\n", {}, stamp(kBegin)),
                "GET-MISS-1");
}

// A wall clock that no 63 bits hold is no timestamp, or one too far ahead.
TEST(Oracle, TakesEitherRefusalOfAWallClockBeyondAllOthers) {
  const std::string too_far =
      "-ERR the request timestamp is too far in the future; ensure that the client and broker "
      "system clocks are synchronized\r\n";
  for (const char* sent : {"9223372036854775808:0:n", "18446744073709551616:0:n"}) {
    for (const std::string& answer : {too_far, std::string("-ERR malformed timestamp\r\n")}) {
      Conversation store;
      EXPECT_EQ(store.ask({"SET", "k", "v"}, answer, {}, sent).answer, Answer::kAccepted) << answer;
    }
    Conversation store;
    EXPECT_EQ(store.ask({"SET", "k", "v"}, kOk, {}, sent).answer, Answer::kRejected);
  }
  for (const char* malformed :
       {"nonsense", "9223372036854775808", "9223372036854775808:0", "x:0:n"}) {
    Conversation store;
    EXPECT_EQ(store.ask({"SET", "k", "v"}, too_far, {}, malformed).answer, Answer::kRejected)
        << malformed;
  }
}

// A store whose replies take longer than its notifications may tell of an expiry before it answers
// the registration. (Req: NTF-SEND-3)
TEST(Oracle, TakesARegistrationThatIsUnderWayForOneThatMayBeInForce) {
  Conversation store;
  ASSERT_EQ(store.ask({"SET", "k", "v", "PX", "1"}, kOk).answer, Answer::kAccepted);
  const Judgement judgement = store.notified_of_deletion("k", true);
  EXPECT_NE(judgement.answer, Answer::kRejected) << judgement.because;
  Conversation other;
  ASSERT_EQ(other.ask({"SET", "k", "v", "PX", "1"}, kOk).answer, Answer::kAccepted);
  expect_broken(other.notified_of_deletion("k", false), "NTF-SEND-3");
}

// A store that is a client of the broker does not see how connections of others end: a registration
// may last, and a notification is not missed. (Req: LIFE-DISCONNECT-1)
TEST(Oracle, LetsRegistrationsOutliveAConnectionWhereTheStoreIsNoPartOfTheBroker) {
  OracleOptions options{
      .clock = {.low_ms = -1, .high_ms = 1}, .starts_empty = true, .limited = false};
  for (const bool in_broker : {true, false}) {
    options.store_in_broker = in_broker;
    Conversation store(options);
    ASSERT_EQ(store.ask({"KEYNOTIFY", "k"}, kOk).answer, Answer::kAccepted);
    store.disconnected();
    store.pass(milliseconds{500});
    ASSERT_EQ(store.ask({"SET", "k", "v"}, kOk).answer, Answer::kAccepted);
    store.pass(milliseconds{500});
    EXPECT_NE(store.missing().answer, Answer::kRejected) << in_broker;
    const Judgement judgement = store.notified_of_set("k", "v", store.last_version);
    EXPECT_EQ(judgement.answer == Answer::kRejected, in_broker) << judgement.because;
  }
}

// A store that looks for expired keys now and then tells of one to who has registered since, also
// where an earlier value had a longer PX. (Req: SET-PX-OPEN-8)
TEST(Oracle, AnExpiryThatIsNoticedLateIsThatOfTheLastPx) {
  for (const std::string_view before : {"60000", "1"}) {
    Conversation store;
    ASSERT_EQ(store.ask({"SET", "k", "v", "PX", before}, kOk).answer, Answer::kAccepted);
    ASSERT_NE(store.ask({"SET", "k", "w", "PX", "300"}, kOk).answer, Answer::kRejected);
    store.pass(milliseconds{650});
    // Shows that it has expired, at a time when nobody observes it.
    ASSERT_NE(store.ask({"SET", "k", "v", "PX", "0"}, kSyntaxError).answer, Answer::kRejected);
    ASSERT_EQ(store.ask({"KEYNOTIFY", "k"}, kOk).answer, Answer::kAccepted);
    ASSERT_NE(store.ask({"GET", "k"}, "$-1\r\n").answer, Answer::kRejected);
    const Judgement judgement = store.notified_of_deletion("k", false);
    EXPECT_NE(judgement.answer, Answer::kRejected) << before << ": " << judgement.because;
  }
}

// The same of a store that looks when the key is used, where nobody has used it for a while; but
// not of a second use. (Req: SET-PX-OPEN-8)
TEST(Oracle, AnExpiryMayBeNoticedWhenTheKeyIsUsed) {
  for (const bool used_before : {false, true}) {
    Conversation store;
    ASSERT_EQ(store.ask({"KEYNOTIFY", "k"}, kOk).answer, Answer::kAccepted);
    ASSERT_EQ(store.ask({"SET", "k", "v", "PX", "300"}, kOk).answer, Answer::kAccepted);
    store.pass(milliseconds{650});
    (void)store.missing();  // the key has expired by now
    if (used_before) {
      ASSERT_NE(store.ask({"GET", "k"}, "$-1\r\n").answer, Answer::kRejected);
    }
    store.client = "other";
    ASSERT_EQ(store.ask({"KEYNOTIFY", "k"}, kOk).answer, Answer::kAccepted);
    store.pass(milliseconds{3'000});
    ASSERT_NE(store.ask({"GET", "k"}, "$-1\r\n").answer, Answer::kRejected);
    const Judgement judgement = store.notified_of_deletion("k", false);
    EXPECT_EQ(judgement.answer == Answer::kRejected, used_before) << judgement.because;
  }
}

TEST(OracleRequirement, OfADeletionIsNotThatOfATokenThatNobodyAskedFor) {
  Conversation store;
  ASSERT_EQ(store.ask({"SET", "k", "v"}, kOk).answer, Answer::kAccepted);
  expect_broken(store.ask({"DEL", "k"}, ":0\r\n", store.token), "DEL-OK-1");
}

TEST(OracleRequirement, OfARegistrationSaysWhetherItSucceeds) {
  Conversation store;
  expect_broken(store.ask({"KEYNOTIFY", "none"}, kSyntaxError), "NTF-ABSENT-1");
  expect_broken(store.ask({"KEYNOTIFY", "none too"}, "$-1\r\n"), "NTF-RESPONSE-2");
  ASSERT_EQ(store.ask({"SET", "k", "v"}, kOk).answer, Answer::kAccepted);
  expect_broken(store.ask({"KEYNOTIFY", "k"}, kSyntaxError), "NTF-RESPONSE-2");
}

// Of a store whose clock nobody knows, a refusal may be right: that is not the rule of what it
// does.
TEST(OracleRequirement, IsNotThatOfAClockThatNobodyKnows) {
  Conversation store({.clock = {}, .starts_empty = true, .limited = false});
  ASSERT_EQ(store.ask({"SET", "k", "v"}, kOk).answer, Answer::kAccepted);
  expect_broken(store.ask({"SET", "k", "other", "NX"}, kOk), "SET-NX-2");
}

// To a store that takes inline commands it is one of an unknown verb. (Req: RESP-INLINE-OPEN-1)
TEST(OracleRequirement, LeavesOpenWhichErrorALineOfTextGets) {
  constexpr std::string_view kUnknown = "-ERR unknown command\r\n";
  for (const char* line : {"A*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n", "2\r\n", "PING k\r\n"}) {
    Conversation store;
    EXPECT_EQ(store.ask_raw(line, kUnknown).answer, Answer::kUndecidable) << line;
    EXPECT_EQ(store.ask_raw(line, kSyntaxError).answer, Answer::kAccepted) << line;
    EXPECT_EQ(store.ask_raw(line, "+OK\r\n").answer, Answer::kRejected) << line;
  }
  for (const char* other : {"hello", "*x\r\n", "\x01\r\n"}) {
    Conversation store;
    expect_broken(store.ask_raw(other, kUnknown), "ERR-SYNTAX-1");
  }
}

// A text that changes is not a SET that was not applied.
TEST(OracleRequirement, OfASpellingThatChangesIsThatOfItsForm) {
  Conversation store;
  ASSERT_EQ(store.ask({"SET", "k", "v"}, kOk, store.token).answer, Answer::kAccepted);
  const auto lower = [&](codec::DialectId id) {
    const std::string reply = "-ERR " + std::string(codec::dialect(id).lower_token_text) + "\r\n";
    return store.ask({"SET", "k", "v"}, reply, stamp(kBegin - milliseconds{1}));
  };
  ASSERT_EQ(lower(codec::DialectId::kDeployed).answer, Answer::kAccepted);
  ASSERT_EQ(lower(codec::DialectId::kDeployed).answer, Answer::kAccepted);
  expect_broken(lower(codec::DialectId::kDocumented), "ERR-TEXT-4");
}

}  // namespace
}  // namespace fencepost::judge
