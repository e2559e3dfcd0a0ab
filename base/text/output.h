// The one way of text to standard output and standard error, where a terminal or the log of a CI
// takes some texts for commands: escape sequences, `::error`, `##[...]`, `##vso[...]`. None gets
// there from here.
//
//   text::print("{}: {}\n", path, title);    // strings: on one line, see one_line()
//   text::print("{}", Lines(console_text));  // composed by the suite: may have several lines
//   print_document(stdout, document);        // for programs: other bytes, but the same document
//
// tests/style_check.py sees to it that nothing else prints. A stream that is full or closed keeps
// its error flag; nothing is thrown. Threads as of stdio.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/text/printable.h"

namespace fencepost::text {

// Text of several lines, or with colours, in which what came from elsewhere is printable already.
struct Lines {
  explicit Lines(std::string_view lines) : text(lines) {}
  std::string_view text;  // must outlive this object
};

// printable(), but for the sequences of Paint and kEraseLine where `styled`, and what CI systems
// take for a command is made harmless: a colon or a # of it is escaped.
[[nodiscard]] std::string for_output(std::string_view text, bool styled);

// A JSON or XML document that means the same, without what CI systems take for a command: in its
// strings such a colon or # is an escape of JSON, or a reference of XML. Other documents are
// unchanged; so are pages of HTML, whose texts and data have had this done to them (html_page.h),
// and whose styles and scripts are named by their checksums.
[[nodiscard]] std::string document_for_output(std::string_view document);

// The same for text with markup, of which nothing is style or script.
[[nodiscard]] std::string markup_for_output(std::string_view markup);

// for_output() to `stream`.
void write(std::FILE* stream, std::string_view lines, bool styled);

// Is it a terminal, which colours and kEraseLine are for?
[[nodiscard]] bool is_terminal(std::FILE* stream);

namespace detail {

template <typename Value>
decltype(auto) shown(const Value& value) {
  using Plain = std::remove_cvref_t<Value>;
  if constexpr (std::is_same_v<Plain, Lines>) {
    return value.text;
  } else if constexpr (std::is_convertible_v<const Value&, std::string_view>) {
    return one_line(std::string_view(value));
  } else {
    static_assert(std::is_arithmetic_v<Plain>, "join strings, and wrap them in Lines or one_line");
    return Plain(value);
  }
}

template <typename Value>
using Shown = std::remove_cvref_t<decltype(shown(std::declval<const Value&>()))>;

}  // namespace detail

// The lines that print() writes, before for_output().
template <typename... Values>
[[nodiscard]] std::string format(fmt::format_string<detail::Shown<Values>&...> format,
                                 const Values&... values) {
  const auto with = [&](detail::Shown<Values>... all) { return fmt::format(format, all...); };
  return with(detail::shown(values)...);
}

template <typename... Values>
void print(std::FILE* stream, fmt::format_string<detail::Shown<Values>&...> format,
           const Values&... values) {
  write(stream, text::format<Values...>(format, values...), is_terminal(stream));
}

template <typename... Values>
void print(fmt::format_string<detail::Shown<Values>&...> format, const Values&... values) {
  write(stdout, text::format<Values...>(format, values...), is_terminal(stdout));
}

// Lines that a CI is meant to take for commands, to `stream` as they are: nothing in them may come
// from elsewhere unescaped.
void write_commands(std::FILE* stream, std::string_view lines);

// document_for_output() to `stream`.
void print_document(std::FILE* stream, std::string_view document);

}  // namespace fencepost::text
