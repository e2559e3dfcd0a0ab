// What the program's pages of HTML have in common: text and data that stay in their place with any
// bytes, and a policy under which nothing but the page's own scripts and styles is used.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "suite/scenario/scenario_loader.h"

namespace fencepost::page {

// Text as it stands between tags, or in a quoted attribute; printable, and without what a CI takes
// for a command, as a page may go to standard output (text/output.h).
[[nodiscard]] std::string html(std::string_view text);

// JSON that can stand in a <script>: plain ASCII, and no `<`, `>` or `&`, so that nothing in it can
// end the element or begin another one, and no command of a CI. The page reads it back with
// JSON.parse.
[[nodiscard]] std::string data_island(const nlohmann::ordered_json& data);

using Values = std::map<std::string_view, std::string>;  // HTML, by name

// The page of these files: its HTML, in which each {{name}} is replaced, in one pass: values are
// not searched. Every name must have a value, but for "style" and "script", which are of the files,
// and "policy", under which nothing is loaded from anywhere and nothing else runs.
[[nodiscard]] std::string fill_page(const std::vector<scenario::SourceFile>& files, Values values);

// What stands on top of a page: the verdict. Text, not HTML.
struct PageHeader {
  std::string_view kind{};  // for colours: "conformant", "proved", "failed" or "open"
  std::string_view sign{};
  std::string title{};
  std::string sentence{};
};
// What a page is about.
struct Subject {
  std::string product{};   // "a client, certified"
  std::string main{};      // what one can skip to: "results"
  std::string document{};  // the title of the document, behind the sign
  std::string version{};   // of Fencepost; may be empty
};

// As fill_page(), for files that have header.html.
[[nodiscard]] std::string verdict_page(const std::vector<scenario::SourceFile>& files,
                                       const PageHeader& head, const Subject& subject,
                                       Values values);

}  // namespace fencepost::page
