#include "reference_store/served/options.h"

#include <charconv>
#include <fstream>
#include <sstream>

#include "codec/dialect.h"
#include "hlc/hlc.h"

namespace fencepost::served {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kMaxClockOffset = std::chrono::hours{24 * 366};
constexpr milliseconds kMaxDelay = std::chrono::minutes{1};

template <typename Number>
std::optional<Number> parse_number(const std::string& text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, number);
  if (code != std::errc{} || stop != end) return std::nullopt;
  return number;
}

// Each returns what is wrong with the option, or nothing.
std::optional<std::string> read_authorization(const std::string& path, Options& options) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return "cannot read the authorization file " + path;
  auto authorization = store::parse_authorization(text.str());
  if (!authorization) return path + ": " + authorization.error();
  options.service.store.authorization = std::move(*authorization);
  return std::nullopt;
}

std::optional<milliseconds> parse_milliseconds(const std::string& text, milliseconds least,
                                               milliseconds most) {
  const auto number = parse_number<milliseconds::rep>(text);
  if (!number || *number < least.count() || *number > most.count()) return std::nullopt;
  return milliseconds{*number};
}

// The options that make the store's clock wrong and its responses slow.
std::optional<std::string> read_condition(const std::string& name, const std::string& value,
                                          Options& options) {
  const std::string seen = "option " + name + " is \"" + value + "\"; expected milliseconds ";
  if (name == "clock_offset_ms") {
    const auto offset = parse_milliseconds(value, -kMaxClockOffset, kMaxClockOffset);
    if (!offset) return seen + "from -366 days to 366 days";
    options.clock_offset = *offset;
    return std::nullopt;
  }
  const auto delay = parse_milliseconds(value, milliseconds{0}, kMaxDelay);
  if (!delay) return seen + "from 0 to 60000";
  (name == "response_delay_ms" ? options.delay.delay : options.delay.jitter) = *delay;
  return std::nullopt;
}

std::optional<std::string> read_option(const std::string& name, const std::string& value,
                                       Options& options) {
  const std::string seen = "option " + name + " is \"" + value + "\"; expected ";
  if (name == "dialect") {
    const auto dialect = codec::dialect_named(value);
    if (!dialect) return seen + "documented or deployed";
    options.service.dialect = *dialect;
  } else if (name == "quota") {
    const auto quota = parse_number<std::size_t>(value);
    if (!quota) return seen + "a number of keys";
    options.service.store.quota = *quota;
  } else if (name == "max_bytes" || name == "max_registrations") {
    const auto most = parse_number<std::size_t>(value);
    if (!most) return seen + "a number (0: no limit)";
    (name == "max_bytes" ? options.service.store.max_bytes
                         : options.service.store.max_registrations) = *most;
  } else if (name == "node_id") {
    if (!hlc::is_plain_node_id(value)) return seen + "printable ASCII without colon or blank";
    options.service.store.node_id = value;
  } else if (name == "parent_pid") {
    options.parent = parse_number<pid_t>(value);
    if (!options.parent || *options.parent <= 0) return seen + "a process id";
  } else if (name == "authorization") {
    return read_authorization(value, options);
  } else if (name == "clock_offset_ms" || name == "response_delay_ms" ||
             name == "response_jitter_ms") {
    return read_condition(name, value, options);
  } else if (name == "fault") {
    auto faults = store::find_faults(value);
    if (!faults || store::cannot_meet(*faults)) {
      return seen + "one of `fencepost list faults`, by id or name, or several: S01+D02";
    }
    options.faults = std::move(*faults);
  } else if (name == "variant" || name == "right") {  // right: the old name
    const auto right = store::parse_decisions(value);
    if (!right) return seen + "implementation choices: " + right.error();
    options.right = *right;
  } else if (name == "seed") {
    const auto seed = parse_number<std::uint64_t>(value);
    if (!seed) return seen + "a 64-bit number";
    options.seed = *seed;
  } else if (name == "record" || name == "database") {
    if (value.empty()) return seen + "a file";
    (name == "record" ? options.record : options.database) = value;
  } else if (name == "routing") {
    if (value != "open" && value != "private") return seen + "open or private";
    options.open_routing = value == "open";
  } else if (name == "control" || name == "cluster") {
    if (value != "on" && value != "off") return seen + "on or off";
    (name == "control" ? options.control : options.cluster) = value == "on";
  } else {
    return "unknown option " + name +
           "; expected dialect, quota, max_bytes, max_registrations, authorization, node_id, "
           "parent_pid, clock_offset_ms, "
           "response_delay_ms, response_jitter_ms, fault, seed, right, record, database, cluster, "
           "routing or control";
  }
  return std::nullopt;
}

}  // namespace

Result<Options, std::string> parse_options(const OptionList& list) {
  Options options;
  for (const auto& [name, value] : list) {
    if (auto wrong = read_option(name, value, options)) return fail(std::move(*wrong));
  }
  if (options.control && options.right) {
    return fail(std::string(
        "options right and control cannot be combined: control changes only the reference store"));
  }
  if (!options.database.empty() && (options.control || options.right)) {
    return fail(std::string(
        "option database cannot be combined with right or control: it keeps the keys of the "
        "reference store, also with a fault, and not those of a store that is put in its place"));
  }
  if (options.cluster && (options.database.empty() || !options.record.empty())) {
    return fail(
        std::string("option cluster needs a database, which its nodes share, and excludes record"));
  }
  return options;
}

}  // namespace fencepost::served
