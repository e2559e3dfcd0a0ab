// What `fencepost check` says of a history: a screen, and JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "conformance/scenario/requirement.h"
#include "history/checker.h"

namespace fencepost::cli {

// A history that has been judged.
struct CheckedHistory {
  std::string file{};
  std::size_t operations = 0;
  std::size_t notifications = 0;
  std::set<std::uint32_t> clients{};
  bool counts_lines = false;  // times are numbers of lines
  bool cut = false;           // the last line was not complete
  double seconds = 0;         // for judging
  std::vector<history::KeyVerdict> keys{};
  std::map<history::Index, history::Operation> shown{};  // what witnesses name

  [[nodiscard]] std::size_t count(history::Answer answer) const;
};

void print_checked(const CheckedHistory& checked, const scenario::Catalogue& catalogue);

[[nodiscard]] nlohmann::ordered_json to_json(const CheckedHistory& checked);

}  // namespace fencepost::cli
