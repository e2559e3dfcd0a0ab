// A site of certificates, for any web server or none: which implementation keeps which rules, in
// which version. Pure.
//
//   const std::vector<SiteFile> files = site_of(certificates, library.catalogue);
#pragma once

#include <string>
#include <vector>

#include "report/certificate.h"

namespace fencepost::report {

// A certificate as it was read.
struct SiteCertificate {
  Certificate certificate{};
  std::string json{};       // all of the file
  std::string signature{};  // the same of FILE.sig; empty: there is none
};

struct SiteFile {
  std::string path{};  // within the site
  std::string content{};
};

// index.html: implementations, and groups of rules. rules.html: the rules, with a filter. A page
// store-NAME.html and a badge badges/NAME.svg for each implementation, by the name that its owner
// says. In certificates/ what was given, byte for byte, with its page. The latest run of an
// implementation counts; the others are its history.
[[nodiscard]] std::vector<SiteFile> site_of(std::vector<SiteCertificate> all,
                                            const scenario::Catalogue& catalogue);

}  // namespace fencepost::report
