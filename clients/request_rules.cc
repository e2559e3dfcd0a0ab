#include "clients/request_rules.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "base/bytes.h"
#include "codec/message.h"
#include "codec/topics.h"
#include "hlc/hlc.h"

namespace fencepost::clients {
namespace {

using codec::Verb;
using wire::PropertyId;

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

std::optional<Verb> verb_named(std::string_view text) {
  for (const Verb verb : codec::kVerbs) {
    if (codec::name(verb) == text) return verb;
  }
  return std::nullopt;
}

void check_frame(const codec::DecodeError& error, std::string_view payload,
                 std::vector<Diagnostic>& out) {
  using enum codec::DecodeErrorCode;
  // Other forms of RESP3 are open: RESP-TYPE-OPEN-1, RESP-NUMBER-OPEN-1, RESP-TRAILING-OPEN-1, ...
  if (payload.empty()) return out.push_back({&rule("RESP-ARRAY-1"), "the payload is empty"});
  if (payload[0] != '*') {
    return out.push_back({&rule("RESP-ARRAY-1"), "the payload begins with " +
                                                     shown(payload.substr(0, 1)) +
                                                     ", but an array begins with *"});
  }
  if (error.code == kTruncated || error.code == kMissingTerminator) {
    out.push_back({&rule("RESP-INVALID-4"), codec::describe(error)});
  }
}

// More than these two is too many for every reading of the article, which prints NEX with a value
// in its table and without one in its example.
std::size_t most_arguments(Verb verb) {
  return verb == Verb::kSet ? codec::CommandFrame::kStored + 1 : codec::facts_of(verb).most;
}

void check_set_options(const codec::CommandFrame& frame, std::vector<Diagnostic>& out) {
  const std::size_t stored = std::min(frame.count, codec::CommandFrame::kStored);
  bool may_be_value = false;  // of NEX
  for (std::size_t i = 3; i < stored; ++i) {
    const std::string_view option = frame.arguments.at(i);
    const std::string capitals = upper(option);
    const bool known = capitals == "NX" || capitals == "NEX" || capitals == "PX";
    if (known && capitals != option) {
      if (!may_be_value) {
        out.push_back({&rule("CASE-OPTION-1"), "the option is " + shown(option)});
      }
      if (capitals == "PX") ++i;
    } else if (option == "PX") {
      if (++i >= frame.count) {
        out.push_back({&rule("SET-PX-1"), "nothing follows PX"});
      } else if (i < stored &&
                 frame.arguments.at(i).find_first_of("0123456789") == std::string_view::npos) {
        out.push_back({&rule("SET-PX-1"), "PX is followed by " + shown(frame.arguments.at(i))});
      }
    } else if (!known && !may_be_value) {
      out.push_back({&rule("ERR-SYNTAX-1"), "SET has no option " + shown(option)});
    }
    may_be_value = option == "NEX";
  }
}

void check_options(Verb verb, const codec::CommandFrame& frame, std::vector<Diagnostic>& out) {
  if (verb == Verb::kSet) check_set_options(frame, out);
  if (verb != Verb::kKeynotify || frame.count < 3) return;
  const std::string_view option = frame.arguments[2];
  if (option == "STOP" || option == "GET") return;  // GET: of an older edition
  if (upper(option) == "STOP") {
    out.push_back({&rule("CASE-OPTION-1"), "the option is " + shown(option)});
  } else {
    out.push_back({&rule("ERR-SYNTAX-1"), "KEYNOTIFY has no option " + shown(option)});
  }
}

// It cannot be read as a number in any notation.
bool is_no_number(std::string_view text) {
  return text.empty() || text.find_first_not_of("0123456789+-., eE_xX") != std::string_view::npos;
}

// Why no store and no client can read it; empty when some can.
std::string error_of_stamp(std::string_view text) {
  const std::size_t first = text.find(':');
  const std::size_t second = first == std::string_view::npos ? first : text.find(':', first + 1);
  if (second == std::string_view::npos) return "it has fewer than two colons";
  if (is_no_number(text.substr(0, first))) return "its wall clock is not a number";
  if (is_no_number(text.substr(first + 1, second - first - 1)))
    return "its counter is not a number";
  return {};
}

}  // namespace

std::string shown(std::string_view bytes) {
  constexpr std::size_t kShownBytes = 60;
  return '"' + escape(bytes, kShownBytes) + '"';
}

const std::string* user_property(const wire::Publish& publish, std::string_view name) {
  const std::string* found = nullptr;
  for (const wire::Property& each : publish.properties.all()) {
    if (each.id == PropertyId::kUserProperty && each.text == name) found = &each.value;
  }
  return found;
}

bool check_envelope(const wire::Publish& publish, std::vector<Diagnostic>& out) {
  if (publish.qos != 1) {
    out.push_back({&rule("ENV-QOS-2"), "the request has QoS " + std::to_string(publish.qos)});
  }
  if (publish.properties.find(PropertyId::kCorrelationData) == nullptr) {
    out.push_back({&rule("ENV-CORRELATION-2"), "the request has no Correlation Data"});
  }
  const wire::Property* topic = publish.properties.find(PropertyId::kResponseTopic);
  if (topic == nullptr) {
    out.push_back({&rule("ENV-RESPONSE-TOPIC-5"), "the request has no Response Topic"});
    return false;
  }
  const std::string because = "the Response Topic is " + shown(topic->text);
  if (topic->text == codec::kRequestTopic) {
    out.push_back({&rule("ENV-RESPONSE-TOPIC-2"), because});
  } else if (topic->text.starts_with(std::string(codec::kStorePrefix) + '/') ||
             topic->text == codec::kStorePrefix) {
    out.push_back({&rule("ENV-RESPONSE-TOPIC-3"), because});
  }
  // A rule of MQTT covers what is not a topic at all.
  constexpr std::string_view kNever("+#\0", 3);
  const bool is_topic =
      !topic->text.empty() && topic->text.find_first_of(kNever) == std::string::npos;
  return out.empty() && is_topic;
}

namespace {

// Its levels in lower case, without empty ones.
std::vector<std::string> levels_of(std::string_view topic) {
  std::vector<std::string> out(1);
  for (const char c : topic) {
    if (c != '/') {
      out.back() += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    } else if (!out.back().empty()) {
      out.emplace_back();
    }
  }
  if (out.back().empty()) out.pop_back();
  return out;
}

// All levels except one, which is missing or extra.
bool all_but_one(const std::vector<std::string>& longer, const std::vector<std::string>& shorter) {
  if (longer.size() != shorter.size() + 1) return false;
  const auto [first, second] =
      std::mismatch(longer.begin(), longer.end(), shorter.begin(), shorter.end());
  return first != longer.end() && std::equal(first + 1, longer.end(), second, shorter.end());
}

bool is_near(std::string_view topic) {
  const auto is = levels_of(topic);
  const auto wanted = levels_of(codec::kRequestTopic);
  return is == wanted || all_but_one(is, wanted) || all_but_one(wanted, is);
}

}  // namespace

void check_topic(std::string_view topic, const wire::Publish& publish,
                 std::vector<Diagnostic>& out) {
  if (publish.properties.find(PropertyId::kResponseTopic) == nullptr || !is_near(topic)) return;
  const auto frame = codec::decode_command(publish.payload);
  if (!frame || !verb_named(upper(frame->arguments[0]))) return;
  out.push_back({&rule("ENV-TOPIC-1"), "a " + upper(frame->arguments[0]) + " is sent to " + '"' +
                                           escape(topic, 200) + '"'});
}

void check_payload(std::string_view payload, std::vector<Diagnostic>& out) {
  const auto frame = codec::decode_command(payload);
  if (!frame) return check_frame(frame.error(), payload, out);
  const std::string_view first = frame->arguments[0];
  const auto verb = verb_named(first);
  if (!verb) {
    if (verb_named(upper(first))) {
      out.push_back({&rule("CASE-VERB-1"), "the verb is " + shown(first)});
    } else if (first != "SCAN") {  // of newer services
      out.push_back({&rule("RESP-INVALID-3"), "the verb is " + shown(first)});
    }
    return;
  }
  if (frame->count < codec::facts_of(*verb).least || frame->count > most_arguments(*verb)) {
    return out.push_back(
        {&rule("ERR-ARITY-1"), std::string(codec::name(*verb)) + " has " +
                                   std::to_string(frame->count - 1) +
                                   (frame->count == 2 ? " argument" : " arguments")});
  }
  check_options(*verb, *frame, out);
  if (frame->arguments[1].empty()) {
    out.push_back(
        {&rule("KEY-EMPTY-1"), "the key of the " + std::string(codec::name(*verb)) + " is empty"});
  }
}

namespace {

// The number has 64 bits with a sign, and no minus.
bool is_milliseconds(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0;
}

// SET key value, then each option once at most.
std::optional<Diagnostic> odd_options(const codec::CommandFrame& frame) {
  bool condition = false;
  bool expiry = false;
  for (std::size_t i = 3; i < frame.count; ++i) {
    const std::string_view option = frame.arguments.at(i);
    const bool is_px = option == "PX";
    const bool in_capitals = option == upper(option);
    if (!in_capitals &&
        (upper(option) == "NX" || upper(option) == "NEX" || upper(option) == "PX")) {
      return Diagnostic{&rule("CASE-OPTION-1"), "the option is " + shown(option)};
    }
    // The article prints NEX with a value in its table, and without one in its example.
    if (!is_px && option != "NX" && option != "NEX" && frame.arguments.at(i - 1) == "NEX") continue;
    if (is_px ? expiry : condition) {
      return Diagnostic{&rule("ERR-SYNTAX-1"),
                        "SET with " + shown(option) + " in addition to another such option"};
    }
    (is_px ? expiry : condition) = true;
    if (!is_px) continue;
    if (++i >= frame.count || !is_milliseconds(frame.arguments.at(i))) {
      return Diagnostic{
          &rule("SET-PX-1"),
          "PX is followed by " + (i < frame.count ? shown(frame.arguments.at(i)) : "nothing")};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Diagnostic> what_is_malformed(const wire::Publish& publish) {
  const auto frame = codec::decode_command(publish.payload);
  if (frame && frame->count > codec::CommandFrame::kStored) {
    const auto& words = frame->arguments;
    const bool may_be_right = std::find(words.begin(), words.end(), "NEX") != words.end();
    if (may_be_right || words[0] != codec::name(Verb::kSet)) return std::nullopt;
    return Diagnostic{&rule("ERR-SYNTAX-1"), "SET with an option twice"};
  }
  std::vector<std::string_view> words;
  for (std::size_t i = 0; frame && i < frame->count; ++i) words.push_back(frame->arguments.at(i));
  if (words.empty() || codec::encode_command(words) != publish.payload) {
    using enum codec::DecodeErrorCode;
    const bool length = !frame && frame.error().code == kLengthLimit;
    return Diagnostic{&rule(length ? "RESP-INVALID-4" : "RESP-ARRAY-1"),
                      "the payload is " + shown(publish.payload)};
  }
  const auto verb = verb_named(words[0]);
  if (!verb) return std::nullopt;  // wrong for certain, or of a newer service
  if (*verb == Verb::kSet) {
    if (auto odd = odd_options(*frame)) return odd;
  } else if (*verb == Verb::kKeynotify && frame->count == 3 && words[2] != "STOP") {
    return Diagnostic{&rule("ERR-SYNTAX-1"), "KEYNOTIFY with " + shown(words[2])};
  }
  const std::string* stamp = user_property(publish, codec::kTimestampProperty);
  if (stamp != nullptr && !hlc::parse(*stamp)) {
    return Diagnostic{&rule("HLC-REQUIRED-2"), "__ts is " + shown(*stamp)};
  }
  const std::string* token = user_property(publish, codec::kTokenProperty);
  if (token != nullptr && !hlc::parse(*token)) {
    return Diagnostic{&rule("FT-FORMAT-1"), "__ft is " + shown(*token)};
  }
  return std::nullopt;
}

void check_stamps(const wire::Publish& publish, Verb verb, std::vector<Diagnostic>& out) {
  if (verb == Verb::kSet) {
    const std::string* stamp = user_property(publish, codec::kTimestampProperty);
    if (stamp == nullptr) {
      out.push_back({&rule("HLC-REQUIRED-2"), "the SET has no __ts"});
    } else if (const std::string error = error_of_stamp(*stamp); !error.empty()) {
      out.push_back({&rule("HLC-REQUIRED-2"), "__ts is " + shown(*stamp) + ": " + error});
    }
  }
  if (verb == Verb::kGet || verb == Verb::kKeynotify) return;
  const std::string* token = user_property(publish, codec::kTokenProperty);
  if (token == nullptr) return;
  if (const std::string error = error_of_stamp(*token); !error.empty()) {
    out.push_back({&rule("FT-FORMAT-1"), "__ft is " + shown(*token) + ": " + error});
  }
}

}  // namespace fencepost::clients
