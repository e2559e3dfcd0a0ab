#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "codec/topics.h"
#include "reference_store/variants/choices.h"
#include "reference_store/variants/variant_store.h"

namespace fencepost::store {
namespace {

TEST(Choices, EachHasANameOfItsOwnAndSeveralDecisions) {
  std::set<std::string_view> names;
  for (const Axis& choice : kChoices) {
    EXPECT_TRUE(names.insert(choice.name).second) << choice.name;
    const std::set<std::string_view> decisions(choice.decisions.begin(),
                                               choice.decisions.begin() + choice.size());
    EXPECT_GE(choice.size(), 2U) << choice.name;
    EXPECT_EQ(decisions.size(), choice.size()) << choice.name;
  }
}

TEST(Choices, TheTextOfDecisionsReadsBack) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const Decisions decisions = random_decisions(seed);
    const auto read = parse_decisions(to_text(decisions));
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(*read, decisions);
  }
  EXPECT_EQ(to_text(Decisions()), "");
  EXPECT_EQ(*parse_decisions(""), Decisions());
}

TEST(Choices, ANumberIsASeed) { EXPECT_EQ(*parse_decisions("7"), random_decisions(7)); }

TEST(Choices, RandomDecisionsTakeEachDecisionOfEachAxis) {
  std::set<std::pair<std::size_t, std::size_t>> taken;
  std::size_t all = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const Decisions decisions = random_decisions(seed, true);
    for (std::size_t choice = 0; choice < kChoices.size(); ++choice)
      taken.insert({choice, decisions.of(choice)});
  }
  for (const Axis& choice : kChoices) all += choice.size();
  EXPECT_EQ(taken.size(), all);
}

TEST(Choices, SaysWhatIsWrongWithATextAndWhatThereIs) {
  EXPECT_NE(parse_decisions("px-zer:refused").error().find("no implementation choice \"px-zer\""),
            std::string::npos);
  EXPECT_NE(parse_decisions("px-zero:maybe").error().find("expires-at-once, refused"),
            std::string::npos);
  EXPECT_FALSE(parse_decisions("px-zero"));
}

// What a store with these decisions answers to a request, the key of which has the value "old".
std::string answer(const std::string& decisions, const std::string& payload) {
  VariantStore store({}, *parse_decisions(decisions));
  const Caller caller{.client_id = "c"};
  const Instant now{.wall_ms = 1'000'000};
  codec::Message request{.topic = std::string(codec::kRequestTopic),
                         .payload = codec::encode_command({"SET", "k", "old"}),
                         .response_topic = "r",
                         .correlation_data = "1",
                         .user_properties = {{"__ts", "1000000:0:c"}}};
  std::vector<Delivery> out;
  EXPECT_EQ(store.handle(caller, request, now, out), Handling::kAnswered);
  out.clear();
  request.payload = payload;
  EXPECT_EQ(store.handle(caller, request, now, out), Handling::kAnswered);
  return out.empty() ? "" : out.back().message.payload;
}

struct Decided {
  std::string decisions;
  std::string payload;
  std::string answer;
};

TEST(VariantStore, AnswersAsItHasDecided) {
  const std::string nx_twice = codec::encode_command({"SET", "k", "v", "NX", "NX"});
  const std::string lower = codec::encode_command({"SET", "k", "v", "nx"});
  const std::string zero = codec::encode_command({"SET", "k", "v", "PX", "0"});
  const std::vector<Decided> table = {
      {"", nx_twice, "-ERR syntax error\r\n"},
      {"condition-repeated:once", nx_twice, ":-1\r\n"},
      {"order-condition:early", nx_twice, ":-1\r\n"},
      {"condition-repeated:wrong-count", nx_twice, "-ERR wrong number of arguments\r\n"},
      {"", lower, "-ERR syntax error\r\n"},
      {"option-case:taken", lower, ":-1\r\n"},
      {"", zero, "+OK\r\n"},
      {"px-zero:refused", zero, "-ERR syntax error\r\n"},
      {"", "*2\n$3\nGET\n$1\nk\n", "-ERR syntax error\r\n"},
      {"line-end:lf", "*2\n$3\nGET\n$1\nk\n", "$3\r\nold\r\n"},
      {"leading-zeros:taken", "*02\r\n$03\r\nGET\r\n$1\r\nk\r\n", "$3\r\nold\r\n"},
      {"streams:taken", "*?\r\n$3\r\nGET\r\n$?\r\n;1\r\nk\r\n;0\r\n.\r\n", "$3\r\nold\r\n"},
      {"inline-commands:taken", "GET k\r\n", "$3\r\nold\r\n"},
      {"trailing-bytes:ignored", "*2\r\n$3\r\nGET\r\n$1\r\nk\r\nx", "$3\r\nold\r\n"},
      {"verb-case:taken", "*2\r\n$3\r\nget\r\n$1\r\nk\r\n", "$3\r\nold\r\n"},
  };
  for (const Decided& row : table) {
    EXPECT_EQ(answer(row.decisions, row.payload), row.answer)
        << row.decisions << " " << row.payload;
  }
}

}  // namespace
}  // namespace fencepost::store
