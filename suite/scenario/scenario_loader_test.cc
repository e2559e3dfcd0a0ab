#include "suite/scenario/scenario_loader.h"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/scenario/scenario_fixture.h"

namespace fencepost::scenario {
namespace {

using codec::Divergence;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// --- good files ----------------------------------------------------------------------------------

constexpr std::string_view kFullExample = R"(area: everything
cases:
  - id: a.full-example-1
    title: Every key of a case and of a client
    note: For readers.
    requirements: [SET-NX-1, GET-HIT-1, NTF-SEND-1]
    divergence:
      [set-not-applied, vdel-mismatch, delete-operation, lower-token-text, keynotify-error]
    requires: [transport, quota, restricted-client]
    tags: [slow, "1.20"]
    exclusive: true
    clients:
      a: {}
      b: {role: restricted, observes: true, subscribes: false,
          clean_start: false, session_expiry: 86400}
      c: {same_id_as: b}
      d: {}
      e: {}
      f: {}
    steps:
      - {set: {key: k, value: v, options: [NX]}, expect: not-applied, note: For readers.}
      - {vdel: {key: k, value: v}, expect: not-applied}
      - {del: k, expect: {reply: {error: token-lower}}}
      - {keynotify: {key: k, client: d}, expect: {reply: {error: syntax}}}
      - notification: {client: e, key: k, operation: delete}
      - silence: {client: f, writer: a}
      - wait: 2s
      - drop: a
  - id: b
    title: The least
    requirements: [GET-HIT-1]
    steps:
      - get: k
        expect: missing
)";

TEST(ScenarioLoader, LoadsEveryKeyOfACase) {
  const Loaded loaded = load(std::string(kFullExample));
  ASSERT_THAT(loaded.diagnostics(), IsEmpty());
  ASSERT_EQ(loaded.cases.size(), 2U);
  const Case& full = loaded.cases[0];
  EXPECT_EQ(full.id, "a.full-example-1");
  EXPECT_EQ(full.area, "everything");
  EXPECT_EQ(full.title, "Every key of a case and of a client");
  EXPECT_THAT(full.requirements, ElementsAre("SET-NX-1", "GET-HIT-1", "NTF-SEND-1"));
  EXPECT_EQ(full.divergences,
            std::set<Divergence>(codec::kDivergences.begin(), codec::kDivergences.end()));
  EXPECT_THAT(full.requires_, ElementsAre("transport", "quota", "restricted-client"));
  EXPECT_THAT(full.tags, ElementsAre("slow", "1.20"));
  EXPECT_TRUE(full.exclusive);
  EXPECT_THAT(show_all(full.clients),
              ElementsAre("a drops", "b role=restricted observes silent resumes expiry=86400",
                          "c as=b", "d observes", "e observes", "f observes"));
  EXPECT_EQ(full.steps.size(), 8U);
  EXPECT_EQ(full.expected_wait(), milliseconds{2'000});
}

TEST(ScenarioLoader, RemembersWhereThingsStand) {
  const Loaded loaded = load(std::string(kFullExample));
  ASSERT_EQ(loaded.cases.size(), 2U);
  const Case& full = loaded.cases[0];
  EXPECT_EQ(describe({full.position, ""}), "f:3:5: ");
  EXPECT_EQ(describe({full.steps[0].position, ""}), "f:21:9: ");
  EXPECT_EQ(describe({full.steps[7].position, ""}), "f:28:9: ");
  EXPECT_EQ(describe({loaded.cases[1].position, ""}), "f:29:5: ");
}

TEST(ScenarioLoader, HasDefaults) {
  const Loaded loaded = load(std::string(kFullExample));
  ASSERT_EQ(loaded.cases.size(), 2U);
  const Case& least = loaded.cases[1];
  EXPECT_THAT(show_all(least.clients), ElementsAre("a"));
  EXPECT_THAT(show_all(least.steps), ElementsAre("get: a (\"GET\" <k>) => missing"));
  EXPECT_THAT(least.divergences, IsEmpty());
  EXPECT_THAT(least.requires_, IsEmpty());
  EXPECT_THAT(least.tags, IsEmpty());
  EXPECT_FALSE(least.exclusive);
  EXPECT_EQ(least.expected_wait(), milliseconds{0});
}

struct GoodSteps {
  std::string_view yaml;
  std::vector<std::string> steps;  // after the first, which file_with() has made
};
void PrintTo(const GoodSteps& row, std::ostream* out) { *out << row.yaml; }

class GoodStepsTest : public testing::TestWithParam<GoodSteps> {};

TEST_P(GoodStepsTest, LoadAsWritten) {
  const Loaded loaded = load(in_steps(GetParam().yaml));
  ASSERT_THAT(loaded.diagnostics(), IsEmpty());
  ASSERT_EQ(loaded.cases.size(), 1U);
  std::vector<std::string> steps = show_all(loaded.cases[0].steps);
  steps.erase(steps.begin());
  EXPECT_EQ(steps, GetParam().steps);
}

// Requests: the verbs, their arguments, and the envelope.
const GoodSteps kGoodRequests[] = {
    {"- get: k", {R"(get: a ("GET" <k>) => )"}},
    {"- get: {key: {exact: ''}, options: [x]}", {R"(get: a ("GET" "" "x") => )"}},
    {"- del: k", {R"(del: a ("DEL" <k>) => )"}},
    {"- vdel: {key: k, value: v}", {R"(vdel: a ("VDEL" <k> "v") => )"}},
    {"- keynotify: {key: k, options: [STOP]}", {R"(keynotify: a ("KEYNOTIFY" <k> "STOP") => )"}},
    {"- set: {key: {name: k}, value: '', options: [NX, PX, '1000']}",
     {R"(set: a ("SET" <k> "" "NX" "PX" "1000") ts=now writes:k => )"}},
    {"- set: {key: {name: k, append: x}, value: v, ts: none}",
     {R"(set: a ("SET" <k + x> "v") writes:kx => )"}},
    {"- set: {key: k, value: {join: [a, {key: b}]}, ts: now + 61s, ft: now counter = 7}",
     {R"(set: a ("SET" <k> join("a" <b>)) ts=now 61000ms ft=now =7 writes:k => )"}},
    {"- del: {key: k, ft: 'now - 1ms counter + 2 node \"B\"'}",
     {R"(del: a ("DEL" <k>) ft=now -1ms +2 @B => )"}},
    {"- del: {key: k, ts: {text: ''}, ft: {text: '1:2'}}",
     {R"(del: a ("DEL" <k>) ts="" ft="1:2" => )"}},
    {"- send: {command: [SET, {key: k}, v], writes: [k, l]}",
     {R"(send: a ("SET" <k> "v") writes:k writes:l => )"}},
    {"- send: {command: []}", {"send: a () => "}},
    {R"(- send: {payload: {escaped: '*1\r\n'}, client: a})", {R"(send: a "*1\r\n" => )"}},
    {"- get: {key: k, qos: 0, retain: true, topic: t, response_topic: {escaped: none},\n"
     "        correlation: {hex: '00'}, content_type: x/y, payload_format: 1,\n"
     "        expiry: 4294967295, properties: [[a, b], [a, '']]}",
     {R"(get: a ("GET" <k>) qos=0 retain topic="t" response="none" correlation="\x00")"
      R"( type=x/y format=1 expiry=4294967295 a=b a= => )"}},
    {"- get: {key: k, response_topic: none, correlation: none}",
     {R"(get: a ("GET" <k>) no-response-topic no-correlation => )"}},
    {"- get: {key: k, topic: default, response_topic: default, correlation: default}",
     {R"(get: a ("GET" <k>) => )"}},
    {"- pipeline:\n    - get: k\n    - {del: k, expect: {reply: {count: 1}}}",
     {R"(pipeline: a ("GET" <k>) => ; a ("DEL" <k>) => count 1)"}},
};
INSTANTIATE_TEST_SUITE_P(Requests, GoodStepsTest, testing::ValuesIn(kGoodRequests));

// Expectations: the forms of replies, and what else is checked.
const GoodSteps kGoodExpectations[] = {
    {"- {get: k, expect: ok}", {R"(get: a ("GET" <k>) => ok)"}},
    {"- {get: k, expect: error}", {R"(get: a ("GET" <k>) => error)"}},
    {"- {get: k, expect: none}", {R"(get: a ("GET" <k>) => none)"}},
    {"- {get: k, expect: disconnect}", {R"(get: a ("GET" <k>) => disconnect)"}},
    {"- {get: k, expect: {}}", {R"(get: a ("GET" <k>) => )"}},
    {"- {get: k, expect: {reply: {value: {size: 4}}}}", {R"(get: a ("GET" <k>) => value "0,1,")"}},
    {"- {get: k, expect: {reply: {count: 9223372036854775807}}}",
     {R"(get: a ("GET" <k>) => count 9223372036854775807)"}},
    {"- {get: k, expect: {reply: {error: empty-key}}}",
     {R"(get: a ("GET" <k>) => error empty-key)"}},
    {R"(- {get: k, expect: {reply: {bytes: {escaped: ':0\r\n'}}}})",
     {R"(get: a ("GET" <k>) => bytes ":0\r\n")"}},
    {"- {get: k, expect: {reply: {any_of: [ok, {value: v}, none]}}}",
     {R"(get: a ("GET" <k>) => ok | value "v" | none)"}},
    {"- {get: k, expect: {reply: {deployed: {any_of: [ok, error]}, documented: missing}}}",
     {R"(get: a ("GET" <k>) => documented missing | deployed ok | deployed error)"}},
    {"- {get: k, expect: {cites: GET-HIT-1, reply: {open: {no value: missing,\n"
     "    'yes': {any_of: [ok, none]}, refused: {documented: error, deployed: missing}}}}}",
     {R"(get: a ("GET" <k>) => open no value: missing | yes: ok | yes: none | )"
      R"(refused: documented error | refused: deployed missing, cites GET-HIT-1)"}},
    {"- get: {key: k, mark: m}\n  expect: {reply: {open: {a: ok, b: error, c: missing}}}\n"
     "- {get: k, expect: {reply: {by: {m: {b: ok, else: {open: {d: ok, e: none}}}}}}}",
     {R"(get: a ("GET" <k>) mark:m => open a: ok | b: error | c: missing)",
      R"(get: a ("GET" <k>) => open by m after b: ok | after a: d: ok | after a: e: none | )"
      R"(after c: d: ok | after c: e: none)"}},
    {"- get: {key: k, mark: m}\n  expect: {reply: {open: {a: ok, b: error}}}\n"
     "- notification: {key: k, operation: set, when: {m: [a]}}",
     {R"(get: a ("GET" <k>) mark:m => open a: ok | b: error)",
      "notification: a <k> set, within 5000, when m: a"}},
    {"- {get: k, expect: {ts: absent}}", {R"(get: a ("GET" <k>) => , ts absent)"}},
    {"- {get: k, expect: {ts: present, properties: {__stat: '200', b: ''},\n"
     "    content_type: x, payload_format: 0}}",
     {R"(get: a ("GET" <k>) => , ts present, __stat=200, b=, type x, format 0)"}},
    {"- {get: k, expect: {ts: {save: v1}}}\n"
     "- set: {key: k, value: v, ts: v1 + 1ms, ft: v1}\n"
     "  expect: {ts: {equals: v1, greater_than: [sent, v1], save: v1}}",
     {R"(get: a ("GET" <k>) => , ts present save v1)",
      R"(set: a ("SET" <k> "v") ts=v1 1ms ft=v1 writes:k => , )"
      R"(ts present =v1 >sent >v1 save v1)"}},
    {"- get: {key: k, mark: t1}\n  expect: {before: t1 + 900ms}\n"
     "- {get: k, expect: {before: t1.reply + 2s}}",
     {R"(get: a ("GET" <k>) mark:t1 => , before t1+900)",
      R"(get: a ("GET" <k>) => , before t1.reply+2000)"}},
};
INSTANTIATE_TEST_SUITE_P(Expectations, GoodStepsTest, testing::ValuesIn(kGoodExpectations));

// What is no request.
const GoodSteps kGoodOtherActions[] = {
    {"- notification: {key: k, operation: set}", {"notification: a <k> set, within 5000"}},
    {"- notification: {client: a, key: {exact: k}, operation: set, value: v,\n"
     "    ts: {save: v2}, within: 100ms, content_type: x, qos: 1, cites: SET-NX-1}",
     {R"(notification: a "k" set "v", ts present save v2, type x, qos 1, within 100,)"
      " cites SET-NX-1"}},
    {"- silence: a", {"silence: a by a"}},
    {"- silence: {client: a}", {"silence: a by a"}},
    {"- silence: {client: a, writer: a, cites: GET-HIT-1}", {"silence: a by a, cites GET-HIT-1"}},
    {"- wait: 150ms", {"wait: 150"}},
    {"- get: {key: k, mark: m}\n- wait: {until: m + 1m}\n- wait: {until: m.reply}",
     {R"(get: a ("GET" <k>) mark:m => )", "wait: until m+60000", "wait: until m.reply+0"}},
    {"- connect: a", {"connect: a"}},
    {"- disconnect: a", {"disconnect: a"}},
    {"- drop: a", {"drop: a dropped"}},
    {"- subscribe: {filter: '#'}", {R"(subscribe: a "#")"}},
    {"- subscribe: {client: a, filter: {join: [x/, {key: k}]}}",
     {R"(subscribe: a join("x/" <k>))"}},
    {"- fill_quota: {key: q}", {"fill_quota: a q"}},
    {"- fill_quota: {client: a, key: q, cites: SET-NX-1}", {"fill_quota: a q, cites SET-NX-1"}},
    {"- write_many: {key: q, keys: 7}", {"write_many: a q 7"}},
    {"- write_many: {client: a, key: q, keys: 100000, cites: SET-NX-1}",
     {"write_many: a q 100000, cites SET-NX-1"}},
    {"- fan_out: {key: q, observers: 100}", {"fan_out: a q to 100"}},
    {"- fan_out: {client: a, key: q, observers: 1, cites: SET-NX-1}",
     {"fan_out: a q to 1, cites SET-NX-1"}},
};
INSTANTIATE_TEST_SUITE_P(OtherActions, GoodStepsTest, testing::ValuesIn(kGoodOtherActions));

TEST(ScenarioLoader, TakesTheFirstClientByDefault) {
  const Loaded loaded = load(file_with("    clients: {second: {}, first: {}}\n", ""));
  ASSERT_THAT(loaded.diagnostics(), IsEmpty());
  EXPECT_THAT(show_all(loaded.cases[0].steps),
              ElementsAre(R"(set: second ("SET" <k> "v") ts=now writes:k => ok)"));
}

TEST(ScenarioLoader, KnowsATimestampAmongTheUserProperties) {
  const Loaded loaded =
      load(in_steps(R"(- set: {key: k, value: v, ts: none, properties: [[__ts, "1:2:n"]]}
  expect: {ts: {greater_than: [sent]}})"));
  EXPECT_THAT(loaded.diagnostics(), IsEmpty());
}

// Requests of a pipeline are judged in order, so one may be compared with what an earlier one has
// saved.
TEST(ScenarioLoader, ComparesVersionsWithinAPipeline) {
  const Loaded loaded = load(in_steps(R"(- pipeline:
    - {set: {key: k, value: v}, expect: {ts: {save: v1}}}
    - {set: {key: k, value: v}, expect: {ts: {greater_than: [v1]}}}
- set: {key: k, value: v, ts: v1})"));
  EXPECT_THAT(loaded.diagnostics(), IsEmpty());
}

// --- bad files -----------------------------------------------------------------------------------

struct Malformed {
  std::string name;
  std::string text;
  int line;
  int column;
  std::string message;  // a part of it: what to write instead
};
void PrintTo(const Malformed& row, std::ostream* out) { *out << row.name; }

class MalformedTest : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedTest, IsRefusedWhereAPersonLooks) {
  const Loaded loaded = load(GetParam().text);
  ASSERT_EQ(loaded.errors.size(), 1U) << testing::PrintToString(loaded.diagnostics()) << "\n"
                                      << GetParam().text;
  EXPECT_EQ(loaded.errors[0].position.file, "f");
  EXPECT_EQ(loaded.errors[0].position.line, GetParam().line) << GetParam().text;
  EXPECT_EQ(loaded.errors[0].position.column, GetParam().column) << GetParam().text;
  EXPECT_THAT(loaded.errors[0].text, HasSubstr(GetParam().message));
}

std::string name_of(const testing::TestParamInfo<Malformed>& info) { return info.param.name; }

const std::string kNotText = " as text; write \"";

const Malformed kFileMistakes[] = {
    {"Empty", "", 1, 1, "the file must be a mapping, not nothing"},
    {"List", "- area: x\n", 1, 1, "the file must be a mapping, not a list"},
    {"Descriptor", "url: mqtt://h\n", 1, 1, "this is a descriptor"},
    {"NotYaml", "area: x\ncases: a: b\n", 2, 9, "this is not YAML: illegal map value"},
    {"NoCases", "area: x\n", 1, 1, "the file needs the key \"cases\""},
    {"CasesEmpty", "area: x\ncases: []\n", 2, 8, "cases must be a list of at least one case"},
    {"CasesMissing", "area: x\ncases:\n", 2, 1, "cases must be a list of at least one case"},
    {"CaseIsText", "area: x\ncases:\n  - one\n", 3, 5, "case must be a mapping, not \"one\""},
    {"UnknownKey", "aera: x\n" + in_case(""), 1, 1, "did you mean \"area\"?"},
    {"AreaRetyped", "area: 1.20\n" + in_case("").substr(11), 1, 7, "write \"1.20\""},
    {"AreaEmpty", "area: ''\n" + in_case("").substr(11), 1, 7, "area must not be empty"},
    {"AreaTwice", "area: x\n" + in_case(""), 2, 1, "the key \"area\" is twice in the file"},
    {"SecondDocument", in_case("") + "---\n" + in_case(""), 9, 1, "make two files"},
    {"MergeKey", "<<: {area: y}\n" + in_case(""), 1, 1, "the file has no key \"<<\""},
};
INSTANTIATE_TEST_SUITE_P(File, MalformedTest, testing::ValuesIn(kFileMistakes), name_of);

const Malformed kCaseMistakes[] = {
    {"UnknownKey", in_case("divergences: []"), 6, 5, "did you mean \"divergence\"?"},
    {"DuplicateKey", in_case("title: Another"), 6, 5, "the key \"title\" is twice in case"},
    {"TitleRetyped", in_case("note: yes"), 6, 11, "YAML does not read yes" + kNotText + "yes\""},
    {"NoteIsList", in_case("note: [a]"), 6, 11, "note must be text, not a list"},
    {"TagRetyped", in_case("tags: [a, 0x10]"), 6, 15,
     "YAML does not read 0x10" + kNotText + "0x10\""},
    {"ExclusiveQuoted", in_case("exclusive: 'true'"), 6, 16, "exclusive must be true or false"},
    {"UnknownDivergence", in_case("divergence: [set-not-aplied]"), 6, 18,
     "there are set-not-applied, vdel-mismatch"},
    {"SuperfluousDivergence", in_case("divergence: [vdel-mismatch]"), 6, 18,
     "nothing in this case depends on the divergence vdel-mismatch: remove it"},
    {"UnknownCapability", in_case("requires: [transport, quotas]"), 6, 27,
     "did you mean \"quota\"?"},
    {"ClientsIsList", in_case("clients: [a]"), 6, 14, "e.g. {a: {}, b: {}}"},
    {"ClientMissing", in_case("clients:\n  a:\n  b: {}"), 7, 7, "client must be a mapping"},
    {"ClientTwice", in_case("clients: {a: {}, b: {}, a: {}}"), 6, 29, "\"a\" is twice in clients"},
    {"ClientNameRetyped", in_case("clients: {a: {}, no: {}}"), 6, 22, "write \"no\""},
    {"ClientUnknownKey", in_case("clients: {a: {observe: true}}"), 6, 19,
     "did you mean \"observes\"?"},
    {"ClientOfItself", in_case("clients: {a: {same_id_as: a}}"), 6, 31, "there is no client \"a\""},
    {"SessionExpiry", in_case("clients: {a: {session_expiry: 86401}}"), 6, 35, "from 0 to 86400"},
};
INSTANTIATE_TEST_SUITE_P(Case, MalformedTest, testing::ValuesIn(kCaseMistakes), name_of);

// A file whose case has no line 3, 4 or 5 as in file_with(), but these.
std::string headed(const std::string& id, const std::string& title,
                   const std::string& requirements) {
  return "area: test\ncases:\n  - id: " + id + "\n    title: " + title +
         "\n    requirements: " + requirements +
         "\n    steps:\n      - {get: k, expect: missing}\n";
}

const Malformed kHeadingMistakes[] = {
    {"IdUpperCase", headed("One", "t", "[SET-NX-1]"), 3, 9,
     "lower-case letters, digits, dots and dashes"},
    {"IdBeginsWithDot", headed(".one", "t", "[SET-NX-1]"), 3, 9, "begin with a letter or digit"},
    {"IdTooLong", headed(std::string(81, 'a'), "t", "[SET-NX-1]"), 3, 9, "at most 80"},
    {"IdRetyped", headed("1e3", "t", "[SET-NX-1]"), 3, 9,
     "YAML does not read 1e3" + kNotText + "1e3\""},
    {"TitleMissing", headed("one", "", "[SET-NX-1]"), 4, 5, "title: YAML reads an empty value"},
    {"TitleNull", headed("one", "null", "[SET-NX-1]"), 4, 12, "put the word in quotes"},
    {"TitleEmpty", headed("one", "''", "[SET-NX-1]"), 4, 12, "title must not be empty"},
    {"NoRequirement", headed("one", "t", "[]"), 5, 19, "at least one requirement"},
    {"RequirementsIsText", headed("one", "t", "SET-NX-1"), 5, 19,
     "a list of texts, not \"SET-NX-1\""},
    {"UnknownRequirement", headed("one", "t", "[GET-HIT-1, SET-NX-2]"), 5, 31,
     "did you mean \"SET-NX-1\"?"},
    {"StrangeRequirement", headed("one", "t", "[Q]"), 5, 20, "see fencepost list requirements"},
    {"RequirementRetyped", headed("one", "t", "[SET-NX-1, 1.20]"), 5, 30, "write \"1.20\""},
    {"StepsMissing", "area: x\ncases:\n  - id: one\n    title: t\n    requirements: [SET-NX-1]\n",
     3, 5, "case needs the key \"steps\""},
    {"StepsEmpty",
     "area: x\ncases:\n  - id: one\n    title: t\n    requirements: [SET-NX-1]\n    "
     "steps: []\n",
     6, 12, "steps must be a list of at least one step"},
};
INSTANTIATE_TEST_SUITE_P(Heading, MalformedTest, testing::ValuesIn(kHeadingMistakes), name_of);

const Malformed kStepMistakes[] = {
    {"Missing", in_steps("-"), 9, 7, "step must be a mapping, not nothing"},
    {"IsText", in_steps("- get"), 9, 9, "step must be a mapping, not \"get\""},
    {"IsList", in_steps("- [get]"), 9, 9, "step must be a mapping, not a list"},
    {"UnknownKey", in_steps("- get: k\n  expected: ok"), 10, 9, "did you mean \"expect\"?"},
    {"TwoActions", in_steps("- get: k\n  expect: ok\n  del: k"), 11, 9,
     "both \"get\" and \"del\"; make two steps"},
    {"NoAction", in_steps("- note: nothing"), 9, 9, "give it an action such as set or get"},
    {"ActionTwice", in_steps("- get: k\n  get: k"), 10, 9, "the key \"get\" is twice in step"},
    {"NoteRetyped", in_steps("- {get: k, note: on}"), 9, 24, "write \"on\""},
    {"ExpectOnWait", in_steps("- wait: 1s\n  expect: ok"), 10, 17,
     "is not a request: remove expect"},
    {"ExpectOnPipeline", in_steps("- pipeline: [{get: k}, {get: k}]\n  expect: ok"), 10, 17,
     "\"pipeline\" is not a request: remove expect"},
    {"UnknownClient", in_steps("- get: {key: k, client: b}"), 9, 31,
     "there is no client \"b\"; declare it under clients"},
    {"ConnectNobody", in_steps("- connect:"), 9, 9, "client: YAML reads an empty value"},
    {"ConnectTwo", in_steps("- connect: [a, a]"), 9, 18, "client must be text, not a list"},
    {"BadDuration", in_steps("- wait: 150"), 9, 15,
     "a duration such as 150ms, 2s or 1m, not \"150\""},
    {"LongDuration", in_steps("- wait: 61m"), 9, 15, "wait must be at most 1h, not \"61m\""},
    {"WaitForNothing", in_steps("- wait: {}"), 9, 15, "wait needs the key \"until\""},
    {"UnresolvedMark", in_steps("- wait: {until: t1 + 1s}"), 9, 23, "no earlier step has mark: t1"},
    {"BadTimePoint", in_steps("- get: {key: k, mark: t1}\n- wait: {until: t1+1s}"), 10, 23,
     "must look like `t1 + 900ms` or `t1.reply + 250ms`"},
    {"MarkTwice", in_steps("- get: {key: k, mark: t1}\n- get: {key: k, mark: t1}"), 10, 29,
     "an earlier step has mark: t1; choose another name"},
    {"MarkWithDot", in_steps("- get: {key: k, mark: t1.reply}"), 9, 29, "must be letters, digits"},
};
INSTANTIATE_TEST_SUITE_P(Step, MalformedTest, testing::ValuesIn(kStepMistakes), name_of);

const Malformed kRequestMistakes[] = {
    {"NoKey", in_steps("- get: {qos: 1}"), 9, 14, "get needs the key \"key\""},
    {"NoValue", in_steps("- set: {key: k}"), 9, 14, "set needs the key \"value\""},
    {"SetOfAKeyAlone", in_steps("- set: k"), 9, 14, "set: {key: k, value: v}"},
    {"Missing", in_steps("- get:"), 9, 9, "get must be a mapping, not nothing"},
    {"IsList", in_steps("- get: [k]"), 9, 14, "get must be a mapping, not a list"},
    {"UnknownKey", in_steps("- set: {key: k, vlaue: v}"), 9, 23, "did you mean \"value\"?"},
    {"GetOfAValue", in_steps("- get: {key: k, value: v}"), 9, 23, "get takes no value; remove it"},
    {"GetOfAPayload", in_steps("- get: {key: k, payload: v}"), 9, 23,
     "get takes no payload; remove it"},
    {"SendOfAKey", in_steps("- send: {key: k, payload: v}"), 9, 16, "send takes no key; remove it"},
    {"SendOfNothing", in_steps("- send: {qos: 1}"), 9, 15,
     "send needs either command: [...] or payload:"},
    {"SendOfText", in_steps("- send: x"), 9, 15, "send must be a mapping, not \"x\""},
    {"ValueRetyped", in_steps("- set: {key: k, value: 1.20}"), 9, 30,
     "YAML does not read 1.20" + kNotText + "1.20\""},
    {"ValueYes", in_steps("- set: {key: k, value: yes}"), 9, 30, "write \"yes\""},
    {"ValueHex", in_steps("- set: {key: k, value: 0x10}"), 9, 30, "write \"0x10\""},
    {"ValueExponent", in_steps("- set: {key: k, value: 1e3}"), 9, 30, "write \"1e3\""},
    {"ValueDate", in_steps("- set: {key: k, value: 2020-01-01T10:00:00Z}"), 9, 30, "write \"2020"},
    {"ValueNull", in_steps("- set: {key: k, value: null}"), 9, 30, "put the word in quotes"},
    {"ValueMissing", in_steps("- set:\n    key: k\n    value:\n  expect: ok"), 11, 11,
     "write \"\""},
    {"ValueAnchored", in_steps("- set: {key: k, value: &v v}"), 9, 30, "write the value out"},
    {"ValueTagged", in_steps("- set: {key: k, value: !!str 1}"), 9, 30, "quote the value"},
    {"KeyEmpty", in_steps("- get: ''"), 9, 14, "the empty key is {exact: \"\"}"},
    {"BadEscape", in_steps("- set: {key: k, value: {escaped: 'a\\q'}}"), 9, 40,
     "one of \\\\ \\\" \\r \\n"},
    {"BadHex", in_steps("- set: {key: k, value: {hex: '0g'}}"), 9, 36,
     "pairs of hexadecimal digits"},
    {"TwoForms", in_steps("- set: {key: k, value: {hex: '00', size: 1}}"), 9, 42,
     "join them with {join: [...]}"},
    {"AllBytesFalse", in_steps("- set: {key: k, value: {all_bytes: false}}"), 9, 42,
     "must be true"},
    {"OptionRetyped", in_steps("- set: {key: k, value: v, options: [PX, 1000]}"), 9, 47,
     "write \"1000\""},
    {"QosQuoted", in_steps("- get: {key: k, qos: '1'}"), 9, 28,
     "a whole number from 0 to 2 without quotes"},
    {"RetainYes", in_steps("- get: {key: k, retain: yes}"), 9, 31, "retain must be true or false"},
    {"NoTopic", in_steps("- get: {key: k, topic: none}"), 9, 30, "a request has a topic"},
    {"PropertiesIsMapping", in_steps("- get: {key: k, properties: {a: b}}"), 9, 35,
     "must be a list of pairs"},
    {"PropertyAlone", in_steps("- get: {key: k, properties: [[a]]}"), 9, 36,
     "a pair [name, value]"},
    {"PropertyIsText", in_steps("- get: {key: k, properties: [a]}"), 9, 36,
     "must be a list of texts"},
    {"PropertyRetyped", in_steps("- get: {key: k, properties: [[a, 1]]}"), 9, 40, "write \"1\""},
    {"BadTimestamp", in_steps("- set: {key: k, value: v, ts: now+1s}"), 9, 37,
     "then optionally `+ 61s`"},
    {"TwoOffsets", in_steps("- set: {key: k, value: v, ts: now + 1s + 1s}"), 9, 37,
     "is not a timestamp"},
    {"UnresolvedTimestamp", in_steps("- del: {key: k, ft: v1 + 1s}"), 9, 27,
     "add ts: {save: v1} to the step"},
    {"LiteralTimestamp", in_steps("- del: {key: k, ft: {text: x, txt: y}}"), 9, 37,
     "did you mean \"text\"?"},
    {"PipelineOfOne", in_steps("- pipeline: [{get: k}]"), 9, 19, "a list of at least two requests"},
    {"PipelineWithAWait", in_steps("- pipeline:\n    - get: k\n    - wait: 1s"), 11, 13,
     "a pipeline can only have requests"},
    {"PipelineInAPipeline",
     in_steps("- pipeline:\n    - get: k\n    - pipeline: [{get: k}, {get: k}]"), 11, 13,
     "a pipeline can only have requests"},
    {"TimestampNotYetThere",
     in_steps("- pipeline:\n    - {get: k, expect: {ts: {save: v1}}}\n    - del: "
              "{key: k, ft: v1}"),
     11, 31, "end the pipeline before it"},
};
INSTANTIATE_TEST_SUITE_P(Request, MalformedTest, testing::ValuesIn(kRequestMistakes), name_of);

const Malformed kExpectationMistakes[] = {
    {"UnknownWord", in_steps("- {get: k, expect: granted}"), 9, 26,
     "a reply is ok, not-applied, missing"},
    {"Retyped", in_steps("- {get: k, expect: 1}"), 9, 26, "write \"1\""},
    {"Missing", in_steps("- get: k\n  expect:"), 10, 9, "reply: YAML reads an empty value"},
    {"ReplyNotUnderReply", in_steps("- {get: k, expect: {value: v}}"), 9, 27,
     "write reply: {value: ...}"},
    {"UnknownKey", in_steps("- {get: k, expect: {reply: ok, tz: present}}"), 9, 38,
     "did you mean \"ts\"?"},
    {"ReplyUnknownKey", in_steps("- {get: k, expect: {reply: {valeu: v}}}"), 9, 35,
     "did you mean \"value\"?"},
    {"ReplyEmpty", in_steps("- {get: k, expect: {reply: {}}}"), 9, 34, "a reply is ok"},
    {"TwoReplies", in_steps("- {get: k, expect: {reply: {value: v, count: 1}}}"), 9, 34,
     "{any_of: [...]}"},
    {"UnknownError", in_steps("- {get: k, expect: {reply: {error: token-lowr}}}"), 9, 42,
     "did you mean \"token-lower\"?"},
    {"StrangeError", in_steps("- {get: k, expect: {reply: {error: conflict}}}"), 9, 42,
     "there are: timestamp-too-far-ahead, token-required"},
    {"CountQuoted", in_steps("- {get: k, expect: {reply: {count: '1'}}}"), 9, 42, "without quotes"},
    {"DocumentedAlone", in_steps("- {get: k, expect: {reply: {documented: ok}}}"), 9, 34,
     "give both"},
    {"DialectsAndMore",
     in_steps("- {get: k, expect: {reply: {documented: ok, deployed: ok, count: 1}}}"), 9, 34,
     "exclude any other reply"},
    {"DialectInDialect",
     in_steps("- {get: k, expect: {reply: {deployed: ok, documented: {documented: ok, "
              "deployed: ok}}}}"),
     9, 61, "must not be nested"},
    {"AnyOfOne", in_steps("- {get: k, expect: {reply: {any_of: [ok]}}}"), 9, 43,
     "at least two replies"},
    {"OpenTwice", in_steps("- {get: k, expect: {reply: {open: {a: ok, a: none}}}}"), 9, 49,
     "is twice in open"},
    {"OpenRetyped", in_steps("- {get: k, expect: {reply: {open: {a: ok, no: none}}}}"), 9, 49,
     "write \"no\""},
    {"OpenInside",
     in_steps("- {get: k, expect: {reply: {any_of: [ok, {open: {a: ok, b: none}}]}}}"), 9, 48,
     "open must be directly under reply"},
    {"OpenElse", in_steps("- {get: k, expect: {reply: {open: {a: ok, else: none}}}}"), 9, 49,
     "else means all other outcomes"},
    {"ByInside", in_steps("- {get: k, expect: {reply: {any_of: [ok, {by: {m: {a: ok}}}]}}}"), 9, 48,
     "by must be directly under reply"},
    {"ByNoMark", in_steps("- {get: k, expect: {reply: {by: {m: {a: ok}}}}}"), 9, 40,
     "no earlier step has mark: m"},
    {"ByNotOpen",
     in_steps("- get: {key: k, mark: m}\n- {get: k, expect: {reply: {by: {m: {a: ok}}}}}"), 10, 40,
     "the request with mark: m has no open outcomes"},
    {"ByLeavesOut",
     in_steps("- get: {key: k, mark: m}\n  expect: {reply: {open: {a: ok, b: error}}}\n"
              "- {get: k, expect: {reply: {by: {m: {a: ok}}}}}"),
     11, 43, "by lacks the outcome \"b\" of m"},
    {"ByElseOfNothing",
     in_steps("- get: {key: k, mark: m}\n  expect: {reply: {open: {a: ok, b: error}}}\n"
              "- {get: k, expect: {reply: {by: {m: {a: ok, b: ok, else: ok}}}}}"),
     11, 43, "else covers no outcome of m"},
    {"ByUnknown",
     in_steps("- get: {key: k, mark: m}\n  expect: {reply: {open: {a: ok, b: error}}}\n"
              "- {get: k, expect: {reply: {by: {m: {x: ok, else: ok}}}}}"),
     11, 44, "\"x\" is not an outcome of m; its outcomes are a, b"},
    {"ByTwoMarks", in_steps("- {get: k, expect: {reply: {by: {m: {a: ok}, n: {a: ok}}}}}"), 9, 39,
     "by must be a mapping of one mark"},
    {"NotificationWhen",
     in_steps("- get: {key: k, mark: m}\n  expect: {reply: {open: {a: ok, b: error}}}\n"
              "- notification: {key: k, operation: set, when: {m: [x]}}"),
     11, 59, "\"x\" is not an outcome of m"},
    {"TimestampWord", in_steps("- {get: k, expect: {ts: some}}"), 9, 31,
     "ts must be absent, present, or {save"},
    {"EqualsUnresolved", in_steps("- {get: k, expect: {ts: {equals: v1}}}"), 9, 40,
     "add ts: {save: v1}"},
    {"GreaterUnresolved",
     in_steps("- {set: {key: k, value: v}, expect: {ts: {greater_than: [sent, v1]}}}"), 9, 70,
     "no earlier step saves a timestamp as \"v1\""},
    {"GreaterThanNothingSent", in_steps("- {get: k, expect: {ts: {greater_than: [sent]}}}"), 9, 46,
     "sent needs a request with a ts"},
    {"SaveNow", in_steps("- {get: k, expect: {ts: {save: now}}}"), 9, 38, "choose another name"},
    {"SaveStrange", in_steps("- {get: k, expect: {ts: {save: a b}}}"), 9, 38,
     "use letters, digits, _ and -"},
    {"PropertiesIsList", in_steps("- {get: k, expect: {properties: [[a, b]]}}"), 9, 39,
     "must be a mapping"},
    {"PropertyRetyped", in_steps("- {get: k, expect: {properties: {__stat: 200}}}"), 9, 48,
     "write \"200\""},
    {"ReplyInCapitals", in_steps("- {get: k, expect: Missing}"), 9, 26,
     "\"Missing\" is not a reply; did you mean missing?"},
    {"ReplyOk", in_steps("- {set: {key: k, value: v}, expect: OK}"), 9, 43,
     "\"OK\" is not a reply; did you mean ok?"},
    {"BeforeUnresolved", in_steps("- {get: k, expect: {before: t1 + 1s}}"), 9, 35,
     "no earlier step has mark: t1"},
    {"CitesUnlisted", in_steps("- {get: k, expect: {cites: NTF-SEND-1}}"), 9, 34,
     "NTF-SEND-1 is not among the requirements of this case"},
    {"TimestampOfNone", in_steps("- {get: k, expect: {reply: none, ts: present}}"), 9, 40,
     "ts needs a reply, and this step expects none"},
    {"UndeclaredDivergence",
     in_steps("- {set: {key: k, value: v, options: [NX]}, expect: not-applied}"), 3, 5,
     "write divergence: [set-not-applied]"},
    {"OneDivergenceUndeclared",
     in_steps_with("set-not-applied",
                   "- {set: {key: k, value: v, options: [NX]}, expect: not-applied}\n"
                   "- {vdel: {key: k, value: v}, expect: not-applied}"),
     6, 17, "write divergence: [set-not-applied, vdel-mismatch]"},
};
INSTANTIATE_TEST_SUITE_P(Expectation, MalformedTest, testing::ValuesIn(kExpectationMistakes),
                         name_of);

const Malformed kOtherActionMistakes[] = {
    {"NotificationOperation", in_steps("- notification: {key: k, operation: del}"), 9, 43,
     "operation must be set or delete, not \"del\""},
    {"NotificationNoKey", in_steps("- notification: {operation: set}"), 9, 23,
     "notification needs the key \"key\""},
    {"NotificationWithin", in_steps("- notification: {key: k, operation: set, within: 5}"), 9, 56,
     "a duration such as"},
    {"NotificationGreaterThanSent",
     in_steps("- notification: {key: k, operation: set, ts: {greater_than: [sent]}}"), 9, 67,
     "sent needs a request with a ts"},
    {"SilenceOfNobody", in_steps("- silence: {writer: a}"), 9, 18,
     "silence needs the key \"client\""},
    {"SilenceUnknownWriter", in_steps("- silence: {client: a, writer: b}"), 9, 38,
     "there is no client \"b\""},
    {"SubscribeNoFilter", in_steps("- subscribe: {client: a}"), 9, 20,
     "subscribe needs the key \"filter\""},
    {"WriteManyNoKeys", in_steps("- write_many: {key: k}"), 9, 21,
     "write_many needs the key \"keys\""},
    {"WriteManyNothing", in_steps("- write_many: {key: k, keys: 0}"), 9, 36,
     "keys must be a whole number from 1 to 100000"},
    {"FanOutToTooMany", in_steps("- fan_out: {key: k, observers: 201}"), 9, 38,
     "observers must be a whole number from 1 to 200"},
    {"PacketOdd", in_steps("- get: {key: k, packet: {dup: true}}"), 3, 5,
     "write requires: [raw-packets]"},
    {"PacketLikeAnyOther", in_steps("- get: {key: k, packet: {dup: false}}"), 9, 31,
     "packet changes nothing here"},
    {"PacketTwiceOfNothing", in_steps("- get: {key: k, packet: {twice: [expiry]}}"), 9, 39,
     "the request has no expiry"},
    {"PacketTwiceOfUnknown", in_steps("- get: {key: k, packet: {twice: [topic]}}"), 9, 39,
     "twice takes response_topic"},
    {"PacketOfKeys", in_steps("- get: {key: k, packet: {more_properties: {key: k}}}"), 9, 49,
     "more_properties takes text, escaped, hex, and join of these"},
    {"PacketOtherQos", in_steps("- get: {key: k, packet: {qos: 2}}"), 9, 37, "from 3 to 3"},
    {"FillQuotaNoKey", in_steps("- fill_quota: {client: a}"), 9, 21,
     "fill_quota needs the key \"key\""},
};
INSTANTIATE_TEST_SUITE_P(OtherAction, MalformedTest, testing::ValuesIn(kOtherActionMistakes),
                         name_of);

// What a step that could not be loaded would have named is known all the same.
TEST(ScenarioLoader, ReportsAStepThatOthersDependOnOnce) {
  const std::string file = headed("one", "t", "[SET-NX-1]");
  const Loaded loaded =
      load(file.substr(0, file.find("      - ")) +
           indented("- {set: {key: k, vlaue: v, mark: t1}, expect: {reply: ok, ts: {save: v1}}}\n"
                    "- wait: {until: t1 + 1s}\n"
                    "- {get: k, expect: {reply: {by: {t1: {a: missing, else: missing}}}}}\n"
                    "- {get: k, expect: {reply: {value: v}, ts: {equals: v1}}}",
                    6));
  EXPECT_THAT(loaded.diagnostics(), ElementsAre(HasSubstr("set has no key \"vlaue\"")));
}

// Req: ENV-MQTT5-OPEN-1
TEST(ScenarioLoader, LetsAClientOfMqtt311ExpectNoReply) {
  const auto diagnostics = [](const std::string& client, const std::string& step) {
    return load(
               file_with("    requires: [raw-packets]\n    clients: {a: {}, old: " + client + "}\n",
                         step))
        .diagnostics();
  };
  const std::string old = "{protocol: \"3.1.1\"}";
  EXPECT_THAT(diagnostics(old, "      - {get: {key: k, client: old}, expect: none}\n"), IsEmpty());
  EXPECT_THAT(diagnostics(old, "      - {get: {key: k, client: old}, expect: missing}\n"),
              ElementsAre(HasSubstr("can expect none and disconnect")));
  EXPECT_THAT(diagnostics(old, "      - {get: {key: k, client: old}}\n"),
              ElementsAre(HasSubstr("can expect none and disconnect")));
  EXPECT_THAT(diagnostics("{protocol: \"5\"}", ""),
              ElementsAre(HasSubstr("protocol must be \"3.1.1\"")));
}

// A store that never answers, or hangs up on everybody, passes none of these.
TEST(ScenarioLoader, RefusesCasesThatProveNothing) {
  for (const std::string steps :
       {"- get: k", "- wait: 1s", "- {get: k, expect: none}", "- {get: k, expect: disconnect}",
        "- {get: k, expect: {ts: absent}}", "- {get: k, expect: {reply: {any_of: [ok, none]}}}",
        "- silence: a", "- pipeline: [{get: k}, {get: k, expect: none}]"}) {
    const std::string file = headed("one", "t", "[SET-NX-1]");
    const Loaded loaded = load(file.substr(0, file.find("      - ")) + indented(steps, 6));
    EXPECT_THAT(
        loaded.diagnostics(),
        ElementsAre("f:3:5: a store that does nothing would pass this case: add a step that "
                    "expects a definite reply or a notification"))
        << steps;
  }
}

TEST(ScenarioLoader, TakesOneDefiniteCheckForProof) {
  for (const std::string steps :
       {"- {get: k, expect: error}", "- notification: {key: k, operation: set}",
        "- fill_quota: {key: k}", "- write_many: {key: k, keys: 1}",
        "- fan_out: {key: k, observers: 1}", "- pipeline: [{get: k}, {get: k, expect: missing}]",
        "- {get: k, expect: {reply: {open: {a: ok, b: error}}}}"}) {
    const std::string file = headed("one", "t", "[SET-NX-1]");
    const Loaded loaded = load(file.substr(0, file.find("      - ")) + indented(steps, 6));
    EXPECT_THAT(loaded.diagnostics(), IsEmpty()) << steps;
  }
}

TEST(ScenarioLoader, ReportsAllMistakesAndLoadsTheOtherCases) {
  const std::string good = headed("two", "t", "[SET-NX-1]");
  const Loaded loaded =
      load(in_steps("- get: {key: k, qos: 3, retain: 1}\n- wiat: 1s\n- {get: k, expect: okay}") +
           good.substr(good.find("  - id")));
  ASSERT_EQ(loaded.errors.size(), 4U);
  EXPECT_THAT(loaded.errors[0].text, HasSubstr("qos"));
  EXPECT_THAT(loaded.errors[1].text, HasSubstr("retain"));
  EXPECT_THAT(loaded.errors[2].text, HasSubstr("wiat"));
  EXPECT_THAT(loaded.errors[3].text, HasSubstr("okay"));
  ASSERT_EQ(loaded.cases.size(), 1U);
  EXPECT_EQ(loaded.cases[0].id, "two");
}

TEST(ScenarioLoader, RefusesAnIdThatStandsTwice) {
  const std::string file = headed("one", "t", "[SET-NX-1]");
  Loaded loaded = load(file + file.substr(file.find("  - id")));
  std::vector<LoadError> none;
  const std::vector<Case> other = load_scenario({"g", file}, kRequirements, none);
  loaded.cases.insert(loaded.cases.end(), other.begin(), other.end());
  ASSERT_EQ(loaded.cases.size(), 3U);
  check_unique_ids(loaded.cases, loaded.errors);
  EXPECT_THAT(
      loaded.diagnostics(),
      ElementsAre(
          "f:8:5: the case id one is already used at f:3; ids are unique and never reused",
          "g:3:5: the case id one is already used at f:3; ids are unique and never reused"));
}

TEST(ScenarioLoader, FindsTheDivergencesOfACase) {
  const struct {
    std::string_view step;
    std::set<Divergence> divergences;
  } kTable[] = {
      {"- {set: {key: k, value: v}, expect: not-applied}", {Divergence::kSetNotApplied}},
      {"- {vdel: {key: k, value: v}, expect: not-applied}", {Divergence::kVdelMismatch}},
      {"- {send: {command: [VDEL, k, v]}, expect: not-applied}", {Divergence::kVdelMismatch}},
      {"- {del: k, expect: {reply: {error: token-lower}}}", {Divergence::kLowerTokenText}},
      {"- {keynotify: k, expect: {reply: {error: syntax}}}", {Divergence::kKeynotifyError}},
      {"- {send: {command: [KEYNOTIFY]}, expect: {reply: {error: wrong-argument-count}}}",
       {Divergence::kKeynotifyError}},
      {"- notification: {key: k, operation: delete}", {Divergence::kDeleteOperation}},
      {"- pipeline: [{get: k}, {del: k, expect: {reply: {error: token-lower}}}]",
       {Divergence::kLowerTokenText}},
      {"- {set: {key: k, value: v}, expect: {reply: {any_of: [ok, not-applied]}}}",
       {Divergence::kSetNotApplied}},
      {"- {set: {key: k, value: v}, expect: {reply: {open: {a: ok, b: not-applied}}}}", {}},
      {"- {keynotify: k, expect: error}", {}},
      {"- {get: k, expect: {reply: {error: syntax}}}", {}},
      {"- notification: {key: k, operation: set}", {}},
  };
  for (const auto& row : kTable) {
    std::string names;
    for (const Divergence divergence : row.divergences) names += codec::name(divergence);
    const Loaded loaded = load(in_steps_with(names, row.step));
    EXPECT_THAT(loaded.diagnostics(), IsEmpty()) << row.step;
    ASSERT_EQ(loaded.cases.size(), 1U);
    EXPECT_EQ(divergences_of(loaded.cases[0]), row.divergences) << row.step;
  }
}

}  // namespace
}  // namespace fencepost::scenario
