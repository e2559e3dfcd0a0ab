#include "reference_store/variants/lenient_reader.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace fencepost::store {
namespace {

using codec::ErrorCode;

constexpr std::size_t kMaxElements = 1U << 20U;
constexpr std::size_t kMaxDigits = 9;  // an MQTT packet has no more bytes than that
constexpr std::array<std::string_view, 5> kVerbs = {"SET", "GET", "DEL", "VDEL", "KEYNOTIFY"};

struct Failure {
  VariantError error{ErrorCode::kSyntax};
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Reader {
 public:
  Reader(std::string_view input, const Decisions& decisions) : input_(input), is_(decisions) {}

  // `*n` and its elements.
  std::optional<Failure> read_array(std::vector<Argument>& out) {
    if (at_end()) return Failure{};
    const char type = input_[at_++];
    const bool container = type == '~' || type == '>';
    if (type != '*' && !(container && is_.is<"other-containers", "taken">())) return Failure{};
    if (!at_end() && input_[at_] == '?') return read_stream(out);
    const auto count = read_number();
    if (!count) return failure_;
    if (*count <= 0) return *count == 0 || *count == -1 ? no_elements() : Failure{};
    if (static_cast<std::size_t>(*count) > kMaxElements) return Failure{};
    for (std::int64_t i = 0; i < *count; ++i) {
      if (auto failed = read_element(out.emplace_back())) return failed;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::size_t offset() const { return at_; }

 private:
  [[nodiscard]] bool at_end() const { return at_ == input_.size(); }

  Failure no_elements() const {
    if (is_.is<"no-elements", "wrong-count">()) return {{ErrorCode::kWrongArgumentCount}};
    if (is_.is<"no-elements", "unknown-command">()) return {{ErrorCode::kUnknownCommand}};
    if (is_.is<"no-elements", "own-error">()) return {{std::nullopt}};
    return {};
  }

  bool read_line_end() {
    if (input_.substr(at_, 2) == "\r\n") {
      at_ += 2;
      return true;
    }
    if (!at_end() && input_[at_] == '\n') {
      if (is_.is<"line-end", "lf">()) {
        ++at_;
        return true;
      }
      if (is_.is<"line-end", "own-error">()) failure_ = {{std::nullopt}};
    }
    return false;
  }

  // A length or count; -1 is a null. Nothing, and failure_ says why, when it is not one.
  std::optional<std::int64_t> read_number() {
    failure_ = {};
    if (input_.substr(at_).starts_with("-1")) {
      at_ += 2;
      if (!read_line_end()) return std::nullopt;
      return -1;
    }
    skip_blanks();
    if (!at_end() && input_[at_] == '+' && is_.is<"plus-sign", "taken">()) ++at_;
    const std::size_t start = at_;
    while (!at_end() && is_digit(input_[at_])) ++at_;
    std::string_view digits = input_.substr(start, at_ - start);
    skip_blanks();
    if (digits.empty()) return std::nullopt;
    if (digits.size() > 1 && digits.front() == '0') {
      if (!is_.is<"leading-zeros", "taken">()) return std::nullopt;
      digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size() - 1));
    }
    if (digits.size() > kMaxDigits) return std::nullopt;
    std::int64_t value = 0;
    for (const char c : digits) value = value * 10 + (c - '0');
    if (!read_line_end()) return std::nullopt;
    return value;
  }

  void skip_blanks() {
    if (!is_.is<"blank-in-number", "taken">()) return;
    while (!at_end() && input_[at_] == ' ') ++at_;
  }

  // `length CR LF bytes CR LF`, behind the `$`, `=` or `;`.
  std::optional<Failure> read_bytes(std::string& out, bool& null) {
    const auto length = read_number();
    if (!length) return failure_;
    null = *length < 0;
    if (null) return std::nullopt;
    if (static_cast<std::size_t>(*length) > input_.size() - at_) return Failure{};
    out.append(input_.substr(at_, static_cast<std::size_t>(*length)));
    at_ += static_cast<std::size_t>(*length);
    failure_ = {};
    if (!read_line_end()) return failure_;
    return std::nullopt;
  }

  std::optional<Failure> read_line(std::string& out) {
    const std::size_t end = input_.find('\n', at_);
    if (end == std::string_view::npos) return Failure{};
    std::string_view line = input_.substr(at_, end - at_);
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    } else if (!is_.is<"line-end", "lf">()) {
      return Failure{};
    }
    out.assign(line);
    at_ = end + 1;
    return std::nullopt;
  }

  std::optional<Failure> read_element(Argument& out) {
    if (at_end()) return Failure{};
    const char type = input_[at_++];
    switch (type) {
      case '$':
        if (!at_end() && input_[at_] == '?') return read_streamed_string(out);
        return read_bytes(out.bytes, out.null);
      case '+':
        if (!is_.is<"simple-strings", "taken">()) return Failure{};
        return read_line(out.bytes);
      case ':':
        if (!is_.is<"integers", "taken">()) return Failure{};
        return read_line(out.bytes);
      case '=':
        return read_verbatim(out);
      case '#':
      case ',':
      case '(':
      case '_':
        if (is_.is<"other-scalars", "own-error">()) return Failure{{std::nullopt}};
        if (!is_.is<"other-scalars", "taken">()) return Failure{};
        out.null = type == '_';
        return read_line(out.bytes);
      default:
        return Failure{};
    }
  }

  std::optional<Failure> read_verbatim(Argument& out) {
    if (!is_.is<"verbatim-strings", "taken">()) return Failure{};
    std::string bytes;
    if (auto failed = read_bytes(bytes, out.null)) return failed;
    if (out.null || bytes.size() < 4 || bytes[3] != ':') return Failure{};
    out.bytes = bytes.substr(4);
    return std::nullopt;
  }

  // Behind `$` and `*`, where a `?` stands.
  std::optional<Failure> begin_stream() {
    if (is_.is<"streams", "own-error">()) return Failure{{std::nullopt}};
    if (!is_.is<"streams", "taken">()) return Failure{};
    ++at_;
    failure_ = {};
    if (!read_line_end()) return failure_;
    return std::nullopt;
  }

  std::optional<Failure> read_streamed_string(Argument& out) {
    if (auto failed = begin_stream()) return failed;
    while (true) {
      if (at_end() || input_[at_++] != ';') return Failure{};
      if (input_.substr(at_).starts_with("0\r\n")) {
        at_ += 3;
        return std::nullopt;
      }
      bool null = false;
      if (auto failed = read_bytes(out.bytes, null)) return failed;
      if (null) return Failure{};
    }
  }

  std::optional<Failure> read_stream(std::vector<Argument>& out) {
    if (auto failed = begin_stream()) return failed;
    while (!at_end() && input_[at_] != '.') {
      if (out.size() == kMaxElements) return Failure{};
      if (auto failed = read_element(out.emplace_back())) return failed;
    }
    if (at_end()) return Failure{};
    ++at_;
    failure_ = {};
    if (!read_line_end()) return failure_;
    if (out.empty()) return no_elements();
    return std::nullopt;
  }

  std::string_view input_;
  const Decisions& is_;
  std::size_t at_ = 0;
  Failure failure_;
};

ReadRequest refused(std::optional<ErrorCode> code) { return {.error = VariantError{code}}; }

// `GET key CR LF`, another line that begins with a letter, or the greeting `HELLO 3`.
bool looks_inline(std::string_view payload) {
  const char first = payload.empty() ? '\0' : payload[0];
  const bool is_letter = (first >= 'A' && first <= 'Z') || (first >= 'a' && first <= 'z');
  const bool is_line =
      is_letter && payload.size() > 2 && payload.find("\r\n") == payload.size() - 2;
  if (is_line || payload.starts_with("HELLO")) return true;
  return std::any_of(kVerbs.begin(), kVerbs.end(), [&](std::string_view verb) {
    return payload.starts_with(verb) && payload.size() > verb.size() && payload[verb.size()] == ' ';
  });
}

ReadRequest read_inline(std::string_view payload, const Decisions& decisions) {
  if (decisions.is<"inline-commands", "syntax">()) return refused(ErrorCode::kSyntax);
  if (decisions.is<"inline-commands", "unknown-command">() || payload.starts_with("HELLO")) {
    return refused(ErrorCode::kUnknownCommand);
  }
  ReadRequest out;
  const std::size_t end = payload.find_first_of("\r\n");
  const std::string_view line = payload.substr(0, end);
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t blank = std::min(line.find(' ', at), line.size());
    if (blank > at) out.arguments.push_back({.bytes = std::string(line.substr(at, blank - at))});
    at = blank + 1;
  }
  out.used = payload.size();
  return out;
}

ReadRequest refuse_empty(const Decisions& decisions) {
  if (decisions.is<"empty-payload", "unknown-command">()) {
    return refused(ErrorCode::kUnknownCommand);
  }
  if (decisions.is<"empty-payload", "wrong-count">()) {
    return refused(ErrorCode::kWrongArgumentCount);
  }
  if (decisions.is<"empty-payload", "own-error">()) return refused(std::nullopt);
  return refused(ErrorCode::kSyntax);
}

}  // namespace

ReadRequest read_one(std::string_view payload, const Decisions& decisions) {
  if (payload.empty()) return refuse_empty(decisions);
  if (looks_inline(payload)) return read_inline(payload, decisions);
  ReadRequest out;
  Reader reader(payload, decisions);
  if (const auto failed = reader.read_array(out.arguments)) return {.error = failed->error};
  out.used = reader.offset();
  return out;
}

std::vector<ReadRequest> read_requests(std::string_view payload, const Decisions& decisions) {
  std::vector<ReadRequest> out;
  out.push_back(read_one(payload, decisions));
  if (out.front().error || out.front().used == payload.size()) return out;
  const std::string_view rest = payload.substr(out.front().used);
  ReadRequest next = read_one(rest, decisions);
  const bool second = !next.error && next.used == rest.size();
  if (second) {
    if (decisions.is<"two-requests", "refused">()) return {refused(ErrorCode::kSyntax)};
    if (decisions.is<"two-requests", "own-error">()) return {refused(std::nullopt)};
    if (decisions.is<"two-requests", "both">()) out.push_back(std::move(next));
    return out;
  }
  if (decisions.is<"trailing-bytes", "ignored">()) return out;
  if (decisions.is<"trailing-bytes", "own-error">()) return {refused(std::nullopt)};
  return {refused(ErrorCode::kSyntax)};
}

}  // namespace fencepost::store
