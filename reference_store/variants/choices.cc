#include "reference_store/variants/choices.h"

#include <charconv>
#include <random>

namespace fencepost::store {
namespace {

Result<void, std::string> decide(std::string_view item, Decisions& decisions) {
  const std::size_t colon = item.find(':');
  const std::string_view name = item.substr(0, colon);
  const std::size_t choice = Decisions::choice_index(name);
  if (choice == kChoices.size()) {
    return fail("there is no implementation choice \"" + std::string(name) +
                "\"; `fencepost list choices` lists all");
  }
  const std::string_view chosen =
      colon == std::string_view::npos ? std::string_view() : item.substr(colon + 1);
  const std::size_t decision = Decisions::decision_index(choice, chosen);
  if (decision == Axis::kMax) {
    std::string known;
    for (std::size_t i = 0; i < kChoices[choice].size(); ++i) {
      known += (i == 0 ? "" : ", ") + std::string(kChoices[choice].decisions[i]);
    }
    return fail("\"" + std::string(item) + "\": expected one of " + known + " for " +
                std::string(name));
  }
  decisions.decide(choice, decision);
  return {};
}

}  // namespace

Decisions random_decisions(std::uint64_t seed, bool by_the_article) {
  std::mt19937_64 random(seed);
  Decisions out;
  for (std::size_t choice = 0; choice < kChoices.size(); ++choice) {
    const std::uint64_t drawn = random();
    if (kChoices[choice].article_only && !by_the_article) continue;
    out.decide(choice, drawn % kChoices[choice].size());
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
  for (const std::size_t choice : unusual_choices(decisions)) {
    if (!out.empty()) out += ",";
    out += std::string(kChoices[choice].name) + ":" +
           std::string(kChoices[choice].decisions[decisions.of(choice)]);
  }
  return out;
}

std::vector<std::size_t> unusual_choices(const Decisions& decisions) {
  std::vector<std::size_t> out;
  for (std::size_t choice = 0; choice < kChoices.size(); ++choice) {
    if (decisions.of(choice) != 0) out.push_back(choice);
  }
  return out;
}

}  // namespace fencepost::store
