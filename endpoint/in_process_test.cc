// The little broker around the in-process store: its clock, who receives what, and how it ends
// connections.
#include "endpoint/in_process.h"

#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/resp3.h"
#include "codec/topics.h"

namespace fencepost::endpoint {
namespace {

using namespace std::chrono_literals;
using codec::Message;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Arguments = std::vector<std::string_view>;

std::unique_ptr<Session> open_session(Endpoint& endpoint) {
  return endpoint.open_session().value();
}

std::unique_ptr<Client> connect(Session& session, const std::string& client_id) {
  return session.connect({.client_id = client_id}).value();
}

Message request(Session& session, const Arguments& arguments, const std::string& response_topic) {
  Message message;
  message.topic = std::string(codec::kRequestTopic);
  message.payload = codec::encode_command(arguments);
  message.response_topic = response_topic;
  message.correlation_data = "id";
  message.user_properties = {{"__ts", std::to_string(session.clock().wall_ms()) + ":0:node"}};
  return message;
}

// What happened, in a word: the payload of a message, or how the connection ended.
std::string describe(const std::optional<Event>& event) {
  if (!event) return "nothing";
  if (const auto* received = std::get_if<MessageReceived>(&event->what)) {
    return received->message.payload;
  }
  const auto* disconnected = std::get_if<Disconnected>(&event->what);
  if (disconnected == nullptr) return "refused";
  return "disconnected " + std::to_string(disconnected->reason_code.value_or(-1));
}

// Everything that is there already, without letting time pass.
std::vector<std::string> waiting(Client& client) {
  std::vector<std::string> all;
  while (const auto event = client.receive(0us)) all.push_back(describe(event));
  return all;
}

// One session with a client "c" that receives its responses on "r".
class InProcess : public ::testing::Test {
 protected:
  InProcess() { EXPECT_TRUE(client->subscribe("r")); }

  void send(const Arguments& arguments) {
    EXPECT_TRUE(client->publish(request(*session, arguments, "r")));
  }
  std::string ask(const Arguments& arguments) {
    send(arguments);
    return describe(client->receive(0us));
  }
  [[nodiscard]] Duration now() const { return session->clock().now(); }

  void reopen(const Conditions& conditions) {
    client.reset();  // before the session that it belongs to
    endpoint = make_in_process_endpoint({.conditions = conditions});
    session = open_session(*endpoint);
    client = connect(*session, "c");
    EXPECT_TRUE(client->subscribe("r"));
  }

  std::unique_ptr<Endpoint> endpoint = make_in_process_endpoint({});
  std::unique_ptr<Session> session = open_session(*endpoint);
  std::unique_ptr<Client> client = connect(*session, "c");
};

TEST_F(InProcess, AnswersAtOnce) {
  EXPECT_EQ(ask({"SET", "k", "v"}), "+OK\r\n");
  EXPECT_EQ(ask({"GET", "k"}), "$1\r\nv\r\n");
  EXPECT_THAT(waiting(*client), IsEmpty());
}

TEST_F(InProcess, SaysThatItHasNoTransportAndWhatItsRolesAndQuotaAre) {
  EXPECT_EQ(endpoint->url(), "inproc:");
  EXPECT_FALSE(endpoint->capabilities().transport);
  EXPECT_EQ(endpoint->capabilities().quota, std::nullopt);
  EXPECT_TRUE(endpoint->check_reachable(1ms));
  const auto limited = make_in_process_endpoint({.quota = 3, .roles = {"sensor"}});
  EXPECT_EQ(limited->capabilities().quota, 3U);
  EXPECT_TRUE(limited->capabilities().has_isolated_broker);
  EXPECT_TRUE(limited->capabilities().has_role("sensor"));
  EXPECT_FALSE(limited->capabilities().has_role("c"));
}

TEST_F(InProcess, OnlyQuotaSessionsHaveAQuota) {
  const auto limited = make_in_process_endpoint({.quota = 1});
  const auto ordinary = open_session(*limited);
  const auto narrow = limited->open_session({.isolated = true}).value();
  for (Session* own : {ordinary.get(), narrow.get()}) {
    const auto writer = connect(*own, "w");
    ASSERT_TRUE(writer->subscribe("r"));
    ASSERT_TRUE(writer->publish(request(*own, {"SET", "a", "v"}, "r")));
    ASSERT_TRUE(writer->publish(request(*own, {"SET", "b", "v"}, "r")));
    const std::string second =
        own == narrow.get() ? "-ERR the quota has been exceeded\r\n" : "+OK\r\n";
    EXPECT_THAT(waiting(*writer), ElementsAre("+OK\r\n", second));
  }
}

TEST_F(InProcess, NotifiesAnExpiryExactlyAtItsTime) {
  EXPECT_EQ(ask({"KEYNOTIFY", "k"}), "+OK\r\n");
  const Duration before = now();
  send({"SET", "k", "v", "PX", "5000"});
  const Duration due = now() + 5000ms;
  EXPECT_GT(now(), before);                // a request takes a little time
  EXPECT_EQ(waiting(*client).size(), 2U);  // the notification of the SET, its response
  const auto event = client->receive(1h);
  EXPECT_EQ(describe(event), "*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n");
  ASSERT_TRUE(event);
  EXPECT_EQ(event->time, due);
  EXPECT_EQ(now(), due);  // the wait ended with the event
}

TEST_F(InProcess, KeepsAKeyUntilItsTimeAndNotLonger) {
  send({"SET", "k", "v", "PX", "5000"});
  const Duration due = now() + 5000ms;
  EXPECT_EQ(describe(client->receive(0us)), "+OK\r\n");
  // A request takes 20 us, so that this one is handled 1 us before the time.
  session->clock().wait_until(due - 21us);
  EXPECT_EQ(ask({"GET", "k"}), "$1\r\nv\r\n");
  session->clock().wait_until(due);
  EXPECT_EQ(ask({"GET", "k"}), "$-1\r\n");
}

TEST_F(InProcess, WaitingCostsNoWallTime) {
  const auto start = std::chrono::steady_clock::now();
  const Duration before = now();
  const std::uint64_t wall_before = session->clock().wall_ms();
  EXPECT_EQ(describe(client->receive(24h)), "nothing");
  session->clock().wait_until(before + 48h);
  EXPECT_EQ(now() - before, Duration{48h});
  EXPECT_EQ(session->clock().wall_ms() - wall_before, 48U * 3'600'000U);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 10s);
}

TEST_F(InProcess, ReceiveMovesTheClockByItsTimeoutWhenNothingComes) {
  const Duration before = now();
  EXPECT_EQ(describe(client->receive(250ms)), "nothing");
  EXPECT_EQ(now() - before, Duration{250ms});
  send({"GET", "k"});
  const Duration sent = now();
  EXPECT_EQ(describe(client->receive(250ms)), "$-1\r\n");
  EXPECT_EQ(now(), sent);  // it was there already
}

TEST_F(InProcess, TheClockNeverGoesBack) {
  session->clock().wait_until(now() + 1s);
  const Duration before = now();
  session->clock().wait_until(before - 1s);
  EXPECT_EQ(now(), before);
}

TEST_F(InProcess, SessionsShareNeitherKeysNorClockNorTopics) {
  const auto other = open_session(*endpoint);
  const auto stranger = connect(*other, "c");  // the same client id disturbs nobody
  ASSERT_TRUE(stranger->subscribe("#"));
  EXPECT_EQ(ask({"SET", "k", "v"}), "+OK\r\n");
  EXPECT_EQ(describe(client->receive(1h)), "nothing");
  EXPECT_THAT(waiting(*stranger), IsEmpty());
  EXPECT_LT(other->clock().now(), Duration{1h});
  ASSERT_TRUE(stranger->publish(request(*other, {"GET", "k"}, "r")));
  EXPECT_THAT(waiting(*stranger), ElementsAre("$-1\r\n"));
}

TEST_F(InProcess, FiltersDecideWhoHearsAResponse) {
  struct Listener {
    std::string filter;
    bool receives;
  };
  const std::vector<Listener> listeners = {{"a/b/c", true}, {"a/+/c", true},  {"a/#", true},
                                           {"#", true},     {"+/b/+", true},  {"a/b", false},
                                           {"a/+", false},  {"b/#", false},   {"a/b/c/d", false},
                                           {"+", false},    {"A/b/c", false}, {"a/b/c/#", true}};
  std::vector<std::unique_ptr<Client>> clients;
  for (const Listener& listener : listeners) {
    clients.push_back(connect(*session, "listens to " + listener.filter));
    ASSERT_TRUE(clients.back()->subscribe(listener.filter));
  }
  ASSERT_TRUE(client->publish(request(*session, {"GET", "k"}, "a/b/c")));
  for (std::size_t i = 0; i < listeners.size(); ++i) {
    EXPECT_EQ(waiting(*clients[i]).size(), listeners[i].receives ? 1U : 0U) << listeners[i].filter;
  }
  EXPECT_THAT(waiting(*client), IsEmpty());  // the requesting client is nobody special
}

TEST_F(InProcess, AnUnsubscribedFilterHearsNothing) {
  ASSERT_TRUE(client->subscribe("a/b"));
  ASSERT_TRUE(client->subscribe("a/c"));
  ASSERT_TRUE(client->unsubscribe("a/b"));
  ASSERT_TRUE(client->publish(request(*session, {"GET", "k"}, "a/b")));
  EXPECT_THAT(waiting(*client), IsEmpty());
  ASSERT_TRUE(client->publish(request(*session, {"GET", "k"}, "a/c")));
  EXPECT_EQ(waiting(*client).size(), 1U);
}

TEST_F(InProcess, OverlappingFiltersDeliverOnce) {
  ASSERT_TRUE(client->subscribe("#"));
  ASSERT_TRUE(client->subscribe("r"));
  send({"GET", "k"});
  EXPECT_THAT(waiting(*client), ElementsAre("$-1\r\n"));
}

TEST_F(InProcess, RoutesOrdinaryMessagesAndHidesRequests) {
  const auto spy = connect(*session, "spy");
  ASSERT_TRUE(spy->subscribe("statestore/#"));
  ASSERT_TRUE(spy->subscribe("news"));
  EXPECT_EQ(ask({"SET", "k", "v"}), "+OK\r\n");
  ASSERT_TRUE(client->publish({.topic = "news", .payload = "hello"}));
  EXPECT_THAT(waiting(*spy), ElementsAre("hello"));
}

TEST_F(InProcess, NotificationsReachTheObserverWithoutASubscription) {
  const auto writer = connect(*session, "writer");
  EXPECT_EQ(ask({"KEYNOTIFY", "k"}), "+OK\r\n");
  ASSERT_TRUE(writer->publish(request(*session, {"SET", "k", "new"}, "nobody/listens")));
  const auto event = client->receive(0us);
  EXPECT_EQ(describe(event), "*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$3\r\nnew\r\n");
  ASSERT_TRUE(event);
  const auto* received = std::get_if<MessageReceived>(&event->what);
  ASSERT_NE(received, nullptr);
  EXPECT_EQ(received->message.topic, codec::notification_topic("c", "k"));
  EXPECT_THAT(waiting(*writer), IsEmpty());
}

TEST_F(InProcess, NotificationsGoToTheObserverAloneWhoeverSubscribed) {
  const auto spy = connect(*session, "spy");
  ASSERT_TRUE(spy->subscribe(codec::notification_filter("c")));
  EXPECT_EQ(ask({"KEYNOTIFY", "k"}), "+OK\r\n");
  send({"SET", "k", "v"});
  EXPECT_EQ(waiting(*client).size(), 2U);
  EXPECT_THAT(waiting(*spy), IsEmpty());
}

TEST_F(InProcess, DisconnectsForAnIllegalResponseTopic) {
  const std::string prefix(codec::kStorePrefix);
  for (const std::string& topic :
       {std::string(codec::kRequestTopic), prefix, prefix + "/x", std::string("a/+"),
        std::string("#"), std::string("$SYS/x"), std::string()}) {
    const auto offender = connect(*session, "offender");
    ASSERT_TRUE(offender->publish(request(*session, {"SET", "k", topic}, topic)));
    EXPECT_THAT(waiting(*offender), ElementsAre("disconnected 130")) << topic;
    const auto sent = offender->publish(request(*session, {"GET", "k"}, "r"));
    ASSERT_FALSE(sent) << topic;
    EXPECT_EQ(sent.error().kind, ErrorKind::kLost);
    EXPECT_EQ(offender->subscribe("x").error().kind, ErrorKind::kLost);
  }
  EXPECT_EQ(ask({"GET", "k"}), "$-1\r\n");  // nothing was done, and nobody else was disturbed
}

TEST_F(InProcess, TakesOverAClientIdAndTellsTheOldOne) {
  EXPECT_EQ(ask({"KEYNOTIFY", "k"}), "+OK\r\n");
  const auto heir = connect(*session, "c");
  EXPECT_THAT(waiting(*client), ElementsAre("disconnected 142"));
  EXPECT_EQ(client->publish(request(*session, {"GET", "k"}, "r")).error().kind, ErrorKind::kLost);
  ASSERT_TRUE(heir->subscribe("s"));
  client.reset();  // the end of the old one does not end the new one
  ASSERT_TRUE(heir->publish(request(*session, {"SET", "k", "v"}, "s")));
  EXPECT_THAT(waiting(*heir), ElementsAre("+OK\r\n"));  // the registration went with the old one
}

TEST_F(InProcess, OwnDisconnectIsNoEvent) {
  for (const bool dropped : {false, true}) {
    const auto leaver = connect(*session, "leaver");
    dropped ? leaver->drop() : leaver->disconnect();
    EXPECT_EQ(describe(leaver->receive(1s)), "nothing");
    EXPECT_EQ(leaver->publish({.topic = "t"}).error().kind, ErrorKind::kLost);
  }
}

TEST_F(InProcess, ForgetsRegistrationsWithTheConnectionEvenOfAPersistentSession) {
  const ClientOptions keep{.client_id = "k", .clean_start = false, .session_expiry_seconds = 60};
  for (const bool dropped : {false, true}) {
    auto observer = session->connect(keep).value();
    ASSERT_TRUE(observer->subscribe("s"));
    ASSERT_TRUE(observer->publish(request(*session, {"KEYNOTIFY", "k"}, "s")));
    EXPECT_THAT(waiting(*observer), ElementsAre("+OK\r\n"));
    dropped ? observer->drop() : observer->disconnect();
    observer = session->connect(keep).value();
    EXPECT_EQ(ask({"SET", "k", "v"}), "+OK\r\n");
    EXPECT_THAT(waiting(*observer), IsEmpty());
    // The subscription is the session's and is still there.
    ASSERT_TRUE(observer->publish(request(*session, {"KEYNOTIFY", "k", "STOP"}, "s")));
    EXPECT_THAT(waiting(*observer), ElementsAre(":0\r\n"));
  }
}

TEST_F(InProcess, SubscriptionsLastAsLongAsTheSession) {
  struct Case {
    ClientOptions first;
    ClientOptions second;
    std::size_t messages;
  };
  const ClientOptions clean{.client_id = "x"};
  const ClientOptions resume{.client_id = "x", .clean_start = false};
  const ClientOptions keep{.client_id = "x", .clean_start = false, .session_expiry_seconds = 60};
  for (const Case& row : {Case{keep, keep, 1}, Case{keep, resume, 1}, Case{keep, clean, 0},
                          Case{clean, keep, 0}, Case{resume, resume, 0}}) {
    auto subscriber = session->connect(row.first).value();
    ASSERT_TRUE(subscriber->subscribe("news"));
    subscriber->disconnect();
    subscriber = session->connect(row.second).value();
    ASSERT_TRUE(client->publish({.topic = "news", .payload = "hello"}));
    EXPECT_EQ(waiting(*subscriber).size(), row.messages);
  }
}

TEST_F(InProcess, RolesAreTheUserNamesOfTheStore) {
  const auto rules = store::parse_authorization(R"({"policies": [{
      "principals": {"usernames": ["reader"]},
      "stateStoreResources": [{"method": "Read", "keyType": "Pattern", "keys": ["*"]}]}]})");
  ASSERT_TRUE(rules) << rules.error();
  store::ServiceOptions service;
  service.store.authorization = *rules;
  const auto guarded = make_in_process_endpoint({.service = service, .roles = {"reader"}});
  const auto inside = open_session(*guarded);
  const auto reader = inside->connect({.client_id = "r", .role = "reader"}).value();
  ASSERT_TRUE(reader->subscribe("r"));
  ASSERT_TRUE(reader->publish(request(*inside, {"GET", "k"}, "r")));
  ASSERT_TRUE(reader->publish(request(*inside, {"SET", "k", "v"}, "r")));
  EXPECT_THAT(waiting(*reader), ElementsAre("$-1\r\n", "-ERR not authorized\r\n"));
}

// ---- A store that is slow, or whose clock is not ours ----

TEST_F(InProcess, TheStoreMayHaveAClockOfItsOwn) {
  for (const auto offset : {30s, -600s}) {
    const auto skewed = make_in_process_endpoint({.conditions = {.clock_offset = offset}});
    const auto other = open_session(*skewed);
    const auto c = connect(*other, "c");
    ASSERT_TRUE(c->subscribe("r"));
    const std::int64_t wall_ms = static_cast<std::int64_t>(other->clock().wall_ms());
    Message message = request(*other, {"SET", "k", "v"}, "r");
    message.user_properties = {{"__ts", "1:0:node"}};
    ASSERT_TRUE(c->publish(message));
    const auto event = c->receive(0us);
    ASSERT_TRUE(event);
    const std::string* version = std::get<MessageReceived>(event->what).message.property("__ts");
    const std::int64_t expected_ms = wall_ms + std::chrono::milliseconds(offset).count();
    EXPECT_EQ(version->substr(0, version->find(':')), "00" + std::to_string(expected_ms));
  }
}

TEST_F(InProcess, AllThatASlowStoreSendsIsLateAndInOrder) {
  reopen({.response_delay = 200ms});
  send({"KEYNOTIFY", "k"});
  send({"SET", "k", "v", "PX", "1"});
  const Duration sent = now();
  EXPECT_THAT(waiting(*client), IsEmpty());
  EXPECT_EQ(describe(client->receive(199ms)), "nothing");
  std::vector<std::string> received;
  for (int i = 0; i < 4; ++i) received.push_back(describe(client->receive(1s)));
  EXPECT_THAT(received, ElementsAre("+OK\r\n",
                                    "*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n$1\r\nv\r\n",
                                    "+OK\r\n", "*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n"));
  EXPECT_EQ(now(), sent + 201ms);
}

TEST_F(InProcess, ADelayCostsNoMoreThanItsTime) {
  reopen({.response_delay = 200ms, .response_jitter = 100ms});
  for (int i = 0; i < 50; ++i) {
    send({"GET", "k"});
    const Duration sent = now();
    EXPECT_EQ(describe(client->receive(1s)), "$-1\r\n");
    EXPECT_GE(now() - sent, 200ms);
    EXPECT_LE(now() - sent, 300ms);
  }
}

TEST_F(InProcess, NotificationsOnTheirWayDoNotReachTheNextConnection) {
  reopen({.response_delay = 200ms});
  send({"KEYNOTIFY", "k"});
  EXPECT_EQ(describe(client->receive(1s)), "+OK\r\n");
  send({"SET", "k", "v"});
  client->disconnect();
  client = connect(*session, "c");
  EXPECT_EQ(describe(client->receive(1s)), "nothing");
}

}  // namespace
}  // namespace fencepost::endpoint
