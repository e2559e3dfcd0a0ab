// The command line: parses options and calls the commands. Nothing else happens here.

#include <exception>
#include <functional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "conformance/commands.h"
#include "conformance/report.h"

namespace fencepost::conformance {
namespace {

using Action = std::function<ExitCode()>;

void add_certify(CLI::App& app, CertifyOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("certify", "Run the conformance cases against an endpoint");
  command->add_option(
      "--endpoint", options.endpoint,
      "embedded (default), inproc:, mqtt://[user[:password]@]host[:port] or mqtts://...");
  command->add_option("--descriptor", options.descriptor,
                      "YAML file that describes the endpoint: url, tls, roles, capabilities");
  command->add_option("--profile", options.profile,
                      "auto (default), documented (what the article prints) or deployed (what "
                      "client SDKs require)");
  command->add_flag("--strict", options.strict, "A failed \"should\" fails the run");
  command->add_option("--run", options.selection.run,
                      "Only cases whose id matches this glob (repeatable)");
  command->add_option("--skip", options.selection.skip,
                      "Not the cases whose id matches this glob (repeatable)");
  command->add_option("--tag", options.selection.tags, "Only cases with this tag (repeatable)");
  command->add_option("--requirement", options.selection.requirements,
                      "Only cases that cite this requirement (repeatable)");
  command->add_option("--shard", options.shard, "K/N: the K-th of N parts of the cases");
  command->add_option("-j,--jobs", options.jobs,
                      "Cases at once (default: 64 over MQTT, else one a core)");
  command
      ->add_option("--timeout-scale", options.timeout_scale,
                   "Factor of every time limit (default 1)")
      ->check(CLI::PositiveNumber);
  command->add_option("--seed", options.seed, "Of everything random (default: a new one, printed)");
  command->add_option("--junit", options.reports.junit, "Write a JUnit XML report to this file");
  command->add_option("--json", options.reports.json,
                      "Write a JSON report to this file (schema: docs/report.schema.json)");
  command->add_option("--scenarios", options.scenarios,
                      "Run the cases of this folder or file instead of the built-in ones");
  command->add_flag("--trace", options.trace,
                    "Print all packets of a failed case, not just the last ones");
  command->add_flag("-q,--quiet", options.quiet, "Print failures and the summary only");
  command->callback([&] { action = [&] { return certify(options); }; });
}

void add_serve(CLI::App& app, ServeOptions& options, Action& action) {
  CLI::App* command =
      app.add_subcommand("serve", "Run a broker with the reference state store on loopback");
  command->add_option("--port", options.port, "TCP port (default 1883)")
      ->check(CLI::Range(1, 65535));
  command->add_option("--profile", options.profile,
                      "The dialect it speaks: deployed (default) or documented");
  command->add_option("--quota", options.quota, "How many keys it holds (default: no limit)");
  command->add_option("--authorization", options.authorization,
                      "JSON file: who may touch which key (see reference_store/authorization.h)");
  command->add_option("--node-id", options.node_id, "Node id of its versions (default StateStore)");
  command->add_flag("-v,--verbose", options.verbose, "Show the broker's log");
  command->callback([&] { action = [&] { return serve(options); }; });
}

void add_readers(CLI::App& app, ListOptions& list_options, std::string& id,
                 std::vector<std::string>& paths, Action& action) {
  CLI::App* list_command = app.add_subcommand("list", "List cases or requirements");
  list_command->add_option("what", list_options.what, "cases (default) or requirements")
      ->check(CLI::IsMember({"cases", "requirements"}));
  list_command->add_flag("--json", list_options.json, "As JSON");
  list_command->add_option("--scenarios", list_options.scenarios, "Of this folder or file");
  list_command->callback([&] { action = [&] { return list(list_options); }; });

  CLI::App* explain_command = app.add_subcommand("explain", "Explain a requirement or a case");
  explain_command->add_option("id", id, "e.g. SET-NX-1")->required();
  explain_command->add_option("--scenarios", list_options.scenarios, "Of this folder or file");
  explain_command->callback([&] { action = [&] { return explain(id, list_options.scenarios); }; });

  CLI::App* lint_command = app.add_subcommand("lint", "Check scenario files");
  lint_command->add_option("paths", paths, "Files or folders (default: the built-in cases)");
  lint_command->callback([&] { action = [&] { return lint(paths); }; });
}

void add_matrix(CLI::App& app, MatrixOptions& options, Action& action) {
  CLI::App* command = app.add_subcommand(
      "matrix",
      "Show which case checks which requirement\n"
      "Exit code 1 when a requirement that must hold and can be tested has no case");
  command->add_option("--json", options.json,
                      "Write it as JSON to this file, - for standard output (schema: "
                      "docs/matrix.schema.json)");
  command->add_option("--html", options.html, "Write one self-contained page to this file");
  command->add_option("--markdown", options.markdown,
                      "Write the tables of docs/COVERAGE.md to this file");
  command->add_option("--report", options.report,
                      "Add the results of a run: a JSON report of certify");
  command->add_flag("--full", options.full, "Print every requirement with its cases");
  command->add_option("--scenarios", options.scenarios, "Of this folder or file");
  command->callback([&] { action = [&] { return matrix(options); }; });
}

int run(int argc, char** argv) {
  CLI::App app{
      "Fencepost: conformance suite of the state store protocol over MQTT 5\n"
      "Exit codes: 0 conformant, 1 a requirement failed, 2 usage, descriptor or scenario error, "
      "3 endpoint unreachable or lost,\n4 inconclusive, 5 no case selected, 70 internal error, "
      "130 interrupted"};
  app.set_version_flag("--version", std::string("fencepost ") + suite_version());
  app.require_subcommand(1);
  CertifyOptions certify_options;
  ServeOptions serve_options;
  ListOptions list_options;
  MatrixOptions matrix_options;
  std::string id;
  std::vector<std::string> paths;
  Action action;
  certify_options.program = argv[0];
  add_certify(app, certify_options, action);
  add_serve(app, serve_options, action);
  add_readers(app, list_options, id, paths, action);
  add_matrix(app, matrix_options, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : static_cast<int>(ExitCode::kUsage);
  }
  return static_cast<int>(action());
}

}  // namespace
}  // namespace fencepost::conformance

int main(int argc, char** argv) {
  try {
    return fencepost::conformance::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "fencepost: internal error: {}\n", error.what());
    return static_cast<int>(fencepost::conformance::ExitCode::kInternal);
  }
}
