#include "conforming_store.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>

namespace conforming_store {
namespace {

using Properties = std::vector<std::pair<std::string, std::string>>;

constexpr char kRequestTopic[] =
    "statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke";
constexpr char kNotifyPrefix[] = "clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8";

// The error texts, section 3.3; number 4 depends on the profile (8a.7).
constexpr char kRequestSkew[] =
    "the request timestamp is too far in the future; ensure that the client and broker system "
    "clocks are synchronized";
constexpr char kTokenRequired[] = "a fencing token is required for this request";
constexpr char kTokenSkew[] =
    "the request fencing token timestamp is too far in the future; ensure that the client and "
    "broker system clocks are "
    "synchronized";
constexpr char kTokenLowerDocumented[] =
    "the request fencing token is a lower version that the fencing token protecting the resource";
constexpr char kTokenLowerDeployed[] =
    "the request fencing token is a lower version than the fencing token protecting the resource";
constexpr char kSyntaxError[] = "syntax error";
constexpr char kUnknownCommand[] = "unknown command";
constexpr char kWrongNumber[] = "wrong number of arguments";
constexpr char kMissingTimestamp[] = "missing timestamp";
constexpr char kMalformedTimestamp[] = "malformed timestamp";
constexpr char kKeyEmpty[] = "the key length is zero";

constexpr int64_t kMaxSkewMs = 60'000;
constexpr int64_t kNever = -1;
constexpr size_t kMaxTopic = 65'535;

// Randomness

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {  // splitmix64
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  size_t Below(size_t n) { return static_cast<size_t>(Next() % n); }
  template <typename T>
  void Shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[Below(i)]);
  }

 private:
  uint64_t state_;
};

uint64_t Hash(std::string_view text) {  // FNV-1a
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

// Small things about bytes

bool IsDigits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Decimal digits, at most `max`; nullopt if it is greater or not a number.
std::optional<uint64_t> ParseDigits(std::string_view text, uint64_t max) {
  if (!IsDigits(text)) return std::nullopt;
  uint64_t value = 0;
  for (char c : text) {
    const uint64_t digit = static_cast<uint64_t>(c - '0');
    if (value > (max - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
  }
  return value;
}

std::string UpperHex(std::string_view bytes) {
  static const char digits[] = "0123456789ABCDEF";
  std::string hex;
  for (const char each : bytes) {
    const auto c = static_cast<unsigned char>(each);
    hex += digits[c >> 4];
    hex += digits[c & 15];
  }
  return hex;
}

std::string UpperCase(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

std::string_view Trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const unsigned char lead = static_cast<unsigned char>(text[i]);
    const size_t more = lead < 0x80                   ? 0
                        : lead >= 0xC2 && lead < 0xE0 ? 1
                        : lead >= 0xE0 && lead < 0xF0 ? 2
                                                      : 3;
    if ((lead >= 0x80 && lead < 0xC2) || lead > 0xF4 || i + more >= text.size()) return false;
    uint32_t point = more == 0 ? lead : lead & (0x3Fu >> more);
    for (size_t k = 1; k <= more; ++k) {
      const unsigned char next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xC0) != 0x80) return false;
      point = (point << 6) | (next & 0x3Fu);
    }
    if ((more == 2 && point < 0x800) || (more == 3 && (point < 0x10000 || point > 0x10FFFF)))
      return false;
    if (point >= 0xD800 && point < 0xE000) return false;
    i += more + 1;
  }
  return true;
}

std::string Pad(uint64_t value, size_t width) {
  std::string text = std::to_string(value);
  return text.size() >= width ? text : std::string(width - text.size(), '0') + text;
}

std::string Bulk(std::string_view bytes) {
  return "$" + std::to_string(bytes.size()) + "\r\n" + std::string(bytes) + "\r\n";
}

// Hybrid logical clocks, section 5

struct Hlc {
  int64_t wall = 0;  // milliseconds
  uint64_t counter = 0;
  std::string node;
};

// (wall, counter, node id), numbers as numbers, node ids by bytes: section 5.2.
int Compare(const Hlc& a, const Hlc& b, bool by_node) {
  if (a.wall != b.wall) return a.wall < b.wall ? -1 : 1;
  if (a.counter != b.counter) return a.counter < b.counter ? -1 : 1;
  return by_node ? a.node.compare(b.node) : 0;
}

// `__ts` or `__ft` as it came.
struct Stamp {
  enum State { kAbsent, kMalformed, kLegal } state = kAbsent;
  Hlc hlc;
};

// Decisions

class Drawer {
 public:
  Drawer(uint64_t seed, const Store::Fixed& fixed) : seed_(seed), fixed_(fixed) {}

  std::string Way(const std::string& name, std::vector<std::string> ways) {
    Decision decision{name, std::move(ways), "", false};
    if (const std::string* given = Given(name)) {
      if (std::find(decision.ways.begin(), decision.ways.end(), *given) == decision.ways.end())
        throw std::invalid_argument("no way of " + name + ": " + *given);
      decision.way = *given;
      decision.fixed = true;
    } else {
      Random random(seed_ ^ Hash(name));
      random.Next();
      decision.way = decision.ways[random.Below(decision.ways.size())];
    }
    decisions_.push_back(decision);
    return decision.way;
  }

  // Two ways; true for the second.
  bool Odd(const std::string& name, const std::string& plain, const std::string& odd) {
    return Way(name, {plain, odd}) == odd;
  }
  bool Plain(const std::string& name, const std::string& plain, const std::string& odd) {
    return !Odd(name, plain, odd);
  }

  int64_t Number(const std::string& name, const std::vector<int64_t>& ways) {
    std::vector<std::string> texts;
    for (int64_t way : ways) texts.push_back(std::to_string(way));
    return std::stoll(Way(name, texts));
  }

  uint64_t Limit(const std::string& name, const std::vector<uint64_t>& ways) {
    std::vector<std::string> texts;
    for (uint64_t way : ways) texts.push_back(std::to_string(way));
    return std::stoull(Way(name, texts));
  }

  // A permutation; `late` comes after all of `before` it, where it is among the items.
  std::vector<std::string> Order(const std::string& name, const std::vector<std::string>& items,
                                 const std::string& late, const std::set<std::string>& before) {
    Decision decision{name, {}, "", false};
    std::vector<std::string> order = items;
    if (const std::string* given = Given(name)) {
      order.clear();
      std::string item;
      for (char c : *given + ",") {
        if (c != ',') {
          item += c;
          continue;
        }
        order.push_back(item);
        item.clear();
      }
      if (!std::is_permutation(order.begin(), order.end(), items.begin(), items.end()) ||
          !Lawful(order, late, before))
        throw std::invalid_argument("no order of " + name + ": " + *given);
      decision.fixed = true;
    } else {
      Random random(seed_ ^ Hash(name));
      do random.Shuffle(order);
      while (!Lawful(order, late, before));
    }
    for (const std::string& item : order) decision.way += (decision.way.empty() ? "" : ",") + item;
    decisions_.push_back(decision);
    return order;
  }

  std::vector<Decision> Finish() {
    for (const auto& [name, way] : fixed_)
      if (std::none_of(decisions_.begin(), decisions_.end(),
                       [&n = name](const Decision& d) { return d.name == n; }))
        throw std::invalid_argument("no decision " + name);
    return std::move(decisions_);
  }

 private:
  const std::string* Given(const std::string& name) const {
    for (const auto& [fixed_name, way] : fixed_)
      if (fixed_name == name) return &way;
    return nullptr;
  }
  static bool Lawful(const std::vector<std::string>& order, const std::string& late,
                     const std::set<std::string>& before) {
    const auto place = std::find(order.begin(), order.end(), late);
    return place == order.end() || std::none_of(place, order.end(), [&](const std::string& item) {
             return before.count(item) > 0;
           });
  }

  const uint64_t seed_;
  const Store::Fixed& fixed_;
  std::vector<Decision> decisions_;
};

// How far a `__ts` or `__ft` is looked at where the request does not need it.
enum class Look { kIgnored, kForm, kFormAndSkew };

struct Policy {
  bool deployed;

  // 8a.1, 8a.2, 8a.4, 8a.7: set by the profile, nothing to decide.
  std::string not_applied, delete_word, token_lower;

  // Replies and notifications.
  bool stat, miss_ts, del_miss_ts, vdel_mismatch_ts, not_applied_ts, keynotify_ts, error_ts;
  bool bare_syntax_error, bare_errors, colon_payload_errors, colon_errors;
  std::string protocol_version, source_id, extras, property_order;
  std::optional<std::string> reply_content_type, notify_content_type;
  std::string reply_format, notify_format;
  int reply_qos, notify_qos;
  bool version_reply;

  // Requests: envelope.
  std::string qos0, qos2, missing_correlation;
  bool missing_topic_disconnects, dollar_topic_disconnects, empty_correlation_missing,
      qos_before_correlation;
  // Requests: payload.
  bool bare_lf, length_zeros, length_plus, simple_strings, numbers, printed_keynotify,
      null_key_is_empty, verb_first;
  std::string trailing;
  size_t length_digits;
  const char* empty_array;
  bool any_case_verbs, any_case_options;
  const char *wrong_case_verb, *empty_verb, *odd_verb;
  const char *set_without_value, *unknown_option, *px_without_number, *keynotify_option,
      *keynotify_extra;
  // SET options.
  bool repeated_condition, both_conditions, px_first, nex_value;
  std::string repeated_px, px_zero, px_negative;
  bool px_plus, px_zeros, px_blanks, px_fraction, px_saturates, keep_expiry;
  uint64_t px_max;
  // Keys.
  uint64_t key_max;
  bool refuse_long_observed, refuse_patterns;
  // Timestamps.
  bool last_property, trim, empty_node, blank_node, colon_node, unicode_node, wall_plus, wall_minus,
      counter_plus;
  bool empty_ts_missing, empty_ft_absent;
  uint64_t wall_max, counter_max, node_max;
  bool overflow_carries;
  Look ts_get, ts_del, ts_keynotify, ft_get, ft_keynotify, ft_unfenced, ft_missing_key;
  // Clock and versions.
  int64_t offset_us, grain_us, clock_step;
  std::string clocks, node_use;
  std::vector<std::string> nodes;
  size_t wall_width, counter_width;
  bool merge_not_applied, merge_error, merge_read, merge_delete;
  // Fencing.
  bool tie_by_node, advance_token_not_applied, keep_token_expired;
  // Expiry.
  int64_t expiry_lag_us;
  bool late_is_there;
  std::string late_found_by;
  bool shuffle_expiries;
  // Notifications.
  bool tell_expiry, direct, value_on_get_only, get_option;
  std::string expiry_ts, same_value, observer_order;
  bool again_zero, twice, notify_correlation, notify_first;
  int64_t notify_delay_us, linger_us;
  // The orders of checks.
  std::vector<std::string> set_checks, get_checks, del_checks, vdel_checks, keynotify_checks;

  std::vector<Decision> decisions;

  Policy(uint64_t seed, Profile profile, const Store::Fixed& fixed)
      : deployed(profile == Profile::kDeployed) {
    Drawer draw(seed, fixed);
    not_applied = deployed ? ":-1\r\n" : "-1\r\n";
    delete_word = deployed ? "DELETE" : "DEL";
    token_lower = deployed ? kTokenLowerDeployed : kTokenLowerDocumented;
    DrawReplies(draw);
    DrawEnvelope(draw);
    DrawPayload(draw);
    DrawOptions(draw);
    DrawTimestamps(draw);
    DrawClock(draw);
    DrawExpiry(draw);
    DrawNotifications(draw);
    DrawOrders(draw);
    decisions = draw.Finish();
  }

 private:
  void DrawReplies(Drawer& draw) {
    // 8a.9: the article does not mention `__stat`; deployed it is required, and 200 even for
    // `-ERR`.
    stat = deployed || draw.Odd("status", "absent", "200");
    // 8a.11: "never on GET miss" holds for the deployed service; the article speaks of successful
    // GETs only.
    miss_ts = !deployed && draw.Odd("ts_of_get_miss", "absent", "clock");
    // Section 6: "DEL miss / VDEL mismatch: unknown".
    del_miss_ts = draw.Odd("ts_of_delete_miss", "absent", "clock");
    vdel_mismatch_ts = draw.Odd("ts_of_vdel_mismatch", "absent", "version");
    // 8a.11: deployed the stored version; the article has no word on it ("returns the version of
    // the value").
    not_applied_ts = deployed || draw.Odd("ts_of_not_applied", "absent", "version");
    // Section 6: "KEYNOTIFY, errors: unknown; SDKs do not need it".
    keynotify_ts = draw.Odd("ts_of_keynotify", "absent", "clock");
    error_ts = draw.Odd("ts_of_errors", "absent", "clock");

    // 8a.8: the article prints `-ERR syntax error` without line end, and `-ERR: <DESC>` plus line
    // end for KEYNOTIFY, whose payload errors are invalid payloads, too (audit 2.7).
    const std::string line_end =
        deployed ? "always"
                 : draw.Way("error_line_end", {"always", "not after syntax error", "never"});
    bare_syntax_error = line_end != "always";
    bare_errors = line_end == "never";
    const std::string colon =
        deployed ? "never"
                 : draw.Way("keynotify_error_colon", {"always", "never", "not for payload errors"});
    colon_payload_errors = colon == "always";
    colon_errors = colon != "never";

    // 8b.28: values of response QoS, content type, `__protVer`, `__srcId`; a client takes major
    // version 1 (1.4).
    const std::string version = draw.Way("protocol_version", {"absent", "1.0", "1.1"});
    protocol_version = version == "absent" ? "" : version;
    source_id = draw.Odd("source_id", "absent", "StateStore") ? "StateStore" : "";
    reply_qos = static_cast<int>(draw.Number("reply_qos", {1, 0}));
    // 8b.56: QoS of NOTIFY; section 4: "QoS 0/1 accepted".
    notify_qos = static_cast<int>(draw.Number("notify_qos", {1, 0}));
    // 1.4: absent or exactly application/octet-stream suits all SDKs; the article has no word on
    // it.
    std::vector<std::string> types = {"absent", "application/octet-stream"};
    if (!deployed) types.insert(types.end(), {"empty", "application/x-resp"});
    const auto type = [&](const std::string& way) {
      return way == "absent" ? std::nullopt : std::optional<std::string>(way == "empty" ? "" : way);
    };
    reply_content_type = type(draw.Way("reply_content_type", types));
    notify_content_type = type(draw.Way("notify_content_type", types));
    // 1.4: the payload format is not required; 1 only where the payload is UTF-8.
    reply_format = draw.Way("reply_payload_format", {"absent", "0", "1 if UTF-8"});
    notify_format = draw.Way("notify_payload_format", {"absent", "0", "1 if UTF-8"});
    // 1.1, 1.4: unknown user properties and the order of all do not matter; MQTT 5 allows a name
    // more than once.
    extras = draw.Way("extra_properties",
                      {"none", "one", "doubled", "empty value", "twenty", "long", "unicode"});
    property_order = draw.Way("property_order", {"listed", "reversed", "shuffled"});
    // 8b.27: "`__protVer` unsupported: 505 + `__supProtMajVer` or ignored"; the article does not
    // know the property.
    version_reply = deployed && draw.Odd("unsupported_version", "ignored", "505");
  }

  void DrawEnvelope(Drawer& draw) {
    // 8b.21: "the request fails": silence, -ERR, a code, or disconnect. Never carried out.
    qos0 = draw.Way("request_qos0", {"ignored", "answered", "disconnect"});
    qos2 = draw.Way("request_qos2", {"ignored", "answered", "disconnect"});
    // 8b.22: missing correlation data: the request fails; empty data may count as present or as
    // missing.
    missing_correlation = draw.Way("missing_correlation", {"ignored", "answered"});
    empty_correlation_missing = draw.Odd("empty_correlation", "present", "missing");
    // No order of these two checks is stated. (A forbidden response topic comes first: "disconnects
    // clients".)
    qos_before_correlation = draw.Odd("qos_and_correlation", "correlation first", "qos first");
    // 8b.23: a missing (or empty) response topic cannot be answered; it may count as an invalid
    // one.
    missing_topic_disconnects = draw.Odd("missing_response_topic", "ignored", "disconnect");
    // 8b.23: `$share/...`, `$SYS/...`: a topic that can be published on, or an invalid one.
    dollar_topic_disconnects = draw.Odd("dollar_response_topic", "served", "disconnect");
  }

  void DrawPayload(Drawer& draw) {
    const auto error = [&](const std::string& name, const char* first, const char* second) {
      return draw.Odd(name, first, second) ? second : first;
    };
    // 8b.16: bare LF, leading zeros, sign; each refused (`syntax error`) or taken for what it
    // means.
    bare_lf = draw.Odd("bare_lf", "refused", "accepted");
    length_zeros = draw.Odd("length_leading_zeros", "refused", "accepted");
    length_plus = draw.Odd("length_plus", "refused", "accepted");
    length_digits = draw.Limit("length_digits", {20, 10, 12, 64, 4096});
    empty_array = error("empty_array", kSyntaxError, kWrongNumber);
    // 8b.16: `$-1` as key: illegal, or a key of no bytes.
    null_key_is_empty = draw.Odd("null_key", "refused", "empty key");
    // 8b.15: elements that are no bulk strings: refused or taken as their text.
    const std::string types =
        draw.Way("element_types", {"bulk", "bulk, simple", "bulk, simple, number"});
    simple_strings = types != "bulk";
    numbers = types == "bulk, simple, number";
    // 8a.23: the article prints the payload of KEYNOTIFY without RESP framing.
    printed_keynotify = !deployed && draw.Odd("keynotify_as_printed", "refused", "accepted");
    // 8b.14: trailing bytes, a second array.
    trailing = draw.Way("trailing_bytes", {"refused", "ignored", "line ends ignored"});
    // 8b.13: precedence of `unknown command` and `syntax error` (broken framing behind an unknown
    // verb).
    verb_first = draw.Odd("unknown_verb_and_framing", "framing first", "verb first");

    // 8b.11: wrong-case verb: carried out (the client must send upper case, the store is told
    // nothing), or refused.
    any_case_verbs = draw.Odd("verb_case", "upper", "any");
    wrong_case_verb = error("wrong_case_verb", kUnknownCommand, kSyntaxError);
    // 8b.11: empty verb; verb with NUL or blank.
    empty_verb = error("empty_verb", kUnknownCommand, kSyntaxError);
    odd_verb = error("odd_bytes_in_verb", kUnknownCommand, kSyntaxError);
    // 8b.51, audit 2.2: options in lower case.
    any_case_options = draw.Odd("option_case", "upper", "any");
    // 8b.4, 8b.10, 8b.12: `wrong number of arguments` or `syntax error`. (A bare verb and the verbs
    // of a fixed number of arguments are left with "incorrect number of expected arguments".)
    set_without_value = error("set_without_value", kWrongNumber, kSyntaxError);
    unknown_option = error("unknown_option", kSyntaxError, kWrongNumber);
    px_without_number = error("px_without_number", kSyntaxError, kWrongNumber);
    keynotify_option = error("keynotify_unknown_option", kSyntaxError, kWrongNumber);
    keynotify_extra = error("keynotify_extra_argument", kWrongNumber, kSyntaxError);

    // 8b.19: max key length; deployed at least the 6,500 bytes that are tested (section 7). Too
    // long: `syntax error`.
    std::vector<uint64_t> keys = {UINT64_MAX, 65'535, 32'768, 16'384, 8'192, 6'500};
    if (!deployed) keys.insert(keys.end(), {4'096, 1'024});
    key_max = draw.Limit("key_max", keys);
    // Section 4: keys longer than the notify topic allows: "can be SET but not notified (behaviour
    // unspecified)".
    refuse_long_observed = draw.Odd("keynotify_of_key_beyond_topic", "accepted, silent", "refused");
    // "Wildcards aren't currently supported": taken literally or refused (audit 2.11, 32); deployed
    // keys are bytes.
    refuse_patterns = !deployed && draw.Odd("keynotify_of_pattern", "literal", "refused");
  }

  void DrawOptions(Drawer& draw) {
    // 8b.1: duplicate options: first, last or error.
    repeated_condition = draw.Odd("repeated_condition", "refused", "accepted");
    repeated_px = draw.Way("repeated_px", {"refused", "first", "last"});
    // 8b.2: NX and NEX together.
    both_conditions = draw.Odd("nx_with_nex", "refused", "both must hold");
    // 8b.3: `PX n NX`.
    px_first = draw.Plain("px_before_condition", "accepted", "refused");
    // 8b.9, 8a.3: NEX with a value: an unknown option, or the article's form, compared with that
    // value.
    nex_value = draw.Odd("nex_value", "unknown option", "compared");
    // 8b.5: `PX 0`, negative, `+5`, `05`, ` 5`, `1.5`; 0 and less: an invalid number, or a key that
    // is gone at once.
    px_zero = draw.Way("px_zero", {"refused", "gone at once"});
    px_negative = draw.Way("px_negative", {"refused", "gone at once"});
    px_plus = draw.Odd("px_plus", "refused", "accepted");
    px_zeros = draw.Plain("px_leading_zeros", "accepted", "refused");
    px_blanks = draw.Odd("px_blanks", "refused", "accepted");
    px_fraction = draw.Odd("px_fraction", "refused", "rounded up");
    // "integer overflow" is an invalid payload; of how many bits is not said (audit 36). Lock
    // example: 10,000.
    px_max =
        draw.Limit("px_max", {INT64_MAX, UINT64_MAX, uint64_t{1} << 53, UINT32_MAX, INT32_MAX});
    // 8b.6: now + PX overflows.
    px_saturates = draw.Plain("px_beyond_clock", "never expires", "refused");
    // 8b.7: SET without PX on a key that has an expiry.
    keep_expiry = draw.Odd("set_without_px", "clears expiry", "keeps expiry");
  }

  void DrawTimestamps(Drawer& draw) {
    const auto look = [&](const std::string& name) {
      const std::string way = draw.Way(name, {"ignored", "form checked", "form and skew checked"});
      return way == "ignored"        ? Look::kIgnored
             : way == "form checked" ? Look::kForm
                                     : Look::kFormAndSkew;
    };
    // 8b.35: `__ts` on GET/DEL/VDEL/KEYNOTIFY: ignored or validated.
    ts_get = look("ts_on_get");
    ts_del = look("ts_on_delete");
    ts_keynotify = look("ts_on_keynotify");
    // 8b.43: malformed/future `__ft` on GET, unfenced key, missing key. A SET stores its token:
    // always checked.
    ft_get = look("ft_on_get");
    ft_keynotify = look("ft_on_keynotify");
    ft_unfenced = look("ft_on_delete_of_unfenced_key");
    ft_missing_key = look("ft_on_delete_of_missing_key");
    // 8b.29: duplicates, empty value, surrounding blanks.
    last_property = draw.Odd("duplicate_property", "first", "last");
    empty_ts_missing = draw.Odd("empty_ts", "malformed", "missing");
    empty_ft_absent = draw.Odd("empty_ft", "malformed", "absent");  // also 8b.49
    trim = draw.Odd("blanks_around_ts", "kept", "trimmed");
    // 8b.40: node id empty, containing `:`, very long, non-ASCII. Section 5.1: the SDKs disagree on
    // the rest.
    empty_node = draw.Odd("empty_node_id", "malformed", "accepted");
    blank_node = draw.Plain("blank_node_id", "accepted", "malformed");
    colon_node = draw.Odd("colon_in_node_id", "malformed", "accepted");
    unicode_node = draw.Plain("unicode_in_node_id", "accepted", "malformed");
    node_max = draw.Limit("node_id_max", {UINT64_MAX, 4'096, 1'024, 255});
    const std::string sign = draw.Way("wall_clock_sign", {"malformed", "plus", "plus and minus"});
    wall_plus = sign != "malformed";
    wall_minus = sign == "plus and minus";
    counter_plus = draw.Odd("counter_sign", "malformed", "plus");
    wall_max = draw.Limit("wall_clock_max", {INT64_MAX, UINT64_MAX});
    // 8b.39, 5.1: width of the counter; at its end malformed, or carried into the wall clock.
    counter_max = draw.Limit("counter_max", {UINT64_MAX, INT64_MAX, UINT32_MAX, INT32_MAX});
    overflow_carries = draw.Odd("counter_overflow", "malformed", "carried");
  }

  void DrawClock(Drawer& draw) {
    // "Have a clock within one minute of the broker's": so may the broker's be, of the machine's.
    offset_us = 1'000 * draw.Number("clock_offset_ms", {0, 1, -1, 7, -13, 500, -500, 2'000, -3'000,
                                                        20'000, -30'000, 55'000, -55'000});
    // The wall clock is in milliseconds; how finely the clock ticks is not said.
    grain_us = draw.Number("clock_grain_us", {1'000, 1, 10'000, 15'625, 100'000, 1'000'000});
    // 8b.37: one clock for the store, or merged with the key's previous version only; or something
    // between. A clock outlives its key, so that versions of a key never go back.
    clocks = draw.Way("clocks", {"store", "key", "shard"});
    // Versions have to grow, "following the HLC update rules"; what else happens in a store between
    // two requests is its own. 0: from 1 to 5, each time another.
    clock_step = draw.Number("counter_step", {1, 2, 10, 1'000, 0});
    // 8b.38: does a not-applied SET, GET or DEL advance the clock. (By a legal `__ts` within the
    // skew only.)
    merge_not_applied = draw.Odd("not_applied_set_moves_clock", "no", "yes");
    merge_error = draw.Odd("refused_set_moves_clock", "no", "yes");
    merge_read = draw.Odd("get_and_keynotify_move_clock", "no", "yes");
    merge_delete = draw.Odd("delete_moves_clock", "no", "yes");
    // 8b.41, 5.2: padding never matters. 15/5 is what the SDKs send; the article's examples have
    // none.
    const std::string width =
        draw.Way("version_width", {"0/0", "15/5", "15/0", "0/5", "20/20", "13/10", "20/1"});
    wall_width = std::stoul(width.substr(0, width.find('/')));
    counter_width = std::stoul(width.substr(width.find('/') + 1));
    // 5.1: any node id that is not empty, not blank, without `:`.
    const std::string node =
        draw.Way("node_id", {"StateStore", "0", "-1", "$store", "+node", "!", "~", "a b", "uuid",
                             "long", "unicode", "CLIENT", "00000", "\"x\"", "%s%n", "#/+"});
    const std::string name = node == "uuid"      ? "3f2504e0-4f89-41d3-9a0c-0305e82c3301"
                             : node == "long"    ? std::string(200, 'n')
                             : node == "unicode" ? "sp\xC3\xA9icher-\xE2\x82\xAC"
                                                 : node;
    // 5.4: deployed the node id is constant; the article only shows `StateStore`.
    node_use = deployed ? "one" : draw.Way("nodes", {"one", "by key", "by version"});
    nodes = node_use == "one" ? std::vector<std::string>{name}
                              : std::vector<std::string>{name, name + "-2", "0" + name};

    // 8b.48: tie-break by node id for "older": counted or not.
    tie_by_node = draw.Plain("token_tie", "by node id", "equal");
    // 8b.46: does a not-applied SET with a newer `__ft` update the stored token. (VDEL: "the token
    // isn't stored".)
    advance_token_not_applied = draw.Odd("token_of_not_applied_set", "dropped", "stored");
    // 8b.47: token lifetime after expiry. (After DEL: "not stored because the key is being
    // deleted".)
    keep_token_expired = draw.Odd("token_after_expiry", "forgotten", "kept");
  }

  void DrawExpiry(Drawer& draw) {
    // 8b.58: expiry granularity and lag, lazily on access or by timer. Deployed a DELETE comes
    // within about 2 s (section 4); the article gives no time, and a store without timer meets it
    // only when asked.
    std::vector<std::string> lags = {"0", "1", "20", "150", "500", "1000", "1800"};
    if (!deployed) lags.push_back("never");
    const std::string lag = draw.Way("expiry_lag_ms", lags);
    expiry_lag_us = lag == "never" ? kNever : std::stoll(lag) * 1'000;
    // Is a key still there between its time and the late timer. (Without timer it cannot be.)
    late_is_there = draw.Odd("late_key", "gone", "there") && expiry_lag_us != kNever;
    // What finds a key that is gone but not swept.
    late_found_by = draw.Way("late_key_is_swept_by", {"any request", "access", "write"});
    // 8b.58: keys that are found together: nothing is said of the order among keys.
    shuffle_expiries = draw.Odd("order_of_expiries", "by time", "any");
  }

  void DrawNotifications(Drawer& draw) {
    // 8a.5: deployed an expiry is told; the article names DEL and VDEL only.
    tell_expiry = deployed || draw.Plain("expiry_is_told", "yes", "no");
    // 8b.42: on expiry: the version of the deleted value or the time of deletion; the article has
    // no `__ts` there. (DEL, VDEL: "the timestamp of the value" is certain.)
    std::vector<std::string> ts = {"version", "clock"};
    if (!deployed) ts.push_back("absent");
    expiry_ts = draw.Way("ts_of_expiry", ts);
    // 8a.12: deployed without matching subscription; the article wants a subscription first.
    direct = deployed || draw.Odd("notifications", "by subscription", "direct");
    // 8a.6: "VALUE included because the initial request specified the `GET` option"; deployed
    // always.
    value_on_get_only =
        !deployed && draw.Odd("value_in_notification", "always", "if GET was given");
    // 8a.6: the option itself is in no list of the article: accepted, or refused like an unknown
    // one (but of use where VALUE depends on it).
    get_option = draw.Odd("keynotify_get", "refused", "accepted") || value_on_get_only;
    // 8b.52: SET with identical value, NEX renew, PX-only change.
    same_value = draw.Way("same_value", {"told", "not told", "only renewals not told"});
    // 8b.50: KEYNOTIFY twice: `+OK` or `:0` (the article: `:0` is of STOP); duplicate
    // notifications.
    again_zero = deployed && draw.Odd("keynotify_again", "+OK", ":0");
    twice = draw.Odd("registered_twice", "one notification", "two notifications");
    observer_order =
        draw.Way("order_of_observers", {"oldest first", "newest first", "by client id"});
    // Section 4: correlation data is not needed on NOTIFY; if present, 16 bytes.
    notify_correlation = draw.Odd("notify_correlation", "absent", "16 bytes");
    // 8b.53: NOTIFY vs response to the writer. Section 4: deployed it comes before the response to
    // a later request: delayed ones are sent then at the latest. The article: "processes requests
    // asynchronously".
    std::vector<std::string> when = {"before reply", "after reply", "10 ms"};
    if (!deployed) when.insert(when.end(), {"40 ms", "150 ms"});
    const std::string time = draw.Way("notification_time", when);
    notify_first = time == "before reply";
    notify_delay_us = time.find(" ms") == std::string::npos ? 0 : std::stoll(time) * 1'000;
    // 8b.54, audit 2.9: how soon registrations go after the connection has ended.
    linger_us = draw.Number("registrations_linger_ms", {0, 50}) * 1'000;
  }

  // 8b.13, 8b.45: no order of checks is stated, per kind of request. Conditions come after what
  // makes a payload or a timestamp illegal: a SET without `__ts` is `missing timestamp` whether or
  // not it would have been applied.
  void DrawOrders(Drawer& draw) {
    const std::set<std::string> first = {"arity", "options", "empty key", "long key",
                                         "no ts", "ts form", "ft form"};
    set_checks = draw.Order("set_checks",
                            {"arity", "options", "empty key", "long key", "no ts", "ts form",
                             "ts skew", "ft form", "ft skew", "fence", "condition"},
                            "condition", first);
    get_checks = draw.Order(
        "get_checks",
        {"arity", "empty key", "long key", "ts form", "ts skew", "ft form", "ft skew"}, "", {});
    del_checks = draw.Order(
        "del_checks",
        {"arity", "empty key", "long key", "ts form", "ts skew", "ft form", "ft skew", "fence"}, "",
        {});
    vdel_checks = draw.Order("vdel_checks",
                             {"arity", "empty key", "long key", "ts form", "ts skew", "ft form",
                              "ft skew", "fence", "condition"},
                             "condition", first);
    keynotify_checks = draw.Order("keynotify_checks",
                                  {"arity", "options", "empty key", "long key", "topic", "pattern",
                                   "ts form", "ts skew", "ft form", "ft skew"},
                                  "", {});
  }
};

}  // namespace

// The store

class Store::Impl {
 public:
  Impl(uint64_t seed, Profile profile, const Fixed& fixed)
      : policy_(seed, profile, fixed), random_(seed ^ Hash("at run time")) {}

  const std::vector<Decision>& decisions() const { return policy_.decisions; }

  Handling Handle(const std::string& client, const Message& message, uint64_t wall_us,
                  int64_t steady_us, std::vector<Delivery>& out) {
    Begin(wall_us, steady_us);
    if (policy_.deployed)
      FlushAll(out);
    else
      FlushDue(out);
    ExpireDue(policy_.late_found_by == "any request");

    Reply reply;
    Handling handling = CheckEnvelope(message, reply);
    if (handling == Handling::kAnswered && reply.payload.empty() && reply.status == 200)
      reply = Execute(client, message);
    const bool answered = handling == Handling::kAnswered;
    if (answered && reply.after_notifications) FlushAll(out);
    if (policy_.notify_delay_us == 0 && (policy_.notify_first || reply.after_notifications))
      EmitNotes(out);
    if (answered) out.push_back({"", MakeReply(message, reply)});
    EmitNotes(out);
    if (handling == Handling::kDisconnect) Disconnect(client);
    return handling;
  }

  void Expire(uint64_t wall_us, int64_t steady_us, std::vector<Delivery>& out) {
    Begin(wall_us, steady_us);
    FlushDue(out);
    ExpireDue(false);
    EmitNotes(out);
  }

  std::optional<int64_t> NextDue() const {
    std::optional<int64_t> due;
    if (!pending_.empty()) due = pending_.front().due_us;
    if (!timers_.empty() && policy_.expiry_lag_us != kNever) {
      const int64_t timer = timers_.begin()->first + policy_.expiry_lag_us;
      due = due ? std::min(*due, timer) : timer;
    }
    return due;
  }

  void Disconnect(const std::string& client) {
    pending_.erase(std::remove_if(pending_.begin(), pending_.end(),
                                  [&](const Pending& pending) { return pending.client == client; }),
                   pending_.end());
    for (auto& [key, observers] : observers_)
      for (Observer& observer : observers)
        if (observer.client == client && !observer.ends_us) {
          observer.ends_us = steady_us_ + policy_.linger_us;
          some_end_ = true;
        }
    ForgetEnded();
  }

 private:
  struct Entry {
    std::string value;
    Hlc version;
    std::optional<Hlc> token;
    std::optional<int64_t> due_us;
  };
  struct Observer {
    std::string client;
    bool get = false;
    int times = 1;
    std::optional<int64_t> ends_us;  // its connection has ended
  };
  struct Pending {
    int64_t due_us;
    std::string client;
    Delivery delivery;
  };
  struct Note {
    std::string client;
    Delivery delivery;
  };
  struct Reply {
    std::string payload;
    std::optional<Hlc> ts;
    int status = 200;
    std::string requested_version;
    bool after_notifications = false;  // what the client was still to be told comes first
  };
  enum class Verb { kGet, kSet, kDel, kVdel, kKeynotify };

  // A request on its way through the checks.
  struct Request {
    std::string client;
    Verb verb = Verb::kGet;
    std::vector<std::string> args;
    Stamp ts, ft;
    // What the arguments say, and what is wrong with them.
    const char* arity_error = nullptr;
    const char* option_error = nullptr;
    bool nx = false, nex = false, stop = false, get = false;
    std::string nex_value;
    std::optional<uint64_t> px;  // milliseconds
    Entry* entry = nullptr;

    bool has_key() const { return args.size() > 1; }
    const std::string& key() const { return args[1]; }
  };

  // -- Time

  void Begin(uint64_t wall_us, int64_t steady_us) {
    const int64_t us = std::max<int64_t>(0, static_cast<int64_t>(wall_us) + policy_.offset_us);
    now_ms_ = (us - us % policy_.grain_us) / 1'000;
    steady_us_ = steady_us;
    ForgetEnded();
  }

  bool TooFarAhead(const Hlc& hlc) const { return hlc.wall > now_ms_ + kMaxSkewMs; }

  std::string ClockName(const std::string& key) const {
    if (policy_.clocks == "key") return "k" + key;
    if (policy_.clocks == "shard") return "s" + std::to_string(Hash(key) % 4);
    return "";
  }

  uint64_t Step() {
    return policy_.clock_step > 0 ? static_cast<uint64_t>(policy_.clock_step)
                                  : 1 + random_.Below(5);
  }

  bool CounterOverflows(const Hlc& hlc) const { return hlc.counter >= policy_.counter_max; }

  // The update algorithm of section 5.3, but for the step. The result is greater than the clock and
  // the request.
  Hlc Advance(const std::string& key, const Hlc* request) {
    Hlc& last = clocks_[ClockName(key)];
    const int64_t ahead = request ? std::max(last.wall, request->wall) : last.wall;
    Hlc next;
    if (now_ms_ > ahead) {
      next.wall = now_ms_;
    } else {
      if (last.wall == ahead) next.counter = last.counter;
      if (request && request->wall == ahead)
        next.counter = std::max(next.counter, request->counter);
      next.wall = ahead;
      if (CounterOverflows(next)) {
        ++next.wall;
        next.counter = 0;
      } else {
        next.counter += std::min(Step(), policy_.counter_max - next.counter);
      }
    }
    last = next;
    next.node = Node(key);
    return next;
  }

  // What the clock shows, without moving it.
  Hlc Peek(const std::string& key) const {
    Hlc shown;
    const auto clock = clocks_.find(ClockName(key));
    if (clock != clocks_.end()) shown = clock->second;
    if (now_ms_ > shown.wall) {
      shown.wall = now_ms_;
      shown.counter = 0;
    }
    shown.node = policy_.nodes[0];
    return shown;
  }

  const std::string& Node(const std::string& key) {
    if (policy_.node_use == "by key") return policy_.nodes[Hash(key) % policy_.nodes.size()];
    if (policy_.node_use == "by version") return policy_.nodes[random_.Below(policy_.nodes.size())];
    return policy_.nodes[0];
  }

  // 8b.38: a request that sets nothing moves the clock by its timestamp.
  void Merge(const Request& request) {
    if (request.ts.state != Stamp::kLegal || TooFarAhead(request.ts.hlc) ||
        CounterOverflows(request.ts.hlc))
      return;
    if (!request.has_key() || request.key().empty()) return;
    if (policy_.clocks == "key" && clocks_.count(ClockName(request.key())) == 0) return;
    Advance(request.key(), &request.ts.hlc);
  }

  std::string Format(const Hlc& hlc) const {
    return Pad(static_cast<uint64_t>(hlc.wall), policy_.wall_width) + ":" +
           Pad(hlc.counter, policy_.counter_width) + ":" + hlc.node;
  }

  // -- Timestamps of requests

  std::optional<Hlc> ParseHlc(std::string_view text) const {
    if (policy_.trim) text = Trim(text);
    const size_t first = text.find(':');
    if (first == std::string_view::npos) return std::nullopt;
    const size_t second = text.find(':', first + 1);
    if (second == std::string_view::npos) return std::nullopt;
    std::string_view wall = text.substr(0, first);
    std::string_view counter = text.substr(first + 1, second - first - 1);
    const std::string_view node = text.substr(second + 1);

    bool minus = false;
    if (!wall.empty() &&
        ((wall[0] == '+' && policy_.wall_plus) || (wall[0] == '-' && policy_.wall_minus))) {
      minus = wall[0] == '-';
      wall.remove_prefix(1);
    }
    if (!counter.empty() && counter[0] == '+' && policy_.counter_plus) counter.remove_prefix(1);
    const std::optional<uint64_t> wall_ms = ParseDigits(wall, minus ? INT64_MAX : policy_.wall_max);
    const std::optional<uint64_t> count = ParseDigits(counter, policy_.counter_max);
    if (!wall_ms || !count) return std::nullopt;

    if (node.empty() && !policy_.empty_node) return std::nullopt;
    if (!node.empty() && Trim(node).empty() && !policy_.blank_node) return std::nullopt;
    if (node.find(':') != std::string_view::npos && !policy_.colon_node) return std::nullopt;
    if (node.size() > policy_.node_max) return std::nullopt;
    const bool ascii = std::all_of(node.begin(), node.end(),
                                   [](char c) { return static_cast<unsigned char>(c) < 128; });
    const bool own =
        std::find(policy_.nodes.begin(), policy_.nodes.end(), node) != policy_.nodes.end();
    if (!ascii && !policy_.unicode_node && !own)
      return std::nullopt;  // a version of the store is a legal token

    Hlc hlc;  // a wall clock beyond 63 bits is too far ahead, whatever it is
    hlc.wall = static_cast<int64_t>(std::min<uint64_t>(*wall_ms, INT64_MAX));
    if (minus) hlc.wall = -hlc.wall;
    hlc.counter = *count;
    hlc.node = std::string(node);
    return hlc;
  }

  const std::string* Property(const Message& message, const std::string& name) const {
    const std::string* found = nullptr;
    for (const auto& [property, value] : message.user_properties) {
      if (property != name) continue;
      if (!found || policy_.last_property) found = &value;
    }
    return found;
  }

  Stamp ReadStamp(const Message& message, const std::string& name, bool empty_is_absent) const {
    Stamp stamp;
    const std::string* text = Property(message, name);
    if (!text || (text->empty() && empty_is_absent)) return stamp;
    const std::optional<Hlc> hlc = ParseHlc(*text);
    stamp.state = hlc ? Stamp::kLegal : Stamp::kMalformed;
    if (hlc) stamp.hlc = *hlc;
    return stamp;
  }

  // -- Payload

  struct Parsed {
    std::vector<std::string> args;
    const char* error = nullptr;
  };

  Parsed Parse(const std::string& payload) const {
    Parsed parsed;
    if (policy_.printed_keynotify && payload.rfind("KEYNOTIFY\r\n", 0) == 0) {
      if (SplitLines(payload, parsed.args)) return parsed;
      return {{}, kSyntaxError};
    }
    size_t at = 0;
    std::string_view line;
    const auto illegal = [] { return Parsed{{}, kSyntaxError}; };
    if (payload.empty() || payload[0] != '*' || !TakeLine(payload, at, line)) return illegal();
    const std::optional<uint64_t> count = Length(line.substr(1));
    if (!count) return illegal();
    if (*count == 0) return {{}, policy_.empty_array};
    for (uint64_t i = 0; i < *count; ++i) {
      std::string arg;
      if (!TakeElement(payload, at, i == 1, arg)) return illegal();
      parsed.args.push_back(std::move(arg));
      if (i == 0 && policy_.verb_first) {
        Verb verb;
        if (const char* error = VerbError(parsed.args[0], verb)) return {{}, error};
      }
    }
    const std::string_view rest = std::string_view(payload).substr(at);
    const bool line_ends =
        std::all_of(rest.begin(), rest.end(), [](char c) { return c == '\r' || c == '\n'; });
    if (!rest.empty() && policy_.trailing != "ignored" &&
        !(line_ends && policy_.trailing == "line ends ignored"))
      return illegal();
    return parsed;
  }

  // `KEYNOTIFY<CR><LF>{keyName}<CR><LF>{optionalFields}<CR><LF>`
  static bool SplitLines(const std::string& payload, std::vector<std::string>& args) {
    for (size_t at = 0; at < payload.size();) {
      const size_t end = payload.find("\r\n", at);
      if (end == std::string::npos) return false;
      args.push_back(payload.substr(at, end - at));
      at = end + 2;
    }
    return true;
  }

  bool TakeLineEnd(const std::string& payload, size_t& at) const {
    if (payload.compare(at, 2, "\r\n") == 0) {
      at += 2;
      return true;
    }
    if (!policy_.bare_lf || at >= payload.size() || payload[at] != '\n') return false;
    if (payload[at - 1] == '\r')
      return false;  // half a line end: the length of the element is one too great
    ++at;
    return true;
  }

  bool TakeLine(const std::string& payload, size_t& at, std::string_view& line) const {
    size_t end = payload.find('\n', at);
    if (!policy_.bare_lf)
      while (end != std::string::npos && (end == at || payload[end - 1] != '\r'))
        end = payload.find('\n', end + 1);
    if (end == std::string::npos) return false;
    const size_t next = end + 1;
    if (end > at && payload[end - 1] == '\r') --end;
    line = std::string_view(payload).substr(at, end - at);
    at = next;
    return true;
  }

  std::optional<uint64_t> Length(std::string_view text) const {
    if (!text.empty() && text[0] == '+' && policy_.length_plus) text.remove_prefix(1);
    if (text.size() > policy_.length_digits) return std::nullopt;
    if (text.size() > 1 && text[0] == '0' && !policy_.length_zeros) return std::nullopt;
    return ParseDigits(text, UINT64_MAX);
  }

  bool TakeElement(const std::string& payload, size_t& at, bool is_key, std::string& arg) const {
    std::string_view line;
    if (!TakeLine(payload, at, line) || line.empty()) return false;
    const std::string_view text = line.substr(1);
    if (line[0] == '$') {
      if (text == "-1" && is_key && policy_.null_key_is_empty) return true;
      const std::optional<uint64_t> length = Length(text);
      if (!length || *length > payload.size() - at) return false;
      arg = payload.substr(at, *length);
      at += *length;
      return TakeLineEnd(payload, at);
    }
    arg = std::string(text);
    if (text.find_first_of("\r\n") != std::string_view::npos) return false;
    if (line[0] == '+') return policy_.simple_strings;
    const bool sign = !text.empty() && (text[0] == '+' || text[0] == '-');
    return line[0] == ':' && policy_.numbers && IsDigits(text.substr(sign ? 1 : 0));
  }

  const char* VerbError(const std::string& text, Verb& verb) const {
    static const std::map<std::string, Verb> verbs = {{"GET", Verb::kGet},
                                                      {"SET", Verb::kSet},
                                                      {"DEL", Verb::kDel},
                                                      {"VDEL", Verb::kVdel},
                                                      {"KEYNOTIFY", Verb::kKeynotify}};
    auto found = verbs.find(text);
    if (found == verbs.end()) {
      found = verbs.find(UpperCase(text));
      if (found != verbs.end() && !policy_.any_case_verbs) return policy_.wrong_case_verb;
    }
    if (found != verbs.end()) {
      verb = found->second;
      return nullptr;
    }
    if (text.empty()) return policy_.empty_verb;
    const bool plain =
        std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7F'; });
    return plain ? kUnknownCommand : policy_.odd_verb;
  }

  std::string Option(const std::string& arg) const {
    return policy_.any_case_options ? UpperCase(arg) : arg;
  }

  void ReadArguments(Request& request) const {
    const size_t n = request.args.size();
    switch (request.verb) {
      case Verb::kGet:
      case Verb::kDel:
        if (n != 2) request.arity_error = kWrongNumber;
        break;
      case Verb::kVdel:
        if (n != 3) request.arity_error = kWrongNumber;
        break;
      case Verb::kSet:
        if (n < 3) request.arity_error = n == 1 ? kWrongNumber : policy_.set_without_value;
        if (n > 3) request.option_error = ReadSetOptions(request);
        break;
      case Verb::kKeynotify:
        if (n == 1) request.arity_error = kWrongNumber;
        if (n > 3) request.arity_error = policy_.keynotify_extra;
        if (n != 3) break;
        request.stop = Option(request.args[2]) == "STOP";
        request.get =
            Option(request.args[2]) == "GET" && (policy_.get_option || policy_.value_on_get_only);
        if (!request.stop && !request.get) request.option_error = policy_.keynotify_option;
        break;
    }
  }

  const char* ReadSetOptions(Request& request) const {
    const std::vector<std::string>& args = request.args;
    bool has_px = false;
    for (size_t i = 3; i < args.size(); ++i) {
      const std::string option = Option(args[i]);
      if (option == "NX" || option == "NEX") {
        bool& seen = option == "NX" ? request.nx : request.nex;
        const bool other = option == "NX" ? request.nex : request.nx;
        if (seen && !policy_.repeated_condition) return kSyntaxError;
        if (other && !policy_.both_conditions) return kSyntaxError;
        if (has_px && !policy_.px_first) return kSyntaxError;
        seen = true;
        if (option == "NX") continue;
        request.nex_value = args[2];
        if (policy_.nex_value && i + 1 < args.size() && !IsSetOption(args[i + 1]))
          request.nex_value = args[++i];
      } else if (option == "PX") {
        if (has_px && policy_.repeated_px == "refused") return kSyntaxError;
        if (i + 1 == args.size()) return policy_.px_without_number;
        const std::optional<uint64_t> px = ReadPx(args[++i]);
        if (!px) return kSyntaxError;
        if (!has_px || policy_.repeated_px == "last") request.px = px;
        has_px = true;
      } else {
        return policy_.unknown_option;
      }
    }
    if (request.px && !DueAt(*request.px) && !policy_.px_saturates) return kSyntaxError;
    return nullptr;
  }

  bool IsSetOption(const std::string& arg) const {
    const std::string option = Option(arg);
    return option == "NX" || option == "NEX" || option == "PX";
  }

  std::optional<uint64_t> ReadPx(std::string_view text) const {
    if (policy_.px_blanks) text = Trim(text);
    if (!text.empty() && text[0] == '-') {
      if (policy_.px_negative == "refused" || !IsDigits(text.substr(1))) return std::nullopt;
      return ParseDigits(text.substr(1), INT64_MAX) ? std::optional<uint64_t>(0) : std::nullopt;
    }
    if (!text.empty() && text[0] == '+' && policy_.px_plus) text.remove_prefix(1);
    bool up = false;
    const size_t point = text.find('.');
    if (point != std::string_view::npos) {
      const std::string_view fraction = text.substr(point + 1);
      if (!policy_.px_fraction || !IsDigits(fraction)) return std::nullopt;
      up = fraction.find_first_not_of('0') != std::string_view::npos;
      text = text.substr(0, point);
    }
    if (text.size() > 1 && text[0] == '0' && !policy_.px_zeros) return std::nullopt;
    std::optional<uint64_t> px = ParseDigits(text, policy_.px_max);
    if (px && up) px = *px < policy_.px_max ? std::optional<uint64_t>(*px + 1) : std::nullopt;
    if (px && *px == 0 && policy_.px_zero == "refused") return std::nullopt;
    return px;
  }

  // nullopt: beyond the clock.
  std::optional<int64_t> DueAt(uint64_t px) const {
    const int64_t start = std::max<int64_t>(steady_us_, 0);
    const int64_t room = INT64_MAX - start - 10'000'000;  // for a late timer
    if (px > static_cast<uint64_t>(room / 1'000)) return std::nullopt;
    return steady_us_ + static_cast<int64_t>(px) * 1'000;
  }

  // -- Envelope

  // kAnswered with an empty reply: go on. No failed request is carried out.
  Handling CheckEnvelope(const Message& message, Reply& reply) {
    if (message.topic != kRequestTopic) return Handling::kIgnored;
    const std::string& topic = message.response_topic;
    if (!message.has_response_topic || topic.empty())
      return policy_.missing_topic_disconnects ? Handling::kDisconnect : Handling::kIgnored;
    // "Setting the response topic to the request topic, or to one that begins with ... isn't
    // permitted"; a topic with wildcards, NUL or bytes that are no UTF-8 is none to publish on:
    // "disconnects clients that use an invalid one".
    if (topic == kRequestTopic || topic.rfind(kNotifyPrefix, 0) == 0 ||
        topic.find_first_of(std::string_view("+#\0", 3)) != std::string::npos || !IsUtf8(topic) ||
        topic.size() > kMaxTopic)
      return Handling::kDisconnect;
    if (topic[0] == '$' && policy_.dollar_topic_disconnects) return Handling::kDisconnect;

    const auto fails = [&](const std::string& way) {
      if (way == "answered") reply = ErrorReply(kSyntaxError, false);
      return way == "answered"  ? Handling::kAnswered
             : way == "ignored" ? Handling::kIgnored
                                : Handling::kDisconnect;
    };
    const bool no_correlation = !message.has_correlation ||
                                (message.correlation.empty() && policy_.empty_correlation_missing);
    if (message.qos != 1 && (policy_.qos_before_correlation || !no_correlation))
      return fails(message.qos == 0 ? policy_.qos0 : policy_.qos2);
    if (no_correlation) return fails(policy_.missing_correlation);

    const std::string* version = Property(message, "__protVer");
    if (policy_.version_reply && version && !version->empty() && !SupportedVersion(*version)) {
      reply.status = 505;
      reply.requested_version = *version;
    }
    return Handling::kAnswered;
  }

  static bool SupportedVersion(const std::string& version) {
    const size_t point = version.find('.');
    if (point == std::string::npos || !IsDigits(version.substr(point + 1))) return false;
    return ParseDigits(version.substr(0, point), 65'535) == std::optional<uint64_t>(1);
  }

  // -- Replies

  Reply ErrorReply(const char* error, bool keynotify, const std::string& key = "") const {
    const std::string text = error;
    const bool of_payload = text == kSyntaxError || text == kWrongNumber || text == kUnknownCommand;
    Reply reply;
    if (keynotify && (of_payload ? policy_.colon_payload_errors : policy_.colon_errors)) {
      reply.payload = "-ERR: " + text + "\r\n";
    } else {
      const bool bare = policy_.bare_errors || (policy_.bare_syntax_error && text == kSyntaxError);
      reply.payload = "-ERR " + text + (bare ? "" : "\r\n");
    }
    if (policy_.error_ts) reply.ts = Peek(key);
    return reply;
  }

  Message MakeReply(const Message& request, const Reply& reply) {
    Message message;
    message.topic = request.response_topic;
    message.payload = reply.payload;
    message.correlation = request.correlation;
    message.has_correlation = request.has_correlation;
    message.qos = policy_.reply_qos;
    SetContent(message, policy_.reply_content_type, policy_.reply_format);
    if (reply.status != 200) {
      message.user_properties = {{"__stat", std::to_string(reply.status)},
                                 {"__stMsg", "unsupported version"},
                                 {"__supProtMajVer", "1"},
                                 {"__requestProtVer", reply.requested_version}};
    } else if (policy_.stat) {
      message.user_properties.emplace_back("__stat", "200");
    }
    AddProperties(message, reply.ts);
    return message;
  }

  static void SetContent(Message& message, const std::optional<std::string>& type,
                         const std::string& format) {
    message.has_content_type = type.has_value();
    message.content_type = type.value_or("");
    if (format == "0") message.payload_format = 0;
    if (format == "1 if UTF-8" && IsUtf8(message.payload)) message.payload_format = 1;
  }

  void AddProperties(Message& message, const std::optional<Hlc>& ts) {
    Properties& properties = message.user_properties;
    if (ts) properties.emplace_back("__ts", Format(*ts));
    if (!policy_.protocol_version.empty())
      properties.emplace_back("__protVer", policy_.protocol_version);
    if (!policy_.source_id.empty()) properties.emplace_back("__srcId", policy_.source_id);
    const std::string& extras = policy_.extras;
    if (extras == "one" || extras == "doubled") properties.emplace_back("store", "right");
    if (extras == "doubled") properties.emplace_back("store", "other");
    if (extras == "empty value") properties.emplace_back("store", "");
    if (extras == "long") properties.emplace_back("trace", std::string(2'000, 't'));
    if (extras == "unicode") properties.emplace_back("l\xC3\xA4nge", "\xE2\x82\xAC");
    for (int i = 0; extras == "twenty" && i < 20; ++i)
      properties.emplace_back("extra-" + std::to_string(i), std::to_string(i));
    if (policy_.property_order == "reversed") std::reverse(properties.begin(), properties.end());
    if (policy_.property_order == "shuffled") random_.Shuffle(properties);
  }

  // -- Execution

  Reply Execute(const std::string& client, const Message& message) {
    Parsed parsed = Parse(message.payload);
    if (parsed.error) return ErrorReply(parsed.error, false);
    Request request;
    if (const char* error = VerbError(parsed.args[0], request.verb))
      return ErrorReply(error, false);
    request.client = client;
    request.args = std::move(parsed.args);
    request.ts = ReadStamp(message, "__ts", policy_.empty_ts_missing);
    request.ft = ReadStamp(message, "__ft", policy_.empty_ft_absent);
    ReadArguments(request);
    if (request.has_key()) request.entry = Find(request.key(), request.verb != Verb::kGet);

    const std::vector<std::string>& checks = ChecksOf(request.verb);
    for (const std::string& check : checks) {
      if (check == "condition") {
        if (std::optional<Reply> refusal = CheckCondition(request)) return *refusal;
      } else if (const char* error = Check(check, request)) {
        if (request.verb == Verb::kSet && policy_.merge_error) Merge(request);
        return ErrorReply(error, request.verb == Verb::kKeynotify,
                          request.has_key() ? request.key() : "");
      }
    }
    switch (request.verb) {
      case Verb::kGet:
        return Get(request);
      case Verb::kSet:
        return Set(request);
      case Verb::kDel:
      case Verb::kVdel:
        return Delete(request);
      case Verb::kKeynotify:
        break;
    }
    return Keynotify(request);
  }

  const std::vector<std::string>& ChecksOf(Verb verb) const {
    switch (verb) {
      case Verb::kGet:
        return policy_.get_checks;
      case Verb::kSet:
        return policy_.set_checks;
      case Verb::kDel:
        return policy_.del_checks;
      case Verb::kVdel:
        return policy_.vdel_checks;
      case Verb::kKeynotify:
        break;
    }
    return policy_.keynotify_checks;
  }

  Look LookAtTs(const Request& request) const {
    switch (request.verb) {
      case Verb::kSet:
        break;
      case Verb::kGet:
        return policy_.ts_get;
      case Verb::kDel:
      case Verb::kVdel:
        return policy_.ts_del;
      case Verb::kKeynotify:
        return policy_.ts_keynotify;
    }
    return Look::kFormAndSkew;
  }

  Look LookAtFt(const Request& request) const {
    switch (request.verb) {
      case Verb::kSet:
        break;
      case Verb::kGet:
        return policy_.ft_get;
      case Verb::kDel:
      case Verb::kVdel:
        if (!request.entry) return policy_.ft_missing_key;
        if (!request.entry->token) return policy_.ft_unfenced;
        break;
      case Verb::kKeynotify:
        return policy_.ft_keynotify;
    }
    return Look::kFormAndSkew;
  }

  const Hlc* TokenOf(const Request& request) const {
    if (request.entry) return request.entry->token ? &*request.entry->token : nullptr;
    if (request.verb != Verb::kSet || !request.has_key())
      return nullptr;  // deleting what is missing is no error
    const auto kept = kept_tokens_.find(request.key());
    return kept == kept_tokens_.end() ? nullptr : &kept->second;
  }

  const char* Check(const std::string& check, const Request& request) const {
    const Stamp& ts = request.ts;
    const Stamp& ft = request.ft;
    if (check == "arity") return request.arity_error;
    if (check == "options") return request.option_error;
    if (check == "empty key")
      return request.has_key() && request.key().empty() ? kKeyEmpty : nullptr;
    if (check == "long key")
      return request.has_key() && request.key().size() > policy_.key_max ? kSyntaxError : nullptr;
    if (check == "no ts") return ts.state == Stamp::kAbsent ? kMissingTimestamp : nullptr;
    if (check == "ts form") {
      if (LookAtTs(request) == Look::kIgnored) return nullptr;
      if (ts.state == Stamp::kMalformed) return kMalformedTimestamp;
      return request.verb == Verb::kSet && BeyondCounter(ts) ? kMalformedTimestamp : nullptr;
    }
    if (check == "ts skew")
      return LookAtTs(request) == Look::kFormAndSkew && ts.state == Stamp::kLegal &&
                     TooFarAhead(ts.hlc)
                 ? kRequestSkew
                 : nullptr;
    if (check == "ft form")
      return LookAtFt(request) != Look::kIgnored && ft.state == Stamp::kMalformed
                 ? kMalformedTimestamp
                 : nullptr;
    if (check == "ft skew")
      return LookAtFt(request) == Look::kFormAndSkew && ft.state == Stamp::kLegal &&
                     TooFarAhead(ft.hlc)
                 ? kTokenSkew
                 : nullptr;
    if (check == "fence") {
      const Hlc* token = TokenOf(request);
      if (!token) return nullptr;
      if (ft.state == Stamp::kAbsent) return kTokenRequired;
      const bool lower =
          ft.state == Stamp::kLegal && Compare(ft.hlc, *token, policy_.tie_by_node) < 0;
      return lower ? policy_.token_lower.c_str() : nullptr;
    }
    if (check == "topic")
      return policy_.refuse_long_observed && request.has_key() &&
                     NotifyTopic(request.client, request.key()).size() > kMaxTopic
                 ? kSyntaxError
                 : nullptr;
    if (check == "pattern")
      return policy_.refuse_patterns && request.has_key() && !request.key().empty() &&
                     request.key().back() == '*'
                 ? kSyntaxError
                 : nullptr;
    throw std::logic_error("no check " + check);
  }

  // 8b.39: the counter of a timestamp that is not behind the clock has to be increased.
  bool BeyondCounter(const Stamp& ts) const {
    if (ts.state != Stamp::kLegal || !CounterOverflows(ts.hlc) || TooFarAhead(ts.hlc)) return false;
    if (ts.hlc.wall < now_ms_) return false;
    return !policy_.overflow_carries || ts.hlc.wall >= now_ms_ + kMaxSkewMs;
  }

  // NX, NEX, and the value of VDEL.
  std::optional<Reply> CheckCondition(Request& request) {
    Entry* entry = request.entry;
    if (!entry) return std::nullopt;
    Reply reply;
    reply.payload = policy_.not_applied;
    if (request.verb == Verb::kVdel) {
      if (entry->value == request.args[2]) return std::nullopt;
      if (policy_.vdel_mismatch_ts) reply.ts = entry->version;
      if (policy_.merge_delete) Merge(request);
      return reply;
    }
    if (!request.nx && (!request.nex || entry->value == request.nex_value)) return std::nullopt;
    if (policy_.not_applied_ts) reply.ts = entry->version;
    if (policy_.advance_token_not_applied && entry->token && request.ft.state == Stamp::kLegal &&
        !TooFarAhead(request.ft.hlc) &&
        Compare(request.ft.hlc, *entry->token, policy_.tie_by_node) > 0)
      entry->token = request.ft.hlc;
    if (policy_.merge_not_applied) Merge(request);
    return reply;
  }

  Reply Get(const Request& request) {
    if (policy_.merge_read) Merge(request);
    Reply reply;
    if (request.entry) {
      reply.payload = Bulk(request.entry->value);
      reply.ts = request.entry->version;
    } else {
      reply.payload = "$-1\r\n";
      if (policy_.miss_ts) reply.ts = Peek(request.key());
    }
    return reply;
  }

  Reply Set(const Request& request) {
    const std::string& key = request.key();
    Entry* old = request.entry;
    Entry entry;
    entry.value = request.args[2];
    entry.version = Advance(key, &request.ts.hlc);

    const Hlc* token = TokenOf(request);
    if (token) entry.token = *token;
    if (request.ft.state == Stamp::kLegal &&
        (!token || Compare(request.ft.hlc, *token, policy_.tie_by_node) > 0))
      entry.token = request.ft.hlc;
    kept_tokens_.erase(key);

    if (request.px)
      entry.due_us = DueAt(*request.px);
    else if (policy_.keep_expiry && old && old->due_us && *old->due_us > steady_us_)
      entry.due_us = old->due_us;

    const bool same = old && old->value == entry.value;
    const bool not_notified =
        same && (policy_.same_value == "not told" ||
                 (policy_.same_value == "only renewals not told" && request.nex));
    Reply reply;
    reply.payload = "+OK\r\n";
    reply.ts = entry.version;
    if (old && old->due_us) timers_.erase({*old->due_us, key});
    if (entry.due_us) timers_.insert({*entry.due_us, key});
    if (!not_notified) Notify(key, "SET", entry.value, entry.version);
    entries_[key] = std::move(entry);
    return reply;
  }

  Reply Delete(const Request& request) {
    if (policy_.merge_delete) Merge(request);
    Reply reply;
    if (request.entry) {
      reply.payload = ":1\r\n";
      reply.ts = request.entry->version;
      Notify(request.key(), policy_.delete_word, "", request.entry->version);
      Remove(entries_.find(request.key()));
    } else {
      reply.payload = ":0\r\n";
      if (policy_.del_miss_ts) reply.ts = Peek(request.key());
    }
    return reply;
  }

  Reply Keynotify(const Request& request) {
    if (policy_.merge_read) Merge(request);
    std::vector<Observer>& observers = observers_[request.key()];
    Reply reply;
    reply.payload = "+OK\r\n";
    if (policy_.keynotify_ts) reply.ts = Peek(request.key());
    reply.after_notifications = request.stop;

    auto mine = std::find_if(observers.begin(), observers.end(), [&](const Observer& observer) {
      return observer.client == request.client;
    });
    if (mine != observers.end() && mine->ends_us) {  // of a connection that has ended
      observers.erase(mine);
      mine = observers.end();
    }
    if (request.stop) {
      if (mine == observers.end()) reply.payload = ":0\r\n";
      if (mine != observers.end()) observers.erase(mine);
      if (observers.empty()) observers_.erase(request.key());
    } else if (mine == observers.end()) {
      observers.push_back({request.client, request.get, 1, std::nullopt});
    } else {
      mine->get = request.get;
      if (policy_.twice) mine->times = 2;
      if (policy_.again_zero) reply.payload = ":0\r\n";
    }
    return reply;
  }

  // -- Keys and their end

  using Entries = std::map<std::string, Entry>;

  // The entry, unless its time is over; then it may be swept now.
  Entry* Find(const std::string& key, bool write) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    if (!found->second.due_us || *found->second.due_us > steady_us_ || policy_.late_is_there)
      return &found->second;
    if (write || policy_.late_found_by != "write") EndOfTime(found);
    return nullptr;
  }

  void Remove(Entries::iterator entry) {
    if (entry->second.due_us) timers_.erase({*entry->second.due_us, entry->first});
    entries_.erase(entry);
  }

  void EndOfTime(Entries::iterator entry) {
    const std::string key = entry->first;
    const Entry ended = entry->second;
    Remove(entry);
    if (ended.token && policy_.keep_token_expired) kept_tokens_[key] = *ended.token;
    if (!policy_.tell_expiry) return;
    std::optional<Hlc> ts;
    if (policy_.expiry_ts == "version") ts = ended.version;
    if (policy_.expiry_ts == "clock") ts = Advance(key, nullptr);
    Notify(key, policy_.delete_word, "", ts);
  }

  void ExpireDue(bool at_once) {
    if (policy_.late_is_there) at_once = false;
    if (policy_.expiry_lag_us == kNever && !at_once) return;
    const int64_t lag = at_once ? 0 : policy_.expiry_lag_us;
    std::vector<std::string> keys;
    for (const auto& [due, key] : timers_) {
      if (due + lag > steady_us_) break;
      keys.push_back(key);
    }
    if (policy_.shuffle_expiries) random_.Shuffle(keys);
    for (const std::string& key : keys) EndOfTime(entries_.find(key));
  }

  // -- Notifications

  static std::string NotifyTopic(const std::string& client, const std::string& key) {
    return std::string(kNotifyPrefix) + "/" + UpperHex(client) + "/command/notify/" + UpperHex(key);
  }

  void Notify(const std::string& key, const std::string& operation, const std::string& value,
              const std::optional<Hlc>& ts) {
    const auto found = observers_.find(key);
    if (found == observers_.end()) return;
    std::vector<Observer> observers = found->second;
    if (policy_.observer_order == "newest first") std::reverse(observers.begin(), observers.end());
    if (policy_.observer_order == "by client id")
      std::sort(observers.begin(), observers.end(),
                [](const Observer& a, const Observer& b) { return a.client < b.client; });
    for (const Observer& observer : observers) {
      Message message;
      message.topic = NotifyTopic(observer.client, key);
      if (message.topic.size() > kMaxTopic) continue;
      if (observer.ends_us && policy_.notify_delay_us > 0) continue;  // late once is enough
      const bool with_value = operation == "SET" && (!policy_.value_on_get_only || observer.get);
      message.payload =
          std::string(with_value ? "*4" : "*2") + "\r\n" + Bulk("NOTIFY") + Bulk(operation);
      if (with_value) message.payload += Bulk("VALUE") + Bulk(value);
      message.qos = policy_.notify_qos;
      SetContent(message, policy_.notify_content_type, policy_.notify_format);
      if (policy_.notify_correlation) {
        message.has_correlation = true;
        for (int i = 0; i < 16; ++i) message.correlation += static_cast<char>(random_.Below(256));
      }
      AddProperties(message, ts);
      for (int i = 0; i < observer.times; ++i)
        notes_.push_back({observer.client, {policy_.direct ? observer.client : "", message}});
    }
  }

  void EmitNotes(std::vector<Delivery>& out) {
    for (Note& note : notes_) {
      if (policy_.notify_delay_us == 0)
        out.push_back(std::move(note.delivery));
      else
        pending_.push_back(
            {steady_us_ + policy_.notify_delay_us, note.client, std::move(note.delivery)});
    }
    notes_.clear();
  }

  void FlushDue(std::vector<Delivery>& out) {
    while (!pending_.empty() && pending_.front().due_us <= steady_us_) {
      out.push_back(std::move(pending_.front().delivery));
      pending_.pop_front();
    }
  }

  // All that is delayed, and what this request has brought about before its reply.
  void FlushAll(std::vector<Delivery>& out) {
    for (Pending& pending : pending_) out.push_back(std::move(pending.delivery));
    pending_.clear();
    for (Note& note : notes_) out.push_back(std::move(note.delivery));
    notes_.clear();
  }

  void ForgetEnded() {
    if (!some_end_) return;
    some_end_ = false;
    for (auto it = observers_.begin(); it != observers_.end();) {
      std::vector<Observer>& observers = it->second;
      observers.erase(
          std::remove_if(observers.begin(), observers.end(),
                         [&](const Observer& o) { return o.ends_us && *o.ends_us <= steady_us_; }),
          observers.end());
      for (const Observer& observer : observers) some_end_ = some_end_ || observer.ends_us;
      it = observers.empty() ? observers_.erase(it) : std::next(it);
    }
  }

  const Policy policy_;
  Random random_;
  int64_t now_ms_ = 0;     // the store's wall clock
  int64_t steady_us_ = 0;  // of the last call
  Entries entries_;
  std::set<std::pair<int64_t, std::string>> timers_;  // by time
  std::map<std::string, Hlc> clocks_;
  std::map<std::string, Hlc> kept_tokens_;
  std::map<std::string, std::vector<Observer>> observers_;
  bool some_end_ = false;    // some observer has ended
  std::vector<Note> notes_;  // of the present call
  std::deque<Pending> pending_;
};

Store::Store(uint64_t seed, Profile profile, const Fixed& fixed)
    : impl_(std::make_unique<Impl>(seed, profile, fixed)) {}
Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

std::string Store::choices() const {
  std::string text;
  for (const Decision& decision : impl_->decisions())
    text += decision.name + "=" + decision.way + "\n";
  return text;
}

const std::vector<Decision>& Store::decisions() const { return impl_->decisions(); }

Handling Store::handle(const std::string& client_id, const Message& request, uint64_t wall_us,
                       int64_t steady_us, std::vector<Delivery>& out) {
  return impl_->Handle(client_id, request, wall_us, steady_us, out);
}

void Store::expire(uint64_t wall_us, int64_t steady_us, std::vector<Delivery>& out) {
  impl_->Expire(wall_us, steady_us, out);
}

std::optional<int64_t> Store::next_due() const { return impl_->NextDue(); }

void Store::disconnect(const std::string& client_id) { impl_->Disconnect(client_id); }

}  // namespace conforming_store
