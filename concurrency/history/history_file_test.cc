// Files of histories: what was written is read again, and what is wrong is named with its line.
#include "concurrency/history/history_file.h"

#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "concurrency/history/checker.h"
#include "concurrency/history/edn_log.h"
#include "concurrency/history/testing/random_history.h"

namespace fencepost::history {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Read {
  std::vector<Event> events{};
  std::string error{};
  bool complete = true;
};

Read read(const std::string& text, const std::optional<std::string>& initial = std::nullopt) {
  Read out;
  HistoryReader reader([&](const Event& event) { out.events.push_back(event); }, initial);
  std::istringstream in(text);
  for (std::string line; out.error.empty() && std::getline(in, line);) {
    const auto taken = reader.line(line);
    if (!taken) out.error = taken.error();
  }
  out.complete = reader.finish();
  return out;
}

std::vector<Operation> operations_of(const Read& read) {
  std::vector<Operation> out;
  for (const Event& event : read.events) {
    if (const auto* operation = std::get_if<Operation>(&event)) out.push_back(*operation);
  }
  return out;
}

TEST(HistoryFile, KeepsOperations) {
  workload::Random random(3);
  for (int i = 0; i < 500; ++i) {
    std::vector<Operation> operations = random_history(random_options(random), random);
    std::string text = header_line();
    for (std::size_t id = 0; id < operations.size(); ++id) {
      operations[id].key = std::string("k\r\n\0\xff", 5);
      operations[id].timestamp = hlc::Timestamp{1, 2, "client"};
      if (operations[id].outcome == Outcome::kUnknown) operations[id].reason = "time-out";
      operations[id].resent = id % 3 == 1;
      text += call_line(id, operations[id]);
      if (operations[id].resent) text += resent_line(id, operations[id].called);
      text += return_line(id, operations[id]);
    }
    const Read again = read(text);
    ASSERT_EQ(again.error, "");
    ASSERT_EQ(operations_of(again), operations) << text;
  }
}

TEST(HistoryFile, KeepsOtherEvents) {
  const Notification set{.client = 2,
                         .key = "k",
                         .value = "v\n",
                         .version = hlc::Timestamp{5, 6, "s"},
                         .arrived = Time(77),
                         .duplicate = true};
  const Notification deletion{
      .client = 2, .key = "k", .operation = codec::Operation::kDelete, .arrived = Time(78)};
  const Notification bare{.client = 2, .key = "k", .valueless = true, .arrived = Time(79)};
  const Bounds bounds{std::chrono::milliseconds(7), std::chrono::milliseconds(9),
                      std::chrono::milliseconds(11), false};
  const Connection lost{.client = 3, .link = Link::kLost, .at = Time(9)};
  const Restart restart{Time(10)};
  const Disturbance stall{.at = Time(11), .kind = "stall", .client = 3};
  const Disturbance reset{.at = Time(12), .kind = "reset"};
  const Read again =
      read(header_line() + bounds_line(bounds) + notification_line(set) +
           notification_line(deletion) + notification_line(bare) + connection_line(lost) +
           restart_line(restart) + disturbance_line(stall) + disturbance_line(reset));
  EXPECT_EQ(again.error, "");
  EXPECT_THAT(again.events, ElementsAre(Event(bounds), Event(set), Event(deletion), Event(bare),
                                        Event(lost), Event(restart), Event(stall), Event(reset)));
}

TEST(HistoryFile, TakesWhatHasNotReturnedForUnknown) {
  const Operation called{.action = Action::kDel, .key = "k", .called = Time(5)};
  const std::vector<Operation> read_back =
      operations_of(read(header_line() + call_line(1, called)));
  ASSERT_EQ(read_back.size(), 1);
  EXPECT_EQ(read_back[0].outcome, Outcome::kUnknown);
  EXPECT_EQ(read_back[0].returned, kNever);
}

TEST(HistoryFile, NamesTheLineThatIsWrong) {
  const std::string call =
      R"({"type": "call", "id": 1, "at": 5, "client": 0, "request": "GET", "key": "k"})"
      "\n";
  const struct {
    std::string lines;
    std::string error;
  } cases[] = {
      {"{\"type\": \"call\"}", "line 1: the first line must be"},
      {"{\"type\": \"history\", \"format\": 2}", "line 1: /format: must be 1"},
      {header_line() + "{\"type\": \"call\"", "line 2: this is not a JSON object"},
      {header_line() + "{\"type\": \"cal\"}", "line 2: /type: must be history, bounds"},
      {header_line() + call + call, "line 3: /id: 1 is in flight already"},
      {header_line() + R"({"type": "return", "id": 1, "at": 7, "reply": "missing"})",
       "line 2: /id: 1 was not called"},
      {header_line() + call + R"({"type": "return", "id": 1, "at": 4, "reply": "missing"})",
       "line 3: /at: is before the call"},
      // With a time to live it could not be added up.
      {header_line() + R"({"type": "restart", "at": 5000000000000000001})",
       "line 2: /at: must be at most 5000000000000000000"},
      {header_line() + call + R"({"type": "return", "id": 1, "at": 7, "reply": "ok"})",
       "line 3: /reply: GET is never answered with \"ok\""},
      {header_line() + call + R"({"type": "return", "id": 1, "at": 7, "reply": "maybe"})",
       "line 3: /reply: must be one of: ok, not applied"},
      {header_line() + call +
           R"({"type": "return", "id": 1, "at": 7, "reply": "value", "read": "v", "version": "1"})",
       "line 3: /version: "},
  };
  for (const auto& [lines, error] : cases) {
    EXPECT_THAT(read(lines).error, HasSubstr(error)) << lines;
  }
}

Answer judged(const Read& history) {
  Checker checker;
  for (const Operation& operation : operations_of(history)) checker.add(operation);
  return checker.finish().front().verdict.answer;
}

TEST(EdnLog, ReadsLinesOfARegister) {
  const std::string right =
      "INFO  jepsen.util - 0\t:invoke\t:read\tnil\n"
      "INFO  jepsen.util - 1\t:invoke\t:write\t3\n"
      "INFO  jepsen.util - 0\t:ok\t:read\tnil\n"
      "INFO  jepsen.util - 1\t:ok\t:write\t3\n"
      "INFO  jepsen.util - :nemesis\t:info\t:start\tnil\n"
      "INFO  jepsen.util - 2\t:invoke\t:cas\t[3 4]\n"
      "INFO  jepsen.util - 2\t:info\t:cas\t:timed-out\n"
      "INFO  jepsen.util - 3\t:invoke\t:cas\t[1 2]\n"
      "INFO  jepsen.util - 3\t:fail\t:cas\t[1 2]\n"
      "INFO  jepsen.util - 0\t:invoke\t:read\tnil\n"
      "INFO  jepsen.util - 0\t:ok\t:read\t4\n";
  const Read history = read(right);
  EXPECT_EQ(history.error, "");
  EXPECT_EQ(operations_of(history).size(), 4);  // what failed has not happened
  EXPECT_EQ(judged(history), Answer::kOk);
  const std::string then =
      "INFO  jepsen.util - 0\t:invoke\t:read\tnil\n"
      "INFO  jepsen.util - 0\t:ok\t:read\t3\n";
  EXPECT_EQ(judged(read(right + then)), Answer::kViolation);
}

TEST(EdnLog, ReadsMaps) {
  const Read history = read(
      "{:process 4, :type :invoke, :f :cas, :value [1 2], :time 5}\n"
      "{:process 4, :type :ok, :f :cas, :value [1 2], :time 6}\n"
      "{:type :invoke, :f :write, :value 7, :process 4}\n");
  EXPECT_EQ(history.error, "");
  const std::vector<Operation> operations = operations_of(history);
  ASSERT_EQ(operations.size(), 2);
  EXPECT_EQ(operations[0].outcome, Outcome::kOk);
  EXPECT_EQ(operations[0].expected, "1");
  EXPECT_EQ(operations[0].value, "2");
  EXPECT_EQ(operations[1].outcome, Outcome::kUnknown);
  EXPECT_EQ(operations[1].value, "7");
}

// The same history in each form that harnesses publish.
TEST(EdnLog, ReadsAllForms) {
  const std::string forms[] = {
      // One vector, with maps behind its bracket and over several lines, and with comments.
      "; a comment\n[{:process 1, :type :invoke, :f :write, :value 3}\n"
      " {:process :nemesis, :type :info, :f :start, :value \"Cut off [:n3 #{\"}\n"
      " {:process 1,\n  :type :ok ; in between\n  :f :write, :value 3}\n"
      " {:process 2 :type :invoke :f :read :error #{:a} :value nil} {:process 2, :type :ok, :f "
      ":read, :value 3}]",
      "({:process 1, :type :invoke, :f :write, :value 3}\n{:process 1, :type :ok, :f :write}\n"
      "{:process 2, :type :invoke, :f :read}\n{:process 2, :type :ok, :f :read, :value 3})",
      "[1 :invoke :write 3]\n[1 :ok :write 3]\n[2 :invoke :read nil]\n[2 :ok :read 3]",
      "[[1 :invoke :write 3] [1 :ok :write 3] [2 :invoke :read nil] [2 :ok :read 3]]",
      "1\t:invoke\t:write\t3\n1\t:ok\t:write\t3\n2\t:invoke\t:read\tnil\n2\t:ok\t:read\t3\n",
      R"([{"process": 1, "type": "invoke", "f": "write", "value": 3},
          {"process": 1, "type": "ok", "f": "write", "value": 3},
          {"process": 2, "type": "invoke", "f": "read", "value": null},
          {"process": 2, "type": "ok", "f": "read", "value": "3"}])",
      "{\"process\":1,\"type\":\"INVOKE\",\"f\":\"WRITE\",\"value\":3}\n"
      "{\"process\":1,\"type\":\"OK\",\"f\":\"WRITE\",\"value\":3}\n"
      "{\"process\":2,\"type\":\"INVOKE\",\"f\":\"READ\"}\n"
      "{\"process\":2,\"type\":\"OK\",\"f\":\"READ\",\"value\":3}\n",
  };
  for (const std::string& form : forms) {
    const Read history = read(form);
    EXPECT_EQ(history.error, "") << form;
    EXPECT_TRUE(history.complete) << form;
    const std::vector<Operation> operations = operations_of(history);
    ASSERT_EQ(operations.size(), 2) << form;
    EXPECT_EQ(operations[0].client, 1) << form;
    EXPECT_EQ(operations[0].value, "3") << form;
    EXPECT_LT(operations[0].returned, operations[1].called) << form;
    EXPECT_EQ(operations[1].outcome, Outcome::kValue) << form;
    EXPECT_EQ(operations[1].read, "3") << form;
  }
}

TEST(EdnLog, ReadsKeys) {
  const Read history = read(
      "{:process 1, :type :invoke, :f :write, :value [7 3]}\n"
      "{:process 2, :type :invoke, :f :cas, :value [8 [3 4]]}\n"
      "{:process 1, :type :ok, :f :write, :value [7 3]}\n"
      "{:process 1, :type :invoke, :f :read, :value #jepsen.independent/tuple [7 nil]}\n"
      "{:process 1, :type :ok, :f :read, :value [7 3]}\n"
      "{:process 2, :type :info, :f :cas, :value [8 [3 4]]}\n");
  EXPECT_EQ(history.error, "");
  const std::vector<Operation> operations = operations_of(history);
  ASSERT_EQ(operations.size(), 3);
  EXPECT_EQ(operations[0].key, "7");
  EXPECT_EQ(operations[0].value, "3");
  EXPECT_EQ(operations[1].key, "7");
  EXPECT_EQ(operations[1].read, "3");
  EXPECT_EQ(operations[2].key, "8");
  EXPECT_EQ(operations[2].expected, "3");
  const std::vector<Operation> named =
      operations_of(read("{:process 0, :type :invoke, :f :put, :key \"x y\", :value \"a\"}\n"
                         "{:process 0, :type :ok, :f :put, :key \"x y\", :value \"a\"}\n"));
  ASSERT_EQ(named.size(), 1);
  EXPECT_EQ(named[0].key, "x y");
}

TEST(EdnLog, BeginsWithTheInitialValue) {
  const std::string log =
      "0 :invoke :read nil\n0 :ok :read 5\n0 :invoke :read nil\n0 :ok :read nil\n";
  EXPECT_EQ(judged(read(log)), Answer::kViolation);
  const Read with = read(log, "5");
  EXPECT_EQ(judged(with), Answer::kOk);
  ASSERT_EQ(operations_of(with).size(), 2);  // nil says nothing then
  EXPECT_EQ(operations_of(with)[0].client, kNobody);
  EXPECT_EQ(judged(read(log, "6")), Answer::kViolation);
}

TEST(EdnLog, TakesALockForARegister) {
  const std::string taken =
      "[{:type :invoke, :f :acquire, :process 1} {:type :ok, :f :acquire, :process 1}\n"
      " {:type :invoke, :f :release, :process 3} {:type :fail, :f :release, :process 3}\n"
      " {:type :invoke, :f :acquire, :process 2} ";
  EXPECT_EQ(judged(read(taken + "{:type :fail, :f :acquire, :process 2}]")), Answer::kOk);
  EXPECT_EQ(judged(read(taken + "{:type :info, :f :acquire, :process 2}]")), Answer::kOk);
  EXPECT_EQ(judged(read(taken + "{:type :ok, :f :acquire, :process 2}]")), Answer::kViolation);
}

TEST(EdnLog, PassesOverWhatStandsBetween) {
  const Read history = read(
      "INFO  jepsen.core - Worker 0 starting [\n"
      "INFO  jepsen.util - 0\t:invoke\t:write\t3\n"
      "Not linearizable. The :ok prefix was:\n"
      "INFO  jepsen.util - 0\t:ok\t:write\t3\n"
      "7\t:invoke\t:read\t9\n"
      "it's \"open\n");
  EXPECT_EQ(history.error, "");
  EXPECT_EQ(operations_of(history).size(), 1);
}

// Jepsen prints an error as it is: with any brackets and quotes, over any number of lines.
TEST(EdnLog, PassesOverTheTextOfAnError) {
  const Read history = read(
      "3\t:invoke\t:read\t[1 nil]\n"
      "3\t:fail\t:read\t[1 nil]\t[:retry-failure org.example.ReadException: n4: no reply {\n"
      "  requestor: \"n4\"\n"
      "4\t:invoke\t:read\t[1 nil]\n"
      "4\t:info\t:read\t[1 nil]\tcan\"t connect\n"
      "5\t:invoke\t:write\t[1 7]\n"
      "5\t:fail\t:write\t[1 7]\tunexpected ) here\n"
      "6\t:invoke\t:write\t[1 8]\n"
      "6\t:ok\t:write\t[1 8]\n");
  EXPECT_EQ(history.error, "");
  EXPECT_TRUE(history.complete);
  const std::vector<Operation> operations = operations_of(history);
  ASSERT_EQ(operations.size(), 2);
  EXPECT_EQ(operations[0].outcome, Outcome::kUnknown);
  EXPECT_EQ(operations[1].value, "8");
}

TEST(EdnLog, TakesEachTokenForAProcess) {
  const std::string forms[] = {
      "{:process :a, :type :invoke, :f :write, :value 3}\n{:process :a, :type :ok, :f :write}\n"
      "{:process :nemesis, :type :info, :f :read}\n{:process :clock, :type :invoke, :f :bump}\n"
      "{:process \"c1\" :type :invoke :f :write :value 4}\n{:process :a :type :invoke :f :read}\n"
      "{:process 0, :type :invoke, :f :read}\n{:process 0, :type :ok, :f :read, :value 3}",
      "log :a\t:invoke\t:write\t3\nlog :a\t:ok\t:write\t3\nlog :nemesis\t:info\t:read\tnil\n"
      "what is :ok is right\nlog c1\t:invoke\t:write\t4\nlog :a\t:invoke\t:read\tnil\n"
      "log 0\t:invoke\t:read\tnil\nlog 0\t:ok\t:read\t3\n",
  };
  for (const std::string& form : forms) {
    const Read history = read(form);
    EXPECT_EQ(history.error, "") << form;
    const std::vector<Operation> operations = operations_of(history);
    ASSERT_EQ(operations.size(), 4) << form;
    EXPECT_EQ(operations[0].client, kFirstNamed) << form;
    EXPECT_EQ(operations[0].outcome, Outcome::kOk) << form;
    EXPECT_EQ(operations[1].client, 0) << form;
    EXPECT_EQ(operations[2].client, kFirstNamed) << form;
    EXPECT_GT(operations[3].client, kFirstNamed) << form;
    EXPECT_EQ(judged(history), Answer::kOk) << form;
  }
}

TEST(EdnLog, DropsWhatIsDiscarded) {
  const std::string right = "[1 :invoke :write 3] [1 :ok :write 3]";
  for (const std::string& log : {
           "#_[1 :ok :write 9] " + right,
           "[" + right + " #_ [1 :ok :write 9]]",
           "#_[" + right + " [1 :ok :write 9]]\n" + right,
           "#_ #_ [1 :ok :write 9]\n#jepsen.history.Op{:process 4} " + right,
           std::string("{:process 1 :type :invoke #_:f #_:read :f :write :value #_#{4} 3}\n"
                       "{:process 1, :type :ok, :f :write, :value 3 #_\"]\" #_4}"),
       }) {
    const Read history = read(log);
    EXPECT_EQ(history.error, "") << log;
    EXPECT_TRUE(history.complete) << log;
    const std::vector<Operation> operations = operations_of(history);
    ASSERT_EQ(operations.size(), 1) << log;
    EXPECT_EQ(operations[0].value, "3") << log;
  }
}

TEST(EdnLog, NoticesThatTheEndIsMissing) {
  const std::string operation = "{:process 1, :type :invoke, :f :write, :value 3}";
  EXPECT_TRUE(read("[" + operation + "]").complete);
  EXPECT_FALSE(read("[" + operation).complete);
  EXPECT_FALSE(read(operation.substr(0, operation.size() - 1)).complete);
}

TEST(EdnLog, NamesTheLineThatIsWrong) {
  const struct {
    std::string log;
    std::string error;
  } cases[] = {
      {"0 :invoke :append 3", "line 1: unknown function :append"},
      {"0 :invoke :cas 3", "line 1: :cas needs"},
      {"0 :invoke :cas [3", "line 1: the value of this operation does not end"},
      {"0 :invoke :cas [3 \"4]", "line 1: the value of this operation does not end"},
      {"0 :ok :read 3", "line 1: process 0 has no operation in flight"},
      {":a :ok :read 3", "line 1: process :a has no operation in flight"},
      {"0 :invoke :read nil\n0 :invoke :read nil", "line 2: process 0 has not returned"},
      {"{:valid? true}", "line 1: this map is not an operation"},
      {"[1 2 3]", "line 1: this is not an operation"},
      {"[{:type :invoke, :f :read}]", "line 1: this operation has no :process"},
      {"[{:process 1, :type :invoke, :f :txn,\n:value [[:read :x nil]]}]",
       "line 2: unknown function :txn"},
      {"[{:process 1, :type :invoke, :f :txn, :value [[:append 5 1] [:r 5 nil]]}]",
       "appends, sets and transactions are not supported"},
      {"{:process 1, :type :invoke, :f :write, :value {:x 1, :y 2}}",
       "line 1: {:x 1 :y 2} is of several registers: such operations are not supported"},
      {"0 :invoke :read [[:x nil] [:y nil]]", "line 1: [[:x nil] [:y nil]] is of several"},
      {"0 :invoke :read nil\n0 :ok :read {:x 1}", "line 2: {:x 1} is of several registers"},
      {"[1 :invoke :write [7 3]]\n[2 :invoke :read nil]", "line 2: earlier values are [key value]"},
      {"[1 :invoke :write 3)", "line 1: unmatched ')'"},
      {std::string(70, '['), "line 1: the value is nested too deeply"},
  };
  for (const auto& [log, error] : cases) EXPECT_THAT(read(log).error, HasSubstr(error)) << log;
}

}  // namespace
}  // namespace fencepost::history
