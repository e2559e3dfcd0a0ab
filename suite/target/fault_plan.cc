#include "suite/target/fault_plan.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include "suite/scenario/yaml_reader.h"

namespace fencepost::target {
namespace {

using namespace std::string_view_literals;

constexpr std::array kPlan = {"disturbances"sv, "repeat"sv};
constexpr std::array kStrike = {"at"sv, "kind"sv, "for"sv, "direction"sv, "connection"sv};
constexpr std::int64_t kMostConnections = 1'000'000;

class PlanLoader {
 public:
  PlanLoader(const scenario::SourceFile& file, std::vector<scenario::LoadError>& errors)
      : reader_(file.name, errors), content_(file.content) {}

  std::optional<endpoint::FaultPlan> load() {
    const auto root = reader_.parse(content_);
    if (!root || !reader_.check_map(*root, "the plan", kPlan, {"disturbances"})) {
      return std::nullopt;
    }
    endpoint::FaultPlan out;
    const scenario::YamlNode list = root->member("disturbances");
    if (list.items().empty()) reader_.diagnose(list, "disturbances must be a list, not empty");
    for (const scenario::YamlNode item : list.items()) load(item, out);
    std::stable_sort(
        out.strikes.begin(), out.strikes.end(),
        [](const endpoint::Strike& a, const endpoint::Strike& b) { return a.at < b.at; });
    if (const auto node = root->member("repeat"); node.is_defined()) {
      const auto repeat = reader_.duration(node, "repeat");
      if (repeat && !out.strikes.empty() && *repeat <= out.strikes.back().at) {
        reader_.diagnose(node, "repeat must be later than each `at`");
      }
      out.repeat = repeat.value_or(std::chrono::milliseconds{0});
    }
    if (reader_.diagnostics() > 0) return std::nullopt;
    return out;
  }

 private:
  void load(scenario::YamlNode node, endpoint::FaultPlan& out) {
    if (!reader_.check_map(node, "a disturbance", kStrike, {"at", "kind"})) return;
    endpoint::Strike strike;
    strike.at = reader_.duration(node.member("at"), "at").value_or(std::chrono::milliseconds{0});
    const auto name = reader_.text(node.member("kind"), "kind");
    const auto kinds = endpoint::parse_network_faults(name.value_or("none"));
    if (name && (!kinds || kinds->size() != 1)) {
      reader_.diagnose(node.member("kind"),
                       fmt::format("kind must be one of {}, not \"{}\"", names(), *name));
      return;
    }
    if (!name) return;
    strike.fault = kinds->front();
    load_length(node.member("for"), strike);
    load_where(node, strike);
    out.strikes.push_back(strike);
  }

  void load_length(scenario::YamlNode node, endpoint::Strike& strike) {
    const endpoint::NetworkFaultKind& kind = endpoint::kind_of(strike.fault);
    strike.length = kind.longest;
    if (!node.is_defined()) return;
    const auto length = reader_.duration(node, "for");
    // Requests that are held for longer would be given up as unanswered.
    if (length && *length > kind.longest) {
      reader_.diagnose(
          node, kind.longest.count() == 0
                    ? fmt::format("{} takes no time; leave out `for`", kind.name)
                    : fmt::format("{} lasts at most {} ms", kind.name, kind.longest.count()));
    }
    strike.length = length.value_or(strike.length);
  }

  void load_where(scenario::YamlNode node, endpoint::Strike& strike) {
    const endpoint::NetworkFaultKind& kind = endpoint::kind_of(strike.fault);
    for (const std::string_view key : {"direction", "connection"}) {
      if (!kind.of_broker || !node.member(key).is_defined()) continue;
      reader_.diagnose(node.member(key), fmt::format("{} strikes the broker and no connection; "
                                                     "leave out `{}`",
                                                     kind.name, key));
    }
    if (const auto where = node.member("direction"); where.is_defined()) {
      if (!kind.of_broker && !kind.is_one_way()) {
        reader_.diagnose(where,
                         fmt::format("{} has no direction; leave out `direction`", kind.name));
      }
      const auto text = reader_.text(where, "direction");
      if (text && *text != "to-broker" && *text != "to-client") {
        reader_.diagnose(where, "direction must be to-broker or to-client, not \"" + *text + "\"");
      }
      strike.up = text && *text == "to-broker";
    }
    if (const auto which = node.member("connection"); which.is_defined()) {
      strike.pick = static_cast<std::uint64_t>(
          reader_.integer(which, "connection", 0, kMostConnections).value_or(0));
    }
  }

  static std::string names() {
    std::string out;
    for (const endpoint::NetworkFaultKind& kind : endpoint::kNetworkFaults) {
      out += (out.empty() ? "" : ", ") + std::string(kind.name);
    }
    return out;
  }

  scenario::YamlReader reader_;
  const std::string& content_;
};

}  // namespace

std::optional<endpoint::FaultPlan> load_fault_plan(const scenario::SourceFile& file,
                                                   std::vector<scenario::LoadError>& errors) {
  return PlanLoader(file, errors).load();
}

}  // namespace fencepost::target
