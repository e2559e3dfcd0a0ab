#include "suite/scenario/wording.h"

namespace fencepost::scenario {

std::string_view name(Wording wording) {
  switch (wording) {
    case Wording::kAuto:
      return "auto";
    case Wording::kPreview:
      return "preview";
    case Wording::kGa:
      return "ga";
  }
  return "unknown";
}

std::optional<Wording> wording_named(std::string_view word) {
  for (const Wording wording : {Wording::kAuto, Wording::kPreview, Wording::kGa}) {
    if (name(wording) == word) return wording;
  }
  return std::nullopt;
}

}  // namespace fencepost::scenario
