// Written from the documents, without a look at the codec. Where it says "point", it means the
// numbered rows of docs/PROTOCOL_DECISIONS.md.
#include "workload/testing/naive_reader.h"

namespace fencepost::workload {

namespace {

using codec::Condition;
using codec::ErrorCode;

// Point 6: a hundred years.
constexpr std::int64_t kMaxPxMs = 3'155'760'000'000;
// Point 16f.
constexpr std::size_t kMaxLength = 268'435'455;
constexpr std::size_t kMaxCount = 1'048'576;

bool all_digits(std::string_view text) {
  if (text.empty()) return false;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
  }
  return true;
}

// A number of at most 18 digits after its leading zeros; nothing for a greater one.
std::optional<std::int64_t> small_number(std::string_view digits) {
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  if (digits.size() > 18) return std::nullopt;
  std::int64_t number = 0;
  for (const char c : digits) number = number * 10 + (c - '0');
  return number;
}

}  // namespace

// What a raw payload requests, or its error: decodable, verb known, number of arguments, options,
// key not empty (point 13). The views live until the next call.
std::optional<Misread> NaiveReader::understand(const std::string& payload, Wanted& wanted) {
  if (std::optional<Misread> misread = split(payload)) return misread;
  const std::string& verb = arguments_[0];
  const std::size_t count = arguments_.size();
  std::size_t least = 2;
  std::size_t most = 2;
  if (verb == "SET") {
    wanted.kind = Kind::kSet;
    least = 3;
    most = 6;
  } else if (verb == "GET") {
    wanted.kind = Kind::kGet;
  } else if (verb == "DEL") {
    wanted.kind = Kind::kDel;
  } else if (verb == "VDEL") {
    wanted.kind = Kind::kVdel;
    least = most = 3;
  } else if (verb == "KEYNOTIFY") {
    wanted.kind = Kind::kKeynotify;
    most = 3;
  } else {
    return Misread{ErrorCode::kUnknownCommand, "ERR-COMMAND-OPEN-1"};
  }
  if (count < least || count > most) {
    return Misread{ErrorCode::kWrongArgumentCount, "ERR-ARITY-OPEN-1"};
  }
  wanted.key = arguments_[1];
  if (wanted.kind == Kind::kSet || wanted.kind == Kind::kVdel) wanted.value = arguments_[2];
  if (wanted.kind == Kind::kKeynotify && count == 3) {
    if (arguments_[2] != "STOP") return Misread{ErrorCode::kSyntax, "NTF-STOP-OPEN-1"};
    wanted.kind = Kind::kStop;
  }
  if (wanted.kind == Kind::kSet) {
    if (std::optional<Misread> misread = understand_set(wanted)) return misread;
  }
  if (wanted.key.empty()) return Misread{ErrorCode::kEmptyKey, "KEY-EMPTY-OPEN-1"};
  return std::nullopt;
}

// The options of SET in any order, each at most once, NX and NEX not together (points 1 to 5, 10).
std::optional<Misread> NaiveReader::understand_set(Wanted& wanted) {
  for (std::size_t i = 3; i < arguments_.size(); ++i) {
    const std::string& option = arguments_[i];
    if (option == "NX" || option == "NEX") {
      if (wanted.condition != Condition::kAlways) {
        return Misread{ErrorCode::kSyntax, "SET-OPTION-OPEN-1"};
      }
      wanted.condition = option == "NX" ? Condition::kIfAbsent : Condition::kIfAbsentOrEqual;
    } else if (option == "PX") {
      if (wanted.px_ms) return Misread{ErrorCode::kSyntax, "SET-OPTION-OPEN-1"};
      if (i + 1 == arguments_.size()) return Misread{ErrorCode::kSyntax, "SET-PX-OPEN-7"};
      if (std::optional<Misread> misread = read_px(arguments_[++i], wanted)) return misread;
    } else {
      return Misread{ErrorCode::kSyntax, "ERR-OPTION-OPEN-1"};
    }
  }
  return std::nullopt;
}

std::optional<Misread> NaiveReader::read_px(const std::string& text, Wanted& wanted) const {
  std::string_view whole = text;
  const std::size_t point = text.find('.');
  if (fractional_expiry_ && point != std::string::npos) {
    if (!all_digits(whole.substr(point + 1))) return Misread{ErrorCode::kSyntax, "SET-PX-OPEN-4"};
    whole = whole.substr(0, point);
  }
  if (!all_digits(whole)) return Misread{ErrorCode::kSyntax, "SET-PX-OPEN-3"};
  const std::optional<std::int64_t> number = small_number(whole);
  if (!number || *number > kMaxPxMs) return Misread{ErrorCode::kSyntax, "SET-PX-OPEN-5"};
  wanted.px_ms = *number;
  return std::nullopt;
}

// `*n` and n times `$length` and bytes, each with CR LF, and nothing else (points 14 to 17).
std::optional<Misread> NaiveReader::split(const std::string& payload) {
  std::size_t at = 0;
  // Reads a type byte, digits and CR LF.
  const auto header = [&](char type, std::size_t greatest) -> std::optional<std::size_t> {
    if (at >= payload.size() || payload[at] != type) return std::nullopt;
    const std::size_t end = payload.find("\r\n", at);
    if (end == std::string::npos) return std::nullopt;
    const std::string digits = payload.substr(at + 1, end - at - 1);
    if (!all_digits(digits) || digits.size() > 9) return std::nullopt;
    if (digits.size() > 1 && digits[0] == '0') return std::nullopt;
    const auto number = static_cast<std::size_t>(*small_number(digits));
    if (number > greatest) return std::nullopt;
    at = end + 2;
    return number;
  };
  const Misread misread{ErrorCode::kSyntax, payload.empty() ? "RESP-EMPTY-OPEN-1" : ""};
  arguments_.clear();
  const std::optional<std::size_t> count = header('*', kMaxCount);
  if (!count || *count == 0) return misread;
  for (std::size_t i = 0; i < *count; ++i) {
    const std::optional<std::size_t> length = header('$', kMaxLength);
    if (!length || payload.size() - at < *length + 2) return misread;
    arguments_.push_back(payload.substr(at, *length));
    at += *length;
    if (payload[at] != '\r' || payload[at + 1] != '\n') return misread;
    at += 2;
  }
  if (at != payload.size()) return Misread{ErrorCode::kSyntax, "RESP-TRAILING-OPEN-1"};
  return std::nullopt;
}

}  // namespace fencepost::workload
