#include <algorithm>
#include <array>
#include <iterator>

#include "reference_store/faults/fault.h"

namespace fencepost::store {

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all = [] {
    std::vector<Fault> out;
    for (const auto part :
         {codec_faults, set_faults, expiry_faults, delete_faults, version_faults, fencing_faults,
          notification_faults, envelope_faults, limit_faults, concurrency_faults, overlap_faults,
          two_faced_faults, benign_variants, overlap_variants, article_stores, null_stores}) {
      std::vector<Fault> more = part();
      std::move(more.begin(), more.end(), std::back_inserter(out));
    }
    return out;
  }();
  return all;
}

const Fault* find_fault(std::string_view name) {
  const std::vector<Fault>& all = faults();
  const auto found = std::find_if(all.begin(), all.end(), [name](const Fault& fault) {
    const bool both = name.size() == fault.id.size() + 1 + fault.name.size() &&
                      name.starts_with(fault.id) && name.ends_with(fault.name) &&
                      name[fault.id.size()] == '-';
    return name == fault.id || name == fault.name || both;
  });
  return found == all.end() ? nullptr : &*found;
}

std::string_view name(FaultKind kind) {
  constexpr std::array kNames = {"fault", "benign", "null"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string_view name(RightBy right_by) {
  constexpr std::array kNames = {"all", "article", "preview"};
  return kNames.at(static_cast<std::size_t>(right_by));
}

std::string_view name(FaultNeeds needs) {
  constexpr std::array kNames = {"nothing", "transport", "direct", "meeting", "history"};
  return kNames.at(static_cast<std::size_t>(needs));
}

}  // namespace fencepost::store
