// Reads untrusted JSON: every member is read with its expected type, and the
// first one that is not as it must be is named with its place.
//
//   JsonDiagnostic complaint;
//   const JsonMembers root(document, "", complaint);
//   const auto seed = root.integer<std::uint64_t>("seed");
//   if (complaint.any()) return fail(complaint.text());  // "/seed: must be a whole number ..."
//
// Pure. A library of its own, fencepost_json_reader, as few need it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace fencepost {

// A value as a message may show it: "an object", "an array", or its text, cut after 200 bytes.
[[nodiscard]] std::string shown_json(const nlohmann::json& value);

// Which limit a text breaks that no document of ours comes near; empty: none. Each value takes up
// to 60 bytes of memory when it is read, and what copies or writes a value calls itself for each
// level. Counts what stands between values, so that those in strings count, too.
[[nodiscard]] std::string json_limit_broken(std::string_view text);
inline constexpr std::size_t kMaxJsonDepth = 100;
inline constexpr const char* kTooManyValues = "it has more than 6,000,000 values";
inline constexpr const char* kTooDeep = "its values are nested more than 100 deep";

// The document; a discarded value, which is of no type, when the text is no JSON or breaks a limit.
// Nothing else of ours parses JSON of others: tests/style_check.py.
[[nodiscard]] nlohmann::json read_json(std::string_view text);

// The first error about a document. Reading continues after one, with empty values, so that callers
// need not check after every member.
class JsonDiagnostic {
 public:
  // `where` is a JSON pointer; empty is the document itself.
  void add(const std::string& where, const std::string& what) {
    if (text_.empty()) text_ = (where.empty() ? "/" : where) + ": " + what;
  }
  [[nodiscard]] bool any() const { return !text_.empty(); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// The members of one object, each read as one type; of what is missing or of another type, an empty
// value is returned and the error is noted. The object and the diagnostic must outlive it.
class JsonMembers {
 public:
  JsonMembers(const nlohmann::json& object, std::string path, JsonDiagnostic& diagnostic);

  [[nodiscard]] bool has(const char* name) const { return object_.contains(name); }
  [[nodiscard]] std::string path(const char* name) const { return path_ + "/" + name; }
  void diagnose(const char* name, const std::string& what) const {
    diagnostic_.add(path(name), what);
  }
  // "must be `wanted`, not what it is".
  void wrong(const char* name, const std::string& wanted) const;

  // The member, or null when it is missing, which is an error.
  [[nodiscard]] const nlohmann::json* find(const char* name) const;

  [[nodiscard]] std::string text(const char* name) const;
  [[nodiscard]] std::string text_if_there(const char* name) const {
    return has(name) ? text(name) : std::string();
  }
  [[nodiscard]] bool flag(const char* name) const;
  [[nodiscard]] bool flag_if_there(const char* name) const { return has(name) && flag(name); }

  // A whole number from `least` on that a T can hold.
  template <typename T>
  [[nodiscard]] T integer(const char* name, std::int64_t least = 0) const {
    const nlohmann::json* value = find(name);
    if (value == nullptr) return {};
    if (value->is_number_unsigned()) {
      const auto number = value->get<std::uint64_t>();
      if (fits<T>(number) && (least <= 0 || number >= static_cast<std::uint64_t>(least))) {
        return static_cast<T>(number);
      }
    } else if (value->is_number_integer()) {  // negative, or made by a program
      const auto number = value->get<std::int64_t>();
      if (number >= least && (number < 0 || fits<T>(static_cast<std::uint64_t>(number)))) {
        return static_cast<T>(number);  // negative: `least` allows what T holds
      }
    }
    const bool is_whole = value->is_number_unsigned() ||
                          (value->is_number_integer() && value->get<std::int64_t>() >= 0);
    const bool is_too_large = is_whole && !fits<T>(value->get<std::uint64_t>());
    wrong(name, is_too_large
                    ? "a whole number up to " + std::to_string(std::numeric_limits<T>::max())
                : least < 0 ? "a whole number"
                            : "a whole number, " + std::to_string(least) + " or greater");
    return {};
  }

  // Numbers of milliseconds, to the microsecond.
  [[nodiscard]] std::chrono::microseconds duration(const char* name) const;
  [[nodiscard]] std::vector<std::chrono::microseconds> durations(const char* name) const;

  [[nodiscard]] std::vector<std::string> texts(const char* name) const;

  // The bytes of a string with the escapes of base/bytes.h.
  [[nodiscard]] std::string bytes(const char* name) const {
    return to_bytes(text(name), path(name));
  }
  [[nodiscard]] std::string to_bytes(const std::string& escaped, const std::string& where) const;

  // Calls `with` for each element of an array and the place where it stands, until there is a
  // error.
  template <typename Function>
  void each(const char* name, const Function& with) const {
    const nlohmann::json* list = find(name);
    if (list == nullptr) return;
    if (!list->is_array()) {
      wrong(name, "an array");
      return;
    }
    for (std::size_t i = 0; i < list->size() && !diagnostic_.any(); ++i) {
      with((*list)[i], path(name) + "/" + std::to_string(i));
    }
  }

  // The same for the members of an object: name, list of words, place.
  template <typename Function>
  void each_list(const char* name, const Function& with) const {
    const nlohmann::json* object = find(name);
    if (object == nullptr) return;
    const JsonMembers members(*object, path(name), diagnostic_);
    if (!object->is_object()) return;
    for (const auto& [key, unused] : object->items()) {
      for (const std::string& word : members.texts(key.c_str())) {
        with(key, word, members.path(key.c_str()));
      }
    }
  }

  // The object that the member is; one without members when it is missing.
  [[nodiscard]] JsonMembers object(const char* name) const;

  // The object that each() has handed over, with the same diagnostic.
  [[nodiscard]] JsonMembers part(const nlohmann::json& value, std::string path) const {
    return {value, std::move(path), diagnostic_};
  }

 private:
  template <typename T>
  [[nodiscard]] static bool fits(std::uint64_t number) {
    return number <= static_cast<std::uint64_t>(std::numeric_limits<T>::max());
  }
  [[nodiscard]] std::chrono::microseconds to_duration(const nlohmann::json& value,
                                                      const std::string& where) const;

  const nlohmann::json& object_;
  std::string path_;
  JsonDiagnostic& diagnostic_;
};

}  // namespace fencepost
