// Any bytes as a history of one key: the checker says what a search through all orders says, and a
// violation names operations that are in it.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "concurrency/history/checker.h"
#include "concurrency/history/testing/naive_search.h"
#include "fuzz/input_reader.h"

using namespace fencepost::history;
using fencepost::codec::Condition;
using fencepost::fuzz::InputReader;
using std::chrono::milliseconds;

namespace {

// More take the search through all orders too long.
constexpr std::size_t kMaxOperations = 9;

std::optional<fencepost::hlc::Timestamp> stamp(unsigned number) {
  if (number == 0) return std::nullopt;
  return fencepost::hlc::Timestamp{1, number / 2, number % 2 == 0 ? "m" : "n"};
}

Operation operation_of(InputReader& in) {
  Operation out;
  out.key = "k";
  const unsigned what = in.byte();
  out.action = kActions[what % 5];  // not KEYNOTIFY
  std::vector<Outcome> outcomes;
  for (const Outcome outcome : kOutcomes) {
    if (fits(out.action, outcome)) outcomes.push_back(outcome);
  }
  out.outcome = outcomes[what / 8 % outcomes.size()];
  const unsigned values = in.byte();
  out.value = std::string(1, static_cast<char>('a' + values % 3));
  const std::string other(1, static_cast<char>('a' + values / 4 % 3));
  if (out.outcome == Outcome::kValue) out.read = other;
  if (out.action == Action::kCompareAndSet) out.expected = other;
  const unsigned more = in.byte();
  if (out.action == Action::kSet) {
    out.condition = static_cast<Condition>(more % 3);
    if (more / 4 % 4 == 1) out.expires_after = milliseconds(in.byte() % 16);
  }
  if (out.action != Action::kCompareAndSet && more / 16 % 2 == 1) out.token = stamp(in.byte() % 8);
  out.resent = more / 32 % 8 == 1;
  out.version = stamp(in.byte() % 16);
  out.called = milliseconds(in.byte() % 32);
  const unsigned took = in.byte();
  const bool lost = out.outcome == Outcome::kUnknown;
  if (lost) out.version.reset();
  if (!lost || took % 4 == 1) out.returned = out.called + milliseconds(took % 16);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  InputReader in(data, size);
  const unsigned limits = in.byte();
  const Bounds bounds{.expiry_early = milliseconds(limits % 4),
                      .expiry_late = milliseconds(limits / 4 % 8)};
  Checker checker;
  checker.set_bounds(bounds);
  std::vector<Operation> all;
  std::size_t added = 0;
  while (!in.at_end() && all.size() < kMaxOperations) {
    const Operation operation = operation_of(in);
    checker.add(operation);
    ++added;
    all.push_back(operation);
    if (!operation.resent || operation.action == Action::kGet) continue;
    // To the other search, what was sent again is a second request without reply.
    all.push_back(operation);
    all.back().outcome = Outcome::kUnknown;
    all.back().returned = kNever;
    all.back().version.reset();
  }
  if (all.empty()) return 0;
  const Verdict verdict = checker.finish().front().verdict;
  const Answer wanted = naive_has_order(all, bounds) ? Answer::kOk : Answer::kViolation;
  FENCEPOST_CHECK(verdict.answer == wanted);
  const auto there = [&](Index number) { return number < added; };
  FENCEPOST_CHECK(std::all_of(verdict.operations.begin(), verdict.operations.end(), there));
  FENCEPOST_CHECK(std::all_of(verdict.others.begin(), verdict.others.end(), there));
  FENCEPOST_CHECK(wanted == Answer::kOk || !verdict.requirement.empty());
  return 0;
}
