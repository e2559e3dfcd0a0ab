// YAML mappings and lists on one line, from parts that are YAML already.
//
//   FlowMap map;
//   map.add("key", "k");
//   map.text();  // {key: k}
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace fencepost::scenario {

class FlowMap {
 public:
  void add(std::string_view key, std::string_view value) {
    if (count_++ > 0) {
      body_ += ", ";
    } else {
      first_key_ = key;
      first_value_ = value;
    }
    body_.append(key).append(": ").append(value);
  }
  [[nodiscard]] std::string text() const { return "{" + body_ + "}"; }
  // The value of `key` when it is all that there is.
  [[nodiscard]] std::optional<std::string> only(std::string_view key) const {
    return count_ == 1 && first_key_ == key ? std::optional(first_value_) : std::nullopt;
  }
  [[nodiscard]] bool empty() const { return count_ == 0; }

 private:
  std::string body_;
  std::string first_key_;
  std::string first_value_;
  std::size_t count_ = 0;
};

class FlowList {
 public:
  void add(std::string_view item) {
    if (!body_.empty()) body_ += ", ";
    body_ += item;
  }
  [[nodiscard]] std::string text() const { return "[" + body_ + "]"; }
  [[nodiscard]] bool empty() const { return body_.empty(); }

 private:
  std::string body_;
};

}  // namespace fencepost::scenario
