// What concurrent requests may not do, each with its rule, and what they may.
#include "concurrency/history/checker.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::history {
namespace {

using codec::Condition;
using std::chrono::milliseconds;
using ::testing::UnorderedElementsAre;

// An operation of client `client` from `called` to `returned`, in milliseconds.
struct Span {
  std::uint32_t client;
  int called;
  int returned;
};

hlc::Timestamp stamp(std::uint64_t counter) { return {1'000, counter, "store"}; }

Operation operation(Span span, Action action, Outcome outcome) {
  Operation out{.client = span.client, .action = action, .key = "k"};
  out.called = milliseconds(span.called);
  out.returned = milliseconds(span.returned);
  out.outcome = outcome;
  return out;
}

Operation set(Span span, std::string value, std::uint64_t version,
              Condition condition = Condition::kAlways) {
  Operation out = operation(span, Action::kSet, Outcome::kOk);
  out.value = std::move(value);
  out.version = stamp(version);
  out.condition = condition;
  return out;
}

Operation get(Span span, std::string value, std::uint64_t version) {
  Operation out = operation(span, Action::kGet, Outcome::kValue);
  out.read = std::move(value);
  out.version = stamp(version);
  return out;
}

Operation miss(Span span) { return operation(span, Action::kGet, Outcome::kMissing); }

Operation del(Span span, std::uint64_t version) {
  Operation out = operation(span, Action::kDel, Outcome::kDeleted);
  out.version = stamp(version);
  return out;
}

Operation vdel(Span span, std::string value, std::uint64_t version) {
  Operation out = del(span, version);
  out.action = Action::kVdel;
  out.value = std::move(value);
  return out;
}

Operation with_token(Operation out, std::uint64_t token) {
  out.token = stamp(token);
  return out;
}

Operation expiring(Operation out, int after) {
  out.expires_after = milliseconds(after);
  return out;
}

Operation unanswered(Operation out) {
  out.outcome = Outcome::kUnknown;
  out.returned = kNever;
  out.version.reset();
  return out;
}

Operation refused(Operation out, Outcome outcome) {
  out.outcome = outcome;
  out.version.reset();
  return out;
}

Verdict judge(const std::vector<Operation>& operations, const CheckLimits& limits = {}) {
  Checker checker(limits);
  checker.set_bounds({.expiry_early = milliseconds(5), .expiry_late = milliseconds(20)});
  for (const Operation& one : operations) checker.add(one);
  return checker.finish().front().verdict;
}

void expect_violation(const std::vector<Operation>& operations, const std::string& requirement,
                      const std::vector<Index>& shown) {
  const Verdict verdict = judge(operations);
  EXPECT_EQ(verdict.answer, Answer::kViolation) << verdict.text;
  EXPECT_EQ(verdict.requirement, requirement) << verdict.text;
  EXPECT_THAT(verdict.operations, ::testing::UnorderedElementsAreArray(shown)) << verdict.text;
}

void expect_ok(const std::vector<Operation>& operations) {
  const Verdict verdict = judge(operations);
  EXPECT_EQ(verdict.answer, Answer::kOk) << verdict.requirement << " " << verdict.text;
}

TEST(Checker, FindsStaleReads) {
  expect_violation({set({1, 0, 1}, "a", 1), set({1, 2, 3}, "b", 2), get({2, 4, 5}, "a", 1)},
                   "SET-WRITE-2", {0, 1, 2});
  // Meanwhile, both are right.
  expect_ok({set({1, 0, 1}, "a", 1), set({1, 2, 5}, "b", 2), get({2, 4, 5}, "a", 1)});
  expect_ok({set({1, 0, 1}, "a", 1), set({1, 2, 5}, "b", 2), get({2, 3, 4}, "b", 2)});
}

TEST(Checker, FindsReadsThatGoBackWhileAWriteIsUnderWay) {
  expect_violation({set({1, 0, 1}, "a", 1), set({1, 2, 9}, "b", 2), get({2, 3, 4}, "b", 2),
                    get({2, 5, 6}, "a", 1)},
                   "SET-WRITE-2", {0, 1, 2, 3});
}

Operation bare(Operation one) {
  one.version.reset();
  return one;
}

// Values alone, and more of them than a search for a smaller counter-example can try.
std::vector<Operation> overlapping_writes(int count, int values) {
  std::vector<Operation> out;
  for (int i = 0; i < count; ++i) {
    const Span span{static_cast<std::uint32_t>(i % 15), 10 * i, 10 * i + 45};
    out.push_back(bare(set(span, std::to_string(i % values), 0)));
  }
  return out;
}

TEST(Checker, ShowsAStaleReadOfALongHistoryInThreeOperations) {
  std::vector<Operation> operations = overlapping_writes(3000, 3000);
  operations.push_back(bare(get({20, 10'101, 10'102}, "1000", 0)));
  const Verdict verdict = judge(operations);
  EXPECT_EQ(verdict.answer, Answer::kViolation);
  EXPECT_EQ(verdict.requirement, "SET-WRITE-2");
  EXPECT_TRUE(verdict.minimal);
  // The last of those that had returned, though others were called later.
  EXPECT_THAT(verdict.operations, UnorderedElementsAre(1000, 1005, 3000));
  // A later SET that is in flight is there because a GET has returned its value.
  operations.back() = bare(get({20, 10'051, 10'052}, "1004", 0));
  operations.push_back(bare(get({21, 10'053, 10'054}, "999", 0)));
  EXPECT_THAT(judge(operations).operations, UnorderedElementsAre(999, 3000, 3001));
  // The older value may have been written once more.
  operations.push_back(unanswered(set({22, 10'000, 0}, "999", 0)));
  EXPECT_EQ(judge(operations).answer, Answer::kOk);
}

TEST(Checker, SaysThatASmallerCounterExampleMayExist) {
  std::vector<Operation> operations = overlapping_writes(60, 30);
  operations.push_back(bare(get({20, 1000, 1001}, "0", 0)));
  const Verdict whole = judge(operations, {.counter_example = {.work = 0}});
  EXPECT_EQ(whole.answer, Answer::kViolation);
  EXPECT_FALSE(whole.minimal);
  EXPECT_EQ(whole.operations.size(), 61);
  EXPECT_FALSE(judge(operations, {.counter_example = {.search = {.steps = 20}}}).minimal);
  const std::vector<Operation> few = {bare(set({1, 0, 1}, "a", 0)), bare(set({1, 2, 3}, "b", 0)),
                                      bare(set({1, 2, 3}, "b", 0)), bare(get({2, 4, 5}, "a", 0))};
  const Verdict small = judge(few);
  EXPECT_TRUE(small.minimal);
  EXPECT_EQ(small.operations.size(), 2);
}

TEST(Checker, FindsValuesThatNobodyWrote) {
  expect_violation({set({1, 0, 1}, "a", 1), get({2, 2, 3}, "b", 7)}, "GET-HIT-3", {1});
  expect_violation({set({1, 0, 1}, "a", 1), set({1, 2, 3}, "b", 2), get({2, 4, 5}, "a", 2)},
                   "VER-GET-2", {1, 2});
  expect_violation({set({1, 0, 1}, "a", 1),
                    refused(set({1, 2, 3}, "b", 0, Condition::kIfAbsent), Outcome::kNotApplied),
                    get({2, 4, 5}, "b", 2)},
                   "SET-NOT-APPLIED-2", {1, 2});
}

TEST(Checker, FindsVersionsOutOfOrder) {
  expect_violation({set({1, 0, 1}, "a", 2), set({2, 2, 3}, "b", 1)}, "VER-UPDATE-3", {0, 1});
  expect_violation({set({1, 0, 9}, "a", 1), set({2, 2, 3}, "b", 1)}, "VER-UPDATE-3", {0, 1});
  expect_ok({set({1, 0, 3}, "a", 2), set({2, 2, 3}, "b", 1)});
}

TEST(Checker, FindsVersionsNotAboveTheTimestamp) {
  Operation one = set({1, 0, 1}, "a", 1);
  one.timestamp = stamp(1);
  expect_violation({one}, "VER-SET-2", {0});
}

TEST(Checker, FindsConditionsThatWereCheckedTooEarly) {
  const auto nx = Condition::kIfAbsent;
  expect_violation({set({1, 0, 5}, "a", 1, nx), set({2, 0, 5}, "b", 2, nx)}, "SET-NX-2", {0, 1});
  expect_ok({set({1, 0, 5}, "a", 1, nx), del({3, 0, 5}, 1), set({2, 0, 5}, "b", 2, nx)});
  const std::vector<Operation> seen = {set({1, 0, 1}, "a", 1, nx), get({2, 0, 9}, "a", 1),
                                       set({1, 2, 3}, "b", 2, nx)};
  EXPECT_EQ(judge(seen).requirement, "SET-NX-2");
  const auto nex = Condition::kIfAbsentOrEqual;
  expect_violation({set({1, 0, 5}, "a", 1, nex), set({2, 0, 5}, "b", 2, nex)}, "SET-NEX-3", {0, 1});
  expect_ok({set({1, 0, 5}, "a", 1, nex), set({2, 0, 5}, "a", 2, nex)});
  expect_violation({set({1, 0, 1}, "a", 1), set({2, 2, 9}, "b", 2), vdel({3, 2, 9}, "a", 2)},
                   "VDEL-MISMATCH-1", {1, 2});
}

TEST(Checker, TellsLostWritesFromSetsThatIgnoreNx) {
  const auto nx = Condition::kIfAbsent;
  const auto rule_of = [](const std::vector<Operation>& all,
                          const std::vector<Operation>& elsewhere, bool settled) {
    Checker checker({.settle_from = 1});
    for (const Operation& each : all) checker.add(each);
    for (Operation each : elsewhere) {
      each.key = "other";
      checker.add(each);
    }
    if (settled) checker.settle(std::chrono::seconds{100});
    EXPECT_EQ(checker.found_violation(), settled);
    return checker.finish().front().verdict.requirement;
  };
  const std::vector<Operation> unseen = {set({1, 0, 1}, "a", 1), set({1, 2, 3}, "b", 2, nx)};
  const std::vector<Operation> refusal = {
      refused(set({2, 4, 5}, "c", 0, nx), Outcome::kNotApplied)};
  for (const bool settled : {false, true}) {
    EXPECT_EQ(rule_of(unseen, {}, settled), "SET-NX-2");
    // It does check the condition.
    EXPECT_EQ(rule_of(unseen, refusal, settled), "SET-WRITE-1");
    // The condition does not explain it.
    const std::vector<Operation> more = {unseen[0], unseen[1], miss({2, 4, 5})};
    EXPECT_EQ(rule_of(more, {}, settled), "SET-WRITE-1");
  }
}

TEST(Checker, FindsTwoDeletionsOfOneValue) {
  expect_violation({set({1, 0, 1}, "a", 1), del({2, 2, 5}, 1), del({3, 2, 5}, 1)}, "DEL-COUNT-1",
                   {1, 2});
  // From a store that does not say which version it was.
  std::vector<Operation> without = {set({1, 0, 1}, "a", 1), del({2, 2, 5}, 0), del({3, 2, 5}, 0)};
  without[1].version.reset();
  without[2].version.reset();
  expect_violation(without, "DEL-MISS-1", {1, 2});
}

TEST(Checker, FindsWhatComesBackAfterADeletion) {
  expect_violation({set({1, 0, 1}, "a", 1), del({1, 2, 3}, 1), get({2, 4, 5}, "a", 1)},
                   "DEL-REMOVE-1", {0, 1, 2});
  expect_violation({set({1, 0, 1}, "a", 1), miss({2, 2, 3})}, "SET-WRITE-1", {0, 1});
  expect_violation({set({1, 0, 1}, "a", 1), set({1, 2, 6}, "b", 2),
                    refused(set({2, 3, 4}, "c", 0, Condition::kIfAbsent), Outcome::kNotApplied),
                    miss({2, 5, 6})},
                   "SET-WRITE-1", {0, 2, 3});
}

TEST(Checker, FindsFencingThatWasCheckedTooEarly) {
  expect_violation({with_token(set({1, 0, 1}, "a", 1), 5), with_token(set({2, 2, 9}, "b", 2), 7),
                    with_token(set({3, 2, 9}, "c", 3), 6)},
                   "FT-LOWER-1", {1, 2});
  expect_violation({with_token(set({1, 0, 1}, "a", 1), 5), set({2, 2, 3}, "b", 2)}, "FT-REQUIRED-1",
                   {0, 1});
  expect_violation({with_token(set({1, 0, 1}, "a", 1), 5), with_token(del({2, 2, 3}, 1), 4)},
                   "FT-LOWER-2", {0, 1});
  // The token goes with the key.
  expect_ok({with_token(set({1, 0, 1}, "a", 1), 5), with_token(del({2, 2, 3}, 1), 5),
             set({3, 2, 3}, "b", 2)});
  expect_violation(
      {set({1, 0, 1}, "a", 1), refused(set({2, 2, 3}, "b", 0), Outcome::kTokenRequired)},
      "FT-OPTIONAL-1", {0, 1});
}

// What is wrong in words, too.
void expect_text(const std::vector<Operation>& operations, const std::string& part) {
  const Verdict verdict = judge(operations);
  EXPECT_EQ(verdict.answer, Answer::kViolation);
  EXPECT_NE(verdict.text.find(part), std::string::npos) << verdict.text;
}

TEST(Checker, NamesWhatASessionWasPromised) {
  expect_text({set({1, 0, 1}, "a", 1), set({2, 2, 9}, "b", 2), get({3, 3, 4}, "b", 2),
               get({3, 5, 6}, "a", 1)},
              "by the same client (monotonic reads)");
  expect_text({set({1, 0, 1}, "a", 1), set({2, 2, 3}, "b", 2), get({2, 4, 5}, "a", 1)},
              "by the same client (read your writes)");
  expect_text({set({1, 0, 1}, "a", 1), miss({1, 2, 3})}, "(read your writes)");
}

TEST(Checker, NamesATokenThatGoesBack) {
  expect_text({with_token(set({1, 0, 1}, "a", 1), 7), with_token(set({2, 2, 3}, "b", 2), 5)},
              "older fencing token");
  // A life later it may be older.
  expect_ok({with_token(set({1, 0, 1}, "a", 1), 7), with_token(del({1, 2, 3}, 1), 7),
             with_token(set({2, 4, 5}, "b", 2), 5)});
}

TEST(Checker, NamesWhatARefusedRequestLeftBehind) {
  const Operation first = with_token(set({1, 0, 1}, "a", 1), 5);
  const Operation fenced = refused(with_token(set({2, 2, 3}, "b", 0), 4), Outcome::kTokenLower);
  expect_violation({first, fenced, get({3, 4, 5}, "b", 2)}, "ERR-STATE-1", {1, 2});
  const Operation deletion = refused(with_token(del({2, 2, 3}, 0), 4), Outcome::kTokenLower);
  expect_violation({first, deletion, miss({3, 4, 5})}, "ERR-STATE-1", {0, 1, 2});
  expect_violation({set({1, 0, 1}, "a", 1), refused(vdel({2, 2, 3}, "b", 0), Outcome::kNotApplied),
                    miss({3, 4, 5})},
                   "VDEL-MISMATCH-1", {0, 1, 2});
  // The same without versions, by the search.
  expect_violation({bare(first), fenced, bare(get({3, 4, 5}, "b", 0))}, "ERR-STATE-1", {1, 2});
  const Operation nx = refused(set({2, 2, 3}, "b", 0, Condition::kIfAbsent), Outcome::kNotApplied);
  expect_violation({bare(first), nx, bare(get({3, 4, 5}, "b", 0))}, "SET-NOT-APPLIED-2", {1, 2});
  expect_violation({bare(first), bare(get({3, 4, 5}, "c", 0))}, "GET-HIT-3", {1});
}

TEST(Checker, NamesWhatExpiresTooEarlyOrTooLate) {
  const Operation first = expiring(set({1, 0, 2}, "a", 1), 100);
  expect_text({first, miss({2, 93, 94})}, "gone before its PX");
  expect_text({first, get({2, 123, 124}, "a", 1)}, "long after its PX");
  expect_text({first, miss({2, 100, 101}), get({2, 102, 103}, "a", 1)}, "existed again");
  // A stale read is not one of a key that should have expired.
  expect_violation({first, set({1, 10, 11}, "b", 2), get({2, 20, 21}, "a", 1)}, "SET-WRITE-2",
                   {0, 1, 2});
}

TEST(Checker, SaysWhetherValuesAreWrongAsWell) {
  const auto values = [](const std::vector<Operation>& operations) {
    const Verdict verdict = judge(operations);
    EXPECT_EQ(verdict.answer, Answer::kViolation);
    return verdict.by_values;
  };
  // The later write has the lower version; what is read afterwards is what was written last, or
  // not.
  const std::vector<Operation> writes = {set({1, 0, 1}, "a", 2), set({2, 2, 3}, "b", 1)};
  std::vector<Operation> right = writes;
  right.push_back(get({3, 4, 5}, "b", 1));
  EXPECT_EQ(values(right), Answer::kOk);
  std::vector<Operation> wrong = writes;
  wrong.push_back(get({3, 4, 5}, "a", 2));
  EXPECT_EQ(values(wrong), Answer::kViolation);
  // With more than SETs and GETs it is searched.
  right.push_back(del({3, 6, 7}, 1));
  EXPECT_EQ(values(right), Answer::kOk);
  wrong.push_back(del({3, 6, 7}, 2));
  EXPECT_EQ(values(wrong), Answer::kViolation);
  EXPECT_FALSE(judge(right, {.values = {.steps = 0}}).by_values == Answer::kOk);
  for (Operation& one : wrong) one.version.reset();
  EXPECT_EQ(values(wrong), std::nullopt);
}

TEST(Checker, ReportsRequestsThatWereCarriedOutTwice) {
  const auto again = [](Operation one) {
    one.resent = true;
    return one;
  };
  const Operation b = set({2, 2, 3}, "b", 2);
  const std::vector<Operation> rest = {b, get({3, 4, 5}, "a", 3)};
  // Seen with a version that is not that of its reply: it was written once more.
  std::vector<Operation> all = {again(set({1, 0, 1}, "a", 1)), rest[0], rest[1]};
  const Verdict twice = judge(all);
  EXPECT_EQ(twice.answer, Answer::kOk) << twice.text;
  EXPECT_EQ(twice.repeated, std::vector<Index>{0});
  all.front().resent = false;
  EXPECT_EQ(judge(all).answer, Answer::kViolation);
  // It was sent again, and nothing says that it was carried out again.
  const Verdict once = judge({again(set({1, 0, 1}, "a", 1)), b, get({3, 4, 5}, "b", 2)});
  EXPECT_EQ(once.answer, Answer::kOk);
  EXPECT_TRUE(once.repeated.empty());
  // A deletion that may have come once more explains what no search of one execution does.
  all = {set({1, 0, 1}, "a", 1), again(del({1, 2, 3}, 1)), set({1, 4, 5}, "b", 2), miss({2, 6, 7})};
  EXPECT_EQ(judge(all).repeated, std::vector<Index>{1});
  all[1].resent = false;
  EXPECT_EQ(judge(all).requirement, "SET-WRITE-1");
}

// The documents do not promise it (Req: VER-UPDATE-3): a store may forget the clock of a key with
// the key.
TEST(Checker, JudgesValuesWhereVersionsNeedNotGrow) {
  const auto judged = [](const std::vector<Operation>& all, bool grow,
                         const CheckLimits& limits = {}) {
    KeyHistory history;
    for (Index i = 0; i < all.size(); ++i) history.add(all[i], i);
    return judge_key(history, {.versions_grow = grow}, limits);
  };
  const std::vector<Operation> same = {set({1, 0, 1}, "a", 1), del({1, 2, 3}, 1),
                                       set({1, 4, 5}, "b", 1), get({1, 6, 7}, "b", 1)};
  EXPECT_EQ(judged(same, true).requirement, "VER-UPDATE-3");
  EXPECT_EQ(judged(same, false).answer, Answer::kOk);
  const std::vector<Operation> lower = {set({1, 0, 1}, "a", 2), del({1, 2, 3}, 2),
                                        set({1, 4, 5}, "b", 1), get({1, 6, 7}, "b", 1)};
  EXPECT_EQ(judged(lower, true).requirement, "VER-UPDATE-3");
  EXPECT_EQ(judged(lower, false).answer, Answer::kOk);
  // Values, and which version is whose, are judged all the same.
  const std::vector<Operation> stale = {set({1, 0, 1}, "a", 1), del({1, 2, 3}, 1),
                                        set({1, 4, 5}, "b", 1), get({1, 6, 7}, "a", 1)};
  EXPECT_EQ(judged(stale, false).requirement, "SET-WRITE-2");
  const std::vector<Operation> other = {set({1, 0, 1}, "a", 1), del({1, 2, 3}, 1),
                                        set({1, 4, 5}, "b", 1), get({1, 6, 7}, "b", 3)};
  EXPECT_EQ(judged(other, false).requirement, "VER-GET-2");
  // Also where the search over values does not come to an end.
  const CheckLimits none{.search = {.steps = 1}};
  EXPECT_EQ(judged(same, false, none).answer, Answer::kUnknown);
  EXPECT_EQ(judged(stale, false, none).requirement, "SET-WRITE-2");
  EXPECT_EQ(judged(other, false, none).requirement, "VER-GET-2");
  EXPECT_EQ(judged(other, false, none).operations, (std::vector<Index>{2, 3}));
}

TEST(Checker, SaysWhetherKeysShareAClock) {
  const auto at = [](Operation one, const std::string& key) {
    one.key = key;
    return one;
  };
  Checker checker;
  checker.add(at(set({1, 0, 1}, "a", 5), "x"));
  EXPECT_EQ(checker.clock().compared, 0U);
  checker.add(at(set({1, 2, 3}, "a", 6), "y"));
  checker.add(at(set({1, 4, 5}, "a", 7), "x"));
  EXPECT_EQ(checker.clock().compared, 2U);
  EXPECT_EQ(checker.clock().against, 0U);
  // In flight together with the one before: says nothing of these two.
  checker.add(at(set({2, 4, 6}, "a", 6), "z"));
  EXPECT_EQ(checker.clock().against, 1U);
  EXPECT_EQ(checker.clock().earlier, 1U);
  EXPECT_EQ(checker.clock().later, 3U);
}

TEST(Checker, TakesRequestsWithoutReplyForDoneOrNot) {
  const Operation lost = unanswered(set({1, 2, 3}, "b", 0));
  const std::vector<Operation> before = {set({1, 0, 1}, "a", 1), lost};
  auto then = [&](std::vector<Operation> more) {
    std::vector<Operation> out = before;
    out.insert(out.end(), more.begin(), more.end());
    return out;
  };
  expect_ok(then({get({2, 9, 10}, "a", 1)}));
  expect_ok(then({get({2, 9, 10}, "b", 2)}));
  expect_ok(then({get({2, 9, 10}, "a", 1), get({2, 11, 12}, "b", 2)}));
  // But not undone, and not twice.
  expect_violation(then({get({2, 9, 10}, "b", 2), get({2, 11, 12}, "a", 1)}), "SET-WRITE-2",
                   {0, 1, 2, 3});
  expect_violation(
      then({get({2, 9, 10}, "b", 2), set({2, 11, 12}, "c", 3), get({2, 13, 14}, "b", 4)}),
      "SET-WRITE-2", {2, 4});
  // Nobody has seen it, but it explains what others were answered.
  expect_ok({unanswered(set({1, 0, 1}, "a", 0)),
             refused(set({2, 2, 3}, "b", 0, Condition::kIfAbsent), Outcome::kNotApplied)});
  expect_ok({set({1, 0, 1}, "a", 1), unanswered(del({1, 2, 3}, 0)), miss({2, 4, 5})});
  expect_violation({set({1, 0, 1}, "a", 1), unanswered(del({1, 6, 7}, 0)), miss({2, 4, 5})},
                   "SET-WRITE-1", {0, 2});
}

// Each of them may have been carried out at any time since, or not.
TEST(Checker, DecidesWhereManyResponsesAreLost) {
  constexpr int kLost = 60;
  std::vector<Operation> operations = {set({1, 0, 1}, "a", 1)};
  for (int i = 0; i < kLost; ++i) {
    operations.push_back(unanswered(set({2, 2, 3}, "b" + std::to_string(i), 0)));
    operations.push_back(unanswered(set({3, 2, 3}, "c", 0, Condition::kIfAbsent)));
    operations.push_back(unanswered(del({4, 2, 3}, 0)));
  }
  // A deletion of what nobody has seen, and an answer that only such a deletion explains.
  operations.push_back(del({1, 10, 11}, 2));
  operations.push_back(set({1, 12, 13}, "d", 3));
  operations.push_back(miss({1, 14, 15}));
  operations.push_back(get({1, 16, 17}, "c", 4));
  const CheckLimits few{.search = {.steps = 20'000}};
  EXPECT_EQ(judge(operations, few).answer, Answer::kOk);
  operations.push_back(get({1, 18, 19}, "d", 3));
  EXPECT_EQ(judge(operations, few).answer, Answer::kViolation);
}

TEST(Checker, LetsKeysExpireOnTime) {
  const Operation first = expiring(set({1, 0, 2}, "a", 1), 100);
  expect_ok({first, get({2, 94, 95}, "a", 1), miss({2, 96, 97})});
  expect_ok({first, get({2, 122, 123}, "a", 1)});
  expect_violation({first, miss({2, 93, 94})}, "SET-PX-2", {0, 1});
  expect_violation({first, get({2, 123, 124}, "a", 1)}, "SET-PX-1", {0, 1});
  expect_violation({first, miss({2, 100, 101}), get({2, 102, 103}, "a", 1)}, "SET-PX-4", {0, 1, 2});
  // Another SET may leave it its time, or not.
  expect_ok({first, set({1, 50, 52}, "b", 2), miss({2, 100, 101})});
  expect_ok({first, set({1, 50, 52}, "b", 2), get({2, 500, 501}, "b", 2)});
  expect_violation({first, expiring(set({1, 50, 52}, "a", 2, Condition::kIfAbsentOrEqual), 100),
                    miss({2, 100, 101})},
                   "SET-PX-2", {1, 2});
}

TEST(Checker, WhatHappensAfterAnExpiryIsNotBeforeIt) {
  // A reply that says nothing: it has happened by 4, if at all.
  Operation late = unanswered(set({2, 0, 1}, "b", 0, Condition::kIfAbsent));
  late.returned = milliseconds(4);
  const Operation first = expiring(set({1, 0, 2}, "a", 1, Condition::kIfAbsent), 10);
  EXPECT_EQ(judge({first, late, get({3, 30, 31}, "b", 2)}).answer, Answer::kViolation);
  late.returned = milliseconds(5);
  EXPECT_EQ(judge({first, late, get({3, 30, 31}, "b", 2)}).answer, Answer::kOk);
}

TEST(Checker, SaysUnknownWhenItGivesUp) {
  std::vector<Operation> operations;
  for (int i = 0; i < 12; ++i) {
    operations.push_back(set({static_cast<std::uint32_t>(i), 0, 50}, std::to_string(i), 0));
    operations.back().version.reset();
  }
  operations.push_back(get({20, 60, 61}, "nobody's", 0));
  operations.back().version.reset();
  const Verdict given_up = judge(operations, {.search = {.steps = 100}});
  EXPECT_EQ(given_up.answer, Answer::kUnknown);
  EXPECT_THAT(given_up.text, ::testing::HasSubstr("100 steps"));
  EXPECT_EQ(judge(operations).answer, Answer::kViolation);
  // Nor does it take all memory for what could come next. It took 7 GB for 50,000 operations.
  EXPECT_EQ(judge(operations, {.search = {.moves = 20}}).answer, Answer::kUnknown);
}

TEST(Checker, DoesNotKnowWhatARestartLeaves) {
  Checker checker;
  checker.add(set({1, 0, 1}, "a", 1));
  checker.add(Event(Restart{milliseconds(2)}));
  checker.add(miss({1, 4, 5}));
  const Verdict verdict = checker.finish().front().verdict;
  EXPECT_EQ(verdict.answer, Answer::kUnknown);
  EXPECT_THAT(verdict.text, ::testing::HasSubstr("restarted"));
}

TEST(Checker, JudgesEachKeyAndKeepsNumbers) {
  Checker checker;
  Operation other = set({1, 0, 1}, "x", 1);
  other.key = "j";
  checker.add(other);
  checker.add(operation({1, 0, 1}, Action::kObserve, Outcome::kOk));
  checker.add(set({1, 2, 3}, "a", 2));
  checker.add(miss({1, 4, 5}));
  const std::vector<KeyVerdict> verdicts = checker.finish();
  ASSERT_EQ(verdicts.size(), 2);
  EXPECT_EQ(verdicts[0].key, "j");
  EXPECT_EQ(verdicts[0].verdict.answer, Answer::kOk);
  EXPECT_THAT(verdicts[0].verdict.operations, UnorderedElementsAre(0));
  EXPECT_EQ(verdicts[1].verdict.answer, Answer::kViolation);
  EXPECT_THAT(verdicts[1].verdict.operations, UnorderedElementsAre(2, 3));
  EXPECT_EQ(checker.added(), 0);
}

TEST(Checker, GivesTheOperationsOfAViolationWhereItKeepsThem) {
  Operation other = set({1, 0, 1}, "x", 1);
  other.key = "j";
  const Operation wrote = set({1, 2, 3}, "a", 2);
  const Operation missed = miss({1, 4, 5});
  for (const bool keeps : {false, true}) {
    Checker checker({}, keeps);
    for (const Operation& each : {other, wrote, missed}) checker.add(each);
    const std::vector<KeyVerdict> verdicts = checker.finish();
    EXPECT_TRUE(verdicts.at(0).verdict.shown.empty());
    const Verdict& wrong = verdicts.at(1).verdict;
    ASSERT_EQ(wrong.shown.size(), keeps ? wrong.operations.size() : 0U);
    for (std::size_t i = 0; i < wrong.shown.size(); ++i) {
      EXPECT_EQ(wrong.shown[i], wrong.operations[i] == 1 ? wrote : missed);
    }
  }
}

// What settle() has forgotten is not kept; what may still be named is kept as it was.
TEST(Checker, KeepsTheLastWriterOfWhatIsSettled) {
  Checker checker({.settle_from = 2}, true);
  Operation wrote = set({1, 2, 3}, "b", 2);
  wrote.expected = "as it was";
  for (const Operation& each : {set({1, 0, 1}, "a", 1), wrote, get({1, 4, 5}, "b", 2)}) {
    checker.add(each);
  }
  checker.settle(milliseconds(6));
  EXPECT_LT(checker.held(), 3U);
  const Operation missed = miss({1, 7, 8});
  checker.add(missed);
  const Verdict wrong = checker.finish().front().verdict;
  EXPECT_EQ(wrong.answer, Answer::kViolation);
  EXPECT_THAT(wrong.shown, UnorderedElementsAre(wrote, missed));
}

// That nothing was left of an older token is what the deletion shows: without it, the SET that is
// refused might have met the token of the first one.
TEST(Checker, WhatIsSaidOfATokenHasTheDeletionThatEndedAnOlderOne) {
  const auto of_node = [](Operation out, std::string node) {
    out.token = hlc::Timestamp{3, 0, std::move(node)};
    return out;
  };
  Operation refused = operation({2, 8, 16}, Action::kSet, Outcome::kTokenLower);
  refused.value = "c";
  Checker checker;
  for (const Operation& each :
       {of_node(set({2, 0, 1}, "a", 1), "n"), of_node(del({0, 1, 2}, 1), "n"),
        of_node(set({0, 5, 6}, "b", 2), "m"), get({1, 6, 7}, "b", 2), of_node(refused, "m")}) {
    checker.add(each);
  }
  const Verdict verdict = checker.finish().front().verdict;
  EXPECT_EQ(verdict.requirement, "FT-ACCEPT-1");
  std::vector<Index> shown = verdict.operations;
  shown.insert(shown.end(), verdict.others.begin(), verdict.others.end());
  EXPECT_THAT(shown, testing::Contains(Index{1}));
}

// A deletion that is answered with a new version need not move the clock: the next SET may get that
// version, too. (Req: VER-OPEN-4, VER-OPEN-2)
TEST(Checker, TakesNoFreshVersionOfADeletionForThatOfALaterSet) {
  const auto judged = [](bool fresh_elsewhere) {
    Checker checker;
    checker.add(set({0, 0, 10}, "a", 5));
    checker.add(del({0, 20, 30}, 6));
    checker.add(set({0, 40, 50}, "b", 6));
    checker.add(get({0, 60, 70}, "b", 6));
    for (Operation operation : {set({1, 0, 10}, "c", 7), del({1, 20, 30}, 8)}) {
      operation.key = "other";
      if (!fresh_elsewhere && operation.action == Action::kDel) operation.version = stamp(7);
      checker.add(operation);
    }
    return checker.finish().front().verdict.answer;
  };
  EXPECT_EQ(judged(true), Answer::kOk);
  // A store that answers with the versions of what it has deleted cannot have deleted "b" then.
  EXPECT_EQ(judged(false), Answer::kViolation);
}

}  // namespace
}  // namespace fencepost::history
