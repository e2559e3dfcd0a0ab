#include "conformance/report/cause.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace fencepost::report {
namespace {

constexpr std::size_t kMaxText = 120;
constexpr std::string_view kBreak = R"(\r\n)";  // as escape() writes it
constexpr std::string_view kAlternative = "  or  ";

bool is_decimal(char c) { return c >= '0' && c <= '9'; }

// ASCII without the numbers, names and quoted bytes of a case.
std::string general(std::string_view text) {
  constexpr std::array<std::string_view, 2> kNamed = {"client ", "saved as "};
  std::string out;
  for (std::size_t i = 0; i < text.size() && out.size() < kMaxText; ++i) {
    const char c = text[i];
    if (c == '"') {
      const std::size_t end = text.find('"', i + 1);
      out += "\"*\"";
      i = end == std::string_view::npos ? text.size() : end;
    } else if (is_decimal(c)) {
      while (i + 1 < text.size() && is_decimal(text[i + 1])) ++i;
      out += '#';
    } else {
      out += c >= ' ' && c < 0x7f ? c : '?';
    }
    for (const std::string_view word : kNamed) {
      if (!out.ends_with(word)) continue;
      const std::size_t end = text.find(' ', i + 1);
      out += '*';
      i = end == std::string_view::npos ? text.size() : end - 1;
    }
  }
  return out;
}

std::string_view until_break(std::string_view text) { return text.substr(0, text.find(kBreak)); }

std::string of_notification(std::string_view payload) {
  const bool deletion = payload.find(R"(\r\nDEL)") != std::string_view::npos;
  const bool value = payload.find(R"(\r\nVALUE\r\n)") != std::string_view::npos;
  return fmt::format("NOTIFY {}{}", deletion ? "deletion" : "SET", value ? " VALUE *" : "");
}

// What is wrong with the bytes, which judge::describe() says behind them; empty when nothing is.
std::string_view what_is_wrong(std::string_view form) {
  const std::size_t begin = form.rfind(" (");
  if (!form.ends_with(')') || begin == std::string_view::npos) return {};
  const std::string_view words = form.substr(begin + 2, form.size() - begin - 3);
  const bool name = words == "not applied" || words == "no such key";
  return name ? std::string_view() : words;
}

std::string general_form(std::string_view form) {
  if (form.find("NOTIFY") != std::string_view::npos) return of_notification(form);
  if (const std::string_view words = what_is_wrong(form); !words.empty()) {
    return "no reply: " + general(words);
  }
  if (form.starts_with("$-1")) return "no such key";
  if (form.starts_with("$0\\r")) return "an empty value";
  if (form.starts_with('$')) return "a value";
  if (form.starts_with('+') || form.starts_with(':') || form.starts_with('-')) {
    return std::string(until_break(form));
  }
  if (form.starts_with("__ts")) return "__ts";
  if (form.starts_with("nothing within")) return "nothing";
  if (form.starts_with("a message on the topic")) return "a message that answers no open request";
  if (form.starts_with("a notification on the topic")) return "a notification on another topic";
  return general(form);
}

std::string general_forms(std::string_view text) {
  std::vector<std::string> forms;
  while (true) {
    const std::size_t end = text.find(kAlternative);
    std::string form = general_form(text.substr(0, end));
    if (std::find(forms.begin(), forms.end(), form) == forms.end()) forms.push_back(form);
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + kAlternative.size());
  }
  return fmt::format("{}", fmt::join(forms, " or "));
}

// Of what is wrong with a message beside its payload it does not matter which one it was.
bool is_of_any_message(const run::CaseResult& result) {
  constexpr std::array<std::string_view, 7> kBegins = {"the version is not a legal timestamp",
                                                       "the message carries no version",
                                                       "the user property",
                                                       "the content type",
                                                       "the payload format",
                                                       "the response has",
                                                       "the reply is not well formed"};
  return std::any_of(kBegins.begin(), kBegins.end(),
                     [&](std::string_view begin) { return result.message.starts_with(begin); });
}

}  // namespace

std::string cause_of(const run::CaseResult& result) {
  if (result.unexpected_pass || result.message.empty()) return {};
  // What a baseline has added to the message is no part of what was seen.
  const std::string_view message =
      std::string_view(result.message).substr(0, result.message.find("; this is not the failure"));
  const std::string got = general_forms(result.actual);
  std::string subject = result.subject;
  if (is_of_any_message(result) || got.starts_with("no reply: ")) {
    subject = subject.starts_with("notification") ? "notification" : "";
  }
  std::string out = subject.empty() ? "" : general(subject) + ": ";
  if (got.starts_with("no reply: ")) return out + got;
  const std::string wanted = general_forms(result.expected);
  if (message != "the reply is not the expected one") {
    out += general(message);
    // Two versions are one word here: that one was wanted and one has come says nothing.
    if (wanted == got) return out;
    out += "; ";
  }
  return fmt::format("{}want {}, got {}", out, wanted, got);
}

std::string theme_of(const run::CaseResult& result) {
  const std::string& message = result.message;
  // Of a request that may be ignored, the one that was sent behind it to see this.
  if (message == "neither this request nor the next one was answered") return "no response";
  if (message == "no response" || message.starts_with("the version is not greater")) {
    return general(message);
  }
  std::string got = general_forms(result.actual);
  if (message.find("nobody asked for") != std::string::npos) return got;
  if (!message.starts_with("the reply is not")) return {};
  if (got.starts_with("-ERR")) return "given: " + got;
  // Both dialects of an error are one.
  const std::string wanted = general_forms(result.expected);
  const bool errors = wanted.starts_with("-ERR") && wanted.find(" or +") == std::string::npos &&
                      wanted.find(" or :") == std::string::npos;
  if (errors) return "not given: " + wanted;
  // PX and tokens do not matter, nor what else would have been right.
  constexpr std::string_view kWithToken = " with __ft";
  std::string subject = result.subject;
  if (subject.ends_with(kWithToken)) subject.resize(subject.size() - kWithToken.size());
  if (subject.ends_with(" PX")) subject.resize(subject.size() - 3);
  return fmt::format("{}: {} rather than {}", subject, got, wanted.substr(0, wanted.find(" or ")));
}

}  // namespace fencepost::report
