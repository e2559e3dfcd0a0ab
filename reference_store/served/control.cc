#include "reference_store/served/control.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"

namespace fencepost::served {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"fault", "response_delay_ms",
                                                    "response_jitter_ms", "clock_offset_ms"};
constexpr std::string_view kBlanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace

std::optional<std::string> apply_control(std::string_view message, Options& options) {
  const std::string_view text = trimmed(message);
  if (text == "state") return std::nullopt;
  const std::size_t end = std::min(text.find_first_of(kBlanks), text.size());
  const std::string_view name = text.substr(0, end);
  const std::string value(trimmed(text.substr(end)));
  if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) {
    constexpr std::size_t kShown = 60;
    return "\"" + escape(text, kShown) +
           "\" is not a control message; expected state, or one of fault, response_delay_ms, "
           "response_jitter_ms and clock_offset_ms with its value, e.g. fault nx-overwrites";
  }
  if (name == "fault" && value == "none") {
    options.faults.clear();
    return std::nullopt;
  }
  const auto read = parse_options({{std::string(name), value}});
  if (!read) return read.error();
  if (name == "fault") {
    options.faults = read->faults;
  } else if (name == "response_delay_ms") {
    options.delay.delay = read->delay.delay;
  } else if (name == "response_jitter_ms") {
    options.delay.jitter = read->delay.jitter;
  } else {
    options.clock_offset = read->clock_offset;
  }
  return std::nullopt;
}

std::string control_state(const Options& options) {
  const std::string faults = store::ids_of(options.faults);
  return "fault " + (faults.empty() ? "none" : faults) + ", response_delay_ms " +
         std::to_string(options.delay.delay.count()) + ", response_jitter_ms " +
         std::to_string(options.delay.jitter.count()) + ", clock_offset_ms " +
         std::to_string(options.clock_offset.count());
}

}  // namespace fencepost::served
