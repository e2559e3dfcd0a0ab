#include "base/json_reader.h"

#include <cmath>

#include "base/bytes.h"

namespace fencepost {
namespace {

using nlohmann::json;
using std::chrono::microseconds;

constexpr double kMaxMilliseconds = 1e12;    // 30 years: microseconds stay exact in a double
constexpr std::size_t kMaxShownValue = 200;  // bytes of a value in a message

}  // namespace

std::string json_limit_broken(std::string_view text) {
  constexpr std::size_t kMaxValues = 6'000'000;
  std::size_t values = 0;
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') in_string = !in_string;
    if (c == '\\' && in_string) ++at;
    values += c == ',' || c == ':' || c == '[' || c == '{' ? 1 : 0;
    if (in_string) continue;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if ((c == '[' || c == '{') && ++depth > kMaxJsonDepth) return kTooDeep;
  }
  return values > kMaxValues ? kTooManyValues : "";
}

json read_json(std::string_view text) {
  if (!json_limit_broken(text).empty()) return json(json::value_t::discarded);
  return json::parse(text, nullptr, false);
}

std::string shown_json(const json& value) {
  if (value.is_structured()) return value.is_array() ? "an array" : "an object";
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  if (text.size() > kMaxShownValue) text = text.substr(0, kMaxShownValue) + "...";
  return text;
}

JsonMembers::JsonMembers(const json& object, std::string path, JsonDiagnostic& diagnostic)
    : object_(object), path_(std::move(path)), diagnostic_(diagnostic) {
  if (!object_.is_object()) diagnostic_.add(path_, "must be an object, not " + shown_json(object_));
}

void JsonMembers::wrong(const char* name, const std::string& wanted) const {
  diagnose(name, "must be " + wanted + (has(name) ? ", not " + shown_json(object_.at(name)) : ""));
}

const json* JsonMembers::find(const char* name) const {
  const auto found = object_.find(name);
  if (found != object_.end()) return &*found;
  diagnostic_.add(path_, std::string("has no member \"") + name + "\"");
  return nullptr;
}

std::string JsonMembers::text(const char* name) const {
  const json* value = find(name);
  if (value == nullptr) return {};
  if (const auto* text = value->get_ptr<const std::string*>()) return *text;
  wrong(name, "a string");
  return {};
}

bool JsonMembers::flag(const char* name) const {
  const json* value = find(name);
  if (value == nullptr) return false;
  if (!value->is_boolean()) wrong(name, "true or false");
  return value->is_boolean() && value->get<bool>();
}

microseconds JsonMembers::duration(const char* name) const {
  const json* value = find(name);
  return value == nullptr ? microseconds{0} : to_duration(*value, path(name));
}

std::vector<microseconds> JsonMembers::durations(const char* name) const {
  std::vector<microseconds> out;
  each(name, [&](const json& value, const std::string& where) {
    out.push_back(to_duration(value, where));
  });
  return out;
}

std::vector<std::string> JsonMembers::texts(const char* name) const {
  std::vector<std::string> out;
  each(name, [&](const json& value, const std::string& where) {
    if (value.is_string()) {
      out.push_back(value.get<std::string>());
    } else {
      diagnostic_.add(where, "must be a string, not " + shown_json(value));
    }
  });
  return out;
}

std::string JsonMembers::to_bytes(const std::string& escaped, const std::string& where) const {
  auto out = unescape(escaped);
  if (!out) diagnostic_.add(where, "has an escape that is not one of \\\\ \\\" \\r \\n \\t \\xNN");
  return out.value_or("");
}

JsonMembers JsonMembers::object(const char* name) const {
  static const json nothing = json::object();
  const json* value = find(name);
  return {value == nullptr ? nothing : *value, path(name), diagnostic_};
}

microseconds JsonMembers::to_duration(const json& value, const std::string& where) const {
  const double number = value.is_number() ? value.get<double>() : -1;
  if (number >= 0 && number <= kMaxMilliseconds) {
    return microseconds{std::llround(number * 1000)};
  }
  diagnostic_.add(where, "must be a number of milliseconds, not " + shown_json(value));
  return microseconds{0};
}

}  // namespace fencepost
