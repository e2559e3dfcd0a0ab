// The checker against a search through all orders, on random histories of one key. The seed and the
// number of histories can be given: FENCEPOST_HISTORIES=5000000 FENCEPOST_SEED=1 checker_prop
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "base/gate.h"
#include "concurrency/history/checker.h"
#include "concurrency/history/requirements.h"
#include "concurrency/history/testing/naive_search.h"
#include "concurrency/history/testing/random_history.h"
#include "concurrency/history/value_order.h"

namespace fencepost::history {
namespace {

using workload::Random;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): there is one thread
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::uint64_t seed() { return number_from("FENCEPOST_SEED", 1); }

std::string text_of(const std::optional<hlc::Timestamp>& stamp) {
  return stamp ? hlc::format(*stamp, hlc::Padding::kNone) : "-";
}

std::string text_of(const std::vector<Operation>& operations) {
  std::ostringstream out;
  for (const Operation& operation : operations) {
    out << operation.called / std::chrono::milliseconds(1) << ".."
        << (operation.returned == kNever
                ? std::string("?")
                : std::to_string(operation.returned / std::chrono::milliseconds(1)))
        << " client " << operation.client << ": " << name(operation.action) << " '"
        << operation.value << "'";
    if (operation.condition != codec::Condition::kAlways) {
      out << (operation.condition == codec::Condition::kIfAbsent ? " NX" : " NEX");
    }
    if (!operation.expected.empty()) out << " expecting '" << operation.expected << "'";
    if (operation.expires_after) out << " PX " << operation.expires_after->count();
    if (operation.token) out << " token " << text_of(operation.token);
    out << " -> " << name(operation.outcome) << " '" << operation.read << "' version "
        << text_of(operation.version) << "\n";
  }
  return out.str();
}

Verdict judged(const std::vector<Operation>& operations, const Bounds& bounds) {
  Checker checker;
  checker.set_bounds(bounds);
  for (const Operation& operation : operations) checker.add(operation);
  return checker.finish().front().verdict;
}

// What is not shown becomes an unknown change.
std::vector<Operation> without_the_rest(const std::vector<Operation>& operations,
                                        const Verdict& verdict) {
  std::vector<Operation> weaker;
  for (Index i = 0; i < operations.size(); ++i) {
    Operation operation = operations[i];
    const auto among = [&](const std::vector<Index>& list) {
      return std::find(list.begin(), list.end(), i) != list.end();
    };
    if (!among(verdict.operations) && !among(verdict.others)) {
      const bool changes = operation.outcome == Outcome::kOk ||
                           operation.outcome == Outcome::kDeleted ||
                           operation.outcome == Outcome::kUnknown ||
                           (operation.outcome == Outcome::kNotApplied && operation.token);
      if (operation.action == Action::kGet || !changes) continue;
      operation.outcome = Outcome::kUnknown;
      operation.version.reset();
    }
    weaker.push_back(operation);
  }
  return weaker;
}

// What the exhaustive search says of values alone.
void compare_values(const std::vector<Operation>& operations, const Bounds& bounds,
                    const Verdict& verdict) {
  if (!verdict.by_values || *verdict.by_values == Answer::kUnknown) return;
  std::vector<Operation> values = operations;
  for (Operation& one : values) one.version.reset();
  ASSERT_EQ(*verdict.by_values == Answer::kOk, naive_has_order(values, bounds))
      << verdict.requirement << " " << verdict.text << "\n"
      << text_of(operations);
}

struct Tally {
  std::size_t ok = 0;
  std::size_t violations = 0;
  std::size_t shown = 0;  // operations of all minimal counter-examples
};

void compare(const std::vector<Operation>& operations, const Bounds& bounds, Tally& tally) {
  const Verdict verdict = judged(operations, bounds);
  const bool has_order = naive_has_order(operations, bounds);
  ASSERT_EQ(verdict.answer, has_order ? Answer::kOk : Answer::kViolation)
      << verdict.requirement << " " << verdict.text << "\nearly " << bounds.expiry_early.count()
      << " late " << bounds.expiry_late.count() << "\n"
      << text_of(operations);
  if (has_order) {
    ++tally.ok;
    return;
  }
  compare_values(operations, bounds, verdict);
  ++tally.violations;
  tally.shown += verdict.operations.size();
  ASSERT_TRUE(is_judged_by_histories(verdict.requirement)) << verdict.requirement << "\n"
                                                           << text_of(operations);
  const std::vector<Operation> weaker = without_the_rest(operations, verdict);
  ASSERT_FALSE(naive_has_order(weaker, bounds, naive_has_fresh_deletion(operations)))
      << verdict.requirement << " " << verdict.text << "\n"
      << text_of(operations) << "with the counter-example alone:\n"
      << text_of(weaker);
}

Bounds random_bounds(Random& random) {
  return {.expiry_early = std::chrono::milliseconds(random.below(3)),
          .expiry_late = std::chrono::milliseconds(random.below(6))};
}

std::uint64_t histories() {
  return number_from("FENCEPOST_HISTORIES", all_or_in_gate<std::uint64_t>(60'000, 5'000));
}

TEST(CheckerProperty, AgreesWithASearchThroughAllOrders) {
  Random random(seed());
  Tally tally;
  const std::uint64_t count = histories();
  for (std::uint64_t i = 0; i < count; ++i) {
    std::vector<Operation> operations = random_history(random_options(random), random);
    for (std::size_t changes = random.below(4); changes > 0; --changes) {
      perturb(operations, random);
    }
    SCOPED_TRACE(i);
    compare(operations, random_bounds(random), tally);
    if (HasFatalFailure()) return;
  }
  std::printf("%zu ok, %zu violations, %.2f operations a counter-example\n", tally.ok,
              tally.violations,
              static_cast<double>(tally.shown) / static_cast<double>(tally.violations));
  EXPECT_GT(tally.ok, count / 10);
  EXPECT_GT(tally.violations, count / 10);
}

// Faults of the network leave many requests of which nobody knows whether they were carried out.
TEST(CheckerProperty, AgreesWhereMostResponsesAreLost) {
  Random random(seed());
  Tally tally;
  const std::uint64_t count = histories() / 4;
  for (std::uint64_t i = 0; i < count; ++i) {
    RandomOptions options = random_options(random);
    options.percent_unknown = 50 + random.below(45);
    options.percent_reads = 15 + random.below(30);
    options.values = random.below(3);
    options.operations = 8 + random.below(3);
    std::vector<Operation> operations = random_history(options, random);
    for (std::size_t changes = random.below(4); changes > 0; --changes) {
      perturb(operations, random);
    }
    SCOPED_TRACE(i);
    compare(operations, random_bounds(random), tally);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(tally.ok, count / 10);
  EXPECT_GT(tally.violations, count / 100);
}

// Registers with values of their own, for which zones decide, beside orders tried one by one.
TEST(CheckerProperty, ZonesAgreeWithASearchThroughAllOrders) {
  Random random(seed());
  std::size_t orders = 0;
  const std::uint64_t count = histories() / 2;
  for (std::uint64_t i = 0; i < count; ++i) {
    RandomOptions options = random_options(random);
    options.values = 0;
    options.percent_deletes = 0;
    options.conditions = options.expiry = options.tokens = options.compare_and_set = false;
    options.versions = false;
    std::vector<Operation> operations = random_history(options, random);
    for (std::size_t changes = random.below(3); changes > 0; --changes) {
      perturb(operations, random);
    }
    KeyHistory history;
    for (Index at = 0; at < operations.size(); ++at) history.add(operations[at], at);
    const Decision decision = decide_by_zones(history);
    if (decision == Decision::kUndecided) continue;
    std::vector<Operation> values = operations;
    for (Operation& one : values) one.version.reset();
    ASSERT_EQ(decision == Decision::kOrder, naive_has_order(values, Bounds{})) << i << "\n"
                                                                               << text_of(values);
    if (decision == Decision::kOrder) ++orders;
  }
  EXPECT_GT(orders, count / 10);
}

TEST(CheckerProperty, StaleReadsHaveNoOrderRegardlessOfOtherReplies) {
  Random random(seed());
  std::size_t found = 0;
  const std::uint64_t count = histories();
  for (std::uint64_t i = 0; i < count; ++i) {
    RandomOptions options = random_options(random);
    options.versions = false;
    options.values = random.one_in(2) ? 0 : 4;
    std::vector<Operation> operations = random_history(options, random);
    for (std::size_t changes = random.below(4); changes > 0; --changes) {
      perturb(operations, random);
    }
    for (Operation& one : operations) one.version.reset();
    KeyHistory history;
    for (Index at = 0; at < operations.size(); ++at) history.add(operations[at], at);
    Verdict stale;
    for (const Index entry : stale_read(history)) {
      stale.operations.push_back(history.entries()[entry].number);
    }
    if (stale.operations.empty()) continue;
    ++found;
    const std::vector<Operation> weaker = without_the_rest(operations, stale);
    ASSERT_FALSE(naive_has_order(weaker, random_bounds(random))) << i << "\n" << text_of(weaker);
  }
  EXPECT_GT(found, count / 300);
}

// Some requests are sent again, and a conforming store carries some of these out twice.
TEST(CheckerProperty, RedeliveriesAreRequestsThatMayHaveHappenedTwice) {
  Random random(seed());
  std::size_t repeated = 0;
  std::size_t violations = 0;
  const std::uint64_t count = histories() / 4;
  for (std::uint64_t i = 0; i < count; ++i) {
    RandomOptions options = random_options(random);
    options.operations = std::min<std::size_t>(options.operations, 9);
    options.twice = true;
    std::vector<Operation> operations = random_history(options, random);
    if (random.one_in(2)) perturb(operations, random);
    std::vector<Operation> expanded = operations;
    for (const Operation& one : operations) {
      if (!one.resent || one.action == Action::kGet) continue;
      Operation second = one;
      second.outcome = Outcome::kUnknown;
      second.returned = kNever;
      second.version.reset();
      second.read.clear();
      expanded.push_back(second);
    }
    const Bounds bounds = random_bounds(random);
    const Verdict verdict = judged(operations, bounds);
    const bool has_order = naive_has_order(expanded, bounds);
    ASSERT_EQ(verdict.answer, has_order ? Answer::kOk : Answer::kViolation)
        << i << " " << verdict.requirement << " " << verdict.text << "\n"
        << text_of(expanded);
    if (!has_order) ++violations;
    if (verdict.repeated.empty()) continue;
    ++repeated;
    // It could not be explained without.
    ASSERT_FALSE(naive_has_order(operations, bounds, false)) << text_of(operations);
  }
  EXPECT_GT(repeated, count / 200);
  EXPECT_GT(violations, count / 200);
}

// As a driver does it: each operation when it has returned, and what is over is forgotten.
Verdict judged_on_the_way(const std::vector<Operation>& operations, std::size_t& forgotten) {
  std::vector<Time> first_call(operations.size() + 1, kNever);
  for (std::size_t i = operations.size(); i-- > 0;) {
    first_call[i] = std::min(first_call[i + 1], operations[i].called);
  }
  Checker checker({.settle_from = 4});
  for (std::size_t i = 0; i < operations.size(); ++i) {
    checker.add(operations[i]);
    checker.settle(first_call[i + 1]);
  }
  forgotten += operations.size() - checker.held();
  return checker.finish().front().verdict;
}

TEST(CheckerProperty, SaysTheSameWhileARunGoesOn) {
  Random random(seed());
  std::size_t forgotten = 0;
  std::size_t violations = 0;
  const std::uint64_t count = histories() / 30;
  for (std::uint64_t i = 0; i < count; ++i) {
    RandomOptions options = random_options(random);
    options.versions = true;
    options.operations = 10 + random.below(50);
    options.longest = 1 + random.below(5);
    options.percent_unknown = std::min<std::size_t>(options.percent_unknown, 5);
    std::vector<Operation> operations = random_history(options, random);
    for (std::size_t changes = random.below(3); changes > 0; --changes) {
      perturb(operations, random);
    }
    const Verdict whole = judged(operations, Bounds{});
    const Verdict on_the_way = judged_on_the_way(operations, forgotten);
    // Where less is known of what was forgotten, less is found.
    const bool exact = std::none_of(operations.begin(), operations.end(), [](const Operation& one) {
      return one.outcome == Outcome::kUnknown ||
             (one.outcome == Outcome::kNotApplied && one.version);
    });
    const bool passes = !exact && on_the_way.answer == Answer::kOk;
    ASSERT_TRUE(passes || on_the_way.answer == whole.answer)
        << i << " " << name(on_the_way.answer) << " " << on_the_way.text << "\n"
        << name(whole.answer) << " " << whole.text << "\n"
        << text_of(operations);
    if (on_the_way.answer == Answer::kViolation) ++violations;
  }
  EXPECT_GT(forgotten, 5 * count);
  EXPECT_GT(violations, count / 10);
}

TEST(CheckerProperty, AcceptsWhatARightStoreAnswers) {
  Random random(seed());
  const std::uint64_t count = histories() / 3;
  for (std::uint64_t i = 0; i < count; ++i) {
    RandomOptions options = random_options(random);
    options.operations = 2 + random.below(40);
    options.percent_unknown = std::min<std::size_t>(options.percent_unknown, 10);
    std::vector<Operation> operations = random_history(options, random);
    for (std::size_t changes = random.below(4); changes > 0; --changes) {
      soften(operations, random);
    }
    const Verdict verdict = judged(operations, Bounds{});
    ASSERT_EQ(verdict.answer, Answer::kOk)
        << i << " " << verdict.requirement << " " << verdict.text << "\n"
        << text_of(operations);
  }
}

}  // namespace
}  // namespace fencepost::history
