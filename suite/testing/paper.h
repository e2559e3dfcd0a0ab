// Test only: a temporary file to print on, and what has been printed.
#pragma once

#include <array>
#include <cstdio>
#include <string>

#include "base/check.h"

namespace fencepost::test {

class Paper {
 public:
  Paper() : file_(std::tmpfile()) { FENCEPOST_CHECK(file_ != nullptr); }
  ~Paper() { static_cast<void>(std::fclose(file_)); }
  Paper(const Paper&) = delete;
  Paper& operator=(const Paper&) = delete;

  [[nodiscard]] std::FILE* file() const { return file_; }
  [[nodiscard]] std::string text() const {
    std::rewind(file_);
    std::string out;
    std::array<char, 4096> part{};
    for (std::size_t got = part.size(); got == part.size();) {
      got = std::fread(part.data(), 1, part.size(), file_);
      out.append(part.data(), got);
    }
    return out;
  }

 private:
  std::FILE* file_;
};

}  // namespace fencepost::test
