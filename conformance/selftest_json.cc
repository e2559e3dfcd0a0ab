#include <map>

#include <nlohmann/json.hpp>

#include "conformance/report.h"
#include "conformance/selftest.h"

namespace fencepost::conformance {
namespace {

using nlohmann::ordered_json;

double milliseconds(std::chrono::microseconds time) {
  return static_cast<double>(time.count()) / 1000.0;
}

ordered_json ids(const std::vector<const Case*>& cases) {
  ordered_json out = ordered_json::array();
  for (const Case* test_case : cases) out.push_back(test_case->id);
  return out;
}

ordered_json to_json(const SubjectResult& subject) {
  ordered_json out;
  out["as_it_should_be"] = subject.as_it_should_be();
  if (!subject.error.empty()) out["error"] = subject.error;
  out["passed"] = subject.passed;
  out["killers"] = ids(subject.killers);
  out["bystanders"] = ids(subject.bystanders);
  out["inconclusive"] = ids(subject.inconclusive);
  out["skipped"] = subject.skipped.size();
  if (!subject.passes.empty()) out["passes"] = ids(subject.passes);
  if (subject.time_to_kill.count() > 0) {
    out["time_to_kill_ms"] = milliseconds(subject.time_to_kill);
  }
  out["duration_ms"] = milliseconds(subject.duration);
  return out;
}

// One entry for each fault, with its results in each dialect.
ordered_json by_fault(const std::vector<SubjectResult>& subjects) {
  ordered_json out = ordered_json::array();
  std::map<std::string_view, std::size_t> places;
  for (const SubjectResult& subject : subjects) {
    const store::Fault& fault = *subject.fault;
    const auto [place, inserted] = places.emplace(fault.id, out.size());
    if (inserted) {
      out.push_back({{"id", fault.id},
                     {"name", fault.name},
                     {"text", fault.text},
                     {"requirements", fault.requirements},
                     {"needs", store::name(fault.needs)},
                     {"dialects", ordered_json::object()}});
    }
    const std::string dialect(codec::dialect(subject.dialect).name);
    out[place->second]["dialects"][dialect] = to_json(subject);
  }
  return out;
}

ordered_json score(const std::vector<SubjectResult>& subjects, bool concurrency) {
  std::size_t total = 0;
  std::size_t good = 0;
  for (const SubjectResult& subject : subjects) {
    if ((subject.fault->needs == store::FaultNeeds::kConcurrency) != concurrency) continue;
    ++total;
    if (subject.as_it_should_be()) ++good;
  }
  return {{"as_they_should_be", good}, {"total", total}};
}

ordered_json areas(const std::vector<SubjectResult>& faults) {
  std::map<std::string, std::pair<std::size_t, std::size_t>> counts;
  for (const SubjectResult& subject : faults) {
    auto& [caught, total] = counts[std::string(subject.fault->id.substr(0, 1))];
    ++total;
    if (subject.as_it_should_be()) ++caught;
  }
  ordered_json out = ordered_json::object();
  for (const auto& [area, count] : counts) {
    out[area] = {{"caught", count.first}, {"total", count.second}};
  }
  return out;
}

}  // namespace

std::string selftest_json(const SelftestResult& result, std::uint64_t seed) {
  ordered_json out;
  out["suite_version"] = suite_version();
  out["seed"] = seed;
  out["duration_ms"] = milliseconds(result.duration);
  out["proved"] = result.proved();
  out["score"] = {
      {"faults", score(result.faults, false)},
      {"concurrency_faults", score(result.faults, true)},
      {"benign", score(result.benign, false)},
      {"null_stores", score(result.nulls, false)},
      {"canaries",
       {{"red", result.canaries - result.canary_survivors.size()}, {"planted", result.canaries}}}};
  out["areas"] = areas(result.faults);
  out["references"] = ordered_json::object();
  for (const SubjectResult& reference : result.references) {
    out["references"][std::string(codec::dialect(reference.dialect).name)] = to_json(reference);
  }
  out["faults"] = by_fault(result.faults);
  out["benign"] = by_fault(result.benign);
  out["null_stores"] = by_fault(result.nulls);
  out["canary_survivors"] = ordered_json::array();
  for (const CanarySurvivor& survivor : result.canary_survivors) {
    out["canary_survivors"].push_back({{"case", survivor.test_case->id},
                                       {"what", survivor.what},
                                       {"dialect", codec::dialect(survivor.dialect).name}});
  }
  return out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace fencepost::conformance
