#include "suite/scenario/source_file.h"

namespace fencepost::scenario {

std::vector<SourceFile> source_files(std::span<const EmbeddedFile> embedded) {
  std::vector<SourceFile> out;
  out.reserve(embedded.size());
  for (const EmbeddedFile& file : embedded) {
    out.push_back({std::string(file.name), std::string(file.content), file.encoded});
  }
  return out;
}

std::string describe(const LoadError& error) {
  const Position& at = error.position;
  return at.file + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " +
         error.text;
}

std::vector<std::string> describe_all(const std::vector<LoadError>& errors,
                                      const std::function<std::string(const LoadError&)>& say) {
  constexpr std::size_t kMaxSaid = 100;
  std::vector<std::string> out;
  for (std::size_t i = 0; i < errors.size() && i < kMaxSaid; ++i) out.push_back(say(errors[i]));
  if (errors.size() > kMaxSaid) {
    out.push_back("... and " + std::to_string(errors.size() - kMaxSaid) + " more errors");
  }
  return out;
}

}  // namespace fencepost::scenario
