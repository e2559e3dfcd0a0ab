#include "conformance/judge/mismatch.h"

#include <ostream>
#include <string>

#include <gtest/gtest.h>

namespace fencepost::judge {
namespace {

using codec::Operation;
using codec::ReplyKind;
using codec::Verb;

struct Row {
  MismatchFacts facts;
  std::string_view requirement;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.requirement; }

class RuleOfMismatch : public testing::TestWithParam<Row> {};

TEST_P(RuleOfMismatch, IsNamed) { EXPECT_EQ(rule_of(GetParam().facts), GetParam().requirement); }

INSTANTIATE_TEST_SUITE_P(
    Table, RuleOfMismatch,
    testing::Values(
        Row{{.kind = Mismatch::kStatus}, "ENV-STATUS-1"},
        Row{{.kind = Mismatch::kVersionUnasked, .verb = Verb::kGet, .reply = ReplyKind::kMissing},
            "VER-MISS-1"},
        Row{{.kind = Mismatch::kVersionUnasked, .verb = Verb::kDel, .reply = ReplyKind::kCount},
            ""},
        Row{{.kind = Mismatch::kVersionMissing, .verb = Verb::kSet, .reply = ReplyKind::kOk},
            "VER-SET-1"},
        Row{{.kind = Mismatch::kVersionMissing,
             .verb = Verb::kSet,
             .reply = ReplyKind::kNotApplied},
            "SET-NOT-APPLIED-3"},
        Row{{.kind = Mismatch::kVersionMissing, .operation = Operation::kSet}, "NTF-VERSION-1"},
        Row{{.kind = Mismatch::kVersionMissing, .operation = Operation::kDelete}, "NTF-VERSION-2"},
        Row{{.kind = Mismatch::kVersionOther, .operation = Operation::kSet}, "NTF-VERSION-3"},
        Row{{.kind = Mismatch::kVersionOther, .operation = Operation::kDelete}, ""},
        Row{{.kind = Mismatch::kVersionForm}, "HLC-FORMAT-1"},
        Row{{.kind = Mismatch::kValueMissing}, "NTF-VALUE-3"},
        Row{{.kind = Mismatch::kNotificationLate}, "NTF-ORDER-1"},
        Row{{.kind = Mismatch::kNotificationMissing, .cause = Cause::kOwnChange}, "NTF-SELF-1"},
        Row{{.kind = Mismatch::kNotificationMissing, .cause = Cause::kExpiry}, "NTF-EXPIRY-1"},
        Row{{.kind = Mismatch::kNotificationMissing, .cause = Cause::kOthersChange}, ""},
        Row{{.kind = Mismatch::kReply, .refused_key = "plain/key-1"}, ""},
        Row{{.kind = Mismatch::kReply, .refused_key = "two words"}, "KEY-BINARY-1"},
        Row{{.kind = Mismatch::kReply}, ""}, Row{{}, ""}));

TEST(RuleOfMismatch, TakesALongKeyForLongBeforeItTakesItForOdd) {
  const std::string long_key(257, '\xff');
  EXPECT_EQ(rule_of({.kind = Mismatch::kReply, .refused_key = long_key}), "LIMIT-KEY-1");
  EXPECT_EQ(rule_of({.kind = Mismatch::kReply, .refused_key = long_key.substr(1)}), "KEY-BINARY-1");
}

TEST(Mismatch, LeavesACaseSoundWhereTheStateIsAsTheCaseExpects) {
  EXPECT_TRUE(leaves_case_sound(Mismatch::kStatus));
  EXPECT_TRUE(leaves_case_sound(Mismatch::kNotificationMissing));
  EXPECT_FALSE(leaves_case_sound(Mismatch::kReply));
  EXPECT_FALSE(leaves_case_sound(Mismatch::kNotification));
}

}  // namespace
}  // namespace fencepost::judge
