#include "report/evidence_head.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/report_sample.h"
#include "report/saved_run.h"

namespace fencepost::report {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using run::Verdict;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

scenario::Library library_of(const std::vector<std::string>& ids) {
  scenario::Library out{.catalogue = test::catalogue(), .cases = {}};
  for (const std::string& id : ids) {
    out.cases.push_back(test::case_of({.id = id, .steps = "- get: k\n  expect: missing\n"}));
  }
  return out;
}

// Each field has a value of its own.
EvidenceHead full_head() {
  return {.run = {.context = sample_context(true),
                  .call = {.url = "mqtt://host",
                           .descriptor = "d.yaml",
                           .driver = "paho",
                           .timeout_scale = 2.5}},
          .run_id = "1a2b",
          .capabilities = {.transport = false,
                           .quota = 17,
                           .has_isolated_broker = true,
                           .ephemeral = true,
                           .exact_clock = true,
                           .roles = {"restricted", "other"},
                           .client_ids = {{"restricted", "me"}},
                           .max_packet_size = 4'294'967'295,
                           .disturbances = {"restart"},
                           .durability = endpoint::Durability::kKill,
                           .store_in_broker = false,
                           .raw_packets = true,
                           .key_prefix = "mine"},
          .expiry_tolerance = 250ms,
          .disconnect_settling = 3s};
}

json document_of(const EvidenceHead& head) {
  return json::parse(evidence_head_json(head, library_of({"one", "two"})));
}

EvidenceHead read_again(const EvidenceHead& head) {
  const auto read = read_evidence_head(document_of(head).dump());
  EXPECT_TRUE(read) << read.error();
  return read.value_or(EvidenceHead{});
}

TEST(EvidenceHead, ComesBackWithEachField) {
  const EvidenceHead head = full_head();
  const EvidenceHead read = read_again(head);
  EXPECT_TRUE(read.has_packets);
  EXPECT_EQ(read.run_id, "1a2b");
  EXPECT_EQ(read.expiry_tolerance, 250ms);
  EXPECT_EQ(read.disconnect_settling, 3000ms);
  EXPECT_EQ(read.run.call.url, "mqtt://host");
  EXPECT_EQ(read.run.call.descriptor, "d.yaml");
  EXPECT_EQ(read.run.call.driver, "paho");
  EXPECT_EQ(read.run.call.timeout_scale, 2.5);
  EXPECT_EQ(read.run.context.endpoint, head.run.context.endpoint);
  EXPECT_EQ(read.run.context.seed, 7U);
  EXPECT_TRUE(read.run.context.strict);
  const endpoint::Capabilities& offers = read.capabilities;
  EXPECT_FALSE(offers.transport);
  EXPECT_EQ(offers.quota, 17U);
  EXPECT_TRUE(offers.has_isolated_broker);
  EXPECT_TRUE(offers.ephemeral);
  EXPECT_TRUE(offers.exact_clock);
  EXPECT_THAT(offers.roles, ElementsAre("restricted", "other"));
  EXPECT_THAT(offers.client_ids, ElementsAre(Pair("restricted", "me")));
  EXPECT_EQ(offers.max_packet_size, 4'294'967'295U);
  EXPECT_THAT(offers.disturbances, ElementsAre("restart"));
  EXPECT_EQ(offers.durability, endpoint::Durability::kKill);
  EXPECT_TRUE(offers.raw_packets);
  EXPECT_FALSE(offers.store_in_broker);
  EXPECT_EQ(offers.key_prefix, "mine");
}

TEST(EvidenceHead, LeavesOutWhatIsNotKnown) {
  EvidenceHead head = full_head();
  head.expiry_tolerance.reset();
  head.disconnect_settling.reset();
  head.capabilities = {};
  const EvidenceHead read = read_again(head);
  EXPECT_FALSE(read.expiry_tolerance);
  EXPECT_FALSE(read.disconnect_settling);
  EXPECT_TRUE(read.capabilities.transport);
  EXPECT_FALSE(read.capabilities.quota);
  EXPECT_FALSE(read.capabilities.max_packet_size);
  EXPECT_FALSE(read.capabilities.has_isolated_broker);
  EXPECT_FALSE(read.capabilities.exact_clock);
  EXPECT_FALSE(read.capabilities.raw_packets);
  EXPECT_TRUE(read.capabilities.store_in_broker);
  EXPECT_EQ(read.capabilities.key_prefix, "fencepost");
}

TEST(EvidenceHead, WithoutPacketsNeedsNoRules) {
  EvidenceHead head = full_head();
  head.has_packets = false;
  const EvidenceHead read = read_again(head);
  EXPECT_FALSE(read.has_packets);
  EXPECT_THAT(read.cases, IsEmpty());
  EXPECT_THAT(read.requirements, IsEmpty());
  EXPECT_NE(read.run.cases, "");
}

TEST(EvidenceHead, LeavesOutNoCaseThatTheFileHas) {
  scenario::Library library = library_of({"one", "two", "three"});
  EvidenceHead head = read_again(full_head());
  head.run.context.selection = {};
  const auto found = [&](const std::vector<std::string>& in_file) {
    const LeftOut out = left_out(head, head.capabilities, library, [&](const scenario::Case& each) {
      return std::find(in_file.begin(), in_file.end(), each.id) != in_file.end();
    });
    return std::pair(out.by_its_head, out.by_new_rules);
  };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(found({"one", "two", "three"}), std::pair(Ids{}, Ids{}));
  head.run.context.selection.skip = {"one"};
  EXPECT_EQ(found({"one", "two"}), std::pair(Ids{"one"}, Ids{}));
  EXPECT_EQ(found({"two"}), std::pair(Ids{}, Ids{}));
  // A case that was another when the file was written may have been in the selection.
  head.cases["one"] = "another";
  EXPECT_EQ(found({"one", "two"}), std::pair(Ids{}, Ids{"one"}));
  head.run.context.selection = {};
  library.cases[1].requires_ = {"restart"};
  head.cases["two"] = "another";
  EXPECT_EQ(found({"two"}), std::pair(Ids{}, Ids{}));
  head.capabilities.disturbances.clear();
  EXPECT_EQ(found({"two"}), std::pair(Ids{}, Ids{"two"}));
}

TEST(EvidenceHead, NamesWhatDidNotPassAndIsNotJudgedAnyMore) {
  const auto found = [](const char* then, const char* now) {
    return no_longer_judged({{"a", then}}, {{"a", now}}).size();
  };
  for (const char* then : {"failed SET-NX-2", "inconclusive", "lost"}) {
    EXPECT_EQ(found(then, "passed"), 0U) << then;
    EXPECT_EQ(found(then, then), 0U) << then;
    EXPECT_EQ(found(then, "skipped"), 1U) << then;
    EXPECT_EQ(found(then, "not-run"), 0U) << then;
    EXPECT_THAT(no_longer_judged({{"a", then}}, {}), ElementsAre("a"));
  }
  EXPECT_EQ(found("passed", "skipped"), 0U);
  EXPECT_THAT(no_longer_judged({{"a", "passed"}, {"b", "skipped"}}, {}), IsEmpty());
}

// Files of older versions have none of these.
TEST(EvidenceHead, SaysOfWhichCasesSessionsAre) {
  const EvidenceHead head = read_again(full_head());  // of the cases one and two
  const NotJudged found =
      not_judged({"one/2", "after two/1", "one/1", "three/1", "", "after", "one"}, head);
  EXPECT_THAT(found.cases, ElementsAre("one", "two"));
  EXPECT_THAT(found.of_no_case, ElementsAre("three/1", "after"));
}

TEST(EvidenceHead, IsReadWithoutWhatCameLater) {
  json document = document_of(full_head());
  document["evidence"].erase("command");
  document["evidence"].erase("packets");
  document["evidence"]["capabilities"].erase("odd_packets");
  const auto read = read_evidence_head(document.dump());
  ASSERT_TRUE(read) << read.error();
  EXPECT_FALSE(read->capabilities.raw_packets);
  EXPECT_TRUE(read->has_packets);
}

TEST(EvidenceHead, SaysWhatToUseForEvidenceOfOtherCommands) {
  const std::pair<const char*, const char*> rows[] = {{"explore", "`fencepost explore --replay`"},
                                                      {"replay", "`fencepost replay`"},
                                                      {"stress", "`fencepost check`"},
                                                      {"x\x1b[m", "is judged"}};
  for (const auto& [command, instead] : rows) {
    json document = document_of(full_head());
    document["suite_version"] = "0.0.9";
    document["evidence"]["command"] = command;
    const auto read = read_evidence_head(document.dump());
    ASSERT_FALSE(read) << command;
    EXPECT_THAT(read.error(), HasSubstr("` of version 0.0.9, and only evidence of certify"));
    EXPECT_THAT(read.error(), HasSubstr(instead));
    EXPECT_THAT(read.error(), testing::Not(HasSubstr("\x1b")));
  }
}

TEST(EvidenceHead, SaysWhichMemberIsMissing) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"/unfinished", "/: has no member \"unfinished\""},
      {"/evidence", "/: has no member \"evidence\""},
      {"/evidence/run_id", "/evidence: has no member \"run_id\""},
      {"/evidence/capabilities", "/evidence: has no member \"capabilities\""},
      {"/evidence/case_digests", "/evidence: has no member \"case_digests\""},
      {"/evidence/requirement_digests", "/evidence: has no member \"requirement_digests\""}};
  const auto check = [](const std::string& pointer, const std::string& why) {
    json document = document_of(full_head());
    const json::json_pointer place(pointer);
    document.at(place.parent_pointer()).erase(place.back());
    const auto read = read_evidence_head(document.dump());
    ASSERT_FALSE(read) << pointer;
    EXPECT_EQ(read.error(), "its header cannot be read: " + why);
  };
  for (const auto& [pointer, why] : rows) check(pointer, why);
  for (const char* name : {"transport", "isolated_broker", "ephemeral", "exact_clock", "roles",
                           "client_ids", "restart", "key_prefix"}) {
    check(std::string("/evidence/capabilities/") + name,
          std::string("/evidence/capabilities: has no member \"") + name + "\"");
  }
}

TEST(EvidenceHead, SaysWhichMemberIsOfAnotherType) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"command", "a string"},
      {"packets", "true or false"},
      {"run_id", "a string"},
      {"expiry_tolerance_ms", "a whole number, 0 or greater"},
      {"disconnect_settling_ms", "a whole number, 0 or greater"},
      {"case_digests", "an object"},
      {"requirement_digests", "an object"},
      {"capabilities/transport", "true or false"},
      {"capabilities/isolated_broker", "true or false"},
      {"capabilities/durability", "a string"},
      {"capabilities/ephemeral", "true or false"},
      {"capabilities/exact_clock", "true or false"},
      {"capabilities/restart", "true or false"},
      {"capabilities/odd_packets", "true or false"},
      {"capabilities/store_in_broker", "true or false"},
      {"capabilities/key_prefix", "a string"},
      {"capabilities/client_ids", "an object"},
      {"capabilities/quota", "a whole number, 0 or greater"},
      {"capabilities/max_packet_size", "a whole number, 0 or greater"}};
  for (const auto& [name, wanted] : rows) {
    json document = document_of(full_head());
    document[json::json_pointer("/evidence/" + name)] = -1.5;
    const auto read = read_evidence_head(document.dump());
    ASSERT_FALSE(read) << name;
    EXPECT_EQ(read.error(), "its header cannot be read: /evidence/" + name + ": must be " + wanted +
                                ", not -1.5");
  }
  json document = document_of(full_head());
  document["evidence"]["capabilities"]["roles"] = json::array({1});
  EXPECT_THAT(read_evidence_head(document.dump()).error(),
              HasSubstr("/evidence/capabilities/roles"));
}

TEST(EvidenceHead, RefusesNumbersThatDoNotFit) {
  json document = document_of(full_head());
  document["evidence"]["capabilities"]["max_packet_size"] = 4'294'967'296;
  EXPECT_THAT(read_evidence_head(document.dump()).error(), HasSubstr("max_packet_size"));
  document = document_of(full_head());
  document["evidence"]["expiry_tolerance_ms"] = 2'147'483'647;
  EXPECT_TRUE(read_evidence_head(document.dump()));
  document["evidence"]["expiry_tolerance_ms"] = 2'147'483'648;
  EXPECT_THAT(read_evidence_head(document.dump()).error(), HasSubstr("expiry_tolerance_ms"));
}

TEST(EvidenceHead, RefusesWhatIsNoObject) {
  for (const char* text : {"", "{", "[]", "null", "1", "\"text\""}) {
    const auto read = read_evidence_head(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error(), "its header is not a JSON object");
  }
  const std::string text = document_of(full_head()).dump();
  for (std::size_t size = 0; size < text.size(); size += 7) {
    EXPECT_FALSE(read_evidence_head(text.substr(0, size)));
  }
}

TEST(EvidenceHead, RefusesValuesWithinValuesToNoEnd) {
  const std::string text = document_of(full_head()).dump();
  const auto nested = [&](std::size_t depth) {
    return std::string(text).insert(
        1, "\"own\":" + std::string(depth, '[') + std::string(depth, ']') + ",");
  };
  EXPECT_TRUE(read_evidence_head(nested(50)));
  EXPECT_EQ(read_evidence_head(nested(1'000'000)).error(),
            "its header cannot be read: its values are nested more than 100 deep");
}

// --- rules

TEST(EvidenceHead, TellsHowTheRulesHaveChanged) {
  EvidenceHead head = full_head();
  head = read_again(head);
  EXPECT_THAT(head.cases, SizeIs(2));
  EXPECT_THAT(head.requirements, SizeIs(testing::Gt(0U)));
  for (const auto& [id, digest] : head.cases) EXPECT_THAT(digest, SizeIs(16)) << id;
  const RulesSince same = rules_since(head, library_of({"two", "one"}));
  EXPECT_THAT(same.changed, IsEmpty());
  EXPECT_THAT(same.gone, IsEmpty());
  EXPECT_THAT(same.added, IsEmpty());

  scenario::Library now = library_of({"one", "three"});
  now.cases[0] = test::case_of({.id = "one", .steps = "- get: other\n  expect: missing\n"});
  const RulesSince since = rules_since(head, now);
  EXPECT_THAT(since.changed, ElementsAre("one"));
  EXPECT_THAT(since.gone, ElementsAre("two"));
  EXPECT_THAT(since.added, ElementsAre("three"));
}

TEST(EvidenceHead, TellsWhichRequirementsHaveChanged) {
  EvidenceHead head = read_again(full_head());
  head.requirements["R-MUST-1"] = "another digest";
  head.requirements["R-GONE-1"] = "its digest";
  head.requirements.erase("R-MUST-2");
  const RulesSince since = rules_since(head, library_of({"one", "two"}));
  EXPECT_THAT(since.changed, ElementsAre("R-MUST-1"));
  EXPECT_THAT(since.gone, ElementsAre("R-GONE-1"));
  EXPECT_THAT(since.added, ElementsAre("R-MUST-2"));
}

// --- verdicts

TEST(EvidenceHead, VerdictsNameTheirRule) {
  EXPECT_EQ(verdict_text({.verdict = Verdict::kPassed}), "passed");
  EXPECT_EQ(verdict_text({.verdict = Verdict::kPassed, .failure = {.requirement = "R"}}), "passed");
  EXPECT_EQ(verdict_text({.verdict = Verdict::kFailed, .failure = {.requirement = "R"}}),
            "failed R");
  EXPECT_EQ(verdict_text({.verdict = Verdict::kSkipped}), "skipped");
}

TEST(EvidenceHead, VerdictsComeBack) {
  const Sample sample = every_verdict();
  const std::map<std::string, std::string> texts = verdict_texts(sample.result);
  EXPECT_THAT(texts, SizeIs(sample.result.cases.size()));
  EXPECT_EQ(texts.at("bad"), "failed R-MUST-1");
  EXPECT_EQ(read_run_end(run_end_json({.verdicts = texts}))->verdicts, texts);
}

TEST(EvidenceHead, TheEndHasWhatClientsAtOnceHaveShown) {
  const RunEnd end{
      .verdicts = {{"one", "passed"}},
      .stress = run::StressResult{.workload = "everything",
                                  .clients = 16,
                                  .requests = 7,
                                  .findings = {{.requirement = "R-MUST-1", .text = "wrong"}},
                                  .command = "fencepost stress --endpoint inproc:"}};
  const auto read = read_run_end(run_end_json(end));
  ASSERT_TRUE(read) << read.error();
  ASSERT_TRUE(read->stress);
  EXPECT_EQ(read->stress->requests, 7U);
  ASSERT_THAT(read->stress->findings, SizeIs(1));
  EXPECT_EQ(read->stress->findings[0].requirement, "R-MUST-1");
  for (const std::string& without : {run_end_json({}), std::string()}) {
    const auto none = read_run_end(without);
    ASSERT_TRUE(none) << none.error();
    EXPECT_FALSE(none->stress);
  }
  EXPECT_THAT(read_run_end(R"({"stress": {"clients": "many"}})").error(),
              HasSubstr("its end cannot be read: "));
}

TEST(EvidenceHead, TheEndSaysWhyTheRunWasStopped) {
  const auto read =
      read_run_end(run_end_json({.stopped_because = "it is gone", .endpoint_lost = true}));
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->stopped_because, "it is gone");
  EXPECT_TRUE(read->endpoint_lost);
  EXPECT_FALSE(read_run_end(run_end_json({}))->endpoint_lost);
}

TEST(EvidenceHead, OfWhatAreNoVerdictsNothingIsRead) {
  for (const char* text : {"", "[]", "{}", R"({"verdicts": []})", R"({"verdicts": 1})"}) {
    EXPECT_THAT(read_run_end(text)->verdicts, IsEmpty()) << text;
  }
  EXPECT_THAT(read_run_end(R"({"verdicts": {"a": "passed", "b": 1}})")->verdicts,
              ElementsAre(Pair("a", "passed")));
}

TEST(EvidenceHead, OfARunThatWasKilledTheLastVerdictsCount) {
  const scenario::Library library = library_of({"one", "two", "three"});
  const auto line = [&](std::size_t index, Verdict verdict) {
    return case_json({.test_case = &library.cases[index],
                      .verdict = verdict,
                      .failure = {.requirement = verdict == Verdict::kPassed ? "" : "R-MUST-1"}},
                     false, true);
  };
  const Head head{.context = sample_context(), .call = {}};
  json unknown = json::parse(line(0, Verdict::kPassed));
  unknown["case"] = "never";
  json broken = json::parse(line(0, Verdict::kFailed));
  broken["verdict"] = "fine";
  const std::map<std::string, std::string> found =
      verdicts_so_far({line(0, Verdict::kInconclusive), line(1, Verdict::kFailed),
                       line(0, Verdict::kPassed), "{", "[]", "", unknown.dump(), broken.dump()},
                      head, library);
  EXPECT_THAT(found, ElementsAre(Pair("one", "passed"), Pair("two", "failed R-MUST-1")));
}

}  // namespace
}  // namespace fencepost::report
