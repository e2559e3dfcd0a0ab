#include "selftest/selftest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/gate.h"
#include "endpoint/in_process.h"
#include "selftest/canary.h"
#include "suite/scenario/scenario_loader.h"
#include "suite/testing/built_in_library.h"

namespace fencepost::selftest {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<scenario::Case> cases(const std::string& text) {
  std::vector<scenario::LoadError> errors;
  std::vector<scenario::Case> out = load_scenario(
      {"t.yaml", text}, {"SET-NX-2", "SET-WRITE-1", "NTF-SEND-1", "GET-MISS-1"}, errors);
  for (const scenario::LoadError& error : errors) ADD_FAILURE() << describe(error);
  return out;
}

// NX on an existing key; `requirement` is what it cites.
std::vector<scenario::Case> nx_case(const std::string& requirement) {
  return cases("area: t\ncases:\n  - id: nx\n    title: NX\n    requirements: [" + requirement +
               "]\n    divergence: [set-not-applied]\n    steps:\n"
               "      - set: {key: k, value: one}\n        expect: ok\n"
               "      - set: {key: k, value: two, options: [NX]}\n        expect: not-applied\n");
}

Result<Subject, std::string> open_store(const store::Fault* fault, codec::DialectId dialect,
                                        std::uint64_t seed) {
  endpoint::MakeStore make;
  if (fault != nullptr) {
    make = [fault, seed](const store::ServiceOptions& o) { return fault->make(o, seed); };
  }
  Subject subject;
  subject.endpoint = endpoint::make_in_process_endpoint(
      {.service = {.dialect = dialect}, .make_store = std::move(make)});
  return subject;
}

json without_times(json value) {
  if (value.is_object()) {
    for (auto each = value.begin(); each != value.end();) {
      const bool is_time = each.key().ends_with("_ms") || each.key().ends_with("_s") ||
                           each.key().find("duration") != std::string::npos;
      each = is_time ? value.erase(each) : std::next(each);
    }
  }
  if (value.is_structured()) {
    for (json& each : value) each = without_times(std::move(each));
  }
  return value;
}

SelftestResult run(const std::vector<scenario::Case>& library, const std::string& only,
                   const OpenSubject& open = open_store, bool stopped = false) {
  const std::atomic<bool> stop{stopped};
  return run_selftest(library, scenario::Catalogue{}, open,
                      {.dialects = {codec::DialectId::kDeployed}, .only = {only}}, stop,
                      [](std::size_t, std::size_t, const std::string&) {});
}

TEST(Selftest, CatchesAFaultWithACaseThatCitesWhatItBreaks) {
  const std::vector<scenario::Case> library = nx_case("SET-NX-2");
  const SelftestResult result = run(library, "nx-overwrites");
  ASSERT_THAT(result.faults, SizeIs(1));
  EXPECT_THAT(result.faults[0].detecting, ElementsAre(&library[0]));
  EXPECT_TRUE(result.faults[0].as_it_should_be());
  EXPECT_GT(result.faults[0].time_to_kill.count(), 0);
  EXPECT_TRUE(result.proved());
}

// What a store must say differently, it does to some cases and not to others.
TEST(Selftest, SaysTheSameWhetherCasesAreSparedOrNot) {
  scenario::Library library = test::built_in_library();
  std::erase_if(library.cases, [](const scenario::Case& each) {
    return !each.id.starts_with("set.") && !each.id.starts_with("states.") &&
           !each.id.starts_with("lock.");
  });
  library.cases.resize(all_or_in_gate<std::size_t>(library.cases.size(), 41));
  ASSERT_GT(library.cases.size(), 40U);
  const auto run_of = [&](bool every_case) {
    const std::atomic<bool> stop{false};
    const SelftestResult result =
        run_selftest(library.cases, library.catalogue, open_store,
                     {.only = all_or_in_gate<std::vector<std::string>>(
                          {"S01", "X01", "V01", "B02", "B10", "B16", "B20"}, {"S01"}),
                      .jobs = 2,
                      .every_case = every_case},
                     stop, [](std::size_t, std::size_t, const std::string&) {});
    json out = json::parse(selftest_json(result, 1));
    return without_times(std::move(out));
  };
  EXPECT_EQ(run_of(false), run_of(true));
}

TEST(Selftest, SaysHowWellAReportNamesTheFault) {
  const std::vector<scenario::Case> library = nx_case("SET-NX-2");
  const SelftestResult result = run(library, "nx-overwrites");
  ASSERT_THAT(result.faults, SizeIs(1));
  const Diagnosis& diagnosis = result.faults[0].diagnosis;
  EXPECT_THAT(diagnosis.rules, ElementsAre("SET-NX-2"));
  EXPECT_TRUE(diagnosis.right);
  EXPECT_EQ(diagnosis.failures, 1U);
  EXPECT_EQ(diagnosis.attributed, 1U);
  const json out = json::parse(selftest_json(result, 7));
  EXPECT_EQ(out["diagnosis"], json::parse(R"({"right": 1, "total": 1, "failures": 1, "charged": 1,
                                              "differences_median": 1, "differences_most": 1,
                                              "rules": 0, "rules_never_charged": []})"));
  EXPECT_EQ(out["faults"][0]["dialects"]["deployed"]["diagnosis"],
            json::parse(R"({"rules": ["SET-NX-2"], "right": true, "failures": 1, "charged": 1})"));
}

TEST(Selftest, DoesNotCountACaseThatFailsForAnotherRule) {
  const std::vector<scenario::Case> library = nx_case("SET-WRITE-1");
  const SelftestResult result = run(library, "nx-overwrites");
  ASSERT_THAT(result.faults, SizeIs(1));
  EXPECT_THAT(result.faults[0].detecting, IsEmpty());
  EXPECT_THAT(result.faults[0].non_detecting, ElementsAre(&library[0]));
  EXPECT_FALSE(result.faults[0].as_it_should_be());
  EXPECT_FALSE(result.proved());
}

TEST(Selftest, ExcusesNoFaultInProcess) {
  const std::vector<scenario::Case> library = nx_case("SET-NX-2");
  EXPECT_FALSE(run(library, "lost-update").proved());
  EXPECT_FALSE(run(library, "px-ignored").proved());
}

TEST(Selftest, RefusesACaseThatANullStorePasses) {
  const std::vector<scenario::Case> library = cases(
      "area: t\ncases:\n  - id: easy\n    title: Easy\n    requirements: [SET-WRITE-1]\n"
      "    steps:\n      - set: {key: k, value: one}\n        expect: ok\n");
  const SelftestResult result = run(library, "always-ok");
  ASSERT_THAT(result.nulls, SizeIs(1));
  EXPECT_THAT(result.nulls[0].passes, ElementsAre(&library[0]));
  EXPECT_FALSE(result.proved());
  EXPECT_TRUE(run(library, "silent").proved());
}

TEST(Selftest, RefusesAReferenceThatFails) {
  const store::Fault* broken = store::find_fault("nx-overwrites");
  const auto open = [broken](const store::Fault*, codec::DialectId dialect, std::uint64_t seed) {
    return open_store(broken, dialect, seed);
  };
  const SelftestResult result = run(nx_case("SET-NX-2"), "none", open);
  ASSERT_THAT(result.references, SizeIs(1));
  EXPECT_FALSE(result.references[0].as_it_should_be());
  // The wrong expectation `ok` is what such a store answers: its canary does not turn red.
  EXPECT_THAT(result.canary_survivors, SizeIs(1));
  EXPECT_FALSE(result.proved());
}

TEST(Selftest, SaysWhyAStoreCouldNotBeOpened) {
  const auto closed = [](const store::Fault*, codec::DialectId,
                         std::uint64_t) -> Result<Subject, std::string> {
    return fail(std::string("no broker"));
  };
  const SelftestResult result = run(nx_case("SET-NX-2"), "nx-overwrites", closed);
  ASSERT_THAT(result.faults, SizeIs(1));
  EXPECT_EQ(result.faults[0].error, "no broker");
  EXPECT_FALSE(result.proved());
}

TEST(Selftest, ProvesNothingWhenItWasStopped) {
  const SelftestResult result = run(nx_case("SET-NX-2"), "nx-overwrites", open_store, true);
  EXPECT_TRUE(result.interrupted);
  EXPECT_FALSE(result.proved());
}

TEST(Selftest, ReportsScoresAndTheKillMatrix) {
  const std::vector<scenario::Case> library = nx_case("SET-NX-2");
  const json out = json::parse(selftest_json(run(library, "nx-overwrites"), 7));
  EXPECT_EQ(out["seed"], 7);
  EXPECT_EQ(out["proved"], true);
  EXPECT_EQ(out["score"]["faults"], json::parse(R"({"as_they_should_be": 1, "total": 1,
                                                         "stores_as_they_should_be": 1,
                                                         "stores": 1})"));
  EXPECT_EQ(out["score"]["canaries"], json::parse(R"({"red": 2, "planted": 2})"));
  EXPECT_EQ(out["areas"]["S"], json::parse(R"({"name": "SET, NX, NEX", "caught": 1,
                                                 "total": 1, "needs_concurrency": 0})"));
  EXPECT_EQ(out["faults"][0]["id"], "S01");
  EXPECT_EQ(out["faults"][0]["dialects"]["deployed"]["killers"], json::parse("[0]"));
  EXPECT_EQ(out["faults"][0]["dialects"]["deployed"]["first_killer"], 0);
  EXPECT_EQ(out["cases"][0]["id"], "nx");
}

// ---- canaries

constexpr const char* kRich = R"(area: t
cases:
  - id: rich
    title: Everything that can be expected
    requirements: [SET-WRITE-1, NTF-SEND-1]
    divergence: [delete-operation]
    clients: {a: {}, b: {observes: true}}
    steps:
      - keynotify: {key: k, client: b}
        expect:
          {reply: ok, properties: {__stat: "200"}, content_type: application/octet-stream,
           payload_format: 0}
      - set: {key: k, value: one}
        expect: {reply: ok, ts: {save: v1, greater_than: [sent]}}
      - notification: {client: b, key: k, operation: set, value: one, ts: {equals: v1}, qos: 1}
      - get: k
        expect: {reply: {value: one}, ts: {equals: v1}}
      - set: {key: k, value: two}
        expect: {reply: ok, ts: {save: v2, greater_than: [v1]}}
      - notification: {client: b, key: k, operation: set}
      - del: k
        expect: {reply: {count: 1}, ts: present}
      - notification: {client: b, key: k, operation: delete}
      - silence: {client: b, writer: a}
      - pipeline:
          - get: k
            expect: {reply: missing, ts: absent}
          - send: {command: [FLY]}
            expect: {reply: {error: unknown-command}}
)";

TEST(Canaries, ArePlantedForEveryExpectation) {
  std::vector<std::string> what;
  const std::vector<scenario::Case> library = cases(kRich);
  for (const Canary& canary : make_canaries(library.at(0))) what.push_back(canary.what);
  EXPECT_THAT(what,
              ElementsAre("step 1: reply", "step 1: property __stat", "step 1: content type",
                          "step 1: payload format", "step 2: reply", "step 2: version present",
                          "step 2: version greater than sent", "step 3: key", "step 3: operation",
                          "step 3: value", "step 3: version present", "step 3: version equals v1",
                          "step 3: qos", "step 4: reply", "step 4: version present",
                          "step 4: version equals v1", "step 5: reply", "step 5: version present",
                          "step 5: version greater than v1", "step 6: key", "step 6: operation",
                          "step 7: reply", "step 7: version present", "step 8: key",
                          "step 8: operation", "step 9: silence", "step 10: request 1: reply",
                          "step 10: request 1: version absent", "step 10: request 2: reply"));
}

TEST(Canaries, AllFailAgainstAConformingStore) {
  const SelftestResult result = run(cases(kRich), "none");
  EXPECT_EQ(result.canaries, 29U);
  EXPECT_THAT(result.canary_survivors, IsEmpty());
  EXPECT_TRUE(result.proved());
}

}  // namespace
}  // namespace fencepost::selftest
