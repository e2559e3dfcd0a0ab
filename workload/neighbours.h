// Texts that differ from another in one place. Pure. Private to workload/.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace fencepost::workload {

// Adds the text as it is, cut at each length, and with one byte left out, swapped with the next,
// replaced by each of `characters`, or preceded by it.
void add_neighbours(const std::string& text, const std::vector<std::string>& characters,
                    std::set<std::string>& out);

}  // namespace fencepost::workload
