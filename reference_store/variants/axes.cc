#include "reference_store/variants/axes.h"

#include <charconv>
#include <random>

namespace fencepost::store {
namespace {

Result<void, std::string> decide(std::string_view item, Decisions& decisions) {
  const std::size_t colon = item.find(':');
  const std::string_view name = item.substr(0, colon);
  const std::size_t axis = Decisions::axis_index(name);
  if (axis == kAxes.size()) {
    return fail("there is no axis \"" + std::string(name) + "\"; `fencepost list axes` has all");
  }
  const std::string_view chosen =
      colon == std::string_view::npos ? std::string_view() : item.substr(colon + 1);
  const std::size_t decision = Decisions::decision_index(axis, chosen);
  if (decision == Axis::kMost) {
    std::string known;
    for (std::size_t i = 0; i < kAxes[axis].size(); ++i) {
      known += (i == 0 ? "" : ", ") + std::string(kAxes[axis].decisions[i]);
    }
    return fail("\"" + std::string(item) + "\": a decision on " + std::string(name) +
                " is one of " + known);
  }
  decisions.decide(axis, decision);
  return {};
}

}  // namespace

Decisions random_decisions(std::uint64_t seed, bool by_the_article) {
  std::mt19937_64 random(seed);
  Decisions out;
  for (std::size_t axis = 0; axis < kAxes.size(); ++axis) {
    const std::uint64_t drawn = random();
    if (kAxes[axis].article_only && !by_the_article) continue;
    out.decide(axis, drawn % kAxes[axis].size());
  }
  return out;
}

Result<Decisions, std::string> parse_decisions(std::string_view text) {
  std::uint64_t seed = 0;
  const auto [stop, code] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (code == std::errc{} && stop == text.data() + text.size()) return random_decisions(seed);
  Decisions out;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    if (auto done = decide(text.substr(0, comma), out); !done) return fail(done.error());
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return out;
}

std::string to_text(const Decisions& decisions) {
  std::string out;
  for (const std::size_t axis : unusual_axes(decisions)) {
    if (!out.empty()) out += ",";
    out += std::string(kAxes[axis].name) + ":" +
           std::string(kAxes[axis].decisions[decisions.of(axis)]);
  }
  return out;
}

std::vector<std::size_t> unusual_axes(const Decisions& decisions) {
  std::vector<std::size_t> out;
  for (std::size_t axis = 0; axis < kAxes.size(); ++axis) {
    if (decisions.of(axis) != 0) out.push_back(axis);
  }
  return out;
}

}  // namespace fencepost::store
