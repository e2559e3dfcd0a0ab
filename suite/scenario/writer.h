// Scenario files from cases: the inverse of the loader. Code that saves cases builds `Case` values
// and writes them with this, so that the format is known in two places, one that reads and one that
// writes.
//
//   const std::string text = to_yaml(cases);
//   load_scenario({"f.yaml", text}, requirements, errors);  // the same cases again
//
// Everything that a case holds is written; where it stood, and the layout and comments of the file
// that it was loaded from, are not part of it. A member of a family is written as a family of its
// own: it keeps its id, its title and its axes. Pure and thread safe.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "suite/scenario/scenario.h"

namespace fencepost::scenario {

// Lines for readers; what no line can hold is made printable.
struct FileComments {
  std::vector<std::string> file{};                          // above everything
  std::map<std::string, std::vector<std::string>> cases{};  // above a case, by its id
};

// A scenario file. `cases` are at least one, of one area, and such as the loader makes or would
// take. In particular clients observe where `keynotify`, `notification` and `silence` make them,
// and texts are UTF-8.
[[nodiscard]] std::string to_yaml(std::span<const Case> cases, const FileComments& comments = {});

// The action as which a file says this request, for `Step::title`: set, get, del, vdel or
// keynotify; send where none of them can say it.
[[nodiscard]] std::string_view action_of(const RequestStep& request);

}  // namespace fencepost::scenario
