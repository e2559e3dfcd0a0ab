#include "selftest/conversations.h"

#include <gtest/gtest.h>

#include "endpoint/in_process.h"
#include "hlc/hlc.h"
#include "reference_store/faults/fault.h"
#include "suite/run/request_client.h"

namespace fencepost::selftest {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<endpoint::InProcessEndpoint> store_named(const std::string& fault) {
  endpoint::InProcessOptions options;
  if (!fault.empty()) {
    options.make_store = [fault](const store::ServiceOptions& service) {
      return store::find_fault(fault)->make(service, 1);
    };
  }
  return endpoint::make_in_process_endpoint(std::move(options));
}

// Sends requests as a case does: `steps` gets a client that is ready, and the session.
template <typename Steps>
void converse(endpoint::Endpoint& endpoint, const std::string& caller, const Steps& steps) {
  auto session = endpoint.open_session({.caller = caller});
  ASSERT_TRUE(session);
  auto connection = (*session)->connect({.client_id = "c"});
  ASSERT_TRUE(connection);
  run::RequestClient client("c", std::move(*connection), "c", (*session)->clock());
  ASSERT_TRUE(client.raw().subscribe(client.response_topic()));
  steps(client, **session);
}

// Sends it with a timestamp, and waits for the reply.
void ask(run::RequestClient& client, endpoint::Session& session,
         const std::vector<std::string_view>& command) {
  codec::Message request = client.request(command);
  request.user_properties.emplace_back(
      "__ts", hlc::format({.wall_ms = session.clock().wall_ms(), .counter = 0, .node = "c"}));
  const auto sent = client.send(std::move(request));
  ASSERT_TRUE(sent);
  ASSERT_TRUE(client.await(**sent, 1s));
  EXPECT_FALSE((*sent)->reply->payload().starts_with('-')) << (*sent)->reply->payload();
}

void set_twice(run::RequestClient& client, endpoint::Session& session) {
  ask(client, session, {"SET", "k", "one"});
  ask(client, session, {"SET", "k", "two", "NX"});
}

void expire(run::RequestClient& client, endpoint::Session& session) {
  ask(client, session, {"SET", "k", "one", "PX", "100"});
  session.clock().wait_until(session.clock().now() + 1s);
  ask(client, session, {"GET", "k"});
}

TEST(Conversations, AreTheSameWithTheSameStore) {
  const auto right = store_named("");
  Conversations received;
  const auto listening = received.listen_to(*right);
  converse(*listening, "twice", set_twice);
  converse(*listening, "expire", expire);
  EXPECT_TRUE(received.are_the_same("twice", *right));
  EXPECT_TRUE(received.are_the_same("expire", *right));
}

TEST(Conversations, DifferWhereTheStoreSaysSomethingElse) {
  const auto right = store_named("");
  Conversations received;
  const auto listening = received.listen_to(*right);
  converse(*listening, "twice", set_twice);
  converse(*listening, "expire", expire);
  const auto overwrites = store_named("nx-overwrites");
  EXPECT_FALSE(received.are_the_same("twice", *overwrites));
  EXPECT_TRUE(received.are_the_same("expire", *overwrites));
  const auto keeps = store_named("px-ignored");
  EXPECT_TRUE(received.are_the_same("twice", *keeps));
  EXPECT_FALSE(received.are_the_same("expire", *keeps));
  EXPECT_FALSE(received.are_the_same("twice", *store_named("silent")));
}

TEST(Conversations, DifferWhereTheSameIsSaidAtAnotherTime) {
  const auto right = store_named("");
  Conversations received;
  converse(*received.listen_to(*right), "twice", set_twice);
  const auto slow = endpoint::make_in_process_endpoint({.conditions = {.response_delay = 5ms}});
  EXPECT_FALSE(received.are_the_same("twice", *slow));
}

TEST(Conversations, OfNobodyAreNotTheSame) {
  const auto right = store_named("");
  const Conversations received;
  EXPECT_FALSE(received.are_the_same("nobody", *right));
}

TEST(Conversations, ThatWereHeldTwiceAreNotComparedAgain) {
  const auto right = store_named("");
  Conversations received;
  const auto listening = received.listen_to(*right);
  converse(*listening, "twice", set_twice);
  converse(*listening, "twice", set_twice);
  EXPECT_FALSE(received.are_the_same("twice", *right));
}

}  // namespace
}  // namespace fencepost::selftest
