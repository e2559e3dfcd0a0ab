// What the page of a certificate and a site of certificates share. Private to report/.
#pragma once

#include <string>
#include <string_view>

#include "report/certificate.h"

namespace fencepost::report {

// How a verdict is shown: of a page's head, of a tone, a sign, and in words.
struct VerdictSign {
  std::string_view kind{};
  std::string_view tone{};
  std::string_view sign{};
  std::string_view title{};
};
[[nodiscard]] VerdictSign sign_of(const Certificate& certificate);

// "398 of 412 MUST rules met".
[[nodiscard]] std::string score_text(const Certificate& certificate);

// Parts of pages, as HTML: the unspecified behaviour that a run has seen, and the rules that it has
// shown to be broken; nothing where there are none of these.
[[nodiscard]] std::string points_sheet_html(const Column& column);
[[nodiscard]] std::string broken_rules_html(const Certificate& certificate,
                                            const scenario::Catalogue& catalogue);

// The way to the other pages of a site.
inline constexpr const char* kSiteLinks =
    "<nav class=\"of\" aria-label=\"Site\"><a href=\"index.html\">Implementations</a> "
    "<a href=\"rules.html\">Rules</a></nav>\n";

}  // namespace fencepost::report
