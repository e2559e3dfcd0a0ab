// The help of the program: its commands in groups, the options of a command under headings, the
// rare ones only with --help-all where all options do not fit one screen.
#pragma once

#include <CLI/CLI.hpp>

namespace fencepost::cli {

// Puts options into the groups of the help, names what a value is (URL, FILE, N), and makes the
// help fit the terminal, at most 80 columns. Call it when all commands have been added; a command
// or an option that stands in no group ends the program.
void lay_out_help(CLI::App& app);

}  // namespace fencepost::cli
