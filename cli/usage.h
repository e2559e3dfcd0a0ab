// What the options take, and errors of the command line: the word that was typed, and the nearest
// known one.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace fencepost::cli {

// Takes one of these words; the error names the nearest.
[[nodiscard]] CLI::Validator one_of(const std::vector<std::string>& words);
// The limit of -j: each job has a thread and connections.
inline constexpr std::uint64_t kMaxJobs = 1'000;
// Takes decimal digits, of a number between these two.
[[nodiscard]] CLI::Validator whole_number(std::uint64_t least, std::uint64_t most = UINT64_MAX);
// Takes the name of an MQTT client that this machine can use; the error says what to install.
[[nodiscard]] CLI::Validator usable_driver();
// Takes a number greater than 0, at most `most`.
[[nodiscard]] CLI::Validator positive_factor(double most = std::numeric_limits<double>::max());

// Takes any place of a report, which reports_to_standard_output() knows by it.
[[nodiscard]] CLI::Validator report_file();

// The arguments as they are parsed: `help` and `help COMMAND` also print help.
[[nodiscard]] std::vector<std::string> with_help_command(const CLI::App& app,
                                                         std::vector<std::string> arguments);

// The exit code of a command line that cannot be parsed, or that requests help or the version; the
// error, help or version was printed, without passwords.
[[nodiscard]] int refuse(const CLI::App& app, const CLI::ParseError& error,
                         const std::vector<std::string>& arguments);

// Do these options request a report on standard output, with the file name "-"?
[[nodiscard]] bool reports_to_standard_output(const CLI::App& app);

// A URL with a password as the value of, say, --json, or as one of the files of lint, would appear
// in an error or a report. The error; empty when there is no such URL.
[[nodiscard]] std::string misplaced_url(const CLI::App& app);

}  // namespace fencepost::cli
