// How every command of the program ends.
#pragma once

namespace fencepost::run {

// Exit codes of the command line contract; exit_code() in suite.h says which of several counts.
enum class ExitCode {
  kConformant = 0,
  kFailed = 1,
  kUsage = 2,
  kUnreachable = 3,
  kInconclusive = 4,
  kNothingSelected = 5,
  kInternal = 70,
  kInterrupted = 130,
};

}  // namespace fencepost::run
