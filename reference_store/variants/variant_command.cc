#include "reference_store/variants/variant_command.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <limits>

namespace fencepost::store {
namespace {

using codec::Condition;
using codec::ErrorCode;
using codec::Verb;
using std::chrono::milliseconds;

constexpr std::size_t kLongNode = 64;
constexpr std::size_t kMaxKeyLength = 10'000;
constexpr std::uint64_t kCounter31 = 2'147'483'647ULL;

std::string upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return out;
}

bool is_upper(std::string_view text) { return upper(text) == text; }

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<Verb> verb_named(std::string_view text) {
  for (const Verb verb : codec::kVerbs) {
    if (name(verb) == text) return verb;
  }
  return std::nullopt;
}

// The whole part of a decimal number with a fraction or an exponent.
std::optional<std::uint64_t> whole_part(std::string_view text) {
  if (text.empty() || text.front() == '+' ||
      text.find_first_not_of("0123456789.eE+-") != std::string_view::npos) {
    return std::nullopt;
  }
  // Not from_chars: libc++ has none for these before version 20.
  const std::string digits(text);
  char* end = nullptr;
  const double value = std::strtod(digits.c_str(), &end);
  if (end != digits.c_str() + digits.size()) return std::nullopt;
  if (!(value >= 0) || value > 9e18) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

class Interpreter {
 public:
  Interpreter(const std::vector<Argument>& arguments, const Decisions& decisions,
              const codec::Dialect& dialect)
      : arguments_(arguments), is_(decisions), dialect_(dialect) {}

  VariantCommand run() {
    read_verb();
    if (!out_.verb) return std::move(out_);
    read_nulls();
    count_arguments();
    if (arguments_.size() > 1) read_key();
    const bool has_value = codec::has_value(*out_.verb);
    if (has_value && arguments_.size() > 2) out_.value = arguments_[2].bytes;
    out_.compared = out_.value;
    if (*out_.verb == Verb::kSet) read_set_options();
    if (*out_.verb == Verb::kKeynotify && arguments_.size() > 2) read_stop();
    return std::move(out_);
  }

 private:
  void object(Check check, std::optional<ErrorCode> code) {
    out_.objections.push_back({check, {code}});
  }
  void object_to_options(std::optional<ErrorCode> code) {
    if (options_are_wrong_) return;  // the first wrong one is named
    options_are_wrong_ = true;
    object(Check::kOptions, code);
  }

  void read_verb() {
    const std::string& given = arguments_.front().bytes;
    out_.verb = verb_named(given);
    if (out_.verb) return;
    if (verb_named(upper(given))) {
      if (is_.is<"verb-case", "taken">()) {
        out_.verb = verb_named(upper(given));
        return;
      }
      return object(Check::kVerb, is_.is<"verb-case", "syntax">() ? ErrorCode::kSyntax
                                                                  : ErrorCode::kUnknownCommand);
    }
    const bool odd = given.empty() || given.find('\0') != std::string::npos ||
                     given.find(' ') != std::string::npos;
    if (odd && is_.is<"odd-verb", "syntax">()) return object(Check::kVerb, ErrorCode::kSyntax);
    if (odd && is_.is<"odd-verb", "own-error">()) return object(Check::kVerb, std::nullopt);
    if (given == "SCAN") {
      out_.array_reply = is_.is<"newer-verb", "array">();
      if (is_.is<"newer-verb", "own-error">()) return object(Check::kVerb, std::nullopt);
    }
    object(Check::kVerb, ErrorCode::kUnknownCommand);
  }

  // A null stands where a key or a value should.
  void read_nulls() {
    const bool any = std::any_of(arguments_.begin(), arguments_.end(),
                                 [](const Argument& argument) { return argument.null; });
    if (!any) return;
    if (is_.is<"null-argument", "wrong-count">()) {
      object(Check::kCount, ErrorCode::kWrongArgumentCount);
    } else if (is_.is<"null-argument", "empty-key">()) {
      object(Check::kCount, ErrorCode::kEmptyKey);
    } else if (is_.is<"null-argument", "own-error">()) {
      object(Check::kCount, std::nullopt);
    } else {
      object(Check::kCount, ErrorCode::kSyntax);
    }
  }

  void count_arguments() {
    const std::size_t count = arguments_.size();
    const bool value = codec::has_value(*out_.verb);
    const std::size_t least = value ? 3 : 2;
    std::size_t most = least;
    if (*out_.verb == Verb::kSet) {
      most = is_.is<"most-set-arguments", "six">() ? 6 : std::numeric_limits<std::size_t>::max();
    }
    if (*out_.verb == Verb::kKeynotify) most = 3;
    if (count < 2) return object(Check::kCount, ErrorCode::kWrongArgumentCount);
    if (count < least) {
      return object(Check::kCount, is_.is<"missing-value", "syntax">()
                                       ? ErrorCode::kSyntax
                                       : ErrorCode::kWrongArgumentCount);
    }
    if (count > most) {
      object(Check::kCount, is_.is<"too-many-arguments", "syntax">()
                                ? ErrorCode::kSyntax
                                : ErrorCode::kWrongArgumentCount);
    }
  }

  void read_key() {
    out_.has_key = !arguments_[1].null;
    out_.key = arguments_[1].bytes;
    if (arguments_[1].null) return;
    if (out_.key.size() > kMaxKeyLength && is_.is<"longest-key", "10000-bytes">()) {
      return object(Check::kKey, std::nullopt);
    }
    if (!out_.key.empty()) return;
    if (*out_.verb == Verb::kKeynotify) {
      if (is_.is<"keynotify-empty-key", "syntax">()) return object(Check::kKey, ErrorCode::kSyntax);
      if (is_.is<"keynotify-empty-key", "own-error">()) return object(Check::kKey, std::nullopt);
    }
    object(Check::kKey, ErrorCode::kEmptyKey);
  }

  void read_stop() {
    const std::string& option = arguments_[2].bytes;
    out_.stop = option == "STOP";
    out_.get = option == "GET" && is_.is<"keynotify-get", "taken">();
    if (out_.stop || out_.get) return;
    if (upper(option) == "STOP") {
      if (is_.is<"stop-case", "taken">()) {
        out_.stop = true;
      } else if (is_.is<"stop-case", "own-error">()) {
        object(Check::kOptions, std::nullopt);
      } else {
        object(Check::kOptions, is_.is<"stop-case", "syntax">() ? ErrorCode::kSyntax
                                                                : ErrorCode::kWrongArgumentCount);
      }
      return;
    }
    object(Check::kOptions, is_.is<"keynotify-option", "syntax">()
                                ? ErrorCode::kSyntax
                                : ErrorCode::kWrongArgumentCount);
  }

  void read_set_options() {
    for (std::size_t i = 3; i < arguments_.size(); ++i) {
      std::string option = arguments_[i].bytes;
      if (!is_upper(option) && is_option(upper(option))) {
        if (!is_.is<"option-case", "taken">()) {
          object_to_options(is_.is<"option-case", "own-error">() ? std::nullopt
                            : is_.is<"option-case", "wrong-count">()
                                ? std::optional(ErrorCode::kWrongArgumentCount)
                                : std::optional(ErrorCode::kSyntax));
          continue;
        }
        option = upper(option);
      }
      if (option == "NX" || option == "NEX") {
        read_condition(option == "NX" ? Condition::kIfAbsent : Condition::kIfAbsentOrEqual, i);
      } else if (option == "PX") {
        read_expiry(i);
      } else {
        refuse_unknown_option();
      }
    }
  }

  static bool is_option(std::string_view text) {
    return text == "NX" || text == "NEX" || text == "PX";
  }

  void refuse_unknown_option() {
    if (is_.is<"unknown-option", "own-error">()) return object_to_options(std::nullopt);
    object_to_options(is_.is<"unknown-option", "syntax">() ? ErrorCode::kSyntax
                                                           : ErrorCode::kWrongArgumentCount);
  }

  void read_condition(Condition given, std::size_t& at) {
    if (has_px_ && out_.condition == Condition::kAlways &&
        !is_.is<"px-before-condition", "taken">()) {
      object_to_options(is_.is<"px-before-condition", "syntax">() ? ErrorCode::kSyntax
                                                                  : ErrorCode::kWrongArgumentCount);
    }
    if (out_.condition == given) {
      if (!is_.is<"condition-repeated", "once">()) {
        object_to_options(is_.is<"condition-repeated", "syntax">()
                              ? ErrorCode::kSyntax
                              : ErrorCode::kWrongArgumentCount);
      }
    } else if (out_.condition == Condition::kAlways) {
      out_.condition = given;
    } else if (is_.is<"nx-with-nex", "nx">()) {
      out_.condition = Condition::kIfAbsent;
    } else if (is_.is<"nx-with-nex", "nex">()) {
      out_.condition = Condition::kIfAbsentOrEqual;
    } else {
      object_to_options(is_.is<"nx-with-nex", "syntax">() ? ErrorCode::kSyntax
                                                          : ErrorCode::kWrongArgumentCount);
    }
    if (given == Condition::kIfAbsentOrEqual) read_nex_value(at);
  }

  // `NEX w`, where the documents print a value in one place and none in another.
  void read_nex_value(std::size_t& at) {
    if (at + 1 >= arguments_.size() || is_option(upper(arguments_[at + 1].bytes))) return;
    if (is_.is<"nex-value", "compared-with-it">()) {
      out_.compared = arguments_[++at].bytes;
    } else if (is_.is<"nex-value", "compared-with-value">()) {
      ++at;
    } else {
      ++at;
      object_to_options(is_.is<"nex-value", "syntax">() ? ErrorCode::kSyntax
                                                        : ErrorCode::kWrongArgumentCount);
    }
  }

  void read_expiry(std::size_t& at) {
    if (at + 1 == arguments_.size()) {
      return object_to_options(is_.is<"px-without-number", "syntax">()
                                   ? ErrorCode::kSyntax
                                   : ErrorCode::kWrongArgumentCount);
    }
    const auto given = parse_expiry(arguments_[++at].bytes);
    if (!given) return object_to_options(ErrorCode::kSyntax);
    if (has_px_) {
      if (is_.is<"px-repeated", "first">()) return;
      if (!is_.is<"px-repeated", "last">()) {
        return object_to_options(is_.is<"px-repeated", "syntax">()
                                     ? ErrorCode::kSyntax
                                     : ErrorCode::kWrongArgumentCount);
      }
    }
    has_px_ = true;
    if (given->count() == 0) {
      if (is_.is<"px-zero", "refused">()) return object_to_options(ErrorCode::kSyntax);
      if (is_.is<"px-zero", "never-expires">()) {
        out_.permanent = true;
        out_.expires_after.reset();
        return;
      }
    }
    out_.permanent = false;
    out_.expires_after = given;
  }

  std::optional<milliseconds> parse_expiry(std::string_view text) const {
    if (text.starts_with('-') && all_digits(text.substr(1)) && is_.is<"px-negative", "as-zero">()) {
      return text.size() <= 19 ? std::optional(milliseconds{0}) : std::nullopt;
    }
    if (is_.is<"px-blank", "taken">()) {
      while (text.starts_with(' ')) text.remove_prefix(1);
      while (text.ends_with(' ')) text.remove_suffix(1);
    }
    if (text.starts_with('+') && is_.is<"px-plus-sign", "taken">()) text.remove_prefix(1);
    if (text.size() > 1 && text.starts_with('0') && all_digits(text) &&
        is_.is<"px-leading-zeros", "refused">()) {
      return std::nullopt;
    }
    if (text.find_first_of("eE") != std::string_view::npos) {
      if (!is_.is<"px-exponent", "taken">()) return std::nullopt;
      const auto whole = whole_part(text);
      return whole ? bounded(*whole) : std::nullopt;
    }
    const std::size_t point = text.find('.');
    if (point != std::string_view::npos) {
      const bool taken = is_.is<"px-fraction", "taken">() ||
                         (is_.is<"px-fraction", "as-the-dialect">() && dialect_.fractional_expiry);
      if (!taken || !all_digits(text.substr(point + 1))) return std::nullopt;
      text = text.substr(0, point);
    }
    if (!all_digits(text)) return std::nullopt;
    std::uint64_t number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code != std::errc{}) return std::nullopt;
    return bounded(number);
  }

  [[nodiscard]] std::optional<milliseconds> bounded(std::uint64_t number) const {
    std::uint64_t most = static_cast<std::uint64_t>(codec::kMaxExpiry.count());
    if (is_.is<"px-great", "64-bits">()) most = std::numeric_limits<std::int64_t>::max();
    if (is_.is<"px-great", "31-bits">()) most = std::numeric_limits<std::int32_t>::max();
    if (number > most) return std::nullopt;
    return milliseconds{static_cast<std::int64_t>(number)};
  }

  const std::vector<Argument>& arguments_;
  const Decisions& is_;
  const codec::Dialect& dialect_;
  VariantCommand out_;
  bool options_are_wrong_ = false;
  bool has_px_ = false;
};

template <ChoiceText kChoiceCount>
int shift(const Decisions& decisions) {
  constexpr int kFar = 100;
  if (decisions.is<kChoiceCount, "early">()) return -kFar;
  if (decisions.is<kChoiceCount, "late">()) return kFar;
  return 0;
}

std::optional<std::uint64_t> read_number(std::string_view text, const Decisions& decisions) {
  if (!all_digits(text)) {
    if (!decisions.is<"signs-and-fractions", "taken">()) return std::nullopt;
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    if (text.starts_with('+')) text.remove_prefix(1);
    if (!all_digits(text)) return whole_part(text);
  }
  if (text.size() > hlc::kMaxDigits && !decisions.is<"more-than-20-digits", "taken">()) {
    return std::nullopt;
  }
  std::uint64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  return code == std::errc{} ? std::optional(number) : std::nullopt;
}

bool node_is_taken(std::string_view node, bool is_token, std::string_view own_node,
                   const Decisions& decisions) {
  if (node.empty() && !decisions.is<"node-empty", "taken">()) return false;
  if (node.find(':') != std::string_view::npos && !decisions.is<"node-with-colon", "taken">()) {
    return false;
  }
  // A version is a token, from whichever client it came. (Req: LOCK-TOKEN-2)
  if (is_token && node == own_node) return true;
  if (node.size() > kLongNode && decisions.is<"node-long", "malformed">()) return false;
  const bool plain =
      std::all_of(node.begin(), node.end(), [](char c) { return c > ' ' && c <= '~'; });
  if (!plain && decisions.is<"node-not-ascii", "malformed">()) return false;
  return is_token || node != own_node || !decisions.is<"node-of-the-store", "malformed">();
}

}  // namespace

VariantCommand interpret(const std::vector<Argument>& arguments, const Decisions& decisions,
                         const codec::Dialect& dialect) {
  return Interpreter(arguments, decisions, dialect).run();
}

int turn_of(Check check, const Decisions& decisions) {
  const int turn = static_cast<int>(check);
  switch (check) {
    case Check::kVerb:
      return turn;
    case Check::kCount:
      return turn + shift<"order-count">(decisions);
    case Check::kOptions:
      return turn + shift<"order-options">(decisions);
    case Check::kKey:
      return turn + shift<"order-key">(decisions);
    case Check::kAuthorization:
      return turn + shift<"order-authorization">(decisions);
    case Check::kTimestamp:
      return turn + shift<"order-timestamp">(decisions);
    case Check::kToken:
      return turn + shift<"order-token">(decisions);
    case Check::kFencing:
      return turn + shift<"order-fencing">(decisions);
    case Check::kCondition:
      return turn + shift<"order-condition">(decisions);
    case Check::kQuota:
      return turn + shift<"order-quota">(decisions);
  }
  return turn;
}

std::optional<hlc::Timestamp> read_stamp(std::string_view text, bool is_token,
                                         std::string_view own_node, const Decisions& decisions) {
  const std::size_t first = text.find(':');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = text.find(':', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto wall_ms = read_number(text.substr(0, first), decisions);
  const auto counter = read_number(text.substr(first + 1, second - first - 1), decisions);
  if (!wall_ms || !counter || *wall_ms > hlc::kMaxWallMs) return std::nullopt;
  const std::string_view node = text.substr(second + 1);
  if (!node_is_taken(node, is_token, own_node, decisions)) return std::nullopt;
  if (!is_token) {
    std::uint64_t most = kMaxRequestCounter;
    if (decisions.is<"counter-limit", "31-bits">()) most = kCounter31;
    if (decisions.is<"counter-limit", "64-bits">()) most = ~std::uint64_t{0};
    if (*counter > most) return std::nullopt;
  }
  return hlc::Timestamp{*wall_ms, *counter, std::string(node)};
}

}  // namespace fencepost::store
