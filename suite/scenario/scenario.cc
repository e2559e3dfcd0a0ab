#include "suite/scenario/scenario.h"

#include <tuple>

namespace fencepost::scenario {

// Not defaulted in the class: each of these may hold the next, so that a list of them is compared
// before its element is a complete type.
bool operator==(const JoinedBytes& left, const JoinedBytes& right) {
  return left.parts == right.parts;
}
bool operator==(const CommandBytes& left, const CommandBytes& right) {
  return left.arguments == right.arguments;
}
bool operator==(const BytesSpec& left, const BytesSpec& right) { return left.what == right.what; }

bool operator==(const Step& left, const Step& right) {
  return left.title == right.title && left.note == right.note && left.what == right.what;
}

bool operator==(const Case& left, const Case& right) {
  const auto members = [](const Case& c) {
    return std::tie(c.id, c.area, c.title, c.requirements, c.divergences, c.requires_, c.tags,
                    c.exclusive, c.clients, c.steps, c.family, c.axes, c.recorded, c.note);
  };
  return members(left) == members(right);
}

}  // namespace fencepost::scenario
