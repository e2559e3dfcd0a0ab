// Which notifications observers may receive, and which they must.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "concurrency/history/checker.h"
#include "concurrency/history/testing/random_history.h"

namespace fencepost::history {
namespace {

using std::chrono::milliseconds;
using workload::Random;

constexpr std::uint32_t kObserver = 9;

Time ms(std::int64_t count) { return milliseconds(count); }
hlc::Timestamp version(std::uint64_t counter) { return {1'000, counter, "store"}; }

Operation done(Action action, std::int64_t called, std::int64_t returned, Outcome outcome) {
  Operation out{.action = action, .key = "k"};
  out.called = ms(called);
  out.returned = ms(returned);
  out.outcome = outcome;
  return out;
}

Operation set(std::int64_t called, std::int64_t returned, std::string value,
              std::uint64_t counter) {
  Operation out = done(Action::kSet, called, returned, Outcome::kOk);
  out.value = std::move(value);
  out.version = version(counter);
  return out;
}

Operation of_observer(Operation operation) {
  operation.client = kObserver;
  return operation;
}

Operation observe(std::int64_t called, std::int64_t returned) {
  return of_observer(done(Action::kObserve, called, returned, Outcome::kOk));
}

Operation stop(std::int64_t called, std::int64_t returned) {
  return of_observer(done(Action::kStop, called, returned, Outcome::kOk));
}

Notification notified(std::int64_t at, std::string value, std::uint64_t counter) {
  return {.client = kObserver,
          .key = "k",
          .value = std::move(value),
          .version = version(counter),
          .arrived = ms(at)};
}

Notification notified_deletion(std::int64_t at) {
  return {
      .client = kObserver, .key = "k", .operation = codec::Operation::kDelete, .arrived = ms(at)};
}

// The observer receives something at the end, so that nothing is late by then.
std::vector<Event> and_later(std::vector<Event> events) {
  Operation later = of_observer(done(Action::kGet, 8'999, 9'000, Outcome::kMissing));
  later.key = "another";
  events.emplace_back(later);
  return events;
}

Verdict judge(const std::vector<Event>& events) {
  Checker checker;
  checker.set_bounds({.notification_late = milliseconds(100)});
  for (const Event& event : events) checker.add(event);
  for (const KeyVerdict& verdict : checker.finish()) {
    if (verdict.key == "k") return verdict.verdict;
  }
  return {};
}

void expect_ok(const std::vector<Event>& events) {
  const Verdict verdict = judge(and_later(events));
  EXPECT_EQ(verdict.answer, Answer::kOk) << verdict.requirement << " " << verdict.text;
}

void expect_violation(const std::vector<Event>& events, const std::string& requirement) {
  const Verdict verdict = judge(and_later(events));
  EXPECT_EQ(verdict.answer, Answer::kViolation);
  EXPECT_EQ(verdict.requirement, requirement) << verdict.text;
}

TEST(Notifications, AreOfWhatClientsWrote) {
  const std::vector<Event> before = {observe(0, 1), set(2, 3, "a", 1)};
  const auto then = [&](const Notification& notification) {
    std::vector<Event> out = before;
    out.emplace_back(notification);
    return out;
  };
  expect_ok(then(notified(4, "a", 1)));
  expect_violation(then(notified(4, "b", 1)), "NTF-VALUE-1");
  expect_violation(then(notified(4, "b", 2)), "NTF-SEND-4");
  expect_violation(then(notified(4, "a", 2)), "NTF-VERSION-3");
  expect_violation(then(notified(1, "a", 1)), "NTF-SEND-4");
  expect_violation(then(notified_deletion(4)), "NTF-SEND-4");
  Notification other = notified(4, "a", 1);
  other.client = 8;
  expect_violation(then(other), "NTF-SEND-3");
}

// Req: NTF-VALUE-3, which only the deployed service shows.
TEST(Notifications, MayLeaveOutTheValue) {
  Notification bare = notified(4, "", 1);
  bare.valueless = true;
  expect_ok({observe(0, 1), set(2, 3, "a", 1), bare});
  Notification unknown = bare;
  unknown.version = version(2);
  expect_violation({observe(0, 1), set(2, 3, "a", 1), unknown}, "NTF-VERSION-3");
  // As in the preview: it does not show which SET it was.
  Notification silent = bare;
  silent.version.reset();
  expect_ok({observe(0, 1), set(2, 3, "a", 1), silent, set(5, 6, "b", 2)});
  // Notified of another SET only.
  expect_violation({observe(0, 1), set(2, 3, "a", 1), bare, set(5, 6, "b", 2)}, "NTF-SEND-1");
}

TEST(Notifications, MayBeOfWhatHasNoReply) {
  Operation lost = set(2, 3, "a", 1);
  lost.outcome = Outcome::kUnknown;
  lost.returned = kNever;
  lost.version.reset();
  expect_ok({observe(0, 1), lost, notified(50, "a", 7)});
  expect_ok({observe(0, 1), lost});
  expect_violation({observe(0, 1), lost, notified(50, "b", 7)}, "NTF-SEND-4");
}

TEST(Notifications, AreAllThatIsCertain) {
  expect_violation({observe(0, 1), set(2, 3, "a", 1)}, "NTF-SEND-1");
  // In flight with the registration, its end, or another of the same value: open.
  expect_ok({observe(0, 3), set(2, 4, "a", 1)});
  expect_ok({observe(0, 1), set(2, 6, "a", 1), stop(5, 7)});
  expect_ok({observe(0, 1), set(2, 3, "a", 1), notified(4, "a", 1), set(5, 6, "a", 2)});
  expect_ok({observe(0, 1), of_observer(set(2, 3, "a", 1))});
  // Perhaps on its way still.
  EXPECT_EQ(judge({observe(0, 1), set(2, 3, "a", 1)}).answer, Answer::kOk);
  // Nobody knows how long the connection was dead.
  expect_ok({observe(0, 1), set(2, 3, "a", 1), Connection{kObserver, Link::kLost, ms(500)}});
  expect_ok({observe(0, 1), set(2, 3, "a", 1), Restart{ms(2)}});
  Operation deletion = done(Action::kDel, 5, 6, Outcome::kDeleted);
  deletion.version = version(1);
  const std::vector<Event> missing = {observe(0, 1), set(2, 3, "a", 1), notified(4, "a", 1),
                                      deletion};
  expect_violation(missing, "NTF-SEND-2");
  EXPECT_THAT(judge(and_later(missing)).text,
              ::testing::HasSubstr("notified of only 0 of 1 deletion"));
  expect_ok(
      {observe(0, 1), set(2, 3, "a", 1), notified(4, "a", 1), deletion, notified_deletion(7)});
}

TEST(Notifications, ComeOnce) {
  const std::vector<Event> once = {observe(0, 1), set(2, 3, "a", 1), notified(4, "a", 1)};
  std::vector<Event> twice = once;
  twice.emplace_back(notified(5, "a", 1));
  expect_violation(twice, "NTF-SEND-1");
  Notification again = notified(5, "a", 1);
  again.duplicate = true;
  std::vector<Event> redelivered = once;
  redelivered.emplace_back(again);
  expect_ok(redelivered);
  twice.insert(twice.begin() + 1, Event(observe(1, 2)));
  expect_ok(twice);
}

// Whichever of them was notified twice.
TEST(Notifications, OfDeletionsAreNotMoreThanThese) {
  const Operation deletion = done(Action::kDel, 5, 6, Outcome::kDeleted);
  const std::vector<Event> once = {observe(0, 1), set(2, 3, "a", 1), notified(4, "a", 1), deletion,
                                   notified_deletion(7)};
  expect_ok(once);
  std::vector<Event> twice = once;
  twice.emplace_back(notified_deletion(8));
  expect_violation(twice, "NTF-SEND-2");
  EXPECT_THAT(
      judge(and_later(twice)).text,
      ::testing::HasSubstr("notified of 2 deletions without DUP, but there can have been only 1"));
  Notification again = notified_deletion(8);
  again.duplicate = true;
  std::vector<Event> redelivered = once;
  redelivered.emplace_back(again);
  expect_ok(redelivered);
  // One more may have happened: without a reply, or by itself.
  Operation lost = done(Action::kVdel, 6, 7, Outcome::kUnknown);
  lost.returned = kNever;
  lost.value = "a";
  std::vector<Event> perhaps = twice;
  perhaps.emplace_back(lost);
  expect_ok(perhaps);
  Operation expires = set(2, 3, "a", 1);
  expires.expires_after = milliseconds(20);
  std::vector<Event> expired = twice;
  expired[1] = expires;
  expect_ok(expired);
  // It is not known what was sent again, or how often it was requested.
  std::vector<Event> broken = twice;
  broken.emplace_back(Connection{kObserver, Link::kConnected, ms(0)});
  broken.emplace_back(Connection{kObserver, Link::kLost, ms(100)});
  expect_ok(broken);
  std::vector<Event> two = twice;
  two.insert(two.begin() + 1, Event(observe(1, 2)));
  expect_ok(two);
}

OrderObservation order_of(const std::vector<Event>& events) {
  Checker checker;
  for (const Event& event : events) checker.add(event);
  (void)checker.finish();
  return checker.order();
}

// Req: NTF-ORDER-OPEN-2
TEST(Notifications, MayComeInAnyOrderWhichIsSaid) {
  const std::vector<Event> before = {observe(0, 1), set(2, 3, "a", 1), set(4, 5, "b", 2),
                                     set(6, 7, "c", 3)};
  const auto then = [&](const std::vector<Notification>& all) {
    std::vector<Event> out = before;
    out.insert(out.end(), all.begin(), all.end());
    return out;
  };
  const auto in_order = then({notified(8, "a", 1), notified(9, "b", 2), notified(10, "c", 3)});
  expect_ok(in_order);
  EXPECT_EQ(order_of(in_order), (OrderObservation{.compared = 2, .against = 0}));
  const auto another = then({notified(10, "a", 1), notified(8, "b", 2), notified(9, "c", 3)});
  expect_ok(another);
  EXPECT_EQ(order_of(another), (OrderObservation{.compared = 2, .against = 1}));
  Notification duplicate = notified(11, "a", 1);
  duplicate.duplicate = true;
  auto again = in_order;
  again.emplace_back(duplicate);
  EXPECT_EQ(order_of(again), (OrderObservation{.compared = 2, .against = 0}));
  auto broken = another;
  broken.emplace_back(Connection{kObserver, Link::kConnected, ms(0)});
  broken.emplace_back(Connection{kObserver, Link::kLost, ms(100)});
  EXPECT_EQ(order_of(broken), OrderObservation{});
  // Each client, and each key, has an order of its own.
  Notification other = notified(9, "a", 1);
  other.client = 8;
  EXPECT_EQ(order_of(then({notified(8, "b", 2), other})), OrderObservation{});
}

TEST(Notifications, EndWithStop) {
  expect_violation({observe(0, 1), stop(2, 3), set(4, 5, "a", 1), notified(6, "a", 1)},
                   "NTF-STOP-1");
  expect_ok({observe(0, 1), stop(2, 3), set(4, 5, "a", 1)});
  expect_ok({observe(0, 1), set(2, 5, "a", 1), stop(3, 4), notified(6, "a", 1)});
  expect_ok({observe(0, 1), stop(2, 3), set(4, 6, "a", 1), observe(5, 7), notified(8, "a", 1)});
}

// A linearizable history with an observer who is notified of everything, most of it soon.
std::vector<Event> observed_history(Random& random, std::size_t& certain) {
  RandomOptions options = random_options(random);
  options.values = 0;
  options.versions = true;
  options.expiry = false;
  options.percent_unknown = 0;
  const std::vector<Operation> operations = random_history(options, random);
  std::vector<Event> out = {observe(0, 1)};
  for (Operation operation : operations) {
    operation.called += ms(2);
    operation.returned += ms(2);
    out.emplace_back(operation);
    const Time arrived = operation.returned + ms(static_cast<std::int64_t>(random.below(50)));
    if (operation.action == Action::kSet && operation.outcome == Outcome::kOk) {
      ++certain;
      out.emplace_back(Notification{.client = kObserver,
                                    .key = "k",
                                    .value = operation.value,
                                    .version = operation.version,
                                    .arrived = arrived});
    } else if (operation.outcome == Outcome::kDeleted) {
      ++certain;
      out.emplace_back(notified_deletion(arrived / milliseconds(1)));
    }
  }
  return out;
}

TEST(Notifications, OfAConformingStoreAreAllNeeded) {
  Random random(5);
  std::size_t left_out = 0;
  for (int i = 0; i < 2'000; ++i) {
    std::size_t certain = 0;
    std::vector<Event> events = observed_history(random, certain);
    const Verdict right = judge(and_later(events));
    ASSERT_EQ(right.answer, Answer::kOk) << right.requirement << " " << right.text;
    if (certain == 0) continue;
    std::size_t victim = random.below(certain);
    const auto found = std::find_if(events.begin(), events.end(), [&](const Event& event) {
      return std::holds_alternative<Notification>(event) && victim-- == 0;
    });
    events.erase(found);
    const Verdict wrong = judge(and_later(events));
    ASSERT_EQ(wrong.answer, Answer::kViolation) << i;
    ++left_out;
  }
  EXPECT_GT(left_out, 1'000);
}

}  // namespace
}  // namespace fencepost::history
