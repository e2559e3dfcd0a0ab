// The environment of a program that we start. Ours may hold secrets of a CI, which are no business
// of a broker, of a client under test or of a command that a file names.
//
//   ChildEnvironment environment({"KUBECONFIG"});
//   execve(path, arguments, environment.data());  // in the child
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fencepost {

// Does every child get the variable of this name? Those by which programs find people, places,
// languages, libraries and tools, and those of the sanitizers.
[[nodiscard]] bool is_for_every_child(std::string_view name);

// Refers to the variables of this process, which must not change meanwhile.
class ChildEnvironment {
 public:
  // With those that are for every child, and of these names.
  explicit ChildEnvironment(const std::vector<std::string>& more = {});

  // Adds one, "NAME=value", that this process does not have.
  void add(std::string variable);

  // As execve() wants it; until the next add() or the end of this object.
  [[nodiscard]] char* const* data();

 private:
  std::vector<std::string> own_{};
  std::vector<char*> variables_{};
  std::vector<char*> all_{};
};

}  // namespace fencepost
