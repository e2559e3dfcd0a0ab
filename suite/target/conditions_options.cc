#include "suite/target/conditions_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "suite/scenario/yaml_reader.h"

namespace fencepost::target {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kClockOffset = "clock-offset";
constexpr std::string_view kResponseDelay = "response-delay";
constexpr std::string_view kResponseJitter = "response-jitter";

// `30s`, `+30s`, `-10m`.
std::optional<milliseconds> parse_offset(std::string_view text) {
  const bool behind = text.starts_with('-');
  if (behind || text.starts_with('+')) text.remove_prefix(1);
  const auto distance = scenario::parse_duration(text);
  if (!distance || *distance > endpoint::kMaxClockOffset) return std::nullopt;
  return behind ? -*distance : *distance;
}

std::optional<milliseconds> parse_delay(std::string_view text) {
  const auto delay = scenario::parse_duration(text);
  return delay && *delay <= endpoint::kMaxDelay ? delay : std::nullopt;
}

}  // namespace

bool is_condition(std::string_view name) {
  constexpr std::array kNames = {kClockOffset, kResponseDelay, kResponseJitter};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

std::optional<std::string> set_condition(std::string_view name, const std::string& text,
                                         endpoint::Conditions& conditions) {
  FENCEPOST_CHECK(is_condition(name));
  if (name == kClockOffset) {
    const auto offset = parse_offset(text);
    if (!offset) {
      return "clock-offset must be a duration such as 30s or -10m, at most 366 days, not \"" +
             text + "\"";
    }
    conditions.clock_offset = *offset;
    return std::nullopt;
  }
  const auto delay = parse_delay(text);
  if (!delay) {
    return std::string(name) + " must be a duration such as 200ms, at most 1m, not \"" + text +
           "\"";
  }
  (name == kResponseDelay ? conditions.response_delay : conditions.response_jitter) = *delay;
  return std::nullopt;
}

Result<std::vector<const store::Fault*>, std::string> faults_named(const std::string& text) {
  auto found = store::find_faults(text);
  if (found) {
    const auto reason = store::cannot_meet(*found);
    if (reason) return fail("fault=" + text + " is not a store: " + *reason);
    return found;
  }
  const std::string& wrong = found.error();
  std::vector<std::string_view> known;
  for (const store::Fault& fault : store::faults()) {
    known.push_back(fault.id);
    known.push_back(fault.name);
  }
  const std::string guess = scenario::nearest(wrong, known);
  return fail("there is no fault \"" + wrong + "\"" +
              (guess.empty() ? "" : ", did you mean " + guess + "?") +
              "; see `fencepost list faults`");
}

std::optional<std::string> missing_database(const std::vector<const store::Fault*>& faults,
                                            bool has_database, std::size_t nodes) {
  for (const store::Fault* fault : faults) {
    const bool of_cluster = fault->needs == store::FaultNeeds::kFailover;
    const bool misses =
        of_cluster ? nodes == 1 : fault->needs == store::FaultNeeds::kKill && !has_database;
    if (!misses) continue;
    return fmt::format(
        "{} {} is how {}; `fencepost explain {}` has the command that shows it", fault->id,
        fault->name,
        of_cluster ? "the nodes of a cluster share their keys" : "a store keeps its keys in a file",
        fault->id);
  }
  return std::nullopt;
}

Result<ReferenceOptions, std::string> reference_options(const endpoint::Url& url,
                                                        codec::DialectId dialect) {
  ReferenceOptions out{.dialect = dialect};
  for (const auto& [name, value] : url.query) {
    if (name == "dialect") {
      const auto known = codec::dialect_named(value);
      if (!known) return fail("dialect=" + value + " must be documented or deployed");
      out.dialect = *known;
    } else if (name == "fault") {
      auto faults = faults_named(value);
      if (!faults) return fail(faults.error());
      out.faults = std::move(*faults);
    } else if (name == "variant" || name == "right") {  // right: the old name
      const auto right = store::parse_decisions(value);
      if (!right) return fail(name + "=" + value + ": " + right.error());
      out.right = *right;
    } else if (name == "seed") {
      const char* end = value.data() + value.size();
      const auto [stop, code] = std::from_chars(value.data(), end, out.seed);
      if (code != std::errc{} || stop != end) return fail("seed=" + value + " is not a number");
    } else if (name == "database" && url.scheme == endpoint::Scheme::kEmbedded) {
      if (value.empty()) return fail("database= must name a file");
      out.database = value;
    } else if (name == "nodes" && url.scheme == endpoint::Scheme::kEmbedded) {
      if (value.size() != 1 || value[0] < '2' || value[0] > '9') {
        return fail("nodes=" + value + " must be a number from 2 to 9");
      }
      out.nodes = static_cast<std::size_t>(value[0] - '0');
    } else if (is_condition(name)) {
      if (auto wrong = set_condition(name, value, out.conditions)) return fail(std::move(*wrong));
    } else {
      return fail("the endpoint has no option \"" + name +
                  "\"; allowed: dialect, clock-offset, response-delay, response-jitter, "
                  "fault, variant, seed and, for embedded, database and nodes");
    }
  }
  if (!out.faults.empty() && out.right)
    return fail("fault and variant exclude each other: an endpoint is one store");
  if (out.nodes > 1 && out.database.empty())
    return fail("nodes= needs database=, which they share");
  if (auto missing = missing_database(out.faults, !out.database.empty(), out.nodes)) {
    return fail(std::move(*missing));
  }
  return out;
}

}  // namespace fencepost::target
