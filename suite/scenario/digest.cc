#include "suite/scenario/digest.h"

#include <string_view>

#include "base/sha256.h"

namespace fencepost::scenario {
namespace {

// With its length in front: nothing can be moved from one text to the next.
void add(std::string& out, std::string_view text) {
  out += std::to_string(text.size());
  out += ':';
  out += text;
}

}  // namespace

std::string digest(const Case& test_case) {
  std::string text;
  add(text, test_case.id);
  add(text, test_case.source);
  for (const AxisBinding& axis : test_case.axes) {
    add(text, axis.axis);
    add(text, axis.value);
  }
  return sha256_hex(text);
}

std::string digest(const Requirement& requirement) {
  std::string text;
  add(text, requirement.id);
  add(text, name(requirement.level));
  for (const std::string* part :
       {&requirement.binds, &requirement.text, &requirement.section, &requirement.source,
        &requirement.observe, &requirement.untestable, &requirement.of_clients}) {
    add(text, *part);
  }
  for (const std::string& document : requirement.documents) add(text, document);
  for (const auto& [dialect, rule] : requirement.dialects) {
    add(text, dialect);
    add(text, rule);
  }
  add(text, requirement.open ? "open" : "");
  for (const std::string& outcome : requirement.outcomes) add(text, outcome);
  return sha256_hex(text);
}

std::string digest(const Library& library) {
  std::string all;
  for (const Requirement& requirement : library.catalogue.all()) all += digest(requirement);
  for (const Case& test_case : library.cases) all += digest(test_case);
  return sha256_hex(all);
}

}  // namespace fencepost::scenario
