// The result of a selftest as JSON: scores, survivors with reasons, and the kill matrix.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/durations.h"
#include "base/text/text_wrap.h"
#include "report/report.h"
#include "selftest/selftest_document.h"

namespace fencepost::selftest {
namespace {

using nlohmann::ordered_json;

std::string dialect_of(const SubjectResult& subject) {
  return std::string(codec::dialect(subject.dialect).name);
}

// The letters that an id begins with name the part of the catalogue.
std::string area_of(std::string_view fault_id) {
  return std::string(fault_id.substr(0, fault_id.find_first_of("0123456789")));
}

std::string area_name(const std::string& letters) {
  static const std::map<std::string, std::string> names = {
      {"A", "Authorization"},
      {"R", "Reply and effect"},
      {"T", "Concurrent requests"},
      {"U", "Conforming, concurrent"},
      {"B", "Conforming variants"},
      {"C", "Codec"},
      {"D", "DEL, VDEL"},
      {"E", "Ends of connections"},
      {"F", "Fencing"},
      {"H", "Versions, clock"},
      {"L", "Concurrency, scale"},
      {"M", "MQTT envelope"},
      {"N", "Notifications"},
      {"Q", "Quota"},
      {"S", "SET, NX, NEX"},
      {"X", "Expiry"},
      {"Z", "Null stores"},
  };
  const auto found = names.find(letters);
  return found == names.end() ? letters : found->second;
}

// The results of one store in all its dialects, in the order of the catalogue.
std::vector<std::vector<const SubjectResult*>> by_store(
    const std::vector<SubjectResult>& subjects) {
  std::vector<std::vector<const SubjectResult*>> out;
  std::map<const store::Fault*, std::size_t> places;
  for (const SubjectResult& subject : subjects) {
    const auto [place, inserted] = places.emplace(subject.fault, out.size());
    if (inserted) out.emplace_back();
    out[place->second].push_back(&subject);
  }
  return out;
}

bool all_as_they_should_be(const std::vector<const SubjectResult*>& store) {
  return std::all_of(store.begin(), store.end(),
                     [](const SubjectResult* subject) { return subject->as_it_should_be(); });
}

// How many are as they should be: of the runs, one for each store and dialect, and of the stores,
// where every dialect counts.
ordered_json score(const std::vector<const SubjectResult*>& runs) {
  std::map<const store::Fault*, bool> stores;
  std::size_t good_runs = 0;
  for (const SubjectResult* run : runs) {
    const bool good = run->as_it_should_be();
    if (good) ++good_runs;
    stores.try_emplace(run->fault, true).first->second &= good;
  }
  const auto good_stores =
      std::count_if(stores.begin(), stores.end(), [](const auto& entry) { return entry.second; });
  return {{"as_they_should_be", good_runs},
          {"total", runs.size()},
          {"stores_as_they_should_be", good_stores},
          {"stores", stores.size()}};
}

ordered_json score(const std::vector<SubjectResult>& subjects) {
  std::vector<const SubjectResult*> runs;
  for (const SubjectResult& subject : subjects) runs.push_back(&subject);
  return score(runs);
}

ordered_json fault_score(const SelftestResult& result, bool excusable) {
  std::vector<const SubjectResult*> runs;
  for (const SubjectResult& run : result.faults) {
    if (is_excusable(*run.fault, !result.has_canaries) == excusable) runs.push_back(&run);
  }
  return score(runs);
}

// The parts of the catalogue, in its order.
ordered_json areas(const SelftestResult& result) {
  ordered_json out = ordered_json::object();
  for (const auto& store : by_store(result.faults)) {
    const std::string letters = area_of(store.front()->fault->id);
    if (!out.contains(letters)) {
      out[letters] = {
          {"name", area_name(letters)}, {"caught", 0}, {"total", 0}, {"needs_concurrency", 0}};
    }
    ordered_json& area = out[letters];
    area["total"] = area["total"].get<std::size_t>() + 1;
    if (all_as_they_should_be(store)) {
      area["caught"] = area["caught"].get<std::size_t>() + 1;
    } else if (is_excusable(*store.front()->fault, !result.has_canaries)) {
      area["needs_concurrency"] = area["needs_concurrency"].get<std::size_t>() + 1;
    }
  }
  return out;
}

// How well the reports of those faults that were caught say what is wrong.
ordered_json diagnosis(const std::vector<SubjectResult>& faults) {
  std::size_t right = 0;
  std::size_t failures = 0;
  std::size_t attributed = 0;
  std::vector<std::size_t> differences;
  for (const SubjectResult& fault : faults) {
    if (fault.diagnosis.rules.empty()) continue;
    right += fault.diagnosis.right ? 1 : 0;
    failures += fault.diagnosis.failures;
    attributed += fault.diagnosis.attributed;
    differences.push_back(fault.diagnosis.rules.size());
  }
  std::sort(differences.begin(), differences.end());
  return {{"right", right},
          {"total", differences.size()},
          {"failures", failures},
          {"charged", attributed},
          {"differences_median", differences.empty() ? 0 : differences[differences.size() / 2]},
          {"differences_most", differences.empty() ? 0 : differences.back()}};
}

ordered_json time_to_kill(const std::vector<SubjectResult>& faults) {
  std::vector<std::chrono::microseconds> times;
  for (const SubjectResult& fault : faults) {
    if (!fault.detecting.empty()) times.push_back(fault.time_to_kill);
  }
  if (times.empty()) return nullptr;
  std::sort(times.begin(), times.end());
  return {{"median_ms", in_milliseconds(times[times.size() / 2])},
          {"longest_ms", in_milliseconds(times.back())}};
}

// The simulated runs, and how many of their stores are as they should be.
ordered_json overlaps(const SelftestResult& result) {
  ordered_json out{{"caught", 0},         {"faults", 0},
                   {"passed", 0},         {"right", 0},
                   {"most_runs", 0},      {"median_operations", 0},
                   {"median_witness", 0}, {"stores", ordered_json::array()}};
  const auto count = [&](const char* name) { out[name] = out[name].get<std::size_t>() + 1; };
  std::vector<std::size_t> operations;
  std::vector<std::size_t> first_cases;
  for (const OverlapResult& one : result.overlaps) {
    count(one.is_right() ? "right" : "faults");
    if (one.as_it_should_be()) count(one.is_right() ? "passed" : "caught");
    ordered_json store{{"id", one.fault == nullptr ? "" : one.fault->id},
                       {"name", one.fault == nullptr ? "reference" : one.fault->name},
                       {"text", one.fault == nullptr ? "the reference store" : one.fault->text},
                       {"dialect", codec::dialect(one.dialect).name},
                       {"right", one.is_right()},
                       {"as_it_should_be", one.as_it_should_be()},
                       {"runs", one.runs},
                       {"unknown", one.unknown}};
    if (!one.requirement.empty()) {
      store["requirement"] = one.requirement;
      store["operations"] = one.operations;
      store["witness"] = one.counter_example;
    }
    out["stores"].push_back(std::move(store));
    if (one.is_right() || one.requirement.empty()) continue;
    operations.push_back(one.operations);
    first_cases.push_back(one.counter_example);
    out["most_runs"] = std::max(out["most_runs"].get<std::size_t>(), one.runs);
  }
  std::sort(operations.begin(), operations.end());
  std::sort(first_cases.begin(), first_cases.end());
  if (!operations.empty()) {
    out["median_operations"] = operations[operations.size() / 2];
    out["median_witness"] = first_cases[first_cases.size() / 2];
  }
  return out;
}

// How many stores of the catalogue can run at such an endpoint, regardless of what was selected.
ordered_json catalogue_sizes(bool over_the_wire) {
  std::map<store::FaultKind, std::size_t> sizes;
  std::size_t elsewhere = 0;
  for (const store::Fault& fault : store::faults()) {
    // In process, simulated clients test those.
    if (fault.needs == store::FaultNeeds::kHistory && !over_the_wire) continue;
    if (fault.needs >= store::FaultNeeds::kKill) continue;  // for ci/durability
    ++(can_be_met(fault, over_the_wire) ? sizes[fault.kind] : elsewhere);
  }
  return {{"faults", sizes[store::FaultKind::kFault]},
          {"benign", sizes[store::FaultKind::kBenign]},
          {"null_stores", sizes[store::FaultKind::kNull]},
          {"elsewhere", elsewhere}};
}

// Why the cases do not catch a fault.
struct Reason {
  std::string_view name;
  std::string text;
};

// Cases stand in the document once; everything else names them by their place in that list.
class Document {
 public:
  explicit Document(const SelftestResult& result) : result_(result) {
    for (std::size_t i = 0; i < result.cases.size(); ++i) places_.emplace(result.cases[i], i);
  }

  [[nodiscard]] ordered_json cases() const;
  [[nodiscard]] ordered_json references() const;
  [[nodiscard]] ordered_json stores(const std::vector<SubjectResult>& subjects) const;
  [[nodiscard]] ordered_json survivors() const;
  [[nodiscard]] ordered_json unique_detecting() const;
  [[nodiscard]] ordered_json cases_without_kill() const;
  [[nodiscard]] ordered_json canary_survivors() const;

 private:
  [[nodiscard]] std::size_t place(const scenario::Case* test_case) const {
    const auto found = places_.find(test_case);
    FENCEPOST_CHECK(found != places_.end());
    return found->second;
  }
  [[nodiscard]] ordered_json places(const std::vector<const scenario::Case*>& cases) const {
    ordered_json out = ordered_json::array();
    for (const scenario::Case* test_case : cases) out.push_back(place(test_case));
    return out;
  }
  [[nodiscard]] ordered_json run(const SubjectResult& subject) const;
  // Was it run with those cases alone that cite what it breaks?
  [[nodiscard]] bool only_citing(const SubjectResult& subject) const {
    const std::size_t ran = subject.passed + subject.detecting.size() +
                            subject.non_detecting.size() + subject.warned.size() +
                            subject.inconclusive.size() + subject.skipped.size();
    return subject.error.empty() && ran < result_.cases.size();
  }
  [[nodiscard]] Reason reason(const SubjectResult& survivor) const;

  const SelftestResult& result_;
  std::map<const scenario::Case*, std::size_t> places_;
};

ordered_json Document::cases() const {
  ordered_json out = ordered_json::array();
  for (const scenario::Case* test_case : result_.cases) {
    out.push_back({{"id", test_case->id},
                   {"area", test_case->area},
                   {"title", test_case->title},
                   {"requirements", test_case->requirements}});
  }
  return out;
}

ordered_json Document::run(const SubjectResult& subject) const {
  ordered_json out;
  out["as_it_should_be"] = subject.as_it_should_be();
  if (!subject.error.empty()) out["error"] = subject.error;
  if (only_citing(subject)) out["only_citing"] = true;
  out["passed"] = subject.passed;
  out["killers"] = places(subject.detecting);
  out["bystanders"] = places(subject.non_detecting);
  out["warned"] = places(subject.warned);
  if (!subject.owes) out["owes"] = false;
  out["inconclusive"] = places(subject.inconclusive);
  out["skipped"] = places(subject.skipped);
  if (!subject.passes.empty()) out["passes"] = places(subject.passes);
  if (subject.fault != nullptr && subject.fault->kind == store::FaultKind::kFault) {
    out["diagnosis"] = {{"rules", subject.diagnosis.rules},
                        {"right", subject.diagnosis.right},
                        {"failures", subject.diagnosis.failures},
                        {"charged", subject.diagnosis.attributed}};
  }
  if (subject.first_detecting != nullptr) {
    out["first_killer"] = place(subject.first_detecting);
    out["time_to_kill_ms"] = in_milliseconds(subject.time_to_kill);
  }
  out["duration_ms"] = in_milliseconds(subject.duration);
  return out;
}

ordered_json Document::references() const {
  ordered_json out = ordered_json::object();
  for (const SubjectResult& reference : result_.references) {
    out[dialect_of(reference)] = run(reference);
  }
  return out;
}

ordered_json Document::stores(const std::vector<SubjectResult>& subjects) const {
  ordered_json out = ordered_json::array();
  for (const auto& store : by_store(subjects)) {
    const store::Fault& fault = *store.front()->fault;
    ordered_json entry = {{"id", fault.id},
                          {"name", fault.name},
                          {"area", area_of(fault.id)},
                          {"text", fault.text},
                          {"requirements", fault.requirements},
                          {"needs", store::name(fault.needs)},
                          {"as_it_should_be", all_as_they_should_be(store)},
                          {"dialects", ordered_json::object()}};
    for (const SubjectResult* subject : store)
      entry["dialects"][dialect_of(*subject)] = run(*subject);
    out.push_back(std::move(entry));
  }
  return out;
}

Reason Document::reason(const SubjectResult& survivor) const {
  if (!survivor.error.empty()) return {"not-run", survivor.error};
  if (is_excusable(*survivor.fault, !result_.has_canaries)) {
    return {"needs-concurrency",
            "it needs concurrent requests within a millisecond, which a network cannot guarantee"};
  }
  if (result_.interrupted && !survivor.inconclusive.empty()) {
    return {"interrupted", "the run was interrupted before all cases had finished"};
  }
  const auto citing = [&](const std::vector<const scenario::Case*>& cases) {
    return static_cast<std::size_t>(std::count_if(
        cases.begin(), cases.end(),
        [&](const scenario::Case* test_case) { return cites(*test_case, *survivor.fault); }));
  };
  const std::size_t all = citing(result_.cases);
  const std::size_t skipped = citing(survivor.skipped);
  const std::size_t undecided = citing(survivor.inconclusive);
  if (!survivor.non_detecting.empty()) {
    return {"other-rule", text::counted(survivor.non_detecting.size(), "failing case") +
                              ", but none cites what it breaks"};
  }
  if (all == 0) return {"no-case", "no case cites what it breaks"};
  if (skipped == all) {
    return {"skipped",
            fmt::format("every case that cites what it breaks is skipped here ({})", all)};
  }
  if (undecided > 0) {
    return {"inconclusive",
            fmt::format("{} of {} cases that cite what it breaks could not be decided", undecided,
                        all)};
  }
  return {"not-caught",
          fmt::format("no case fails; passing cases that cite what it breaks: {}", all - skipped)};
}

ordered_json Document::survivors() const {
  ordered_json out = ordered_json::array();
  for (const SubjectResult& fault : result_.faults) {
    if (fault.as_it_should_be()) continue;
    const Reason why = reason(fault);
    out.push_back(
        {{"id", fault.fault->id},
         {"dialect", dialect_of(fault)},
         {"excused", is_excusable(*fault.fault, !result_.has_canaries) && fault.error.empty()},
         {"reason", why.name},
         {"text", why.text}});
  }
  return out;
}

// Cases without which a fault would survive in some dialect.
ordered_json Document::unique_detecting() const {
  std::map<std::size_t, std::vector<const SubjectResult*>> found;
  for (const SubjectResult& fault : result_.faults) {
    if (fault.detecting.size() == 1) found[place(fault.detecting.front())].push_back(&fault);
  }
  ordered_json out = ordered_json::array();
  for (const auto& [test_case, faults] : found) {
    ordered_json caught = ordered_json::array();
    for (const SubjectResult* fault : faults) {
      caught.push_back({{"id", fault->fault->id}, {"dialect", dialect_of(*fault)}});
    }
    out.push_back({{"case", test_case}, {"faults", std::move(caught)}});
  }
  return out;
}

// Cases that ran with a fault and caught none.
ordered_json Document::cases_without_kill() const {
  std::set<std::size_t> ran;
  for (const SubjectResult& fault : result_.faults) {
    if (!fault.error.empty()) continue;
    std::set<std::size_t> skipped;
    for (const scenario::Case* test_case : fault.skipped) skipped.insert(place(test_case));
    const bool some = only_citing(fault);
    for (std::size_t i = 0; i < result_.cases.size(); ++i) {
      if (skipped.count(i) > 0 || (some && !cites(*result_.cases[i], *fault.fault))) continue;
      ran.insert(i);
    }
  }
  for (const SubjectResult& fault : result_.faults) {
    for (const scenario::Case* test_case : fault.detecting) ran.erase(place(test_case));
  }
  ordered_json out(ran);
  return out;
}

ordered_json Document::canary_survivors() const {
  ordered_json out = ordered_json::array();
  for (const CanarySurvivor& survivor : result_.canary_survivors) {
    out.push_back({{"case", place(survivor.test_case)},
                   {"what", survivor.what},
                   {"dialect", codec::dialect(survivor.dialect).name}});
  }
  return out;
}

}  // namespace

ordered_json selftest_document(const SelftestResult& result, std::uint64_t seed) {
  const Document document(result);
  ordered_json out;
  out["suite_version"] = report::suite_version();
  out["seed"] = seed;
  out["duration_ms"] = in_milliseconds(result.duration);
  out["interrupted"] = result.interrupted;
  out["proved"] = result.proved();
  out["over_the_wire"] = !result.has_canaries;
  out["catalogue"] = catalogue_sizes(!result.has_canaries);
  out["score"] = {
      {"faults", fault_score(result, false)},
      {"concurrency_faults", fault_score(result, true)},
      {"benign", score(result.benign)},
      {"null_stores", score(result.nulls)},
      {"canaries",
       {{"red", result.canaries - result.canary_survivors.size()}, {"planted", result.canaries}}}};
  out["diagnosis"] = diagnosis(result.faults);
  out["diagnosis"]["rules"] = result.rules;
  out["diagnosis"]["rules_never_charged"] = result.never_attributed;
  if (ordered_json times = time_to_kill(result.faults); !times.is_null()) {
    out["time_to_kill"] = std::move(times);
  }
  out["areas"] = areas(result);
  if (!result.overlaps.empty()) out["meetings"] = overlaps(result);
  out["survivors"] = document.survivors();
  out["canary_survivors"] = document.canary_survivors();
  out["unique_killers"] = document.unique_detecting();
  out["cases_without_kill"] = document.cases_without_kill();
  out["references"] = document.references();
  out["faults"] = document.stores(result.faults);
  out["benign"] = document.stores(result.benign);
  out["null_stores"] = document.stores(result.nulls);
  out["cases"] = document.cases();
  return out;
}

std::string selftest_json(const SelftestResult& result, std::uint64_t seed) {
  return selftest_document(result, seed)
             .dump(1, ' ', false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

}  // namespace fencepost::selftest
