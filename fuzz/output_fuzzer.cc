// Any text on its way to a terminal, into a document on standard output, and as a word of a
// command: nothing that a terminal or a CI takes for a command is left, a document means the same,
// and a shell would read the same words.
#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/text/colour.h"
#include "base/text/output.h"
#include "base/text/printable.h"
#include "base/utf8.h"
#include "fuzz/input_reader.h"

using namespace fencepost;

namespace {

void check_no_command(const std::string& out) {
  FENCEPOST_CHECK(out.find("##[") == std::string::npos);
  FENCEPOST_CHECK(out.find("##vso[") == std::string::npos);
  for (std::size_t line = 0; line < out.size(); line = out.find('\n', line)) {
    const std::size_t begin = out.find_first_not_of(" \t\n", line);
    if (begin == std::string::npos) break;
    const std::string_view rest = std::string_view(out).substr(begin);
    const bool command = rest.size() > 2 && rest.starts_with("::") &&
                         ((rest[2] >= 'a' && rest[2] <= 'z') || (rest[2] >= 'A' && rest[2] <= 'Z'));
    FENCEPOST_CHECK(!command);
    line = begin;
  }
}

void check_output(std::string_view text) {
  const std::string plain = text::for_output(text, false);
  FENCEPOST_CHECK(is_utf8(plain));
  for (const char c : plain) {
    const auto byte = static_cast<unsigned char>(c);
    FENCEPOST_CHECK((byte >= 0x20 && byte != 0x7f) || c == '\n' || c == '\t');
  }
  for (const char* mark :
       {"\u2028", "\u2029", "\u202e", "\u2066", "\u200f", "\u061c", "\u0085", "\u009b"}) {
    FENCEPOST_CHECK(plain.find(mark) == std::string::npos);
  }
  check_no_command(plain);
  FENCEPOST_CHECK(text::for_output(plain, false) == plain);
  // Styles apart, and these are known ones.
  std::string styled = text::for_output(text, true);
  for (const std::string_view style :
       {"\033[0m", "\033[1m", "\033[2m", "\033[31m", "\033[32m", "\033[33m", text::kEraseLine}) {
    for (std::size_t at = styled.find(style); at != std::string::npos; at = styled.find(style)) {
      styled.replace(at, style.size(), "-");  // not a blank: what it divides stays divided
    }
  }
  FENCEPOST_CHECK(styled.find_first_of("\r\033") == std::string::npos);
  FENCEPOST_CHECK(text::one_line(text).find_first_of("\n\t\r\033") == std::string::npos);
}

void check_document(std::string_view text) {
  const std::string json = nlohmann::json{{"a", text::printable(text)}}.dump();
  const std::string shown = text::document_for_output(json);
  FENCEPOST_CHECK(nlohmann::json::parse(shown) == nlohmann::json::parse(json));
  FENCEPOST_CHECK(shown.find("##[") == std::string::npos);
  FENCEPOST_CHECK(shown.find("##vso[") == std::string::npos);
}

void check_words(std::string_view text) {
  const std::string word = text::shell_word(text);
  const auto read = text::words_of("fencepost " + word);
  FENCEPOST_CHECK(read && read->size() == 2 && read->back() == text);
  // As it is, it is one only where a shell sees words and nothing else.
  if (!text::words_of("fencepost " + std::string(text))) return;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\'') quoted = !quoted;
    if (quoted) continue;
    if (text[at] == '\\') {
      FENCEPOST_CHECK(text.substr(at).starts_with("\\'"));
      ++at;
      continue;
    }
    FENCEPOST_CHECK(std::string_view(";|&$`<>(){}[]*?!#~\"\n\t=").find(text[at]) ==
                    std::string_view::npos);
  }
  FENCEPOST_CHECK(!quoted);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fencepost::fuzz::as_text(data, size);
  check_output(text);
  check_document(text);
  check_words(text);
  return 0;
}
