#include "suite/scenario/axes.h"

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/scenario/axis_table.h"
#include "suite/scenario/scenario_fixture.h"

namespace fencepost::scenario {
namespace {

using codec::Divergence;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::vector<std::string> ids(const Loaded& loaded) {
  std::vector<std::string> out;
  for (const Case& test_case : loaded.cases) out.push_back(test_case.id);
  return out;
}

const Case& find(const Loaded& loaded, std::string_view id) {
  for (const Case& test_case : loaded.cases) {
    if (test_case.id == id) return test_case;
  }
  ADD_FAILURE() << "there is no case " << id;
  static const Case kNone{};
  return kNone;
}

// --- good families -------------------------------------------------------------------------------

// States give what each command is answered: rows and columns.
constexpr std::string_view kFamily = R"(area: families
cases:
  - id: before
    title: A case on its own
    requirements: [GET-HIT-1]
    steps: [{get: k, expect: missing}]
  - id: family.one
    title: By state
    requirements: [SET-NX-1]
    divergence: [set-not-applied]
    axes:
      state:
        absent:
          given: []
          get: missing
          nx: ok
        present:
          tags: [slow]
          requires: [quota]
          given:
            - set: {key: k, value: old}
              expect: ok
            - wait: 1s
          get: {reply: {value: old}, cites: GET-HIT-1}
          nx: not-applied
      command:
        get:
          act:
            - get: k
              expect: $get
        nx:
          exclusive: true
          act: [{set: {key: k, value: new, options: [$word, PX, $time]}, expect: $nx}]
          word: NX
          time: "100"
    steps:
      - $given
      - $act
      - del: k
  - id: after
    title: Another
    requirements: [GET-HIT-1]
    steps: [{get: k, expect: missing}]
)";

TEST(Axes, MakeACaseOfEachCombination) {
  const Loaded loaded = load(std::string(kFamily));
  EXPECT_THAT(loaded.diagnostics(), IsEmpty());
  EXPECT_THAT(ids(loaded), ElementsAre("before", "family.one.absent.get", "family.one.absent.nx",
                                       "family.one.present.get", "family.one.present.nx", "after"));
}

TEST(Axes, AreReportedForEachMember) {
  const Loaded loaded = load(std::string(kFamily));
  const Case& member = find(loaded, "family.one.present.nx");
  EXPECT_EQ(member.title, "By state (state: present, command: nx)");
  EXPECT_EQ(member.family, "family.one");
  EXPECT_THAT(member.axes,
              ElementsAre(AxisBinding{"state", "present"}, AxisBinding{"command", "nx"}));
  EXPECT_EQ(describe(member.axes), "state: present, command: nx");
  EXPECT_EQ(find(loaded, "before").family, "");
  EXPECT_THAT(find(loaded, "before").axes, IsEmpty());
}

TEST(Axes, PutValuesInThePlacesOfPlaceholders) {
  const Loaded loaded = load(std::string(kFamily));
  EXPECT_THAT(show_all(find(loaded, "family.one.absent.get").steps),
              ElementsAre("get: a (\"GET\" <k>) => missing", "del: a (\"DEL\" <k>) => "));
  EXPECT_THAT(
      show_all(find(loaded, "family.one.present.nx").steps),
      ElementsAre(
          "set: a (\"SET\" <k> \"old\") ts=now writes:k => ok", "wait: 1000",
          "set: a (\"SET\" <k> \"new\" \"NX\" \"PX\" \"100\") ts=now writes:k => not-applied",
          "del: a (\"DEL\" <k>) => "));
}

TEST(Axes, AddWhatTheirValuesSay) {
  const Loaded loaded = load(std::string(kFamily));
  const Case& plain = find(loaded, "family.one.absent.get");
  EXPECT_THAT(plain.tags, IsEmpty());
  EXPECT_THAT(plain.requires_, IsEmpty());
  EXPECT_FALSE(plain.exclusive);
  const Case& rich = find(loaded, "family.one.present.nx");
  EXPECT_THAT(rich.tags, ElementsAre("slow"));
  EXPECT_THAT(rich.requires_, ElementsAre("quota"));
  EXPECT_TRUE(rich.exclusive);
}

TEST(Axes, CountWhatStepsCiteAmongTheRequirements) {
  const Loaded loaded = load(std::string(kFamily));
  EXPECT_THAT(find(loaded, "family.one.present.get").requirements,
              ElementsAre("SET-NX-1", "GET-HIT-1"));
  EXPECT_THAT(find(loaded, "family.one.present.nx").requirements, ElementsAre("SET-NX-1"));
}

TEST(Axes, LeaveEachMemberItsOwnDivergences) {
  const Loaded loaded = load(std::string(kFamily));
  EXPECT_THAT(find(loaded, "family.one.present.nx").divergences,
              ElementsAre(Divergence::kSetNotApplied));
  EXPECT_THAT(find(loaded, "family.one.absent.nx").divergences, IsEmpty());
  EXPECT_THAT(find(loaded, "family.one.present.get").divergences, IsEmpty());
}

TEST(Axes, KeepThePlacesOfTheFile) {
  const Loaded loaded = load(std::string(kFamily));
  const Case& member = find(loaded, "family.one.present.nx");
  EXPECT_EQ(member.position.line, 7);
  EXPECT_EQ(member.position.column, 5);
  std::vector<int> lines;
  for (const Step& step : member.steps) lines.push_back(step.position.line);
  EXPECT_THAT(lines, ElementsAre(21, 23, 33, 39));
  EXPECT_THAT(member.source, StartsWith("  - id: family.one\n"));
  EXPECT_THAT(member.source, testing::EndsWith("- del: k"));
}

// A family with these lines from line 6, column 5 on.
std::string family(std::string_view lines) {
  return "area: test\ncases:\n  - id: one\n    title: A title\n    requirements: [SET-NX-1]\n" +
         indented(lines, 4);
}

TEST(Axes, TakeAnyPlaceOfAStep) {
  const Loaded loaded = load(family(R"(clients: {a: {}, b: $client}
axes:
  way:
    one: {client: {observes: $sees}, step: {get: {key: $key}}, key: {exact: $bytes},
          bytes: {hex: "00"}, number: 1, sees: true, list: [x, $text],
          text: "$text", pair: [[name, v]]}
steps:
  - $step
  - {send: {command: [SET, $bytes, $list], qos: $number, properties: $pair}, expect: error}
  - set: {key: $text, value: {join: $list}, options: [PX, $list]}
    expect: {reply: {value: $bytes}})"));
  EXPECT_THAT(loaded.diagnostics(), IsEmpty());
  ASSERT_EQ(loaded.cases.size(), 1U);
  EXPECT_THAT(show_all(loaded.cases[0].clients), ElementsAre("a", "b observes"));
  EXPECT_THAT(
      show_all(loaded.cases[0].steps),
      ElementsAre(R"(get: a ("GET" "\x00") => )",
                  R"(send: a ("SET" "\x00" "x" "$text") name=v => error)",
                  R"(set: a ("SET" <$text> join("x" "$text") "PX" "x" "$text") ts=now writes:$text)"
                  R"( => value "\x00")"));
}

TEST(Axes, MayBeLimitedToSomeCombinations) {
  constexpr std::string_view kTables = R"(axes:
  a: {one: {x: missing}, two: {x: error}, three: {x: {count: 1}}}
  b: {one: {key: k}, two: {key: l}}
)";
  const struct {
    std::string_view filters;
    std::vector<std::string> left;
  } kTable[] = {
      {"", {"one.one", "one.two", "two.one", "two.two", "three.one", "three.two"}},
      {"except: [{a: one}]", {"two.one", "two.two", "three.one", "three.two"}},
      {"except: [{a: one, b: two}, {a: three}]", {"one.one", "two.one", "two.two"}},
      {"except: [{a: [one, three], b: one}]", {"one.two", "two.one", "two.two", "three.two"}},
      {"only: [{b: one}]", {"one.one", "two.one", "three.one"}},
      {"only: [{a: one}, {b: [two]}]", {"one.one", "one.two", "two.two", "three.two"}},
      {"only: [{b: one}]\nexcept: [{a: two}]", {"one.one", "three.one"}},
  };
  for (const auto& row : kTable) {
    const Loaded loaded = load(family(std::string(kTables) + std::string(row.filters) +
                                      "\nsteps: [{get: $key, expect: {reply: $x}}]\n"));
    EXPECT_THAT(loaded.diagnostics(), IsEmpty()) << row.filters;
    std::vector<std::string> expected;
    for (const std::string& values : row.left) expected.push_back("one." + values);
    EXPECT_EQ(ids(loaded), expected) << row.filters;
  }
}

TEST(Axes, ShareParts) {
  const Loaded loaded = load(family(R"(axes:
  a: {one: {x: missing}, two: {x: {reply: $value}}}
parts:
  value: {value: v}
  again: [{get: k, expect: $x}]
steps: [$again, $again])"));
  EXPECT_THAT(loaded.diagnostics(), IsEmpty());
  EXPECT_THAT(
      show_all(find(loaded, "one.two").steps),
      ElementsAre("get: a (\"GET\" <k>) => value \"v\"", "get: a (\"GET\" <k>) => value \"v\""));
}

TEST(Axes, NeedNoRequirementsBesideThoseThatStepsCite) {
  std::string text = family(R"(axes: {a: {one: {x: k}}}
steps: [{get: $x, expect: {reply: missing, cites: GET-HIT-1}}])");
  text.erase(text.find("    requirements"), std::string("    requirements: [SET-NX-1]\n").size());
  const Loaded loaded = load(text);
  EXPECT_THAT(loaded.diagnostics(), IsEmpty());
  ASSERT_EQ(loaded.cases.size(), 1U);
  EXPECT_THAT(loaded.cases[0].requirements, ElementsAre("GET-HIT-1"));
}

std::string values(std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    out += (i == 0 ? "" : ", ") + ("v" + number) + ": {K: k" + number + "}";
  }
  return "{" + out + "}";
}

TEST(Axes, HaveAGreatestNumberOfCombinations) {
  const auto loaded = [](std::size_t count) {
    return load(family("axes: {a: " + values(count) + "}\nsteps: [{get: $K, expect: missing}]"));
  };
  EXPECT_THAT(loaded(kMaxCombinations).diagnostics(), IsEmpty());
  EXPECT_THAT(loaded(kMaxCombinations + 1).diagnostics(),
              ElementsAre(HasSubstr("f:6:11: these axes have more than 500 combinations")));
}

// Each name stands for two of the next: a few lines that would be a million steps.
TEST(Axes, DoNotGrowWithoutBound) {
  std::string value = "x0: {get: k}";
  std::string last = "x0";
  for (int i = 1; i <= 20; ++i) {
    const std::string name = "x" + std::to_string(i);
    value += ", " + name + ": [$" + last + ", $" + last + "]";
    last = name;
  }
  const Loaded loaded = load(family("axes: {a: {one: {" + value + "}}}\nsteps: [$" + last + "]"));
  EXPECT_THAT(loaded.diagnostics(),
              ElementsAre(HasSubstr("f:3:5: this case has more than 10000 placeholders")));
}

TEST(Axes, ACoverHasEachPairAndNumbersItsMembers) {
  const Loaded loaded = load(family(R"(axes:
  key: {k: {key: k}, l: {key: l}, m: {key: m}}
  answer: {missing: {answer: missing}, error: {answer: error}}
  time: {short: {time: 1ms}, long: {time: 1s}}
cover: pairs
steps: [{get: $key, expect: $answer}, {wait: $time}]
)"));
  EXPECT_THAT(loaded.diagnostics(), IsEmpty());
  EXPECT_EQ(loaded.cases.size(), 6U);
  std::set<std::pair<std::string, std::string>> pairs;
  for (std::size_t i = 0; i < loaded.cases.size(); ++i) {
    const Case& test_case = loaded.cases[i];
    EXPECT_EQ(test_case.id, test_case.family + "." + std::to_string(i + 1));
    EXPECT_THAT(test_case.title, HasSubstr("(combination " + std::to_string(i + 1) + ")"));
    ASSERT_EQ(test_case.axes.size(), 3U);
    pairs.insert({test_case.axes[0].value, test_case.axes[1].value});
  }
  EXPECT_EQ(pairs.size(), 6U);
  EXPECT_EQ(loaded.cases.front().axes.front().value, "k");
}

// --- malformed tables ----------------------------------------------------------------------------

struct Malformed {
  std::string_view name;
  std::string_view lines;  // from line 6, column 5 on
  std::vector<std::string_view> diagnostics;
};

void PrintTo(const Malformed& row, std::ostream* os) { *os << row.name; }

class MalformedAxesTest : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedAxesTest, AreRefusedWhereAPersonLooks) {
  const Loaded loaded = load(family(GetParam().lines));
  const std::vector<std::string> seen = loaded.diagnostics();
  ASSERT_EQ(seen.size(), GetParam().diagnostics.size()) << testing::PrintToString(seen);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_THAT(seen[i], StartsWith(std::string(GetParam().diagnostics[i])));
  }
  EXPECT_THAT(loaded.cases, IsEmpty());
}

const Malformed kMalformed[] = {
    {"NoAxes",
     "axes: {}\nsteps: [{get: k, expect: missing}]",
     {"f:6:11: axes must map names to their values, e.g. {state: {absent"}},
    {"AxesThatAreAList",
     "axes: [a]\nsteps: [{get: k, expect: missing}]",
     {"f:6:11: axes must map names to their values"}},
    {"AxesThatAreNothing",
     "axes:\nsteps: [{get: k, expect: missing}]",
     {"f:6:5: axes must map names to their values"}},
    {"AnEmptyAxis",
     "axes: {a: {}}\nsteps: [{get: k, expect: missing}]",
     {"f:6:15: the axis a needs at least one value"}},
    {"AnAxisThatIsText",
     "axes:\n  a: one\nsteps: [{get: k, expect: missing}]",
     {"f:7:10: the axis a needs at least one value"}},
    {"AnAxisThatCannotBeNamed",
     "axes: {\"a b\": {one: {x: k}}}\nsteps: [{get: $x, expect: missing}]",
     {"f:6:12: an axis is named by letters"}},
    {"AnAxisTwice",
     "axes: {a: {one: {x: k}}, a: {two: {x: k}}}\nsteps: [{get: $x, expect: missing}]",
     {"f:6:30: the key \"a\" is twice in axes"}},
    {"AnAxisThatChangesNothing",
     "axes: {a: {one: {x: k}}, b: {one: {}, two: {}}}\nsteps: [{get: $x, expect: missing}]",
     {"f:6:43: the values one and two are the same",
      "f:6:30: the axis b changes nothing, as its values are empty"}},
    {"ACoverOfAllKinds",
     "axes: {a: {one: {x: k}, two: {x: l}}}\ncover: all\nsteps: [{get: $x, expect: missing}]",
     {"f:7:12: cover must be pairs, or {triples: [axis, axis, axis, ...]}"}},
    {"ACoverOfAnAxisThatThereIsNot",
     "axes: {a: {one: {x: k}, two: {x: l}}}\ncover: {triples: [b]}\n"
     "steps: [{get: $x, expect: missing}]",
     {"f:7:23: there is no axis \"b\""}},
    {"ACoverWithExcept",
     "axes: {a: {one: {x: k}, two: {x: l}}}\ncover: pairs\nexcept: [{a: one}]\n"
     "steps: [{get: $x, expect: missing}]",
     {"f:7:12: cover excludes only and except"}},
    {"AValueTwice",
     "axes: {a: {one: {x: k}, one: {x: l}}}\nsteps: [{get: $x, expect: missing}]",
     {"f:6:29: the key \"one\" is twice in the axis a"}},
    {"ValuesThatAreTheSame",
     "axes:\n  a:\n    one: {x: {name: k}}\n    two: {x: {name: l}}\n    three: {x: {name: k}}\n"
     "steps: [{get: {key: $x}, expect: missing}]",
     {"f:10:9: the values one and three are the same, which would duplicate cases"}},
    {"AValueInUpperCase",
     "axes: {a: {One: {x: k}}}\nsteps: [{get: $x, expect: missing}]",
     {"f:6:16: a value of an axis is named by lower-case letters, digits and dashes"}},
    {"AValueWithADot",
     "axes: {a: {o.e: {x: k}}}\nsteps: [{get: $x, expect: missing}]",
     {"f:6:16: a value of an axis is named by"}},
    {"AValueThatEndsWithADash",
     "axes: {a: {one-: {x: k}}}\nsteps: [{get: $x, expect: missing}]",
     {"f:6:16: a value of an axis is named by"}},
    {"AValueThatYamlRetypes",
     "axes: {a: {10: {x: k}}}\nsteps: [{get: $x, expect: missing}]",
     {"f:6:16: a name in the axis a: YAML does not read 10 as text"}},
    {"AValueThatIsNoMapping",
     "axes: {a: {one: k}}\nsteps: [{get: $a, expect: missing}]",
     {"f:6:21: the value one of the axis a must be a mapping, not \"k\""}},
    {"APlaceholderTwice",
     "axes: {a: {one: {x: k, x: l}}}\nsteps: [{get: $x, expect: missing}]",
     {"f:6:28: the key \"x\" is twice in the value one of the axis a"}},
    {"APlaceholderThatCannotBeNamed",
     "axes: {a: {one: {$x: k}}}\nsteps: [{get: $x, expect: missing}]",
     {"f:6:22: a placeholder is named by letters"}},
    {"APlaceholderOfTwoAxes",
     "axes: {a: {one: {x: k}}, b: {one: {x: l}}}\nsteps: [{get: $x, expect: missing}]",
     {"f:6:40: the axis a gives the placeholder x already"}},
    {"ANoteThatIsNoText",
     "axes: {a: {one: {x: k, note: []}}}\nsteps: [{get: $x, expect: missing}]",
     {"f:6:34: note must be text"}},
    {"RequirementsOfAValueThatAreNoList",
     "axes: {a: {one: {x: k, requirements: GET-HIT-1}}}\nsteps: [{get: $x, expect: missing}]",
     {"f:6:42: requirements must be a list of texts"}},
    {"AnUnknownRequirementOfAValue",
     "axes: {a: {one: {x: k, requirements: [GET-HIT-9]}}}\nsteps: [{get: $x, expect: missing}]",
     {"f:6:43: there is no requirement \"GET-HIT-9\"; did you mean \"GET-HIT-1\"? (in a: one)"}},
    {"AnUnknownCapabilityOfAValue",
     "axes: {a: {one: {x: k, requires: [quta]}}}\nsteps: [{get: $x, expect: missing}]",
     {"f:6:39: there is no capability \"quta\"; did you mean \"quota\"?"}},
    {"ExclusiveOfAValueThatIsText",
     "axes: {a: {one: {x: k, exclusive: very}}}\nsteps: [{get: $x, expect: missing}]",
     {"f:6:39: exclusive must be true or false"}},
    {"AnUnknownRequirementThatIsCited",
     "axes: {a: {one: {x: k}}}\nsteps:\n  - {get: $x, expect: {reply: missing, cites: GET-HIT-9}}",
     {"f:8:51: there is no requirement \"GET-HIT-9\""}},
    {"AnUnknownPlaceholder",
     "axes:\n  a: {one: {state: k}, two: {state: l}}\nsteps: [{get: $stat, expect: missing}]",
     {"f:8:19: no axis gives the placeholder $stat; did you mean $state?"}},
    {"AnUnknownPlaceholderLikeNone",
     "axes: {a: {one: {x: k}}}\nsteps: [{get: $x, expect: $somewhat}]",
     {"f:7:31: no axis gives the placeholder $somewhat; add it to the values of an axis"}},
    {"APlaceholderThatIsNoName",
     "axes: {a: {one: {long: k}}}\nsteps: [{get: $long, expect: $}]",
     {"f:7:34: no axis gives the placeholder $; add it"}},
    {"APlaceholderThatAValueLacks",
     "axes: {a: {one: {x: k}, two: {u: k}}}\nsteps: [{get: $x, expect: missing}, {del: $u}]",
     {"f:7:47: there is no $u where a: one; give the value one of the axis a a u, or leave the "
      "combination out with except",
      "f:7:19: there is no $x where a: two"}},
    {"AnUnusedPlaceholder",
     "axes: {a: {one: {x: k, u: l}, two: {x: l, u: k}}}\nsteps: [{get: $x, expect: missing}]",
     {"f:6:28: no step uses $u; remove it"}},
    {"APlaceholderThatStandsForItself",
     "axes: {a: {one: {x: [$u], u: [$x]}}}\nsteps: [$x]",
     {"f:6:35: the placeholder $x refers to itself; break the cycle"}},
    {"APlaceholderForAKey",
     "axes: {a: {one: {x: get}}}\nsteps: [{$x: k, expect: missing}]",
     {"f:7:14: a placeholder stands for a value, not for a key; quote $x if it is text"}},
    {"APlaceholderInTheDivergence",
     "axes: {a: {one: {x: k}}}\ndivergence: [$x]\nsteps: [{get: $x, expect: missing}]",
     {"f:7:18: divergence is the same for all members and has no placeholders; quote $x"}},
    {"APlaceholderInAFilter",
     "axes: {a: {one: {x: k}}}\nonly: [{a: $x}]\nsteps: [{get: $x, expect: missing}]",
     {"f:7:16: the axis a has no value \"$x\"; there are: one"}},
    {"AFilterThatIsNoList",
     "axes: {a: {one: {x: k}}}\nexcept: {a: one}\nsteps: [{get: $x, expect: missing}]",
     {"f:7:13: except must be a list of combinations, e.g. [{state: absent}]"}},
    {"AnEmptyFilter",
     "axes: {a: {one: {x: k}}}\nonly: [{}]\nsteps: [{get: $x, expect: missing}]",
     {"f:7:12: only must be a list of combinations"}},
    {"AFilterOfNoValue",
     "axes: {a: {one: {x: k}}}\nonly: [{a: []}]\nsteps: [{get: $x, expect: missing}]",
     {"f:7:16: name at least one value of the axis a"}},
    {"AFilterOfAnUnknownAxis",
     "axes: {state: {one: {x: k}}}\nonly: [{stat: one}]\nsteps: [{get: $x, expect: missing}]",
     {"f:7:13: there is no axis \"stat\"; did you mean \"state\"?"}},
    {"AFilterOfAnUnknownValue",
     "axes: {a: {one: {x: k}, two: {x: l}}}\nexcept: [{a: [three]}]\n"
     "steps: [{get: $x, expect: missing}]",
     {"f:7:19: the axis a has no value \"three\"; there are: one, two"}},
    {"AFilterWithAValueTwice",
     "axes: {a: {one: {x: k}, two: {x: l}}}\nonly: [{a: [two, two]}]\n"
     "steps: [{get: $x, expect: missing}]",
     {"f:7:22: the value two is here twice"}},
    {"AnExceptionOfWhatIsLeftOutAnyway",
     "axes: {a: {one: {x: k}, two: {x: l}}}\nonly: [{a: two}]\nexcept: [{a: one}]\n"
     "steps: [{get: $x, expect: missing}]",
     {"f:8:14: this matches no combination that is left; remove it"}},
    {"AnExceptionOfEverything",
     "axes: {a: {one: {x: k}}}\nexcept: [{a: one}]\nsteps: [{get: $x, expect: missing}]",
     {"f:6:12: only and except leave no combination, so no case"}},
    {"AnUndeclaredDivergence",
     "axes: {a: {one: {x: ok}, two: {x: not-applied}, three: {x: [not-applied]}}}\n"
     "steps: [{set: {key: k, value: v}, expect: {reply: {any_of: [$x, missing]}}}]",
     {"f:3:5: this case depends on the divergence set-not-applied: add it to the divergence of the "
      "family (in a: two)"}},
    {"AnUnneededDivergence",
     "divergence: [vdel-mismatch]\naxes: {a: {one: {x: k}, two: {x: l}}}\n"
     "steps: [{get: $x, expect: missing}]",
     {"f:6:18: nothing in this case depends on the divergence vdel-mismatch: remove it"}},
    {"AMemberThatProvesNothing",
     "axes:\n  a: {one: {x: none}, two: {x: disconnect}}\nsteps: [{get: k, expect: $x}]",
     {"f:3:5: a store that does nothing would pass this case"}},
    {"AMistakeThatMembersShare",
     "axes: {a: {one: {x: missing}, two: {x: error}}}\nsteps: [{gett: k, expect: $x}]",
     {"f:7:14: step has no key \"gett\"; did you mean \"get\"? (in a: one)"}},
    {"AMistakeInATable",
     "axes:\n  a:\n    one: {x: missing}\n    two: {x: mising}\nsteps: [{get: k, expect: $x}]",
     {"f:9:18: \"mising\" is not a reply"}},
    {"AnIdThatBecomesTooLong",
     "axes:\n  a: {xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx: "
     "{x: k}}\n"
     "steps: [{get: $x, expect: missing}]",
     {"f:3:9: id \"one.xxxx"}},
    {"PartsThatAreAList",
     "axes: {a: {one: {x: k}}}\nparts: [u]\nsteps: [{get: $x, expect: missing}]",
     {"f:7:12: parts must be a mapping"}},
    {"APartThatAnAxisGives",
     "axes: {a: {one: {x: k}}}\nparts: {x: l}\nsteps: [{get: $x, expect: missing}]",
     {"f:7:13: the axis a gives the placeholder x already; choose another name"}},
    {"APartThatCannotBeNamed",
     "axes: {a: {one: {x: k}}}\nparts: {$u: l}\nsteps: [{get: $x, expect: missing}]",
     {"f:7:13: a placeholder is named by letters"}},
    {"APartWithTheNameOfAKey",
     "axes: {a: {one: {x: k}}}\nparts: {tags: [l]}\nsteps: [{get: $x, expect: missing}]",
     {"f:7:13: a part cannot be named tags"}},
    {"AnUnusedPart",
     "axes: {a: {one: {x: k}}}\nparts: {u: l}\nsteps: [{get: $x, expect: missing}]",
     {"f:7:13: no step uses $u; remove it"}},
    {"PartsWithoutAxes",
     "parts: {u: l}\nsteps: [{get: x, expect: missing}]",
     {"f:6:12: parts needs axes, and this case has none"}},
    {"PlaceholdersWithoutAxes",
     "steps: [{get: $x, expect: missing}]",
     {"f:6:19: $x is a placeholder, and this case has no axes to say what it stands for"}},
    {"FiltersWithoutAxes",
     "only: [{a: b}]\nexcept: []\nsteps: [{get: x, expect: missing}]",
     {"f:6:11: only needs axes, and this case has none; remove it",
      "f:7:13: except needs axes, and this case has none; remove it"}},
};

INSTANTIATE_TEST_SUITE_P(Tables, MalformedAxesTest, testing::ValuesIn(kMalformed),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace fencepost::scenario
