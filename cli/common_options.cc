#include "cli/common_options.h"

#include <string_view>

#include "cli/usage.h"
#include "suite/run/time_limits.h"

namespace fencepost::cli {

void add_descriptor(CLI::App& command, std::string& file) {
  command.add_option("--descriptor", file,
                     "YAML description of the endpoint (docs/DESCRIPTORS.md)");
}

void add_endpoint(CLI::App& command, std::string& endpoint, std::string& descriptor) {
  command.add_option("--endpoint", endpoint,
                     "embedded (default), inproc:, mqtt://[user[:password]@]host[:port] or "
                     "mqtts://...; FENCEPOST_PASSWORD may hold the password");
  add_descriptor(command, descriptor);
}

void add_driver(CLI::App& command, std::string& name) {
  command
      .add_option("--driver", name,
                  "MQTT client: builtin (default), or paho, a module that needs its library and "
                  "detects fewer violations of MQTT 5 (docs/HOSTILE.md)")
      ->check(one_of({"builtin", "paho"}))
      ->check(usable_driver());
}

CLI::Option* add_profile(CLI::App& command, std::string& profile) {
  return command
      .add_option("--profile", profile,
                  "Rules to judge by: deployed (what client SDKs require), documented (the "
                  "article; other rules warn) or auto (default: by the dialect of the store)")
      ->check(one_of({"auto", "documented", "deployed"}));
}

void add_dialect(CLI::App& command, std::string& dialect) {
  command.add_option("--dialect", dialect, "Dialect of our store: deployed (default), documented")
      ->check(one_of({"deployed", "documented"}));
}

CLI::Option* add_edition(CLI::App& command, std::string& edition) {
  return command
      .add_option("--edition", edition,
                  "Edition of the specification: ga, preview or auto (default: ga; preview for a "
                  "store of the documented dialect whose notifications have no __ts)")
      ->check(one_of({"auto", "preview", "ga"}));
}

void add_jobs(CLI::App& command, std::size_t& jobs) {
  command
      .add_option("-j,--jobs", jobs,
                  "Cases to run in parallel (default: 64, embedded 16, inproc: one per core; fewer "
                  "for a small quota)")
      ->check(whole_number(1, kMaxJobs));
}

void add_timeout_scale(CLI::App& command, double& factor) {
  command.add_option("--timeout-scale", factor, "Multiply every time limit (default: 1)")
      ->check(positive_factor(run::kMaxTimeoutScale));
}

void add_seed(CLI::App& command, std::optional<std::uint64_t>& seed) {
  command.add_option("--seed", seed, "Random seed (default: a new one, which is printed)")
      ->check(whole_number(0));
}

void add_disturb(CLI::App& command, DisturbFlags& flags) {
  command.add_option("--disturb", flags.disturb,
                     "Faults of the network and of the broker to inject: none (default), all, "
                     "kinds with commas between them, or a YAML file with times "
                     "(docs/RESILIENCE.md)");
  command.add_option("--disturb-every", flags.disturb_every,
                     "Mean time between two faults (default: 250ms)");
}

void add_strict(CLI::App& command, bool& strict) {
  command.add_flag("--strict", strict, "A failed \"should\" fails the run");
}

void add_fresh_connections(CLI::App& command, bool& fresh) {
  command.add_flag("--fresh-connections", fresh,
                   "Open new connections for each case (default: reuse)");
}

void add_scenarios(CLI::App& command, std::string& scenarios) {
  command.add_option("--scenarios", scenarios,
                     "Cases of this folder or file, not the built-in ones");
}

void add_trace(CLI::App& command, bool& trace) {
  command.add_flag("--trace", trace, "Print all packets of a failure, not just the last ones");
}

void add_verbose(CLI::App& command, bool& verbose) {
  command.add_flag("-v,--verbose", verbose, "Print each case, and all cases of each root cause");
}

void add_quiet(CLI::App& command, bool& quiet) {
  command.add_flag("-q,--quiet", quiet, "Print failures and the summary only");
}

void add_max_failures(CLI::App& command, std::size_t& number) {
  command.add_option("--max-failures", number, "Stop after N failures")->check(whole_number(1));
}

void add_dry_run(CLI::App& command, bool& dry_run) {
  command.add_flag("--dry-run", dry_run, "Print the cases that would run, and send nothing");
}

void add_capture(CLI::App& command, std::string& pcap, std::uint16_t& port, std::string& log) {
  command.add_option("--pcap", pcap, "Packet capture of plain MQTT, e.g. of tcpdump");
  command.add_option("--port", port, "With --pcap: port of the broker (default: 1883)")
      ->check(whole_number(1, UINT16_MAX));
  command.add_option("--from", log,
                     "Log FILE.log of serve --record FILE, or of the mosquitto plugin");
}

void add_run_flags(CLI::App& command, RunFlags& flags) {
  add_endpoint(command, flags.endpoint, flags.descriptor);
  add_profile(command, flags.profile);
  add_edition(command, flags.edition);
  add_driver(command, flags.driver);
  add_jobs(command, flags.jobs);
  add_timeout_scale(command, flags.timeout_scale);
  add_seed(command, flags.seed);
  add_trace(command, flags.trace);
  add_quiet(command, flags.quiet);
}

CLI::Option* add_run(CLI::App& command, std::vector<std::string>& globs) {
  return command.add_option("--run", globs, "Only cases with this id glob (repeatable)");
}

void add_selection(CLI::App& command, run::Selection& selection) {
  add_run(command, selection.run);
  command.add_option("--skip", selection.skip, "Skip cases with this id glob or tag (repeatable)");
  command.add_option("--tag", selection.tags, "Only cases with this tag (repeatable)");
  command.add_option("--requirement", selection.requirements,
                     "Only cases that cite this requirement (repeatable)");
}

void add_report(CLI::App& command, report::ReportFiles& files, const std::string& kind,
                const std::string& detail) {
  std::string help = detail;
  for (const report::ReportKind& known : report::report_kinds()) {
    if (known.name == kind) help = known.help + (detail.empty() ? "" : " " + detail);
  }
  files.set(kind, "");
  command
      .add_option_function<std::string>(
          "--" + kind, [&files, kind](const std::string& path) { files.set(kind, path); }, help)
      ->check(report_file());
}

void add_reports(CLI::App& command, report::ReportFiles& files) {
  for (const report::ReportKind& kind : report::report_kinds()) {
    add_report(command, files, kind.name,
               kind.name == std::string_view("json") ? "(docs/report.schema.json)" : "");
  }
}

}  // namespace fencepost::cli
