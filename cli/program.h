// The command line: which command, and its options.
#pragma once

namespace fencepost::cli {

// Parses the command line and runs its command; the exit code of the program. Anything that is
// wrong with the command line, and standard output that cannot be written, is reported on standard
// error. Throws what the command throws. Overwrites passwords in `argv` once they are read.
[[nodiscard]] int run_program(int argc, char** argv);

}  // namespace fencepost::cli
