// What one key has to be like after a restart or a kill of the broker, by the requests for it that
// were acknowledged before. Only one client writes the key.
//
//   RestartExpectation expected;
//   expected.take(set, bounds);                  // acknowledged
//   ... restart ...
//   if (const auto flaw = expected.flaw_of(get)) report(flaw->requirement, flaw->text);
//
// Pure; not thread safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "concurrency/history/history.h"

namespace fencepost::stress {

inline constexpr std::string_view kKeepsWrites = "LIFE-DURABLE-1";
inline constexpr std::string_view kKeepsDeletions = "LIFE-DURABLE-2";
inline constexpr std::string_view kKeepsVersionsGrowing = "LIFE-DURABLE-3";
inline constexpr std::string_view kKeepsTokens = "LIFE-DURABLE-4";
inline constexpr std::string_view kKeepsExpiry = "LIFE-DURABLE-5";

struct RestartFlaw {
  std::string_view requirement{};
  std::string text{};  // "a key that was set with NX is gone"
};

class RestartExpectation {
 public:
  explicit RestartExpectation(std::string key) : key_(std::move(key)) {}

  [[nodiscard]] const std::string& key() const { return key_; }

  // A SET, DEL or VDEL that was carried out, as its reply says, or a GET that missed: then the key
  // has expired, and must not return.
  void take(const history::Operation& operation, const history::Bounds& bounds);

  // What a GET shows to be wrong; nothing where it may be answered so.
  [[nodiscard]] std::optional<RestartFlaw> flaw_of(const history::Operation& get) const;

  // May it be there or not at that time, because it expires?
  [[nodiscard]] bool expires() const { return present_ && expires_by_ != history::kNever; }
  // From when on it must be gone; kNever without expiry.
  [[nodiscard]] history::Time gone_by() const { return expires_by_; }

 private:
  [[nodiscard]] std::string described() const;

  std::string key_;
  bool present_ = false;
  std::string value_{};
  std::optional<hlc::Timestamp> version_{};
  history::Time expires_from_ = history::kNever;
  history::Time expires_by_ = history::kNever;
  std::string how_{};  // "deleted by DEL", "set with NX"
};

// A SET of a key after the restart that has this token, or none: what its outcome shows of the
// token that the key had, `held`. Nothing: the outcome is right.
[[nodiscard]] std::optional<RestartFlaw> flaw_of_token(const hlc::Timestamp& held,
                                                       const history::Operation& set);

// The version of a SET after the restart, compared with one that the same key had before.
[[nodiscard]] std::optional<RestartFlaw> flaw_of_version(const hlc::Timestamp& before,
                                                         const history::Operation& set);

// Which of these rules a store has broken whose broker ended between the requests of a violation of
// that rule.
[[nodiscard]] std::string_view rule_of_restarts(std::string_view requirement);

// Are some of these requests answered before the broker ended, and some sent after it? What they
// contradict each other in, it may have lost.
[[nodiscard]] bool are_on_both_sides(const std::vector<history::Operation>& operations,
                                     history::Time end);

}  // namespace fencepost::stress
