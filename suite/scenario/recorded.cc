#include "suite/scenario/recorded.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/text/printable.h"
#include "base/text/yaml_quote.h"
#include "endpoint/url.h"
#include "suite/scenario/scenario_fields.h"

namespace fencepost::scenario {
namespace {

constexpr std::size_t kMaxTextLength = 1'000;  // of message, expected and actual each

// The members that are text and say how it failed.
constexpr std::array<std::pair<std::string_view, std::string Recorded::*>, 5> kFailure = {{
    {"requirement", &Recorded::requirement},
    {"signature", &Recorded::signature},
    {"message", &Recorded::message},
    {"expected", &Recorded::expected},
    {"actual", &Recorded::actual},
}};

// 2026-01-01T00:00:00Z
bool is_utc_time(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00Z";
  return std::equal(text.begin(), text.end(), kForm.begin(), kForm.end(), [](char c, char form) {
    return form == '0' ? c >= '0' && c <= '9' : c == form;
  });
}

std::string load_by(YamlReader& reader, YamlNode node) {
  const auto by = reader.text(node, "by");
  if (!by) return {};
  const auto& known = fields::kRecordedBy;
  if (std::find(known.begin(), known.end(), *by) != known.end()) return *by;
  const std::string guess = nearest(*by, known);
  reader.diagnose(node, "by must be explore, record or hand, not \"" + *by + "\"" +
                            (guess.empty() ? "" : "; did you mean \"" + guess + "\"?"));
  return {};
}

std::string load_time(YamlReader& reader, YamlNode node) {
  if (!node.is_defined()) return {};
  const auto when = reader.text(node, "when");
  if (when && !is_utc_time(*when)) {
    reader.diagnose(node, "when must be a time in UTC such as '2026-01-01T00:00:00Z'");
  }
  return when.value_or("");
}

// Files are passed on, passwords are not. The error does not quote it.
std::string load_endpoint(YamlReader& reader, YamlNode node) {
  if (!node.is_defined()) return {};
  const auto endpoint = reader.text(node, "endpoint");
  if (endpoint && endpoint->empty()) reader.diagnose(node, "endpoint must not be empty");
  if (endpoint && endpoint::redacted(*endpoint) != *endpoint) {
    reader.diagnose(node,
                    "endpoint must be a URL without a password, or with *** in its place: files "
                    "are shared");
  }
  return endpoint.value_or("");
}

std::optional<std::uint64_t> load_seed(YamlReader& reader, YamlNode node) {
  if (!node.is_defined()) return std::nullopt;
  std::uint64_t seed = 0;
  if (node.is_scalar() && !node.is_quoted()) {
    const std::string& text = node.scalar();
    const char* end = text.data() + text.size();
    const auto [stop, code] = std::from_chars(text.data(), end, seed);
    const bool padded = text.size() > 1 && text[0] == '0';  // YAML 1.1 readers take 010 for eight
    if (code == std::errc{} && stop == end && !padded) return seed;
  }
  reader.diagnose(node, "seed must be a whole number from 0 to " +
                            std::to_string(std::numeric_limits<std::uint64_t>::max()) +
                            " without quotes");
  return std::nullopt;
}

void load_failure(YamlReader& reader, YamlNode node, Recorded& out) {
  const std::size_t errors_before = reader.diagnostics();
  YamlNode words;
  bool has_words = false;
  for (const auto& [name, member] : kFailure) {
    const YamlNode value = node.member(name);
    if (!value.is_defined()) continue;
    const auto text = reader.text(value, name);
    if (!text) continue;
    if (text->empty()) reader.diagnose(value, std::string(name) + " must not be empty");
    out.*member = *text;
    if (!has_words) words = value;
    has_words = true;
  }
  if (has_words && !out.failed() && reader.diagnostics() == errors_before) {
    reader.diagnose(words, "a failure is recognized by its requirement or its signature: add one");
  }
}

}  // namespace

std::optional<Recorded> load_recorded(YamlReader& reader, YamlNode node,
                                      const std::set<std::string>& requirements) {
  const std::size_t errors_before = reader.diagnostics();
  if (!reader.check_map(node, "recorded", fields::kRecorded, {"by"})) return std::nullopt;
  Recorded out{.by = load_by(reader, node.member("by")),
               .when = load_time(reader, node.member("when")),
               .endpoint = load_endpoint(reader, node.member("endpoint")),
               .seed = load_seed(reader, node.member("seed"))};
  load_failure(reader, node, out);
  if (!out.requirement.empty() && !requirements.contains(out.requirement)) {
    const std::string guess = nearest(
        out.requirement, std::vector<std::string_view>(requirements.begin(), requirements.end()));
    reader.diagnose(node.member("requirement"),
                    "there is no requirement \"" + out.requirement + "\"" +
                        (guess.empty() ? "; see fencepost list requirements"
                                       : "; did you mean \"" + guess + "\"?"));
  }
  if (reader.diagnostics() > errors_before) return std::nullopt;
  return out;
}

std::string recorded_words(std::string_view text) {
  return text::shortened(text::one_line(text::printable(text)), kMaxTextLength);
}

std::string text_of(const Recorded& recorded, std::size_t indent) {
  std::string out;
  const auto line = [&](std::size_t more, const std::string& text) {
    out += std::string(indent + more, ' ') + text + "\n";
  };
  line(0, "recorded:");
  line(2, "by: " + recorded.by);
  if (!recorded.when.empty()) line(2, "when: " + text::yaml_quoted(recorded.when));
  if (!recorded.endpoint.empty()) {
    line(2, "endpoint: " + text::yaml_quoted(endpoint::redacted(recorded.endpoint)));
  }
  if (recorded.seed) line(2, fmt::format("seed: {}", *recorded.seed));
  for (const auto& [name, member] : kFailure) {
    if ((recorded.*member).empty()) continue;
    line(2, fmt::format("{}: {}", name, text::yaml_quoted(recorded.*member)));
  }
  return out;
}

}  // namespace fencepost::scenario
