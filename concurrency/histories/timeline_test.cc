#include "concurrency/histories/timeline.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "concurrency/history/testing/random_history.h"

namespace fencepost::histories {
namespace {

using history::Action;
using history::Operation;
using history::Outcome;
using nlohmann::json;

const scenario::Catalogue kNoRules{};

Operation get(std::int64_t called, const std::string& key = "k") {
  return {.client = 1,
          .action = Action::kGet,
          .key = key,
          .called = history::Time(called),
          .returned = history::Time(called + 5),
          .outcome = Outcome::kMissing};
}

history::KeyVerdict violation(std::vector<history::Index> counter_example) {
  return {.key = "k",
          .operations = 2,
          .verdict = {.answer = history::Answer::kViolation,
                      .operations = std::move(counter_example),
                      .requirement = "SET-WRITE-2",
                      .text = "stale"}};
}

json data_of(const std::string& page) {
  const std::string begin = "id=\"p_data\">";
  const std::size_t from = page.find(begin) + begin.size();
  return json::parse(page.substr(from, page.find("</script>", from) - from));
}

// Sums of what is written as differences.
std::vector<std::int64_t> numbers(const json& steps) {
  std::vector<std::int64_t> out;
  std::int64_t sum = 0;
  for (const auto& step : steps) out.push_back(sum += step.get<std::int64_t>());
  return out;
}

TEST(Timeline, SaysThatASmallerCounterExampleMayExist) {
  history::KeyVerdict verdict = violation({0});
  const auto text_of = [&] {
    const json data = data_of(Timeline({verdict}, 1).html({.source = "run"}, kNoRules));
    return data["verdicts"][0]["text"].get<std::string>();
  };
  EXPECT_EQ(text_of(), "stale");
  verdict.verdict.minimal = false;
  EXPECT_EQ(text_of(), "stale; the search for a smaller counter-example reached its limits");
}

TEST(Timeline, HasEveryOperationInTheOrderOfCalls) {
  Timeline timeline({violation({0, 1})}, 2);
  Operation put = get(7000);
  put.action = Action::kSet;
  put.value = std::string("\0<b>", 4);
  put.outcome = Outcome::kUnknown;
  put.returned = history::kNever;
  put.reason = "time-out";
  put.expires_after = std::chrono::milliseconds(9);
  timeline.add(put);
  timeline.add(get(2000));
  timeline.add(history::Notification{
      .client = 4, .key = "k", .value = "v", .arrived = history::Time(8000), .duplicate = true});
  timeline.add(history::Connection{.client = 4, .link = history::Link::kLost});
  timeline.add(history::Restart{history::Time(9000)});
  timeline.add(history::Disturbance{.at = history::Time(9500), .kind = "stall", .client = 4});
  timeline.add(history::Disturbance{.at = history::Time(9800), .kind = "kill"});
  timeline.add(history::Disturbance{.at = history::Time(9900), .kind = "stop"});
  const json data = data_of(timeline.html({.source = "run"}, kNoRules));
  EXPECT_EQ(numbers(data["operations"]["called"]), (std::vector<std::int64_t>{0, 5000}));
  EXPECT_EQ(numbers(data["operations"]["number"]), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(data["operations"]["took"], json::parse("[5, -1]"));
  EXPECT_EQ(data["more"], json::parse(R"({"1": {"px": 9, "reason": "time-out"}})"));
  EXPECT_EQ(data["texts"][data["operations"]["value"][1].get<std::size_t>()], R"(\x00<b>)");
  EXPECT_EQ(data["verdicts"][0]["witness"], json::parse("[0, 1]"));
  EXPECT_EQ(data["clients"], json::parse("[1, 4]"));
  EXPECT_EQ(data["notifications"][0]["at"], 6000);
  EXPECT_EQ(data["marks"],
            json::parse(R"([{"at": 7000, "fault": "store restarted"}, {"at": 7800, "fault": "kill"},
                            {"at": 7900, "fault": "stop"}])"));
  EXPECT_EQ(data["connections"][0]["link"], "lost");
  EXPECT_EQ(data["connections"][1]["fault"], "stall");
}

TEST(Timeline, KeepsOfALongHistoryWhatIsAroundTheFindings) {
  const TimelineLimits limits{.operations = 10};
  Timeline timeline({violation({50, 80})}, 100, limits);
  for (std::int64_t i = 0; i < 100; ++i) timeline.add(get(i * 1000));
  const json data = data_of(timeline.html({}, kNoRules));
  EXPECT_EQ(numbers(data["operations"]["number"]),
            (std::vector<std::int64_t>{48, 49, 50, 51, 78, 79, 80, 81}));
  EXPECT_EQ(data["total"], 100);
}

TEST(Timeline, KeepsTheBeginningWhereNothingWasFound) {
  Timeline timeline({}, 5, {.operations = 2});
  for (std::int64_t i = 0; i < 5; ++i) timeline.add(get(i * 1000));
  EXPECT_EQ(numbers(data_of(timeline.html({}, kNoRules))["operations"]["number"]),
            (std::vector<std::int64_t>{0, 1}));
}

TEST(Timeline, ViolationsComeBeforeWhatIsUnknown) {
  history::KeyVerdict unknown = violation({});
  unknown.verdict.answer = history::Answer::kUnknown;
  const Timeline timeline({unknown, unknown, violation({0})}, 1, {.findings = 2});
  const json data = data_of(timeline.html({}, kNoRules));
  EXPECT_EQ(data["verdicts"][0]["answer"], "violation");
  EXPECT_EQ(data["verdicts"].size(), 2U);
  EXPECT_EQ(data["not_shown"], 1);
}

TEST(Timeline, TextsStayText) {
  history::KeyVerdict hostile = violation({0});
  hostile.key = hostile.verdict.text = "</script><img src=x onerror=1>";
  Timeline timeline({hostile}, 1);
  timeline.add(get(0, hostile.key));
  const std::string page = timeline.html(
      {.source = "<img>", .facts = {{"<img>", "<img>"}}, .commands = {{"<img>", "<img>"}}},
      kNoRules);
  EXPECT_EQ(page.find("<img"), std::string::npos);
}

// What is wrong with no single key, such as a request without a reply.
TEST(Timeline, TheTitleIsAlsoThatOfTheWhole) {
  const history::Verdict wrong{.answer = history::Answer::kViolation,
                               .requirement = "LIFE-DURABLE-3",
                               .text = "versions <go> back"};
  const std::string page = Timeline({}, 1).html({.whole = {wrong}, .more_ok = 7}, kNoRules);
  EXPECT_NE(page.find("1 violation<"), std::string::npos);
  EXPECT_NE(page.find("1 operation; 7 keys ok, 1 violation, 0 unknown"), std::string::npos);
  EXPECT_NE(page.find("<b>LIFE-DURABLE-3</b> versions &lt;go&gt; back"), std::string::npos);
  const history::Verdict doubt{.answer = history::Answer::kUnknown, .text = "3 timed out"};
  EXPECT_NE(Timeline({}, 1).html({.whole = {doubt}}, kNoRules).find("Not decided<"),
            std::string::npos);
}

TEST(Timeline, TheTitleIsTheWorst) {
  EXPECT_NE(Timeline({violation({})}, 1).html({}, kNoRules).find("1 violation<"),
            std::string::npos);
  EXPECT_NE(Timeline({}, 1).html({}, kNoRules).find("No violations<"), std::string::npos);
  EXPECT_NE(Timeline({}, 0).html({}, kNoRules).find("No operations<"), std::string::npos);
  history::KeyVerdict unknown = violation({});
  unknown.verdict.answer = history::Answer::kUnknown;
  EXPECT_NE(Timeline({unknown}, 1).html({}, kNoRules).find("1 key undecided<"), std::string::npos);
}

}  // namespace
}  // namespace fencepost::histories
