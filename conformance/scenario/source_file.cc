#include "conformance/scenario/source_file.h"

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

}  // namespace fencepost::scenario
