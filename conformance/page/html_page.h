// What the program's pages of HTML have in common: text and data that stay in their place, whatever
// bytes they hold, and a policy under which nothing but the page's own scripts and styles is used.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "conformance/scenario/scenario_loader.h"

namespace fencepost::page {

// Text as it stands between tags, or in a quoted attribute; printable, and without what a CI takes
// for a command, as a page may go to standard output (text/output.h).
[[nodiscard]] std::string html(std::string_view text);

// JSON that can stand in a <script>: plain ASCII, and no `<`, `>` or `&`, so that nothing in it can
// end the element or begin another one, and no command of a CI. The page reads it back with
// JSON.parse.
[[nodiscard]] std::string data_island(const nlohmann::ordered_json& data);

// The content of the files whose names end so, one after the other; there must be one.
[[nodiscard]] std::string joined_files(const std::vector<scenario::SourceFile>& files,
                                       std::string_view ending);

// A content security policy: nothing may be loaded from anywhere, and no script or style runs but
// these.
[[nodiscard]] std::string page_policy(const std::string& style, const std::string& script);

// The page with each {{name}} replaced, in one pass: values are not searched.
// Every name must have a value.
[[nodiscard]] std::string fill_page(std::string_view page,
                                    const std::map<std::string_view, std::string>& values);

}  // namespace fencepost::page
