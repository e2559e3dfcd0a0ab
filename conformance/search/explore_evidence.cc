#include "conformance/search/explore_evidence.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/glob.h"
#include "base/json_reader.h"
#include "conformance/run/time_limits.h"
#include "conformance/scenario/binding.h"
#include "workload/trace_text.h"

namespace fencepost::search {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

// How soon a key may expire that live requests rely on, and their way.
milliseconds short_expiry(endpoint::Duration round_trip) {
  constexpr milliseconds kShortest{300};
  constexpr int kRoundTrips = 30;
  const auto way = std::chrono::ceil<milliseconds>(round_trip * kRoundTrips);
  return std::max(kShortest, (way + milliseconds{99}) / 100 * 100);
}

// What a store is judged by must be known before it answers: where nothing is said, and nothing has
// shown (cli/observed_profile.h), it is the deployed service.
judge::OracleBasis oracle_basis_of(const run::RunSettings& settings,
                                   const scenario::Catalogue& catalogue) {
  const bool is_auto = settings.profile == codec::Profile::kAuto;
  const codec::Profile profile = is_auto ? codec::Profile::kDeployed : settings.profile;
  judge::OracleBasis out;
  out.waived = scenario::unsettled(catalogue, scenario::bases_of(profile, settings.wording));
  if (!is_auto) out.dialect = codec::dialects_of(profile).front();
  return out;
}

std::string dumped(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

JudgedRunOptions judged_runs(const JudgedRunsBasis& basis) {
  JudgedRunOptions out;
  const run::RunSettings& settings = basis.settings;
  out.oracle.clock = settings.clock_bounds;
  out.oracle.expiry_slack = settings.expiry_tolerance;
  out.oracle.disconnect_settling = settings.disconnect_settling;
  out.oracle.basis = oracle_basis_of(settings, basis.catalogue);
  out.oracle.limited = !basis.offers.ephemeral && basis.offers.transport;
  out.timeout = run::scaled(run::kReplyTimeout, basis.timeout_scale);
  out.acknowledged_within = run::scaled(run::kStandstill, basis.timeout_scale);
  if (basis.offers.transport) out.short_expiry = short_expiry(basis.round_trip);
  out.removes_keys = basis.offers.transport && !basis.offers.ephemeral;
  return out;
}

bool is_ignored(const std::vector<std::string>& globs, const judge::Judgement& judgement) {
  const std::string all = judgement.requirement + ": " + judgement.because;
  return std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
    return glob_matches(glob, judgement.requirement) || glob_matches(glob, all);
  });
}

std::string verdict_text(const JudgedRun& run) {
  if (run.rejection) {
    return fmt::format("rejected {} at operation {}", run.rejection->judgement.requirement,
                       run.rejection->operation + 1);
  }
  if (run.stopped) return "stopped";
  return run.lost ? "cut short" : "accepted";
}

std::string to_json(const ExploreEvidence& own) {
  return dumped({{"ignore", own.ignore}, {"replays", own.replays}});
}

Result<ExploreEvidence, std::string> read_explore_evidence(const std::string& text) {
  const json document = read_json(text);
  if (!document.is_object()) return fail(std::string("it does not say what it ignores"));
  JsonComplaint complaint;
  const JsonMembers root(document, "", complaint);
  ExploreEvidence out{.ignore = root.texts("ignore"), .replays = root.flag("replays")};
  if (complaint.any()) return fail(complaint.text());
  return out;
}

std::string observed_profile_json(codec::Profile profile) {
  return dumped(std::string(codec::name(profile)));
}

std::optional<codec::Profile> read_observed_profile(const std::string& text) {
  const json document = read_json(text);
  if (!document.is_string()) return std::nullopt;
  return codec::profile_named(document.get<std::string>());
}

std::string kept_run_json(const KeptRun& kept) {
  json out{{"trace", workload::to_text(kept.trace)}, {"verdict", verdict_text(kept.run)}};
  if (!kept.known.empty()) out["known"] = kept.known;
  if (kept.run.stopped) out["stop_asked"] = kept.run.stop_asked;
  return dumped(out);
}

Result<KeptRunText, std::string> read_kept_run(const std::string& text) {
  const json document = read_json(text);
  if (!document.is_object()) return fail(std::string("it is not there"));
  JsonComplaint complaint;
  const JsonMembers root(document, "", complaint);
  KeptRunText out{.verdict = root.text("verdict")};
  if (root.has("known")) {
    for (std::string& each : root.texts("known")) out.known.insert(std::move(each));
  }
  if (root.has("stop_asked")) out.stop_asked = root.integer<std::size_t>("stop_asked");
  auto trace = workload::parse_trace(root.text("trace"));
  if (complaint.any()) return fail(complaint.text());
  if (!trace) return fail(trace.error());
  out.trace = std::move(*trace);
  return out;
}

}  // namespace fencepost::search
