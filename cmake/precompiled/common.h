// What most sources instantiate of other people's templates, instantiated once: with
// FENCEPOST_PRECOMPILED_CODE, what is used here stands in the object of the precompiled headers,
// and no source that is compiled with them makes it again. Nothing calls these functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace fencepost::precompiled {

// What containers, and functions that pass values on, do with a value.
template <typename T>
void use_value(const T& value) {
  T copy = value;
  copy = value;
  T moved = std::move(copy);
  copy = std::move(moved);
  std::optional<T> maybe = value;
  maybe = value;
  std::vector<T> values{value};
  values.push_back(value);
  values.push_back(std::move(copy));
  values.emplace_back(value);
  values.reserve(4);
  std::vector<T> others = values;
  others = values;
  others = std::move(values);
  others.insert(others.end(), others.begin(), others.end());
  others.erase(others.begin());
  others.clear();
  std::optional<std::vector<T>> maybe_many = std::move(others);
}

template <typename Map, typename Value>
void use_map(Map map, const Value& value) {
  Map copy = map;
  copy = map;
  const std::string key;
  map[key] = value;
  map[std::string()] = value;
  map.emplace(key, value);
  map.insert({key, value});
  static_cast<void>(map.contains(key) ? map.at(key) : map.find(key)->second);
  map.erase(key);
  for (const auto& [name, entry] : copy) {
    map.insert_or_assign(name, entry);
  }
}

template <typename Json>
void use_json(const std::string& text) {
  Json json = Json::parse(text, nullptr, false);
  json = Json::parse(std::string_view(text));
  Json copy = json;
  copy = json;
  copy = std::move(json);
  copy["key"] = text;
  copy["key"] = "value";
  copy["key"] = 1;
  copy["key"] = true;
  copy["key"] = std::size_t{1};
  copy["key"] = std::int64_t{1};
  copy["key"] = Json::array();
  copy["key"] = {{"key", text}, {"other", 1}, {"third", std::size_t{1}}};
  copy["key"] = std::vector<std::string>{text};
  copy[text] = std::string_view(text);
  copy.push_back(copy);
  copy.push_back(text);
  for (const auto& [name, value] : copy.items()) {
    static_cast<void>(name + value.dump(2));
  }
  for (const Json& value : copy) {
    static_cast<void>(value.template get<std::string>().size() + value.template get<std::size_t>());
    static_cast<void>(value.template get<bool>() && value.template get<double>() > 0 &&
                      value.template get<int>() > 0 && value.template get<std::int64_t>() > 0);
  }
  static_cast<void>(copy.at("key").contains("key") && copy == copy.value("key", Json()) &&
                    copy.find("key") == copy.end());
  static_cast<void>(copy.value("key", text) +
                    copy.at(0).dump(-1, ' ', false, Json::error_handler_t::replace));
}

template <typename... Arguments>
void use_format(const Arguments&... arguments) {
  static_cast<void>(fmt::vformat("", fmt::make_format_args(arguments...)));
}

inline void use_common(std::string changeable, std::size_t number, std::string_view view) {
  const std::string text = changeable;
  use_value(text);
  use_value(std::pair(text, text));
  use_map(std::map<std::string, std::string>(), text);
  use_map(std::map<std::string, std::size_t>(), number);
  use_map(std::map<std::string, std::vector<std::string>>(), std::vector<std::string>());
  use_map(std::map<std::string, std::set<std::string>>(), std::set<std::string>());
  std::set<std::string> set{text};
  set.insert(text);
  set.insert(std::string(text));
  set.erase(std::string(view));
  static_cast<void>(set.contains(text) && set == std::set<std::string>(set.begin(), set.end()));
  use_json<nlohmann::json>(text);
  use_json<nlohmann::ordered_json>(text);
  changeable += text;
  static_cast<void>(fmt::format("{}{}{:>{}}", changeable, text, number, number) +
                    fmt::format("{}", changeable) + fmt::format("{}{}", text, changeable) +
                    fmt::format("{} {} {}", changeable, changeable, changeable) +
                    fmt::format("{}", number) + fmt::format("{}", view));
  use_format(text);
  use_format(text, text);
  use_format(text, text, text);
  use_format(text, number);
  use_format(number, text);
  use_format(number);
  use_format(view);
}

}  // namespace fencepost::precompiled
