#include "workload/neighbours.h"

#include <cstddef>
#include <utility>

namespace fencepost::workload {

void add_neighbours(const std::string& text, const std::vector<std::string>& characters,
                    std::set<std::string>& out) {
  for (std::size_t at = 0; at <= text.size(); ++at) {
    out.insert(text.substr(0, at));
    for (const std::string& character : characters) {
      out.insert(std::string(text).insert(at, character));
      if (at < text.size()) out.insert(std::string(text).replace(at, 1, character));
    }
    if (at == text.size()) continue;
    out.insert(std::string(text).erase(at, 1));
    if (at + 1 == text.size()) continue;
    std::string swapped = text;
    std::swap(swapped[at], swapped[at + 1]);
    out.insert(std::move(swapped));
  }
}

}  // namespace fencepost::workload
