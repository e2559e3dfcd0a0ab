#include "report/page/html_page.h"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/check.h"
#include "base/text/output.h"
#include "base/text/printable.h"

namespace fencepost::page {
namespace {

// 'sha256-...' as a content security policy names a script or style that may be used.
std::string policy_hash(const std::string& source) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const int done =
      EVP_Digest(source.data(), source.size(), digest.data(), &size, EVP_sha256(), nullptr);
  FENCEPOST_CHECK(done == 1);
  constexpr std::size_t kMaxText = 2UL * EVP_MAX_MD_SIZE;
  std::array<unsigned char, kMaxText> text{};
  const int length = EVP_EncodeBlock(text.data(), digest.data(), static_cast<int>(size));
  return "'sha256-" + std::string(text.begin(), text.begin() + length) + "'";
}

// A content security policy: nothing may be loaded from anywhere, and no script or style runs but
// these.
std::string page_policy(const std::string& style, const std::string& script) {
  return fmt::format(
      "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
      policy_hash(style), policy_hash(script));
}

// The content of the files whose names end so, one after the other; there must be one.
std::string joined_files(const std::vector<scenario::SourceFile>& files, std::string_view ending) {
  std::string out;
  for (const scenario::SourceFile& file : files) {
    if (file.name.ends_with(ending)) out += file.content;
  }
  FENCEPOST_CHECK(!out.empty());
  return out;
}

std::string filled(std::string_view page, const Values& values) {
  std::string out;
  for (;;) {
    const std::size_t begin = page.find("{{");
    if (begin == std::string_view::npos) return out.append(page);
    const std::size_t end = page.find("}}", begin);
    FENCEPOST_CHECK(end != std::string_view::npos);
    const auto value = values.find(page.substr(begin + 2, end - begin - 2));
    FENCEPOST_CHECK(value != values.end());
    out.append(page.substr(0, begin)).append(value->second);
    page.remove_prefix(end + 2);
  }
}

}  // namespace

std::string html(std::string_view text) {
  std::string out;
  for (const char c : text::printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return text::markup_for_output(out);
}

std::string data_island(const nlohmann::ordered_json& data) {
  const std::string text =
      text::document_for_output(data.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace));
  std::string out;
  out.reserve(text.size() + text.size() / 16);
  for (const char c : text) {
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else if (c == '&') {
      out += "\\u0026";
    } else {
      out += c;
    }
  }
  return out;
}

std::string fill_page(const std::vector<scenario::SourceFile>& files, Values values) {
  const std::string& style = values["style"] = joined_files(files, ".css");
  const std::string& script = values["script"] = joined_files(files, ".js");
  values["policy"] = html(page_policy(style, script));
  return filled(joined_files(files, ".html"), values);
}

std::string verdict_page(const std::vector<scenario::SourceFile>& files, const PageHeader& head,
                         const Subject& subject, Values values) {
  values["kind"] = head.kind;
  values["sign"] = head.sign;
  values["title"] = html(head.title);
  values["sentence"] = html(head.sentence);
  values["product"] = html(subject.product);
  values["main"] = html(subject.main);
  values["document"] = html(subject.document);
  values["generator"] = subject.version.empty()
                            ? ""
                            : fmt::format("<meta name=\"generator\" content=\"Fencepost {}\">\n",
                                          html(subject.version));
  return fill_page(files, std::move(values));
}

}  // namespace fencepost::page
