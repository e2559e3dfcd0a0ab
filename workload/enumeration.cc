#include "workload/enumeration.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "codec/resp3.h"
#include "workload/neighbours.h"
#include "workload/trace_text.h"

namespace fencepost::workload {
namespace {

// After each sequence: what distinguishes the states of a key. Is it there, with which value; would
// a condition hold; does it need a token, is there a notification. A request may end what an expiry
// would have shown, so that time passes first where something expires soon.
constexpr std::string_view kTellApart =
    "c1 GET k0\n"
    "c0 VDEL k0 \"none has this\"\n"
    "c0 SET k0 \"a\" NX\n"
    "c0 SET k0 \"last\"\n";
constexpr std::string_view kTellApartLater =
    "c1 GET k0\n"
    "wait 150\n"
    "c0 VDEL k0 \"none has this\"\n"
    "c0 SET k0 \"a\" NX\n";
constexpr std::int64_t kSoonMs = 100;
constexpr std::int64_t kBeyond32Bits = std::int64_t{1} << 32;

Trace parsed(std::string_view text) {
  auto trace = parse_trace(text);
  FENCEPOST_CHECK(trace.has_value());
  return *std::move(trace);
}

std::vector<Trace> parsed_all(const std::vector<std::string_view>& texts) {
  std::vector<Trace> out;
  for (const std::string_view text : texts) out.push_back(parsed(text));
  return out;
}

void add(Trace& out, const std::string& text) { out.push_back(parsed(text).front()); }

// Each text with each ending.
std::vector<std::string> with_each(const std::vector<std::string>& texts,
                                   const std::vector<std::string>& endings) {
  std::vector<std::string> out;
  for (const std::string& text : texts) {
    for (const std::string& ending : endings) out.push_back(text + ending);
  }
  return out;
}

void add_combinations(Trace& out) {
  // Empty, one and another, the beginning of another, another case, what RESP is made of, a NUL,
  // numbers that are equal and not the same.
  const std::vector<std::string> values = {R"( "a")",   R"( "b")",  R"( "")",
                                           R"( "A")",   R"( "ab")", R"( "a\r\nb")",
                                           R"( "a\0")", R"( "1")",  R"( "01")"};
  const std::vector<std::string> tokens = {"", " ft=token-1", " ft=token", " ft=token/1"};
  const std::vector<std::string> options =
      with_each({"", " NX", " NEX"}, {"", " PX 1", " PX 100", " PX 60000"});
  const std::vector<std::vector<std::string>> requests = {
      with_each(with_each(with_each({"c0 SET k0"}, values), options), tokens),
      with_each(with_each({"c0 VDEL k0"}, values), tokens), with_each({"c0 DEL k0"}, tokens)};
  for (const auto& some : requests) {
    for (const std::string& text : some) add(out, text);
  }
}

// What is missing, equal, older, newer, too far ahead, malformed; just within the limit, long ago,
// padded; counters beyond 16 and 32 bits; another node; an expiry beyond 32 bits.
void add_timestamps(Trace& out) {
  for (const char* stamp :
       {"none", "version", "version-1", "version+1", "now+120000", "bad0", "now+45000",
        "now-3600000", "nowp", "now/65536", "now/4294967296", "version#1", "version#2"}) {
    add(out, std::string("c0 SET k0 \"b\" ts=") + stamp);
  }
  for (const char* stamp : {"now+120000", "bad0", "now+45000", "now-3600000", "nowp", "now/65536",
                            "token/4294967296", "token#1", "token#2"}) {
    add(out, std::string("c0 SET k0 \"b\" ft=") + stamp);
    add(out, std::string("c0 DEL k0 ft=") + stamp);
  }
  add(out, "c0 SET k0 \"a\" PX 4294967396");
  add(out, "c0 SET k0 \"b\" PX 60000 ts=now-3600000");
}

// Values that are UTF-8 and not; keys that begin with that of the other requests, then a blank or a
// NUL follows.
void add_bytes(Trace& out) {
  for (const char* request : {R"(k0 "\xc3\xa9")", R"(k0 "\xff")", R"(k2 "b")", R"(k3 "b")"}) {
    add(out, std::string("c0 SET ") + request);
  }
}

Trace make_all_requests() {
  Trace out;
  add_combinations(out);
  add_timestamps(out);
  add_bytes(out);
  for (const Operation& operation : usual_requests()) {
    if (std::find(out.begin(), out.end(), operation) == out.end()) out.push_back(operation);
  }
  return out;
}

// ---- Payloads that are nearly requests

constexpr std::string_view kRequests[] = {
    "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\na\r\n",
    "*6\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\na\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n60000\r\n",
    "*4\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\na\r\n$3\r\nNEX\r\n",
    "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n",
    "*2\r\n$3\r\nDEL\r\n$1\r\nk\r\n",
    "*3\r\n$4\r\nVDEL\r\n$1\r\nk\r\n$1\r\na\r\n",
    "*2\r\n$9\r\nKEYNOTIFY\r\n$1\r\nk\r\n",
    "*3\r\n$9\r\nKEYNOTIFY\r\n$1\r\nk\r\n$4\r\nSTOP\r\n",
    // These are near the expected length: a colon is what follows 9 in ASCII.
    "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$9\r\n0123456789\r\n",
    "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$10\r\n0123456789\r\n",
};
// Each length and count as others write it, or as it is beyond 32 bits.
void add_with_other_numbers(const std::string& request, std::set<std::string>& out) {
  constexpr std::string_view kDigits = "0123456789";
  std::size_t at = 0;
  while ((at = request.find_first_of("*$", at)) != std::string::npos) {
    const std::size_t end = std::min(request.find_first_not_of(kDigits, ++at), request.size());
    if (end == at) continue;
    const std::int64_t number = std::stoll(request.substr(at, end - at));
    for (const std::string& other :
         {std::to_string(number + 1), std::to_string(number - 1), "00" + std::to_string(number),
          std::to_string(number + 256), std::to_string(number + 65'536),
          std::to_string(number + kBeyond32Bits), std::string("1000000000"),
          std::string("9223372036854775807"), std::string("18446744073709551616")}) {
      out.insert(std::string(request).replace(at, end - at, other));
    }
  }
}

// The requests as their words.
const std::vector<std::vector<std::string>>& worded_requests() {
  static const std::vector<std::vector<std::string>> requests = {
      {"SET", "k", "a"},
      {"SET", "k", "a", "NX"},
      {"SET", "k", "a", "NEX", "PX", "60000"},
      {"SET", "k", "a", "PX", "60000"},
      {"GET", "k"},
      {"DEL", "k"},
      {"VDEL", "k", "a"},
      {"KEYNOTIFY", "k"},
      {"KEYNOTIFY", "k", "STOP"}};
  return requests;
}

// Words of each kind that stands in a request, numbers at the limits of their types, and none.
constexpr std::string_view kWords[] = {"",
                                       " ",
                                       "a",
                                       "0",
                                       "01",
                                       "-1",
                                       "+1",
                                       "1.5",
                                       "1e3",
                                       "0x1",
                                       "NX",
                                       "nx",
                                       "NEX",
                                       "PX",
                                       "STOP",
                                       "SET",
                                       "GET",
                                       "XX",
                                       "60000",
                                       "EX",
                                       "2147483648",
                                       "4294967297",
                                       "9223372036854775807",
                                       "9223372036854775808",
                                       "18446744073709551617"};

void add_with_other_words(const std::vector<std::string>& request, std::set<std::string>& out) {
  for (std::size_t at = 0; at <= request.size(); ++at) {
    const auto place = static_cast<std::ptrdiff_t>(at);
    for (const std::string_view word : kWords) {
      std::vector<std::string> more = request;
      more.insert(more.begin() + place, std::string(word));
      out.insert(codec::encode_command({more.begin(), more.end()}));
      if (at == request.size()) continue;
      std::vector<std::string> other = request;
      other[at] = word;
      out.insert(codec::encode_command({other.begin(), other.end()}));
    }
    if (at == request.size()) continue;
    std::vector<std::string> less = request;
    less.erase(less.begin() + place);
    out.insert(codec::encode_command({less.begin(), less.end()}));
  }
}

// Bytes that mean something outside of words, and digits beside those that stand there.
constexpr std::string_view kFraming = "019:-+ \r\n$*";

// Which bytes of the payload are not of its words.
std::vector<std::size_t> framing_of(const std::string& payload) {
  std::vector<std::size_t> out;
  std::size_t at = 0;
  while (at < payload.size()) {
    const bool is_word = payload[at] == '$';
    const std::size_t bytes = std::stoul(payload.substr(at + 1));
    const std::size_t end = payload.find("\r\n", at) + 2;
    for (; at < end; ++at) out.push_back(at);
    if (!is_word) continue;
    at += bytes;
    out.insert(out.end(), {at, at + 1});
    at += 2;
  }
  return out;
}

// With each two bytes at these places.
void add_with_others(std::string request, std::size_t first, std::size_t second,
                     std::set<std::string>& out) {
  for (const char one : kFraming) {
    request[first] = one;
    for (const char other : kFraming) {
      request[second] = other;
      out.insert(request);
    }
  }
}

void add_twice_wrong(const std::string& request, std::set<std::string>& out) {
  const std::vector<std::size_t> framing = framing_of(request);
  for (std::size_t i = 0; i < framing.size(); ++i) {
    for (std::size_t j = i + 1; j < framing.size(); ++j) {
      add_with_others(request, framing[i], framing[j], out);
    }
  }
}

// This many of a list are in one workload.
constexpr std::size_t kListedInATrace = 8;

// With what a SET needs, so that its payload alone decides.
Operation with_payload(const std::string& payload) {
  Operation out{.kind = Kind::kRawPayload, .value = payload};
  if (payload.find("SET") != std::string::npos) out.timestamp = default_timestamp(Kind::kSet);
  return normalized(out);
}
Operation nearly_request(std::size_t number) { return with_payload(nearly_requests()[number]); }
Operation twice_wrong_request(std::size_t number) {
  return with_payload(twice_wrong_requests()[number]);
}

Operation with_nearly(std::size_t number, Stamp Operation::*property) {
  Operation out{.kind = Kind::kSet, .value = "a", .timestamp = default_timestamp(Kind::kSet)};
  out.*property = {.base = StampBase::kMalformed,
                   .malformed = static_cast<std::uint16_t>(malformed_texts().size() + number)};
  return normalized(out);
}
Operation with_nearly_a_timestamp(std::size_t number) {
  return with_nearly(number, &Operation::timestamp);
}
Operation with_nearly_a_token(std::size_t number) { return with_nearly(number, &Operation::token); }

std::size_t power(std::size_t base, std::size_t exponent) {
  std::size_t out = 1;
  for (; exponent > 0; --exponent) out *= base;
  return out;
}

}  // namespace

const std::vector<Trace>& states_of_a_key() {
  static const std::vector<Trace> states = parsed_all({
      "",
      "c0 SET k0 \"a\"",
      "c0 SET k0 \"\"",
      "c0 SET k0 \"a\" PX 60000",
      "c0 SET k0 \"a\" PX 100",
      "c0 SET k0 \"a\" ft=now",
      "c1 KEYNOTIFY k0",
      "c0 SET k0 \"a\"\nc1 KEYNOTIFY k0",
      "c1 KEYNOTIFY k0\nc0 SET k0 \"a\" PX 100",
      "c0 SET k0 \"a\" ft=now\nc0 DEL k0 ft=token",
      "c1 KEYNOTIFY k0\nc0 SET k0 \"a\" PX 100\nwait 150",
  });
  return states;
}

const Trace& all_requests() {
  static const Trace requests = make_all_requests();
  return requests;
}

const Trace& usual_requests() {
  static const Trace requests = parsed(
      "c0 SET k0 \"a\"\nc0 SET k0 \"b\"\nc0 SET k0 \"\"\nc0 SET k0 \"a\" NX\nc0 SET k0 \"b\" NX\n"
      "c0 SET k0 \"a\" NEX\nc0 SET k0 \"b\" NEX\nc0 SET k0 \"a\" PX 100\nc0 SET k0 \"b\" PX 100\n"
      "c0 SET k0 \"a\" PX 60000\nc0 SET k0 \"a\" NX PX 100\nc0 SET k0 \"a\" NEX PX 100\n"
      "c0 SET k0 \"a\" NEX PX 60000\nc0 SET k0 \"b\" ft=token-1\nc0 SET k0 \"b\" ft=token\n"
      "c0 SET k0 \"b\" ft=token/9\nc0 SET k0 \"b\" ft=token/-1\n"
      "c0 SET k0 \"a\" NX ft=token/1\nc0 SET k0 \"a\" NEX ft=token/1\n"
      "c0 SET k0 \"b\" ts=version-1\nc0 GET k0\nc1 GET k0\nc0 DEL k0\nc0 DEL k0 ft=token-1\n"
      "c0 DEL k0 ft=token\nc0 VDEL k0 \"a\"\nc0 VDEL k0 \"b\"\nc0 VDEL k0 \"\"\n"
      "c0 VDEL k0 \"a\" ft=token\nc0 KEYNOTIFY k0\nc0 STOP k0\nc1 KEYNOTIFY k0\nc1 STOP k0\n"
      "c1 SET k0 \"c\"\nc1 DEL k0\nc0 SET k1 \"a\"\nc0 SET k1 \"a\" PX 100\nc0 DEL k1\n"
      "c1 KEYNOTIFY k1\nc1 STOP k1\nc0 GET k1\nc0 SET k5 \"a\"\nc1 KEYNOTIFY k5\n"
      "c1 disconnect\nwait 150");
  return requests;
}

const Trace& few_requests() {
  static const Trace requests = parsed(
      "c0 SET k0 \"b\"\nc0 SET k0 \"a\" NX\nc0 SET k0 \"a\" NEX PX 100\nc0 SET k0 \"b\" PX 100\n"
      "c0 SET k0 \"b\" ft=token/1\nc0 GET k0\nc0 DEL k0\nc0 DEL k0 ft=token\nc0 VDEL k0 \"a\"\n"
      "c1 KEYNOTIFY k0\nc1 STOP k0\nc0 SET k1 \"a\"\nc1 disconnect\nwait 150");
  return requests;
}

const Trace& distinguishing_requests(bool expires) {
  static const Trace now = parsed(kTellApart);
  static const Trace later = parsed(kTellApartLater);
  return expires ? later : now;
}

Trace distinguished(Trace trace) {
  const bool expires = std::any_of(trace.begin(), trace.end(), [](const Operation& operation) {
    return operation.px_ms && *operation.px_ms % kBeyond32Bits <= kSoonMs;
  });
  const Trace& last = distinguishing_requests(expires);
  trace.insert(trace.end(), last.begin(), last.end());
  return trace;
}

const std::vector<std::string>& nearly_requests() {
  static const std::vector<std::string> payloads = [] {
    std::vector<std::string> bytes;
    for (int byte = 0; byte < 256; ++byte) bytes.emplace_back(1, static_cast<char>(byte));
    std::set<std::string> all;
    for (const std::string_view request : kRequests) {
      add_neighbours(std::string(request), bytes, all);
      add_with_other_numbers(std::string(request), all);
    }
    for (const auto& request : worded_requests()) add_with_other_words(request, all);
    return std::vector(all.begin(), all.end());
  }();
  return payloads;
}

const std::vector<std::string>& twice_wrong_requests() {
  static const std::vector<std::string> payloads = [] {
    std::set<std::string> all;
    for (const auto& words :
         {std::vector<std::string>{"SET", "k", "a"}, {"GET", "k"}, {"VDEL", "k", "a"}}) {
      add_twice_wrong(codec::encode_command({words.begin(), words.end()}), all);
    }
    return std::vector(all.begin(), all.end());
  }();
  return payloads;
}

Enumeration::Enumeration(std::size_t depth) : depth_(depth) {
  FENCEPOST_CHECK(depth >= 1 && depth <= kMaxDepth);
  static const std::vector<Trace> from_nothing = {{}};
  add(states_of_a_key(), all_requests(), 1);
  if (depth < 2) return;
  add("payloads that differ from a request in one byte, number or word", nearly_requests().size(),
      nearly_request);
  add("texts that differ from a timestamp in one character, as __ts", nearly_timestamps().size(),
      with_nearly_a_timestamp);
  add("texts that differ from a timestamp in one character, as __ft", nearly_timestamps().size(),
      with_nearly_a_token);
  add(states_of_a_key(), usual_requests(), 2);
  if (depth < 3) return;
  add("payloads that differ from a request in two bytes outside of words",
      twice_wrong_requests().size(), twice_wrong_request);
  add(from_nothing, all_requests(), 2);
  add(from_nothing, usual_requests(), 3);
  add(states_of_a_key(), few_requests(), 3);
}

void Enumeration::add(const std::vector<Trace>& states, const Trace& requests,
                      std::size_t in_a_row) {
  parts_.push_back({.states = &states,
                    .requests = &requests,
                    .in_a_row = in_a_row,
                    .size = states.size() * power(requests.size(), in_a_row)});
  size_ += parts_.back().size;
}

void Enumeration::add(std::string what, std::size_t listed,
                      Operation (*request_of)(std::size_t number)) {
  parts_.push_back({.what = std::move(what),
                    .listed = listed,
                    .request_of = request_of,
                    .size = (listed + kListedInATrace - 1) / kListedInATrace});
  size_ += parts_.back().size;
}

Trace Enumeration::trace(std::size_t number) const {
  FENCEPOST_CHECK(number < size_);
  auto part = parts_.begin();
  for (; number >= part->size; ++part) number -= part->size;
  Trace out;
  if (part->request_of != nullptr) {
    const std::size_t end = std::min((number + 1) * kListedInATrace, part->listed);
    for (std::size_t i = number * kListedInATrace; i < end; ++i) out.push_back(part->request_of(i));
  } else {
    // Those that follow a state follow one another, the last request changing first.
    const std::size_t rows = power(part->requests->size(), part->in_a_row);
    out = (*part->states)[number / rows];
    number %= rows;
    for (std::size_t i = part->in_a_row; i > 0; --i) {
      const std::size_t unit = power(part->requests->size(), i - 1);
      out.push_back((*part->requests)[number / unit]);
      number %= unit;
    }
  }
  return distinguished(std::move(out));
}

std::vector<std::string> Enumeration::bound() const {
  std::vector<std::string> out;
  for (const Part& part : parts_) {
    if (part.request_of != nullptr) {
      out.push_back(std::to_string(part.size) + " workloads: each of " +
                    std::to_string(part.listed) + " " + part.what);
      continue;
    }
    const char* each = part.in_a_row == 1   ? "each of"
                       : part.in_a_row == 2 ? "each pair of"
                                            : "each sequence of three of";
    const std::string from =
        part.states->size() == 1
            ? "from an empty store"
            : "in each of " + std::to_string(part.states->size()) + " states of a key";
    out.push_back(std::to_string(part.size) + " workloads: " + each + " " +
                  std::to_string(part.requests->size()) + " requests, " + from);
  }
  return out;
}

}  // namespace fencepost::workload
