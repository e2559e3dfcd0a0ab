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

// The list of the unspecified behaviour that a run has seen, as HTML.
[[nodiscard]] std::string points_html(const Column& column);

}  // namespace fencepost::report
