// Included by the sources that ci/mutate has rewritten: which of their mutants is active.
//
// FENCEPOST_MUTANT=n chooses mutant n. With FENCEPOST_MUTANT_LOG=path, the numbers of all mutants
// that the program comes by are appended to that file when it ends.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace fencepost_mutation {

inline constexpr int kMax = 1 << 16;

class Selection {
 public:
  Selection() noexcept {
    const char* active = std::getenv("FENCEPOST_MUTANT");
    if (active != nullptr) active_ = std::atoi(active);
    log_ = std::getenv("FENCEPOST_MUTANT_LOG");
    if (log_ != nullptr) std::atexit(write);
  }

  static Selection& instance() noexcept {
    static Selection selection;
    return selection;
  }

  bool is_active(int mutant) noexcept {
    if (log_ != nullptr) reached_[mutant] = true;
    return mutant == active_;
  }

 private:
  static void write() {
    std::FILE* file = std::fopen(instance().log_, "a");
    if (file == nullptr) return;
    for (int mutant = 0; mutant < kMax; ++mutant) {
      if (reached_[mutant]) std::fprintf(file, "%d\n", mutant);
    }
    std::fclose(file);
  }

  static inline bool reached_[kMax] = {};
  int active_ = -1;
  const char* log_ = nullptr;
};

}  // namespace fencepost_mutation

inline bool fencepost_mutant(int mutant) {
  return fencepost_mutation::Selection::instance().is_active(mutant);
}
