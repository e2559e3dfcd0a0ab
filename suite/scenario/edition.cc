#include "suite/scenario/edition.h"

namespace fencepost::scenario {

std::string_view name(Edition edition) {
  switch (edition) {
    case Edition::kAuto:
      return "auto";
    case Edition::kPreview:
      return "preview";
    case Edition::kGa:
      return "ga";
  }
  return "unknown";
}

std::optional<Edition> edition_named(std::string_view word) {
  for (const Edition edition : {Edition::kAuto, Edition::kPreview, Edition::kGa}) {
    if (name(edition) == word) return edition;
  }
  return std::nullopt;
}

}  // namespace fencepost::scenario
