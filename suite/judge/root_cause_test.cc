#include "suite/judge/root_cause.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::judge {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

class Weight : public testing::Test {
 protected:
  double of(std::string_view rule, std::string_view attributed, std::string_view direct = "",
            const std::vector<std::string>& candidates = {}, bool named = true) {
    return weight({attributed, direct, candidates, about_, named}, rule);
  }
  const std::vector<std::string> about_{"SET-NX-1", "SET-NX-2"};
};

TEST_F(Weight, IsMoreTheCloserTheRuleIsToTheDifference) {
  const double both = of("SET-NX-2", "SET-NX-2", "SET-NX-2");
  const double own_step = of("SET-NX-2", "SET-NX-2", "GET-HIT-3");
  const double on_the_way = of("SET-OK-1", "SET-OK-1");
  const double candidate = of("SET-PX-2", "SET-NX-2", "", {"SET-PX-2"});
  const double first = of("SET-NX-1", "SET-NX-1", "", {}, false);
  const double about = of("SET-NX-1", "SET-NX-2");
  EXPECT_GT(both, own_step);
  EXPECT_GT(own_step, on_the_way);
  EXPECT_GT(on_the_way, candidate);
  EXPECT_GT(candidate, first);
  EXPECT_GT(first, about);
  EXPECT_GT(about, 0);
  EXPECT_EQ(of("DEL-OK-1", "SET-NX-2"), 0);
}

TEST_F(Weight, OfAGetIsLessWhereOthersMayHaveMadeWhatItReturns) {
  EXPECT_LT(of("GET-HIT-3", "SET-NX-2", "GET-HIT-3", {"SET-WRITE-1"}),
            of("GET-HIT-3", "SET-NX-2", "GET-HIT-3", {"SET-VALUE-1"}));
}

TEST(Named, IsWhatTheStepCitesOrTheDifferenceShows) {
  scenario::Case test_case;
  test_case.requirements = {"SET-NX-1", "SET-NX-2"};
  scenario::RequestStep step;
  step.expect.cites = "SET-NX-1";
  test_case.steps.push_back({.what = step});
  test_case.steps.push_back({.what = scenario::RequestStep{}});
  EXPECT_TRUE(is_named(test_case, 1, "SET-NX-1", ""));
  EXPECT_FALSE(is_named(test_case, 2, "SET-NX-1", ""));
  EXPECT_TRUE(is_named(test_case, 2, "SET-NX-1", "SET-NX-1"));
  EXPECT_TRUE(is_named(test_case, 2, "SET-NX-2", ""));
  EXPECT_TRUE(is_named(test_case, 0, "SET-NX-1", ""));
}

// A rule to which many failures are attributed explains those of which it is a candidate.
class RootCauses : public testing::Test {
 protected:
  struct Failed {
    std::string rule;
    std::string cause;
    std::vector<std::string> candidates{};
    std::vector<std::string> about{"A"};
  };
  std::vector<RootCause> of(const std::vector<Failed>& all) {
    std::vector<Testimony> failures;
    for (const Failed& each : all) {
      failures.push_back({.requirement = each.rule,
                          .direct = each.rule,
                          .candidates = each.candidates,
                          .about = each.about,
                          .cause = each.cause});
    }
    return root_causes(failures, passed_, catalogue_);
  }
  // Makes a catalogue of these rules.
  void know(const std::vector<std::string>& rules) {
    std::string text = "requirements:\n";
    for (const std::string& rule : rules) {
      text += "  - {id: " + rule +
              ", level: must, binds: store, text: T, section: S, documents: [], source: deployed, "
              "observe: O}\n";
    }
    std::vector<scenario::LoadError> errors;
    catalogue_ = scenario::Catalogue::load({"requirements.yaml", text}, errors);
    ASSERT_THAT(errors, SizeIs(0));
  }
  std::map<std::string, std::size_t> passed_;
  scenario::Catalogue catalogue_;
};

TEST_F(RootCauses, OfNothingAreNone) { EXPECT_THAT(of({}), SizeIs(0)); }

TEST_F(RootCauses, OfARuleAreOne) {
  const auto found = of({{"A", "x"}, {"A", "y"}, {"A", "x"}});
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].rule, "A");
  EXPECT_THAT(found[0].groups, ElementsAre(ElementsAre(0, 2), ElementsAre(1)));
}

// Few failures show little, however rarely a rule that may have come before has been shown: what
// three of four cases name in their own steps is the rule.
TEST_F(RootCauses, AreWhatNearlyAllCasesName) {
  know({"A-STEP-1", "X-OTHER-1"});
  passed_ = {{"A-STEP-1", 500}};
  const std::vector<std::string> suspect = {"X-OTHER-1"};
  const std::vector<std::string> about = {"A-STEP-1"};
  EXPECT_EQ(of({{"A-STEP-1", "x", suspect, about}}).front().rule, "A-STEP-1");
  // A case that is about another rule does not name it.
  EXPECT_EQ(of({{"A-STEP-1", "x", suspect, {"B"}}}).front().rule, "X-OTHER-1");
  const auto mixed = [&](std::size_t naming, std::size_t others) {
    std::vector<Failed> failures(naming, {"A-STEP-1", "x", suspect, about});
    failures.resize(naming + others, {"X-OTHER-1", "x", {}, about});
    return of(failures).front().rule;
  };
  EXPECT_EQ(mixed(3, 1), "A-STEP-1");
  EXPECT_EQ(mixed(2, 1), "X-OTHER-1");
}

// A rule that is a candidate of all failures has not more to say than three rules of one family,
// of which each failure shows one.
TEST_F(RootCauses, WeighRulesOfAFamilyTogether) {
  know({"A-STEP-1", "A-STEP-2", "A-STEP-3", "X-OTHER-1"});
  const std::vector<std::string> suspect = {"X-OTHER-1"};
  const std::vector<std::string> about = {"A-STEP-1"};
  const auto found = of({{"A-STEP-1", "x", suspect, about},
                         {"A-STEP-2", "y", suspect, about},
                         {"A-STEP-3", "z", suspect, about},
                         {"A-STEP-3", "u", suspect, about}});
  EXPECT_EQ(found.front().rule, "A-STEP-3");
}

// What a case is about may be nothing that its difference can break, and is no root cause then,
// however many cases are about it.
TEST_F(RootCauses, AreRulesThatTheDifferencesCanBreak) {
  know({"ENV-MQTT5-4", "ENV-QOS-1", "SET-WRITE-2", "NTF-SEND-1", "NTF-VALUE-1"});
  passed_ = {{"SET-WRITE-2", 500}, {"NTF-SEND-1", 500}};
  const std::vector<std::string> none;
  const auto named = [&](const std::string& front, const std::string& direct, Mismatch kind) {
    const std::vector<std::string> about = {front};
    return root_causes({Testimony{.requirement = front,
                                  .direct = direct,
                                  .candidates = none,
                                  .about = about,
                                  .kind = kind}},
                       passed_, catalogue_)
        .front()
        .rule;
  };
  EXPECT_EQ(named("ENV-MQTT5-4", "SET-WRITE-2", Mismatch::kReply), "SET-WRITE-2");
  EXPECT_EQ(named("ENV-MQTT5-4", "", Mismatch::kNoResponse), "ENV-MQTT5-4");
  EXPECT_EQ(named("ENV-QOS-1", "SET-WRITE-2", Mismatch::kReply), "ENV-QOS-1");
  EXPECT_EQ(named("NTF-VALUE-1", "NTF-SEND-1", Mismatch::kNotificationMissing), "NTF-SEND-1");
  EXPECT_EQ(named("NTF-SEND-1", "NTF-VALUE-1", Mismatch::kNotificationValue), "NTF-VALUE-1");
}

TEST_F(RootCauses, OfTwoRulesThatSpeakForThemselvesAreTwo) {
  EXPECT_THAT(of({{"A", "x", {}, {"A"}}, {"B", "y", {}, {"B"}}}), SizeIs(2));
}

}  // namespace
}  // namespace fencepost::judge
