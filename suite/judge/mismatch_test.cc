#include "suite/judge/mismatch.h"

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
        Row{{.kind = Mismatch::kVersionMissing,
             .operation = Operation::kDelete,
             .cause = Cause::kExpiry},
            "NTF-EXPIRY-1"},
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
        Row{{.kind = Mismatch::kReply,
             .reply = ReplyKind::kError,
             .wanted = ReplyKind::kError,
             .wanted_error = codec::ErrorCode::kTokenLower},
            "ERR-TEXT-4"},
        Row{{.kind = Mismatch::kReply,
             .reply = ReplyKind::kOk,
             .wanted = ReplyKind::kError,
             .wanted_error = codec::ErrorCode::kTokenLower},
            ""},
        Row{{.kind = Mismatch::kReply,
             .verb = Verb::kSet,
             .reply = ReplyKind::kMissing,
             .wanted = ReplyKind::kNotApplied},
            "SET-NOT-APPLIED-1"},
        Row{{.kind = Mismatch::kReply,
             .verb = Verb::kSet,
             .reply = ReplyKind::kOk,
             .wanted = ReplyKind::kNotApplied},
            ""},
        Row{{.kind = Mismatch::kReply,
             .verb = Verb::kVdel,
             .reply = ReplyKind::kCount,
             .wanted = ReplyKind::kNotApplied},
            "VDEL-MISMATCH-2"},
        Row{{.kind = Mismatch::kReply,
             .verb = Verb::kVdel,
             .reply = ReplyKind::kCount,
             .removed = true,
             .wanted = ReplyKind::kNotApplied},
            ""},
        Row{{.kind = Mismatch::kReply, .malformed = "-ERR no line end"}, "RESP-ERROR-FORM-1"},
        Row{{.kind = Mismatch::kReply, .malformed = "$3\r\nfour\r\n"}, "GET-HIT-2"},
        Row{{.kind = Mismatch::kReply, .malformed = "$4\r\nfour"}, ""},
        Row{{.kind = Mismatch::kReply, .malformed = "$99999999999999999999\r\nx\r\n"}, ""},
        Row{{.kind = Mismatch::kReply}, ""}, Row{{}, ""}));

TEST(UsualRuleOfMismatch, IsForStepsThatCiteNothing) {
  EXPECT_EQ(usual_rule_of(
                {.kind = Mismatch::kVersionNotLater, .verb = Verb::kSet, .reply = ReplyKind::kOk}),
            "VER-UPDATE-3");
  EXPECT_EQ(usual_rule_of({.kind = Mismatch::kNotificationMissing, .operation = Operation::kSet}),
            "NTF-SEND-1");
  EXPECT_EQ(
      usual_rule_of({.kind = Mismatch::kNotificationMissing, .operation = Operation::kDelete}),
      "NTF-SEND-2");
  EXPECT_EQ(usual_rule_of({.kind = Mismatch::kNotificationValue, .operation = Operation::kSet}),
            "NTF-VALUE-1");
  EXPECT_EQ(usual_rule_of({.kind = Mismatch::kNotificationForm, .operation = Operation::kSet}),
            "NTF-SET-1");
  EXPECT_EQ(usual_rule_of({.kind = Mismatch::kNotificationForm, .operation = Operation::kDelete}),
            "NTF-DEL-1");
  EXPECT_EQ(usual_rule_of({.kind = Mismatch::kNotification, .cause = Cause::kExpiry}),
            "NTF-EXPIRY-1");
  EXPECT_EQ(usual_rule_of({.kind = Mismatch::kStatus}), "");
}

TEST(RuleOfMismatch, TakesALongKeyForLongFirst) {
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

TEST(Mismatch, BreaksNoRuleOfWhatItDoesNotShow) {
  for (const char* const content : {"NTF-VALUE-1", "NTF-TOPIC-1", "LIMIT-VALUE-2"}) {
    EXPECT_FALSE(may_break(Mismatch::kNotificationMissing, content)) << content;
    EXPECT_TRUE(may_break(Mismatch::kReply, content)) << content;
  }
  EXPECT_TRUE(may_break(Mismatch::kNotificationMissing, "NTF-SEND-1"));
  EXPECT_FALSE(may_break(Mismatch::kNotificationValue, "NTF-SEND-1"));
  EXPECT_TRUE(may_break(Mismatch::kNotificationValue, "NTF-VALUE-1"));
}

TEST(Mismatch, NamesTheRulesOfItsTables) {
  EXPECT_TRUE(names_rule("VER-MISS-1"));
  EXPECT_TRUE(names_rule("NTF-SEND-1"));
  EXPECT_TRUE(names_rule("ERR-TEXT-12"));
  EXPECT_TRUE(names_rule("SET-NOT-APPLIED-1"));
  EXPECT_FALSE(names_rule("SET-NX-1"));
  EXPECT_FALSE(names_rule(""));
}

TEST(Mismatch, ThatAKeyIsMissingIsNoError) {
  // It may have been refused for something else.
  const MismatchFacts facts{.kind = Mismatch::kReply,
                            .reply = codec::ReplyKind::kError,
                            .wanted = codec::ReplyKind::kMissing,
                            .missing_key_is_error = true};
  EXPECT_EQ(rule_of(facts), "");
  EXPECT_EQ(usual_rule_of(facts), "RESP-MISSING-KEY-1");
}

}  // namespace
}  // namespace fencepost::judge
