#include "cli/more_commands.h"

#include <string>

#include "cli/usage.h"

namespace fencepost::cli {

void add_selection(CLI::App& command, run::Selection& selection) {
  command.add_option("--run", selection.run, "Only cases whose id matches this glob (repeatable)");
  command.add_option("--skip", selection.skip,
                     "Not the cases whose id matches this glob, or that have this tag "
                     "(repeatable)");
  command.add_option("--tag", selection.tags, "Only cases with this tag (repeatable)");
  command.add_option("--requirement", selection.requirements,
                     "Only cases that cite this requirement (repeatable)");
}

void add_timeout_scale(CLI::App& command, double& factor) {
  command.add_option("--timeout-scale", factor, "Factor of every time limit (default 1)")
      ->check(positive_factor());
}

void add_check(CLI::App& app, CheckOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "check",
      "Judge saved histories of requests that meet: could a right store have answered so? "
      "(docs/HISTORY.md)\n"
      "Exit code 1 when not, 4 when that cannot be decided");
  command
      ->add_option("histories", options.files,
                   "Histories as JSON Lines, or logs of a single register with :invoke and :ok")
      ->required();
  command->add_option("--json", options.json,
                      "Write the verdicts as JSON to this file, - for standard output (schema: "
                      "docs/check.schema.json)");
  command
      ->add_option("--max-steps", options.max_steps,
                   "Give up a key after so many steps of the search (default 5000000)")
      ->check(whole_number(1));
  command->callback([&] { action = [&] { return check(options); }; });
}

void add_diff(CLI::App& app, DiffOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "diff",
      "Compare two endpoints, or two runs: what do they do differently? (docs/SHARDING.md)\n"
      "Exit codes: 0 they behave alike, 1 they differ, 2 usage or unreadable report, 3 endpoint "
      "unreachable or lost,\n4 no difference, but some cases could not be compared, 5 no case "
      "compared, 130 interrupted");
  const char* what =
      "A JSON report, a descriptor (*.yaml) or an endpoint (embedded, inproc:, mqtt://...)";
  command->add_option("A", options.a, what)->required();
  command->add_option("B", options.b, what)->required();
  command->add_option("--profile", options.profile,
                      "For endpoints: auto, documented or deployed (default: that of the report "
                      "on the other side, else auto)");
  command->add_flag("--strict", options.strict, "For endpoints: a failed \"should\" is a failure");
  add_selection(*command, options.selection);
  // One value each: the next word is A or B.
  for (const char* name : {"--run", "--skip", "--tag", "--requirement"}) {
    command->get_option(name)->allow_extra_args(false);
  }
  command->add_option("-j,--jobs", options.jobs, "Cases to run in parallel (default: as certify)")
      ->check(whole_number(1));
  add_timeout_scale(*command, options.timeout_scale);
  command
      ->add_option("--seed", options.seed,
                   "Seed for all random choices (default: that of the report on the other side, "
                   "else a new one for both)")
      ->check(whole_number(0));
  command->add_option("--scenarios", options.scenarios,
                      "The cases of this folder or file instead of the built-in ones");
  command->add_option("--json", options.json,
                      "Write what differs to this file (schema: docs/diff.schema.json)");
  command->add_flag("-q,--quiet", options.quiet, "Print the last line only");
  command->callback([&] { action = [&] { return diff(options); }; });
}

void add_compare(CLI::App& app, CompareOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "compare",
      "Put any number of runs side by side: implementations, or one at several times "
      "(docs/SHARDING.md)\n"
      "Exit codes: 0 they are alike, 1 they differ, 2 usage or unreadable report");
  command
      ->add_option("reports", options.reports,
                   "JSON reports of certify or merge, each a column; NAME=FILE names it")
      ->required();
  command->add_option("--html", options.html, "Write the comparison as one page to this file");
  command->add_option("--json", options.json,
                      "Write it as JSON to this file (schema: docs/compare.schema.json)");
  command->callback([&] { action = [&] { return compare(options); }; });
}

void add_vectors(CLI::App& app, VectorsOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand("vectors",
                                         "Write the bytes of the cases for tests of your own: "
                                         "requests, and the replies that are right\n"
                                         "Exit codes: 0 written, 2 usage, 5 no case selected");
  command->add_option("--json", options.json,
                      "Write them to this file, - for standard output (default; schema: "
                      "docs/vectors.schema.json)");
  command
      ->add_option(
          "--profile", options.profile,
          "Whose replies are right: auto (default) of either dialect, deployed, documented")
      ->check(one_of({"auto", "deployed", "documented"}));
  add_selection(*command, options.selection);
  command->add_option("--scenarios", options.scenarios, "Of this folder or file");
  command->callback([&] { action = [&] { return vectors(options); }; });
}

void add_certify_all(CLI::App& app, CertifyAllOptions& options, Action& action) {
  constexpr std::size_t kMostAtOnce = 64;
  CLI::App* command = app.add_subcommand(
      "certify-all",
      "Certify every endpoint of a file, and compare them (docs/SHARDING.md)\n"
      "Exit code: the first of 70, 1, 2, 3, 130, 5, 4 that any run ended with, else 0");
  command
      ->add_option("file", options.file,
                   "A line for each endpoint: a name, and a URL or a descriptor (*.yaml)")
      ->required();
  command->add_option(
      "--out-dir", options.out,
      "Folder for NAME.json, NAME.html, NAME.xml and NAME.log of each, compare.json "
      "and index.html (default: certify-all)");
  command->add_option("--at-once", options.at_once, "Endpoints to certify in parallel (default: 2)")
      ->check(whole_number(1, kMostAtOnce));
  command->add_option("--profile", options.profile, "As of certify")
      ->check(one_of({"auto", "deployed", "documented"}));
  command
      ->add_option("-j,--jobs", options.jobs,
                   "Cases of one endpoint to run in parallel (default: as certify)")
      ->check(whole_number(1));
  command
      ->add_option("--timeout-scale", options.timeout_scale,
                   "Factor of every time limit (default 1)")
      ->check(positive_factor());
  command->add_flag("--strict", options.strict, "A failed \"should\" fails the run");
  add_selection(*command, options.selection);
  command->callback([&] { action = [&] { return certify_all(options); }; });
}

}  // namespace fencepost::cli
