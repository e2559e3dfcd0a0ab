// Options that several commands have, each with one text, and what their help says of exit codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/commands.h"

namespace fencepost::cli {

inline constexpr const char* kExitCodesOfCertify =
    "Exit codes: 0 conformant, 1 a requirement failed or the baseline is out of date, "
    "2 usage, descriptor, baseline or scenario error, 3 endpoint unreachable or lost, "
    "4 inconclusive, 5 no case selected, 70 internal error, 130 interrupted";

// Each adds the options that it is named after; what they set must outlive the command.
void add_descriptor(CLI::App& command, std::string& file);
void add_endpoint(CLI::App& command, std::string& endpoint, std::string& descriptor);
void add_driver(CLI::App& command, std::string& name);
CLI::Option* add_profile(CLI::App& command, std::string& profile);
// The dialect that a store of our own speaks.
void add_dialect(CLI::App& command, std::string& dialect);
CLI::Option* add_edition(CLI::App& command, std::string& edition);
void add_jobs(CLI::App& command, std::size_t& jobs);
void add_timeout_scale(CLI::App& command, double& factor);
void add_seed(CLI::App& command, std::optional<std::uint64_t>& seed);
void add_disturb(CLI::App& command, DisturbFlags& flags);
void add_strict(CLI::App& command, bool& strict);
void add_fresh_connections(CLI::App& command, bool& fresh);
void add_scenarios(CLI::App& command, std::string& scenarios);
void add_trace(CLI::App& command, bool& trace);
void add_verbose(CLI::App& command, bool& verbose);
void add_quiet(CLI::App& command, bool& quiet);

void add_max_failures(CLI::App& command, std::size_t& number);
void add_dry_run(CLI::App& command, bool& dry_run);
// --pcap, --port and --from: traffic that was recorded.
void add_capture(CLI::App& command, std::string& pcap, std::uint16_t& port, std::string& log);

// The options of RunFlags.
void add_run_flags(CLI::App& command, RunFlags& flags);

// --run, alone: globs of ids of cases.
CLI::Option* add_run(CLI::App& command, std::vector<std::string>& globs);
// --run, --skip, --tag and --requirement.
void add_selection(CLI::App& command, run::Selection& selection);

// --json for the kind "json". `detail` follows the text of the kind, or is the text of a kind that
// report::report_kinds() does not have.
void add_report(CLI::App& command, report::ReportFiles& files, const std::string& kind,
                const std::string& detail = "");
// The kinds of report::report_kinds().
void add_reports(CLI::App& command, report::ReportFiles& files);

}  // namespace fencepost::cli
