#include "report/evidence_head.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/json_reader.h"
#include "report/phases.h"
#include "report/report_json.h"
#include "report/report_read.h"
#include "suite/run/capability.h"
#include "suite/run/selection.h"
#include "suite/run/time_limits.h"
#include "suite/scenario/digest.h"

namespace fencepost::report {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

// Enough to know a change by; the digest of all is whole.
constexpr std::size_t kShortDigest = 16;
// Earlier versions wrote evidence of other commands, too.
constexpr const char* kOurs = "certify";

ordered_json call_json(const Call& call, const std::string& cases) {
  ordered_json files = ordered_json::object();
  for (const ReportKind& kind : report_kinds()) {
    if (const std::string& path = call.files.of(kind.name); !path.empty()) files[kind.name] = path;
  }
  return {{"cases", cases},
          {"url", call.url},
          {"descriptor", call.descriptor},
          {"scenarios", call.scenarios},
          {"driver", call.driver},
          {"baseline", call.baseline},
          {"shuffled", call.shuffled},
          {"timeout_scale", call.timeout_scale},
          {"reports", std::move(files)}};
}

Call call_of(const JsonMembers& record) {
  Call out{.url = record.text("url"),
           .descriptor = record.text("descriptor"),
           .scenarios = record.text("scenarios"),
           .driver = record.text("driver"),
           .baseline = record.text("baseline"),
           .shuffled = record.flag("shuffled")};
  const json* scale = record.find("timeout_scale");
  if (scale != nullptr && scale->is_number() && scale->get<double>() > 0 &&
      scale->get<double>() <= run::kMaxTimeoutScale) {
    out.timeout_scale = scale->get<double>();
  } else {
    record.wrong("timeout_scale",
                 fmt::format("a number greater than 0, at most {}", run::kMaxTimeoutScale));
  }
  const JsonMembers files = record.object("reports");
  for (const ReportKind& kind : report_kinds()) {
    out.files.set(kind.name, files.text_if_there(kind.name));
  }
  return out;
}

ordered_json capabilities_json(const endpoint::Capabilities& offered) {
  ordered_json out = {{"transport", offered.transport},
                      {"isolated_broker", offered.has_isolated_broker},
                      {"ephemeral", offered.ephemeral},
                      {"exact_clock", offered.exact_clock},
                      {"roles", offered.roles},
                      {"client_ids", offered.client_ids},
                      {"key_prefix", offered.key_prefix},
                      {"odd_packets", offered.raw_packets},
                      {"store_in_broker", offered.store_in_broker}};
  for (const std::string_view name : endpoint::kDisturbanceNames) {
    out[std::string(name)] = offered.disturbances.contains(name);
  }
  out["durability"] = name(offered.durability);
  if (offered.quota) out["quota"] = *offered.quota;
  if (offered.max_packet_size) out["max_packet_size"] = *offered.max_packet_size;
  return out;
}

std::map<std::string, std::string> texts_of(const JsonMembers& parent, const char* name) {
  std::map<std::string, std::string> out;
  const json* object = parent.find(name);
  if (object == nullptr || !object->is_object()) {
    parent.wrong(name, "an object");
    return out;
  }
  for (const auto& [key, value] : object->items()) {
    if (value.is_string()) out[key] = value.get<std::string>();
  }
  return out;
}

endpoint::Capabilities capabilities_of(const JsonMembers& record) {
  endpoint::Capabilities out;
  out.transport = record.flag("transport");
  out.has_isolated_broker = record.flag("isolated_broker");
  out.ephemeral = record.flag("ephemeral");
  out.exact_clock = record.flag("exact_clock");
  out.roles = record.texts("roles");
  out.client_ids = texts_of(record, "client_ids");
  for (const std::string_view name : endpoint::kDisturbanceNames) {
    const std::string member(name);
    // Heads of all versions know this one.
    const bool known = name == endpoint::kRestartOfBroker.name || record.has(member.c_str());
    if (known && record.flag(member.c_str())) out.disturbances.insert(member);
  }
  if (record.has("durability")) {
    const auto declared = endpoint::durability_named(record.text("durability"));
    if (!declared) record.wrong("durability", "none, restart, kill or failover");
    out.durability = declared.value_or(endpoint::Durability::kNone);
  }
  out.raw_packets = record.flag_if_there("odd_packets");
  if (record.has("store_in_broker")) out.store_in_broker = record.flag("store_in_broker");
  out.key_prefix = record.text("key_prefix");
  if (record.has("quota")) out.quota = record.integer<std::size_t>("quota");
  if (record.has("max_packet_size")) {
    out.max_packet_size = record.integer<std::uint32_t>("max_packet_size");
  }
  return out;
}

std::optional<std::chrono::milliseconds> time_of(const JsonMembers& record, const char* name) {
  if (!record.has(name)) return std::nullopt;
  return std::chrono::milliseconds{record.integer<int>(name)};
}

std::string short_digest(const std::string& digest) { return digest.substr(0, kShortDigest); }

std::map<std::string, std::string> case_digests(const scenario::Library& library) {
  std::map<std::string, std::string> out;
  for (const scenario::Case& each : library.cases) {
    out[each.id] = short_digest(scenario::digest(each));
  }
  return out;
}

std::map<std::string, std::string> requirement_digests(const scenario::Library& library) {
  std::map<std::string, std::string> out;
  for (const scenario::Requirement& each : library.catalogue.all()) {
    out[each.id] = short_digest(scenario::digest(each));
  }
  return out;
}

void compare(const std::map<std::string, std::string>& before,
             const std::map<std::string, std::string>& now, RulesSince& out) {
  for (const auto& [id, digest] : before) {
    const auto found = now.find(id);
    if (found == now.end()) {
      out.gone.push_back(id);
    } else if (found->second != digest) {
      out.changed.push_back(id);
    }
  }
  for (const auto& [id, digest] : now) {
    if (!before.contains(id)) out.added.push_back(id);
  }
}

// Errors go to the diagnostic of `root`.
Head head_of(const JsonMembers& root) {
  Head out;
  out.version = root.text("suite_version");
  out.context = context_of(root);
  const JsonMembers unfinished = root.object("unfinished");
  out.call = call_of(unfinished);
  out.cases = unfinished.text("cases");
  return out;
}

std::string of_another_command(const std::string& command, const std::string& version) {
  constexpr std::pair<std::string_view, std::string_view> kInstead[] = {
      {"explore", ": run the workloads that it has saved again with `fencepost explore --replay`"},
      {"replay", ": run its saved scenarios again with `fencepost replay`"},
      {"stress", ": judge the history in it with `fencepost check`"}};
  std::string out =
      fmt::format("was written by `fencepost {}` of version {}, and only evidence of {} is judged",
                  escape(command, 40), escape(version, 40), kOurs);
  for (const auto& [other, instead] : kInstead) {
    if (command == other) out += instead;
  }
  return out;
}

}  // namespace

std::string evidence_head_json(const EvidenceHead& head, const scenario::Library& library) {
  ordered_json more = {{"command", kOurs},
                       {"packets", head.has_packets},
                       {"run_id", head.run_id},
                       {"capabilities", capabilities_json(head.capabilities)}};
  // Only a run that judges again needs them.
  const scenario::Library nothing;
  more["case_digests"] = case_digests(head.has_packets ? library : nothing);
  more["requirement_digests"] = requirement_digests(head.has_packets ? library : nothing);
  if (head.expiry_tolerance) more["expiry_tolerance_ms"] = head.expiry_tolerance->count();
  if (head.disconnect_settling) more["disconnect_settling_ms"] = head.disconnect_settling->count();
  ordered_json out;
  out["unfinished"] = call_json(head.run.call, scenario::digest(library));
  out.update(report_document({}, library.catalogue, head.run.context));
  // What follows from cases.
  for (const char* member : {"summary", "differences", "requirements", "cases", "exit_code"}) {
    out.erase(member);
  }
  out["evidence"] = std::move(more);
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<EvidenceHead, std::string> read_evidence_head(const std::string& text) {
  if (const auto limit = json_limit_broken(text); !limit.empty()) {
    return fail("its header cannot be read: " + limit);
  }
  const json document = read_json(text);
  if (!document.is_object()) return fail(std::string("its header is not a JSON object"));
  JsonDiagnostic diagnostic;
  const JsonMembers root(document, "", diagnostic);
  EvidenceHead out;
  out.run = head_of(root);
  const JsonMembers more = root.object("evidence");
  const std::string command = more.has("command") ? more.text("command") : kOurs;
  // Earlier versions wrote no evidence without.
  out.has_packets = !more.has("packets") || more.flag("packets");
  out.run_id = more.text("run_id");
  out.capabilities = capabilities_of(more.object("capabilities"));
  out.expiry_tolerance = time_of(more, "expiry_tolerance_ms");
  out.disconnect_settling = time_of(more, "disconnect_settling_ms");
  out.cases = texts_of(more, "case_digests");
  out.requirements = texts_of(more, "requirement_digests");
  if (diagnostic.any()) return fail("its header cannot be read: " + diagnostic.text());
  if (command != kOurs) return fail(of_another_command(command, out.run.version));
  return out;
}

RulesSince rules_since(const EvidenceHead& head, const scenario::Library& library) {
  RulesSince out;
  compare(head.requirements, requirement_digests(library), out);
  compare(head.cases, case_digests(library), out);
  return out;
}

LeftOut left_out(const EvidenceHead& head, const endpoint::Capabilities& offered,
                 const scenario::Library& library,
                 const std::function<bool(const scenario::Case&)>& has_packets) {
  const std::vector<std::string> changed = rules_since(head, library).changed;
  LeftOut out;
  for (const scenario::Case& each : library.cases) {
    const bool runs =
        selects(head.run.context.selection, each) && run::missing_capability(each, offered).empty();
    if (runs || !has_packets(each)) continue;
    const bool is_changed = std::find(changed.begin(), changed.end(), each.id) != changed.end();
    (is_changed ? out.by_new_rules : out.by_its_head).push_back(each.id);
  }
  return out;
}

NotJudged not_judged(const std::vector<std::string>& sessions, const EvidenceHead& head) {
  constexpr std::string_view kAfter = "after ";  // a look at whether the endpoint is still there
  NotJudged out;
  std::set<std::string> cases;
  for (const std::string& session : sessions) {
    if (session.empty()) continue;  // before the cases: nothing of it is a verdict
    std::string_view attempt = session;
    if (attempt.starts_with(kAfter)) attempt.remove_prefix(kAfter.size());
    std::string id(attempt.substr(0, attempt.rfind('/')));
    if (head.cases.contains(id)) {
      cases.insert(std::move(id));
    } else {
      out.of_no_case.push_back(session);
    }
  }
  out.cases.assign(cases.begin(), cases.end());
  return out;
}

std::vector<std::string> no_longer_judged(const std::map<std::string, std::string>& then,
                                          const std::map<std::string, std::string>& now) {
  std::vector<std::string> out;
  for (const auto& [id, verdict] : then) {
    const auto found = now.find(id);
    const bool is_same = found != now.end() && found->second == verdict;
    if (is_same || verdict == name(run::Verdict::kPassed)) continue;
    const bool is_judged = found != now.end() && found->second != name(run::Verdict::kSkipped);
    if (!is_judged && verdict != name(run::Verdict::kSkipped)) out.push_back(id);
  }
  return out;
}

std::string verdict_text(const run::CaseResult& result) {
  std::string text(name(result.verdict));
  const bool attributed =
      result.verdict != run::Verdict::kPassed && !result.failure.requirement.empty();
  return attributed ? text + " " + result.failure.requirement : text;
}

std::map<std::string, std::string> verdict_texts(const run::SuiteResult& result) {
  std::map<std::string, std::string> out;
  for (const run::CaseResult& each : result.cases) out[each.test_case->id] = verdict_text(each);
  return out;
}

std::string run_end_json(const RunEnd& end) {
  ordered_json out{{"verdicts", end.verdicts}};
  if (end.stress) out["stress"] = stress_json(*end.stress);
  if (end.enumeration) out["enumeration"] = enumeration_json(*end.enumeration);
  if (!end.stopped_because.empty()) out["stopped_because"] = end.stopped_because;
  if (end.endpoint_lost) out["endpoint_lost"] = true;
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<RunEnd, std::string> read_run_end(const std::string& text) {
  RunEnd out;
  const json document = read_json(text);
  if (!document.is_object()) return out;
  JsonDiagnostic ignored;
  const JsonMembers known(document, "", ignored);
  out.verdicts = texts_of(known, "verdicts");
  out.stopped_because = known.text_if_there("stopped_because");
  out.endpoint_lost = known.flag_if_there("endpoint_lost");
  JsonDiagnostic diagnostic;
  const JsonMembers root(document, "", diagnostic);
  if (root.has("stress")) out.stress = read_stress(root.object("stress"));
  if (root.has("enumeration")) out.enumeration = read_enumeration(root.object("enumeration"));
  if (diagnostic.any()) return fail("its end cannot be read: " + diagnostic.text());
  return out;
}

}  // namespace fencepost::report
