// Each unspecified point at which a store may refuse a request that changes something, or take it:
// one that says the one and does the other must be caught.

#include "reference_store/faults/two_faced.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/gate.h"
#include "endpoint/in_process.h"
#include "suite/run/suite.h"
#include "suite/testing/built_in_library.h"

namespace fencepost::selftest {
namespace {

using codec::Verb;

// A choice, with a decision that takes the request and one that refuses it.
struct OpenChange {
  const char* choice;
  const char* taken;
  const char* refused;
  Verb verb = Verb::kSet;
};

constexpr OpenChange kOpenChanges[] = {
    {"line-end", "lf", "cr-lf"},
    {"leading-zeros", "taken", "refused"},
    {"plus-sign", "taken", "refused"},
    {"blank-in-number", "taken", "refused"},
    {"trailing-bytes", "ignored", "refused"},
    {"two-requests", "both", "refused"},
    {"simple-strings", "taken", "refused"},
    {"integers", "taken", "refused"},
    {"other-scalars", "taken", "refused"},
    {"verbatim-strings", "taken", "refused"},
    {"other-containers", "taken", "refused"},
    {"streams", "taken", "refused"},
    {"inline-commands", "taken", "syntax"},
    {"verb-case", "taken", "unknown-command"},
    {"option-case", "taken", "syntax"},
    {"stop-case", "taken", "syntax", Verb::kKeynotify},
    {"px-zero", "never-expires", "refused"},
    {"px-plus-sign", "taken", "refused"},
    {"px-leading-zeros", "taken", "refused"},
    {"px-blank", "taken", "refused"},
    {"px-fraction", "taken", "refused"},
    {"px-exponent", "taken", "refused"},
    {"px-great", "64-bits", "31-bits"},
    {"px-repeated", "last", "syntax"},
    {"condition-repeated", "once", "syntax"},
    {"nx-with-nex", "nx", "syntax"},
    {"px-before-condition", "taken", "syntax"},
    {"nex-value", "compared-with-value", "syntax"},
    {"node-empty", "taken", "malformed"},
    {"node-with-colon", "taken", "malformed"},
    {"node-long", "taken", "malformed"},
    {"node-not-ascii", "taken", "malformed"},
    {"counter-limit", "64-bits", "31-bits"},
    {"signs-and-fractions", "taken", "malformed"},
    {"ts-where-none-is-needed", "ignored", "must-be-legal", Verb::kVdel},
    {"ts-where-none-is-needed", "ignored", "must-be-legal", Verb::kKeynotify},
    {"repeated-ts", "last", "refused"},
    {"skew-limit", "60000-ms", "59999-ms"},
    {"token-on-missing-key", "taken", "refused", Verb::kDel},
    {"bad-token-on-missing-key", "ignored", "refused", Verb::kDel},
    {"wildcards", "literal", "refused", Verb::kKeynotify},
    {"payload-format", "ignored", "error"},
    {"content-type", "ignored", "error"},
    {"protocol-version", "ignored", "error"},
    {"persistence", "ignored", "error"},
    {"persistence", "ignored", "error", Verb::kDel},
    {"longest-key", "any", "10000-bytes"},
};

// What is refused of a key that has no token is refused of one that does not exist, too.
std::string decision(const OpenChange& change, const char* decided) {
  const std::string choice = change.choice;
  std::string out = choice + ":" + decided;
  if (choice == "px-repeated") out += ",most-set-arguments:any";
  if (choice == "token-on-missing-key") out += std::string(",token-on-unfenced-key:") + decided;
  if (choice == "bad-token-on-missing-key") {
    out += std::string(",bad-token-on-unfenced-key:") + decided;
  }
  return out;
}

// The cases about the unspecified point.
std::vector<const scenario::Case*> cases_about(std::string_view choice) {
  const std::string_view id =
      store::kChoices.at(store::Decisions::choice_index(choice)).requirement;
  std::vector<const scenario::Case*> out;
  for (const scenario::Case& test_case : test::built_in_library().cases) {
    const std::vector<std::string>& ids = test_case.requirements;
    if (std::find(ids.begin(), ids.end(), id) != ids.end()) out.push_back(&test_case);
  }
  return out;
}

// How many fail, with an attribution to an effect that is not that of the reply.
std::size_t failed_cases(const OpenChange& change, const char* says, const char* does) {
  const store::TwoFaces faces = {.says = *store::parse_decisions(decision(change, says)),
                                 .does = *store::parse_decisions(decision(change, does)),
                                 .verbs = {change.verb}};
  const auto endpoint =
      endpoint::make_in_process_endpoint({.make_store =
                                              [faces](const store::ServiceOptions& options) {
                                                return store::make_two_faced(options, faces);
                                              },
                                          .quota = 20});
  run::SuiteOptions options;
  const auto checked = run::preflight(*endpoint, "two-faced");
  EXPECT_TRUE(checked.has_value());
  if (!checked) return 0;
  run::apply_preflight(*checked, options);
  const std::atomic<bool> stop{false};
  const run::SuiteResult result =
      run::run_suite(*endpoint, cases_about(change.choice), test::built_in_library().catalogue,
                     options, stop, [](const run::CaseResult&, std::size_t, std::size_t) {});
  const std::set<std::string> effects = {
      "ERR-STATE-1", "FT-REJECT-1", "SET-WRITE-1",    "DEL-REMOVE-1", "VDEL-MATCH-1",
      "NTF-STOP-1",  "SET-PX-2",    "NTF-RESPONSE-2", "LIMIT-KEY-1",  "KEY-BINARY-1"};
  return static_cast<std::size_t>(
      std::count_if(result.cases.begin(), result.cases.end(), [&](const run::CaseResult& each) {
        return each.verdict == run::Verdict::kFailed && effects.contains(each.failure.requirement);
      }));
}

TEST(TwoFaced, IsCaughtAtEachUnspecifiedPoint) {
  std::size_t number = 0;
  for (const OpenChange& change : kOpenChanges) {
    if (number++ % all_or_in_gate<std::size_t>(1, 12) != 0) continue;
    EXPECT_GT(failed_cases(change, change.refused, change.taken), 0U)
        << change.choice << ": refused, and carried out";
    EXPECT_GT(failed_cases(change, change.taken, change.refused), 0U)
        << change.choice << ": taken, and not carried out";
  }
}

TEST(TwoFaced, IsRightWhereItSaysWhatItDoes) {
  const OpenChange change = {"px-plus-sign", "taken", "refused"};
  EXPECT_EQ(failed_cases(change, "taken", "taken"), 0U);
}

}  // namespace
}  // namespace fencepost::selftest
