// The writer of scenarios is the inverse of the loader: what is written is loaded as the same
// cases, of any cases that the loader can make, and of all that are built in.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "suite/scenario/axes.h"
#include "suite/scenario/bytes_loader.h"
#include "suite/scenario/library.h"
#include "suite/scenario/scenario_fields.h"
#include "suite/scenario/scenario_loader.h"
#include "suite/scenario/writer.h"

namespace fencepost::scenario {
namespace {

using std::chrono::milliseconds;

const std::vector<std::string> kKnown = {"SET-NX-1", "GET-HIT-1", "NTF-SEND-1", "HLC-SKEW-1"};

// ---- Generators

// Draws from the whole range, also in small examples: there the library itself keeps near the
// beginning.
template <typename Number>
Number between(Number least, Number most) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<Number>(least, most + 1));
}

template <typename Number>
Number up_to(Number most) {
  return between<Number>(0, most);
}

bool chance(int in) { return up_to(in - 1) == 0; }

template <typename Item>
Item one_of(const std::vector<Item>& items) {
  return *rc::gen::elementOf(items);
}

// Text that a YAML reader could take for something else, and characters that it has its own rules
// for.
std::string some_text() {
  static const std::vector<std::string> kParts = {"",        "k",        "yes",
                                                  "y",       "1.20",     "010",
                                                  "~",       "null",     "a: b",
                                                  "- x",     "'",        "\"",
                                                  "\\",      " # c",     "$p",
                                                  "none",    "default",  "now",
                                                  "a\nb",    "\r\n",     "\x01",
                                                  "é",       "\u0085",   "\u2028",
                                                  "\ufeff",  "\uffff",   "😀",
                                                  "%",       "@x",       "`",
                                                  "!t",      "&a",       "*a",
                                                  "{x}",     "[y]",      "a,b",
                                                  " blank",  "blank ",   "\t",
                                                  "...",     "---",      "? q",
                                                  "x:",      ":x",       "=",
                                                  "<<",      "|",        ">",
                                                  "'' ''",   "2026-1-1", "it's \"both\"",
                                                  "\\x41",   "0x1f",     "+1",
                                                  "a:b",     "1e3",      "\x7f",
                                                  "/a/b?c=d"};
  std::string out = one_of(kParts);
  while (chance(3)) out += one_of(kParts);
  if (chance(8)) out += std::string(1, '\0');
  return out;
}

std::string some_filled_text() {
  const std::string out = some_text();
  return out.empty() ? "x" : out;
}

// Without control characters, as the loader wants it.
std::string some_title() {
  std::string out = some_filled_text();
  std::replace_if(
      out.begin(), out.end(), [](unsigned char c) { return c < ' '; }, 'x');
  return out;
}

std::string some_bytes() {
  switch (up_to(6)) {
    case 0:
      return std::string(up_to<std::size_t>(40), static_cast<char>(up_to(255)));
    case 1:
      return patterned_bytes(up_to<std::size_t>(300));
    case 2:
      return all_bytes();
    case 3:
      return *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
    default:
      return some_text();
  }
}

// Makes one case, step by step, with what its earlier steps have introduced.
class CaseMaker {
 public:
  Case make(const std::string& id) {
    case_.area = "made up: by a test";
    case_.id = id;
    case_.title = some_title();
    if (chance(3)) case_.note = some_text();
    case_.requirements = subset(kKnown);
    if (case_.requirements.empty()) case_.requirements.push_back(kKnown.front());
    case_.tags = subset({"slow", "1.20", "a b", "yes"});
    case_.requires_ = subset({"transport", "quota"});
    case_.exclusive = chance(4);
    add_clients();
    for (int steps = up_to(6); steps > 0; --steps) add_step();
    // Not one that an idle store passes.
    RequestStep last = request("get");
    last.expect.outcomes = {{PlainReply{codec::ReplyKind::kMissing}}};
    case_.steps.push_back({.position = {}, .title = "get", .what = std::move(last)});
    if (fills_) case_.requires_.emplace_back("packet-limit");
    if (odd_) case_.requires_.emplace_back("raw-packets");
    if (chance(3)) {
      make_member();
    } else if (chance(2)) {
      case_.recorded = some_record();
    }
    case_.divergences = divergences_of(case_);
    return std::move(case_);
  }

 private:
  static std::vector<std::string> subset(const std::vector<std::string>& items) {
    std::vector<std::string> out;
    for (const std::string& item : items) {
      if (chance(2)) out.push_back(item);
    }
    return out;
  }

  void add_clients() {
    static const std::vector<std::string> kNames = {"a", "b", "y", "1", "a b", "c:"};
    for (const std::string& name : subset(kNames)) {
      ClientSpec client{.name = name};
      if (chance(3)) client.role = "restricted";
      client.observes = chance(3);
      client.subscribes = !chance(5);
      client.clean_start = !chance(5);
      if (chance(4)) client.session_expiry_seconds = up_to(86'400U);
      if (chance(6)) {
        client.extras = {some_bytes(), some_bytes(), static_cast<std::uint8_t>(4U * up_to(63U)),
                         chance(2)};
        odd_ = odd_ || client.extras != endpoint::MqttExtras{};
      }
      if (!case_.clients.empty() && chance(4)) client.same_id_as = some_client();
      case_.clients.push_back(client);
    }
    if (case_.clients.empty()) case_.clients.push_back({.name = "a"});
  }

  std::string some_client() { return case_.clients[up_to(case_.clients.size() - 1)].name; }

  ClientSpec& client(const std::string& name) {
    return *std::find_if(case_.clients.begin(), case_.clients.end(),
                         [&](const ClientSpec& spec) { return spec.name == name; });
  }

  std::string some_citation() { return chance(2) ? one_of(case_.requirements) : ""; }

  // A family of one.
  void make_member() {
    case_.family = case_.id;
    static const std::vector<std::string> kValues = {"absent", "1", "yes", "a-b"};
    for (const std::string& axis : subset({"state", "y", "by_verb"})) {
      case_.axes.push_back({axis, one_of(kValues)});
      case_.id += "." + case_.axes.back().value;
    }
    if (case_.axes.empty()) {
      case_.family.clear();
    } else if (chance(3)) {
      const std::string number = std::to_string(between(100, 199));
      case_.id = case_.family + "." + number;
      case_.title += " (combination " + number + ")";
    } else {
      case_.title += " (" + describe(case_.axes) + ")";
    }
  }

  static Recorded some_record() {
    Recorded out{.by = std::string(*rc::gen::elementOf(fields::kRecordedBy))};
    if (chance(2)) out.when = "2026-01-01T00:00:00Z";
    if (chance(2)) out.endpoint = one_of<std::string>({"mqtt://me@broker:1883", "inproc:", "a b"});
    if (chance(2)) out.seed = *rc::gen::arbitrary<std::uint64_t>();
    if (chance(2)) out.requirement = one_of(kKnown);
    if (chance(2)) out.signature = some_filled_text();
    if (!out.failed()) return out;
    out.message = some_text();
    out.expected = some_text();
    out.actual = some_text();
    return out;
  }

  // ---- Bytes

  BytesSpec key() {
    if (chance(6)) return bytes(1);
    return {KeyBytes{some_filled_text(), chance(4) ? some_bytes() : ""}};
  }

  BytesSpec bytes(int depth) {
    switch (depth == 0 ? 0 : up_to(5)) {
      case 1:
        return {KeyBytes{some_filled_text(), chance(3) ? some_bytes() : ""}};
      case 2:
        return {JoinedBytes{some_parts(depth - 1)}};
      case 3:
        return {CommandBytes{some_parts(depth - 1)}};
      case 4:
        return {some_wire()};
      default:
        return {LiteralBytes{some_bytes()}};
    }
  }

  WireBytes some_wire() {
    WireBytes out;
    for (int count = up_to(3); count > 0; --count) {
      const bool is_length = chance(2);
      out.pieces.push_back({.bytes = some_bytes(),
                            .key = "k_" + std::to_string(up_to(3)),
                            .is_length = is_length,
                            .change = up_to(5) - (is_length ? 2 : 5)});
    }
    if (chance(2)) out.pieces.push_back({.bytes = some_filled_text()});
    return out;
  }

  std::vector<BytesSpec> some_parts(int depth) {
    std::vector<BytesSpec> out;
    for (int count = up_to(3); count > 0; --count) out.push_back(bytes(depth));
    return out;
  }

  // ---- Timestamps and moments

  TimestampSpec some_timestamp() {
    if (chance(3)) return NoTimestamp{};
    if (chance(4)) return LiteralTimestamp{some_text()};
    TimestampExpression out{.base = "now"};
    if (!sendable_.empty() && chance(2)) {
      out.base = one_of(sendable_);
    } else if (chance(4)) {
      out.base = "skew-limit";
      out.offset_ms = 100;
    }
    if (chance(2)) out.offset_ms = between<std::int64_t>(-90'000'000, 90'000'000);
    if (out.offset_ms == 0 && out.base == "skew-limit") out.offset_ms = -1;
    if (chance(3)) {
      out.counter_offset = between<std::int64_t>(-1'000'000'000'000, 1'000'000'000'000);
    } else if (chance(3)) {
      out.counter = *rc::gen::arbitrary<std::uint64_t>();
    }
    if (chance(3)) out.node = one_of<std::string>({"B", "~0001", "\"", "a:b", "'", "é", "\n"});
    return out;
  }

  TimePoint some_moment() {
    return {.mark = one_of(marks_),
            .after_reply = chance(2),
            .offset = milliseconds{up_to(2) * (chance(2) ? 1 : 60'000) * up_to(1'000)}};
  }

  TimestampCheck some_check(bool with_sent) {
    if (chance(4)) return {.absent = true};
    TimestampCheck out{.present = true};
    if (!saved_.empty() && chance(3)) out.equals = one_of(saved_);
    if (!saved_.empty() && chance(3)) out.greater_than.push_back(one_of(saved_));
    if (!saved_.empty() && chance(4)) out.of_value[some_text()] = one_of(saved_);
    if (with_sent && chance(2)) out.greater_than.emplace_back("sent");
    if (chance(2)) {
      out.save = one_of<std::string>({"v1", "v2", "y", "yes", "counter", "node", "null"});
      saved_.push_back(*out.save);
    }
    return out;
  }

  // ---- Expectations

  Outcome some_outcome() {
    using codec::ReplyKind;
    switch (up_to(9)) {
      case 0:
        return {ValueReply{bytes(1)}};
      case 1:
        return {CountReply{*rc::gen::positive<std::int64_t>()}};
      case 2:
        return {ErrorReply{*rc::gen::elementOf(codec::kErrorCodes)}};
      case 3:
        return {ExactBytes{bytes(1)}};
      case 4:
        return {AnyError{}};
      case 5:
        return {NoReply{}};
      case 6:
        return {Disconnection{}};
      case 7:
        return {PlainReply{ReplyKind::kNotApplied}};
      case 8:
        return {PlainReply{ReplyKind::kMissing}};
      default:
        return {PlainReply{ReplyKind::kOk}};
    }
  }

  // At least one; some of them one for each dialect.
  void add_outcomes(std::vector<Outcome>& out, const std::string& name) {
    do {
      if (chance(3)) {
        for (const codec::DialectId dialect : codec::kDialects) {
          do {
            out.push_back(some_outcome());
            out.back().only_in = dialect;
            out.back().name = name;
          } while (chance(3));
        }
      } else {
        out.push_back(some_outcome());
        out.back().name = name;
      }
    } while (chance(3));
  }

  // After each outcome of an earlier request.
  void add_branches(Expectation& out) {
    out.by = one_of(open_);
    for (const std::string& after : outcomes_.at(out.by)) {
      std::vector<Outcome> branch;
      if (chance(4)) {
        out.open = true;
        add_outcomes(branch, "one");
        add_outcomes(branch, "two");
      } else {
        add_outcomes(branch, "");
      }
      for (Outcome& outcome : branch) {
        outcome.after = after;
        out.outcomes.push_back(std::move(outcome));
      }
    }
  }

  Expectation some_expectation(bool with_sent) {
    Expectation out;
    if (chance(5)) return out;
    if (chance(4)) {
      out.open = true;
      add_outcomes(out.outcomes, "refused");
      add_outcomes(out.outcomes, some_filled_text());
    } else if (!open_.empty() && chance(2)) {
      add_branches(out);
    } else {
      add_outcomes(out.outcomes, "");
    }
    out.cites = some_citation();
    const bool replies =
        std::any_of(out.outcomes.begin(), out.outcomes.end(), [](const Outcome& outcome) {
          return !std::holds_alternative<NoReply>(outcome.what) &&
                 !std::holds_alternative<Disconnection>(outcome.what);
        });
    if (!replies) return out;
    if (chance(2)) out.timestamp = some_check(with_sent);
    if (chance(4)) out.user_properties[some_text()] = some_text();
    if (chance(4)) out.content_type = some_text();
    if (chance(4)) out.payload_format = up_to(1);
    if (!marks_.empty() && chance(3)) out.before = some_moment();
    return out;
  }

  // ---- Steps

  // A request that its action can say, without its envelope.
  RequestStep request(std::string_view action) {
    RequestStep out{.client = some_client(), .payload = {}, .timestamp = {}, .token = {}};
    if (action == "send") {
      out.payload = bytes(2);
      if (chance(3)) add_filling(out.payload);
      return out;
    }
    std::string verb(action);
    std::transform(verb.begin(), verb.end(), verb.begin(),
                   [](char c) { return static_cast<char>(c - 'a' + 'A'); });
    std::vector<BytesSpec> arguments = {{LiteralBytes{verb}}, key()};
    if (action == "set" || action == "vdel") arguments.push_back(bytes(2));
    while (chance(3)) arguments.push_back({LiteralBytes{some_text()}});
    if (action == "set") {
      out.timestamp = TimestampExpression{.base = "now"};
      out.written_keys.push_back(arguments[1]);
    }
    if (action == "keynotify") client(out.client).observes = true;
    out.payload = {CommandBytes{std::move(arguments)}};
    return out;
  }

  void add_filling(BytesSpec& payload) {
    fills_ = true;
    const std::int64_t excess = between<std::int64_t>(-3, 3);
    const bool again = std::count(filled_.begin(), filled_.end(), excess) > 0 && chance(2);
    payload = {JoinedBytes{{payload, {FillBytes{.excess = excess, .again = again}}}}};
    if (!again) filled_.push_back(excess);
  }

  PacketSpec some_packet(const RequestStep& request) {
    odd_ = true;
    PacketSpec out{.duplicate = true, .qos_3 = chance(2)};
    if (chance(2)) out.id = *rc::gen::arbitrary<std::uint16_t>();
    if (chance(2)) out.topic_alias = *rc::gen::arbitrary<std::uint16_t>();
    if (chance(2) && !request.no_correlation) out.twice.emplace_back("correlation");
    if (chance(2) && request.expiry_seconds) out.twice.emplace_back("expiry");
    if (chance(2)) out.more_properties = some_text();
    if (chance(2)) out.wrong_length = between<std::int32_t>(-9, 9);
    return out;
  }

  void add_envelope(RequestStep& out) {
    if (chance(2)) out.timestamp = some_timestamp();
    if (chance(3)) out.token = some_timestamp();
    while (chance(4)) out.written_keys.push_back({KeyBytes{some_filled_text(), ""}});
    if (chance(4)) out.qos = up_to(2);
    out.retain = chance(6);
    if (chance(6)) out.topic = bytes(1);
    out.no_response_topic = chance(6);
    if (!out.no_response_topic && chance(6)) out.response_topic = bytes(1);
    out.no_correlation = chance(6);
    if (!out.no_correlation && chance(6)) out.correlation = bytes(1);
    if (chance(6)) out.content_type = some_text();
    if (chance(6)) out.payload_format = static_cast<std::uint8_t>(up_to(1));
    if (chance(6)) out.expiry_seconds = *rc::gen::arbitrary<std::uint32_t>();
    while (chance(5)) out.user_properties.emplace_back(some_text(), some_text());
    if (chance(8)) out.packet = some_packet(out);
    if (chance(4)) {
      out.mark = "m" + std::to_string(marks_.size());
      marks_.push_back(out.mark);
    }
    const bool sends = !std::holds_alternative<NoTimestamp>(out.timestamp) ||
                       std::any_of(out.user_properties.begin(), out.user_properties.end(),
                                   [](const auto& pair) { return pair.first == "__ts"; });
    out.expect = some_expectation(sends);
    if (!out.mark.empty() && out.expect.open) {
      open_.push_back(out.mark);
      std::vector<std::string>& names = outcomes_[out.mark];
      for (const Outcome& outcome : out.expect.outcomes) {
        const bool known = std::count(names.begin(), names.end(), outcome.name) > 0;
        if (!outcome.name.empty() && !known) names.push_back(outcome.name);
      }
    }
  }

  RequestStep some_request(std::string_view action) {
    RequestStep out = request(action);
    add_envelope(out);
    return out;
  }

  void add_step() {
    Step step{
        .position = {}, .title = std::string(*rc::gen::elementOf(fields::kActions)), .what = {}};
    if (chance(5)) step.note = some_text();
    sendable_ = saved_;
    step.what = what_of(step.title);
    case_.steps.push_back(std::move(step));
  }

  std::optional<OutcomeSeen> some_when() {
    if (open_.empty() || !chance(3)) return std::nullopt;
    const std::string mark = one_of(open_);
    return OutcomeSeen{mark, {outcomes_.at(mark).front()}};
  }

  decltype(Step::what) what_of(const std::string& action) {
    if (action == "pipeline") return some_pipeline();
    if (action == "notification") return some_notification();
    if (action == "silence") {
      SilenceStep out{some_client(), some_client(), some_citation()};
      client(out.client).observes = true;
      if (chance(4)) out.shows[one_of(case_.requirements)] = some_text();
      out.when = some_when();
      return out;
    }
    if (action == "wait") return some_wait();
    if (action == "connect") return ConnectStep{some_client()};
    if (action == "disconnect" || action == "drop") {
      DisconnectStep out{some_client(), action == "drop"};
      client(out.client).drops |= out.drop;
      return out;
    }
    if (action == "subscribe") return SubscribeStep{some_client(), bytes(2)};
    if (action == "unsubscribe") {
      const std::string name = some_client();
      client(name).observes = true;
      return UnsubscribeStep{name};
    }
    if (action == "fill_quota") return FillQuotaStep{some_client(), some_text(), some_citation()};
    if (action == "write_many") {
      const std::size_t keys = up_to<std::size_t>(99'999) + 1;
      return WriteManyStep{some_client(), some_text(), keys,
                           up_to<std::size_t>(100'000 / keys - 1) + 1, some_citation()};
    }
    if (action == "fan_out") {
      return FanOutStep{some_client(), some_text(), up_to<std::size_t>(199) + 1, some_citation()};
    }
    if (const auto* kind = endpoint::disturbance_named(action)) {
      case_.exclusive = true;
      add_capability(std::string(kind->name));
      return DisturbStep{kind};
    }
    return some_request(action);
  }

  void add_capability(const std::string& name) {
    if (std::count(case_.requires_.begin(), case_.requires_.end(), name) == 0) {
      case_.requires_.push_back(name);
    }
  }

  // Its requests have no action of their own, so that any that the actions can say will do.
  PipelineStep some_pipeline() {
    static const std::vector<std::string_view> kRequests = {"set",  "get",       "del",
                                                            "vdel", "keynotify", "send"};
    PipelineStep out;
    do {
      out.requests.push_back(some_request(one_of(kRequests)));
    } while (out.requests.size() < 2 || chance(2));
    return out;
  }

  NotificationStep some_notification() {
    NotificationStep out{.client = some_client(), .key = key()};
    client(out.client).observes = true;
    if (chance(2)) out.operation = codec::Operation::kDelete;
    if (chance(2)) out.value = bytes(1);
    if (chance(2)) out.timestamp = some_check(/*with_sent=*/false);
    if (chance(3)) out.content_type = some_text();
    if (chance(3)) out.qos = up_to(2);
    if (chance(3)) out.within = milliseconds{up_to(3'600'000)};
    out.when = some_when();
    const std::string writer = some_client();
    if (writer != out.client && chance(2)) {
      out.optional = Optional{writer, one_of(case_.requirements), some_text(), some_text()};
    }
    out.cites = some_citation();
    return out;
  }

  WaitStep some_wait() {
    if (!marks_.empty() && chance(2)) return {.until = some_moment()};
    return {.duration = milliseconds{up_to(3'600) * (chance(2) ? 1 : 1'000)}};
  }

  Case case_{};
  std::vector<std::string> saved_;
  std::vector<std::string> sendable_;  // saved before this step
  std::vector<std::string> marks_;
  std::vector<std::string> open_;  // marks of requests with open outcomes
  std::map<std::string, std::vector<std::string>> outcomes_;  // of these
  std::vector<std::int64_t> filled_;
  bool fills_ = false;
  bool odd_ = false;
};

// ---- The property

std::vector<Case> loaded(const std::string& text, const std::set<std::string>& requirements) {
  std::vector<LoadError> errors;
  std::vector<Case> out = load_scenario({"written.yaml", text}, requirements, errors);
  std::string diagnostics;
  for (const LoadError& error : errors) diagnostics += describe(error) + "\n";
  EXPECT_EQ(diagnostics, "") << text;
  return out;
}

RC_GTEST_PROP(ScenarioWriterProperty, WhatIsWrittenIsLoadedAsTheSame, ()) {
  std::vector<Case> cases;
  for (int count = between(1, 3); count > 0; --count) {
    cases.push_back(CaseMaker().make("case-" + std::to_string(count)));
  }
  FileComments comments;
  comments.file = {some_text(), some_text()};
  comments.cases[cases.front().id] = {some_text()};
  const std::string text = to_yaml(cases, comments);
  std::vector<LoadError> errors;
  const std::vector<Case> again =
      load_scenario({"f", text}, {kKnown.begin(), kKnown.end()}, errors);
  for (const LoadError& error : errors) RC_FAIL(describe(error) + "\n" + text);
  RC_ASSERT(again.size() == cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!(again[i] == cases[i])) {
      RC_FAIL(to_yaml({&cases[i], 1}) + "\n-- is loaded as\n" + to_yaml({&again[i], 1}));
    }
  }
  RC_ASSERT(to_yaml(again, comments) == text);
}

// ---- Built-in cases

std::map<std::string, std::vector<Case>> cases_by_area(std::set<std::string>& requirements) {
  std::vector<LoadError> errors;
  Library library = load_library(built_in_files(), errors);
  EXPECT_TRUE(errors.empty());
  requirements = library.catalogue.ids();
  std::map<std::string, std::vector<Case>> out;
  for (Case& each : library.cases) out[each.area].push_back(std::move(each));
  return out;
}

TEST(ScenarioWriter, WritesAllBuiltInCasesAsTheyAre) {
  std::set<std::string> requirements;
  std::size_t count = 0;
  for (const auto& [area, cases] : cases_by_area(requirements)) {
    const std::string text = to_yaml(cases);
    const std::vector<Case> again = loaded(text, requirements);
    ASSERT_EQ(again.size(), cases.size());
    count += cases.size();
    for (std::size_t i = 0; i < cases.size(); ++i) {
      EXPECT_TRUE(again[i] == cases[i]) << to_yaml({&cases[i], 1}) << to_yaml({&again[i], 1});
    }
    EXPECT_EQ(to_yaml(again), text);
  }
  EXPECT_GT(count, 1'700U);
}

// What two cases differ in, and whether that is seen: a comparison that sees nothing would make
// the tests above worthless.
TEST(ScenarioWriter, ComparesStepsAndNotes) {
  std::set<std::string> requirements;
  const auto areas = cases_by_area(requirements);
  const Case& one = areas.begin()->second.front();
  Case other = one;
  EXPECT_TRUE(one == other);
  other.position.line += 1;
  other.source += "x";
  EXPECT_TRUE(one == other);
  other.steps.front().note = "x";
  EXPECT_FALSE(one == other);
  other = one;
  other.steps.pop_back();
  EXPECT_FALSE(one == other);
}

}  // namespace
}  // namespace fencepost::scenario
