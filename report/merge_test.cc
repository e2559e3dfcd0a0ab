#include "report/merge.h"

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::report {
namespace {

using namespace test;  // made for this test
using namespace std::chrono_literals;
using codec::DialectId;
using codec::Verb;
using nlohmann::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr std::size_t kCases = 24;

// Cases on refusals, of which each seventh fails and each fifth warns on the conforming store.
scenario::Library sample_library() {
  scenario::Library out;
  out.catalogue = catalogue();
  for (std::size_t i = 0; i < kCases; ++i) {
    const bool fails = i % 7 == 6;
    const bool warns = i % 5 == 4 && !fails;
    out.cases.push_back(case_of(
        {.id = fmt::format("nx-{:02}", i),
         .requirements = warns ? "R-SHOULD-1" : "R-MUST-1",
         .more = "divergence: [set-not-applied]",
         .steps = std::string("- set: {key: k, value: \"v\"}\n") + "  expect: ok\n" +
                  "- set: {key: k, value: \"w\", options: [NX]}\n" + "  expect: not-applied\n" +
                  (fails || warns ? "- get: k\n  expect: missing\n" : "")}));
  }
  return out;
}

// The conforming store, which speaks another dialect to every second case: that depends on the case
// alone, however the cases are put together.
Behaviour of_two_dialects() {
  return changed(reference_store(), [](const Published& request, Effects& effects) {
    const char parity = request.client_id[request.client_id.rfind('-') - 1];  // of the case's hash
    for (Effect& effect : effects) {
      auto* received = std::get_if<endpoint::MessageReceived>(&effect.what);
      const bool odd = std::string_view("13579bdf").find(parity) != std::string_view::npos;
      if (odd && received != nullptr && received->message.payload == ":-1\r\n") {
        received->message.payload = "-1\r\n";
      }
    }
  });
}

struct Shard {
  std::size_t index = 1;
  std::size_t of = 1;
};

Report run_shard(const scenario::Library& library, const Behaviour& behaviour, Shard shard,
                 std::uint64_t seed = 7) {
  Report report{.file = fmt::format("s{}.json", shard.index), .result = {}, .context = {}};
  report.context = {.endpoint = "mqtt://host:1883",
                    .seed = seed,
                    .command = fmt::format("fencepost certify --seed {}", seed),
                    .started = fmt::format("2026-01-01T00:00:{:02}Z", 10 + shard.index),
                    .preflight = {.round_trip_p50 = 1ms * shard.index,
                                  .round_trip_p99 = 9ms - 1ms * shard.index,
                                  .clock_offset_ms = -static_cast<std::int64_t>(shard.index)},
                    .selection = {.shard = shard.index, .shards = shard.of}};
  FakeEndpoint endpoint({.behaviour = behaviour});
  const std::atomic<bool> stop{false};
  report.result =
      run::run_suite(endpoint, select(library.cases, report.context.selection), library.catalogue,
                     {.settings = settings()}, stop, [](const auto&, auto, auto) {});
  return report;
}

std::vector<Report> run_shards(const scenario::Library& library, const Behaviour& behaviour,
                               std::size_t count) {
  std::vector<Report> out;
  for (std::size_t i = count; i > 0; --i) {  // in no particular order
    out.push_back(run_shard(library, behaviour, {i, count}));
  }
  return out;
}

Report merged(const std::vector<Report>& reports, const scenario::Library& library) {
  auto out = merge_reports(reports, library);
  if (out) return std::move(*out);
  ADD_FAILURE() << out.error();
  return {};
}

// The report without what is known to differ: times, versions, what it was made of, and that a
// merged one knows how many cases there are.
json comparable(const Report& report, const scenario::Library& library) {
  json out = json::parse(to_json(report.result, library.catalogue, report.context));
  for (const char* member :
       {"parts", "duration_ms", "started", "latency_ms", "clock_offset_ms", "selected"}) {
    out.erase(member);
  }
  for (json& entry : out["cases"]) {
    entry.erase("duration_ms");
    entry.erase("transcript");
  }
  return out;
}

TEST(Merge, HasAllTranscriptsWhenAllReportsHaveThem) {
  const scenario::Library library = sample_library();
  std::vector<Report> reports = run_shards(library, reference_store(), 2);
  EXPECT_EQ(merged(reports, library).context.transcripts, Transcripts::kAll);
  reports[1].context.transcripts = Transcripts::kFailures;
  EXPECT_EQ(merged(reports, library).context.transcripts, Transcripts::kFailures);
}

TEST(Merge, SaysWhatOneRunOfAllCasesSays) {
  const scenario::Library library = sample_library();
  for (const Behaviour& behaviour :
       {reference_store(), of_two_dialects(), always("+OK\r\n"), reference_store({})}) {
    const json whole = comparable(run_shard(library, behaviour, {}), library);
    for (const std::size_t count : {1U, 2U, 4U}) {
      const Report parts = merged(run_shards(library, behaviour, count), library);
      EXPECT_EQ(comparable(parts, library), whole) << count << " shards";
      EXPECT_EQ(parts.result.cases.size(), kCases);
    }
  }
}

// Each shard alone is consistent.
TEST(Merge, FindsFormsThatAreMixedBetweenTheShards) {
  const scenario::Library library = sample_library();
  const std::vector<Report> shards = run_shards(library, of_two_dialects(), 2);
  for (const Report& report : shards) EXPECT_NE(observed_dialect(report.result), "mixed");
  const Report report = merged(shards, library);
  EXPECT_EQ(observed_dialect(report.result), "mixed");
  EXPECT_EQ(report.result.cases[0].failure.message,
            "the endpoint mixes both forms of set-not-applied");
}

// Each shard has failed a case of its own; together they have one too many.
TEST(Merge, FailsOneCaseForMixedForms) {
  const scenario::Library library = sample_library();
  const std::vector<Report> shards = run_shards(library, of_two_dialects(), 1);
  std::vector<Report> halves = {shards[0], shards[0]};
  for (std::size_t i = 0; i < 2; ++i) {
    halves[i].context.selection = {.shard = i + 1, .shards = 2};
    halves[i] = run_shard(library, reference_store(), {i + 1, 2});
    auto& cases = halves[i].result.cases;
    cases[0].forms = {{codec::Divergence::kSetNotApplied, DialectId::kDocumented}};
    run::summarize(halves[i].result, library.catalogue, false);
    EXPECT_EQ(observed_dialect(halves[i].result), "mixed");
  }
  const Report report = merged(halves, library);
  std::size_t first_cases = 0;
  for (const run::CaseResult& entry : report.result.cases) {
    first_cases += entry.failure.requirement == "RESP-INVALID-1" ? 1U : 0U;
  }
  EXPECT_EQ(first_cases, 1U);
}

TEST(Merge, NamesMissingShards) {
  const scenario::Library library = sample_library();
  std::vector<Report> reports;
  for (const std::size_t i : {1U, 3U}) {
    reports.push_back(run_shard(library, reference_store(), {i, 4}));
  }
  const Report report = merged(reports, library);
  ASSERT_EQ(report.result.cases.size(), kCases);
  std::size_t missing = 0;
  for (std::size_t i = 0; i < kCases; ++i) {
    const run::CaseResult& entry = report.result.cases[i];
    EXPECT_EQ(entry.test_case, &library.cases[i]);
    const std::size_t shard = stable_hash(entry.test_case->id) % 4 + 1;
    EXPECT_EQ(entry.verdict == run::Verdict::kNotRun, shard % 2 == 0);
    if (entry.verdict != run::Verdict::kNotRun) continue;
    ++missing;
    EXPECT_EQ(entry.failure.message, fmt::format("shard {} of 4 is missing", shard));
  }
  EXPECT_EQ(report.result.summary.not_run, missing);
  EXPECT_THAT(report.context.stopped_because,
              testing::MatchesRegex("shard 2 of 4 is missing \\([0-9]+ cases\\); "
                                    "shard 4 of 4 is missing \\([0-9]+ cases\\)"));
}

TEST(Merge, IsInconclusiveWhenAShardIsMissingAndNothingFailed) {
  scenario::Library library = sample_library();
  std::erase_if(library.cases,
                [](const scenario::Case& test_case) { return test_case.steps.size() > 2; });
  const std::vector<Report> one = {run_shard(library, reference_store(), {2, 2})};
  EXPECT_EQ(exit_code(one[0].result), run::ExitCode::kConformant);
  EXPECT_EQ(exit_code(merged(one, library).result), run::ExitCode::kInconclusive);
}

TEST(Merge, SaysThatAShardIsNotComplete) {
  const scenario::Library library = sample_library();
  std::vector<Report> reports = run_shards(library, reference_store(), 2);
  const std::string id = reports[0].result.cases.back().test_case->id;
  reports[0].result.cases.pop_back();
  const Report report = merged(reports, library);
  EXPECT_EQ(report.context.stopped_because, "shard 2 of 2 is not complete (1 cases)");
  EXPECT_EQ(report.result.summary.not_run, 1U);
}

TEST(Merge, KeepsWhatStoppedEachRun) {
  const scenario::Library library = sample_library();
  std::vector<Report> reports = run_shards(library, reference_store(), 3);
  reports[0].result.interrupted = true;
  reports[0].context.stopped_because = "interrupted";
  reports[1].result.endpoint_lost = true;
  reports[1].result.lost_message = "no answer";
  reports[1].context.stopped_because = "the endpoint was lost";
  reports[2].result.baseline_errors = {"x", "y"};
  reports[1].result.baseline_errors = {"x"};
  const Report report = merged(reports, library);
  EXPECT_TRUE(report.result.interrupted);
  EXPECT_TRUE(report.result.endpoint_lost);
  EXPECT_EQ(report.result.lost_message, "no answer");
  EXPECT_EQ(report.context.stopped_because,
            "shard 2 of 3 (s2.json): the endpoint was lost; shard 3 of 3 (s3.json): interrupted");
  EXPECT_THAT(report.result.baseline_errors, testing::UnorderedElementsAre("x", "y"));
}

// certify ends with exit code 5 there; of the whole, nothing is missing.
TEST(Merge, TakesAShardThatNoCaseFallsIntoForComplete) {
  const scenario::Library library = sample_library();
  Report empty{.file = "s2.json", .result = {}, .context = {}};
  std::vector<Report> reports = {run_shard(library, reference_store(), {1, 2})};
  empty.context = reports[0].context;
  for (Report* report : {&reports[0], &empty}) {
    report->context.selection.run = {reports[0].result.cases[0].test_case->id};
  }
  reports[0].result.cases.resize(1);
  empty.context.selection.shard = 2;
  empty.context.stopped_because = "no case selected";
  reports.push_back(empty);
  const Report report = merged(reports, library);
  EXPECT_THAT(report.result.cases, SizeIs(1));
  EXPECT_EQ(report.context.stopped_because, "");
}

TEST(Merge, KeepsTheCommandOfEachRun) {
  const scenario::Library library = sample_library();
  const std::vector<Report> reports = {run_shard(library, reference_store(), {2, 2}, 8),
                                       run_shard(library, reference_store(), {1, 2}, 7)};
  const Report report = merged(reports, library);
  EXPECT_EQ(report.context.seed, 7U);
  for (const run::CaseResult& entry : report.result.cases) {
    const std::size_t seed = 7 + stable_hash(entry.test_case->id) % 2;
    EXPECT_EQ(reproduce_command(report.context, entry),
              fmt::format("fencepost certify --seed {} --run {}", seed, entry.test_case->id));
  }
  ASSERT_THAT(report.context.parts, SizeIs(2));
  EXPECT_EQ(report.context.parts[0].file, "s1.json");
  EXPECT_EQ(report.context.parts[1].seed, 8U);
  EXPECT_EQ(report.context.parts[1].exit_code, static_cast<int>(exit_code(reports[0].result)));
}

TEST(Merge, TakesTheRunsToHaveBeenAtTheSameTime) {
  const scenario::Library library = sample_library();
  std::vector<Report> reports = run_shards(library, reference_store(), 3);
  reports[0].result.duration = 5s;
  reports[1].result.duration = 7s;
  reports[2].result.duration = 6s;
  reports[1].result.longest_wait = 4s;
  const Report report = merged(reports, library);
  EXPECT_EQ(report.result.duration, 7s);
  EXPECT_EQ(report.result.longest_wait, 4s);
  EXPECT_EQ(report.context.started, "2026-01-01T00:00:11Z");
  EXPECT_EQ(report.context.preflight.round_trip_p50, 3ms);
  EXPECT_EQ(report.context.preflight.round_trip_p99, 8ms);
  EXPECT_EQ(report.context.preflight.clock_offset_ms, -3);
  EXPECT_EQ(report.context.selection.shard, 1U);
  EXPECT_EQ(report.context.selection.shards, 1U);
}

TEST(Merge, RefusesWhatDoesNotBelongTogether) {
  const scenario::Library library = sample_library();
  const std::vector<Report> good = run_shards(library, reference_store(), 2);  // shard 2, shard 1
  const std::string start = "s2.json and s1.json are of different runs: ";
  struct Row {
    std::function<void(Report&)> change;  // of shard 1
    std::string error;
  };
  const Row table[] = {
      {[](Report& report) { report.context.endpoint = "embedded"; },
       start + "the endpoint is mqtt://host:1883 in the first and embedded in the second"},
      {[](Report& report) { report.context.profile = codec::Profile::kDeployed; },
       start + "the profile is auto in the first and deployed in the second"},
      {[](Report& report) { report.context.strict = true; },
       start + "--strict is off in the first and on in the second"},
      {[](Report& report) { report.context.selection.run = {"a*"}; },
       start + "the selection is no selection in the first and --run 'a*' in the second"},
      {[](Report& report) { report.context.selection.requirements = {"R"}; },
       start + "the selection is no selection in the first and --requirement 'R' in the second"},
      {[](Report& report) { report.context.selection.shards = 3; },
       start + "the number of shards is 2 in the first and 3 in the second"},
      {[](Report& report) { report.context.selection.shard = 2; },
       "s2.json and s1.json are both of shard 2 of 2"},
      {[](Report& report) { report.context.parts.resize(1); },
       "s1.json was written by merge; name the reports that it was made of"},
      {[&](Report& report) { report.result.cases[0] = good[0].result.cases[0]; },
       "s1.json has the case " + good[0].result.cases[0].test_case->id +
           ", which is not of its shard 1 of 2 (no selection)"},
      {[](Report& report) { report.result.cases[1] = report.result.cases[0]; },
       "the case " + good[1].result.cases[0].test_case->id + " is in s1.json and in s1.json"}};
  for (const Row& row : table) {
    std::vector<Report> reports = good;
    row.change(reports[1]);
    const auto out = merge_reports(reports, library);
    EXPECT_EQ(out ? "merged" : out.error(), row.error);
  }
  EXPECT_FALSE(merge_reports({}, library));
}

}  // namespace
}  // namespace fencepost::report
