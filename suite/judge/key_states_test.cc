#include "suite/judge/key_states.h"

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "codec/message.h"
#include "codec/resp3.h"

namespace fencepost::judge {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLater{10'000};

void note(KeyStates& states, const std::vector<std::string_view>& command,
          const std::string& reply = "+OK\r\n", bool token = false) {
  codec::Message request;
  request.payload = codec::encode_command(command);
  if (token) request.user_properties.emplace_back(codec::kTokenProperty, "1:0:A");
  Exchange exchange(std::move(request), milliseconds{1}, 0);
  codec::Message message;
  message.payload = reply;
  exchange.reply.emplace(std::move(message), milliseconds{2}, 0);
  states.note(exchange);
}

TEST(KeyStates, AKeyExistsFromItsSetToItsDeletion) {
  KeyStates states;
  EXPECT_FALSE(states.of("k", kLater).exists);
  note(states, {"SET", "k", "v"});
  EXPECT_TRUE(states.of("k", kLater).exists);
  EXPECT_FALSE(states.was_deleted("k"));
  note(states, {"DEL", "k"}, ":1\r\n");
  EXPECT_FALSE(states.of("k", kLater).exists);
  EXPECT_TRUE(states.was_deleted("k"));
}

TEST(KeyStates, ATokenStaysWithAKeyUntilItIsDeleted) {
  KeyStates states;
  note(states, {"SET", "k", "v"}, "+OK\r\n", true);
  note(states, {"SET", "k", "w"});
  EXPECT_TRUE(states.of("k", kLater).fenced);
  note(states, {"VDEL", "k", "w"}, ":1\r\n");
  note(states, {"SET", "k", "v"});
  EXPECT_FALSE(states.of("k", kLater).fenced);
}

TEST(KeyStates, AKeyExpiresWhenItsTimeHasPassed) {
  KeyStates states;
  note(states, {"SET", "k", "v", "PX", "100"});
  EXPECT_TRUE(states.of("k", milliseconds{100}).expires);
  EXPECT_TRUE(states.of("k", milliseconds{101}).expired);
  note(states, {"SET", "k", "v"});
  EXPECT_FALSE(states.of("k", kLater).expired);
}

TEST(KeyStates, TheLastRequestOfAKeyHasARuleByWhichItLeftTheKey) {
  struct Row {
    std::vector<std::string_view> command;
    std::string reply;
    std::string_view rule;
  };
  const std::vector<Row> rows = {
      {{"SET", "k", "v"}, "+OK\r\n", ""},
      {{"SET", "k", "v", "NX"}, ":-1\r\n", "SET-NOT-APPLIED-2"},
      {{"VDEL", "k", "w"}, ":-1\r\n", "VDEL-MISMATCH-1"},
      {{"VDEL", "k", "v"}, ":1\r\n", "VDEL-MATCH-1"},
      {{"DEL", "k"}, ":1\r\n", "DEL-REMOVE-1"},
      {{"DEL", "k"}, ":0\r\n", ""},
      {{"DEL", "k"}, "-ERR a fencing token is required for this request\r\n", "FT-REJECT-1"},
      {{"SET", "k", "v"}, "-ERR missing timestamp\r\n", "ERR-STATE-1"}};
  for (const Row& row : rows) {
    KeyStates states;
    note(states, row.command, row.reply);
    EXPECT_EQ(states.rule_of_effect("k"), row.rule) << row.command.front() << " " << row.reply;
    note(states, {"GET", "k"}, "$-1\r\n");  // changes nothing
    EXPECT_EQ(states.rule_of_effect("k"), row.rule);
  }
  EXPECT_EQ(KeyStates().rule_of_effect("k"), "");
}

TEST(KeyStates, ThePastOfAKeySaysByWhichRulesItCameAbout) {
  KeyStates states;
  note(states, {"SET", "k", "v", "PX", "100"}, "+OK\r\n", true);
  EXPECT_EQ(states.past_of("k").write, "SET-WRITE-1");
  EXPECT_TRUE(states.past_of("k").first_token);
  note(states, {"SET", "k", "w"}, "+OK\r\n", true);
  EXPECT_EQ(states.past_of("k").write, "SET-WRITE-2");
  EXPECT_EQ(states.past_of("k").retimed, "SET-PX-5");
  EXPECT_TRUE(states.past_of("k").newer_token);
  // Of a renewal that the time restarts has a sentence of its own.
  KeyStates renewed;
  note(renewed, {"SET", "k", "v", "PX", "100"}, "+OK\r\n");
  note(renewed, {"SET", "k", "v", "NEX", "PX", "100"}, "+OK\r\n");
  EXPECT_EQ(renewed.past_of("k").retimed, "SET-NEX-5");
  note(states, {"GET", "k"}, "$1\r\nw\r\n");
  EXPECT_TRUE(states.past_of("k").read);
}

TEST(KeyStates, WhatWasRefusedIsRememberedUntilTheNextChange) {
  KeyStates states;
  note(states, {"SET", "k", "v"});
  note(states, {"SET", "k", "w", "NX"}, ":-1\r\n");
  note(states, {"VDEL", "k", "w"}, ":-1\r\n");
  EXPECT_EQ(states.past_of("k").refusals,
            (std::vector<std::string_view>{"SET-NOT-APPLIED-2", "VDEL-MISMATCH-1"}));
  note(states, {"VDEL", "k", "v"}, ":1\r\n");
  EXPECT_TRUE(states.past_of("k").refusals.empty());
  EXPECT_EQ(states.past_of("k").removal, "VDEL-MATCH-1");
}

// A SET that is sent and answered then, with this version.
void note_version(KeyStates& states, milliseconds sent, milliseconds answered,
                  const std::string& version) {
  codec::Message request;
  request.payload = codec::encode_command({"SET", "k", "v"});
  Exchange exchange(std::move(request), sent, 0);
  codec::Message message;
  message.payload = "+OK\r\n";
  message.user_properties.emplace_back(codec::kTimestampProperty, version);
  exchange.reply.emplace(std::move(message), answered, 0);
  states.note(exchange);
}

TEST(KeyStates, AVersionIsBrokenThatIsNotLaterThanTheOneBefore) {
  KeyStates states;
  note_version(states, milliseconds{1}, milliseconds{2}, "5:0:A");
  EXPECT_EQ(states.rule_of_version("k"), "");
  note_version(states, milliseconds{3}, milliseconds{4}, "5:0:A");
  EXPECT_EQ(states.rule_of_version("k"), "VER-UPDATE-3");
  note_version(states, milliseconds{5}, milliseconds{6}, "6:0:A");
  EXPECT_EQ(states.rule_of_version("k"), "");
  note(states, {"DEL", "k"}, ":1\r\n");
  note_version(states, milliseconds{7}, milliseconds{8}, "1:0:A");
  EXPECT_EQ(states.rule_of_version("k"), "LOCK-TOKEN-4");
}

TEST(KeyStates, OfSetsThatOverlapNobodyKnowsWhichVersionIsTheLater) {
  KeyStates states;
  note_version(states, milliseconds{1}, milliseconds{4}, "6:0:A");
  note_version(states, milliseconds{3}, milliseconds{5}, "5:0:A");
  EXPECT_EQ(states.rule_of_version("k"), "");
}

TEST(KeyStates, AKeyWithATimeThatNoCaseWaitsForHasATime) {
  KeyStates states;
  note(states, {"SET", "k", "v", "PX", "4294967297"});
  EXPECT_TRUE(states.of("k", kLater).expires);
  note(states, {"SET", "k", "v"});
  EXPECT_FALSE(states.of("k", kLater).expires);
}

// A number that our own store does not take may be taken by others.
TEST(KeyStates, ASetWithATimePromisesThatTheKeyIsThereUntilThen) {
  const auto rule = [](std::vector<std::string_view> words) {
    codec::Message request;
    request.payload = codec::encode_command(words);
    Exchange exchange(std::move(request), milliseconds{1}, 0);
    codec::Message message;
    message.payload = "+OK\r\n";
    message.user_properties.emplace_back(codec::kTimestampProperty, "1:0:A");
    exchange.reply.emplace(std::move(message), milliseconds{2}, 0);
    return rule_of_effect(exchange);
  };
  EXPECT_EQ(rule({"SET", "k", "v", "PX", "100"}), "SET-PX-2");
  EXPECT_EQ(rule({"SET", "k", "v", "PX", "9223372036854775808"}), "SET-PX-2");
  EXPECT_EQ(rule({"SET", "k", "v", "A", "B", "C", "D", "E"}), "SET-WRITE-1");
  EXPECT_EQ(rule({"SET", "k", "PX"}), "SET-WRITE-1");
}

TEST(KeyStates, TheLastRequestMayHaveBeenRefused) {
  KeyStates states;
  EXPECT_FALSE(states.was_refused());
  note(states, {"SET", "k"}, "-ERR wrong number of arguments\r\n");
  EXPECT_TRUE(states.was_refused());
  note(states, {"GET", "k"}, "$-1\r\n");
  EXPECT_FALSE(states.was_refused());
}

TEST(KeyStates, KeysThatACarelessStoreTakesForOne) {
  using namespace std::string_view_literals;
  EXPECT_TRUE(are_similar("key", "KEY"));
  EXPECT_TRUE(are_similar("key", " key"));
  EXPECT_TRUE(are_similar("key"sv, "key\0more"sv));
  EXPECT_TRUE(are_similar(std::string(255, 'k'), std::string(256, 'k')));
  EXPECT_FALSE(are_similar("key", "key2"));
  EXPECT_TRUE(is_distorted("key", "key2"));
  EXPECT_FALSE(is_distorted("key2", "key"));
  KeyStates states;
  note(states, {"SET", "key", "v"});
  EXPECT_TRUE(states.has_similar("KEY"));
  EXPECT_FALSE(states.has_similar("key"));
  const std::size_t value = std::hash<std::string_view>()("v");
  EXPECT_TRUE(states.is_value_of_another("other", value));
  EXPECT_FALSE(states.is_value_of_another("key", value));
}

}  // namespace
}  // namespace fencepost::judge
