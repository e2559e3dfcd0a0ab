// Command lines of the commands that work on runs of others or many runs; program.cc has the
// others.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "cli/commands.h"

namespace fencepost::cli {

using Action = std::function<run::ExitCode()>;

// Each adds a command, whose options go into `options`; both must outlive the action.
void add_check(CLI::App& app, CheckOptions& options, Action& action);
void add_stress(CLI::App& app, StressOptions& options, Action& action);
void add_compare(CLI::App& app, CompareOptions& options, Action& action);
void add_vectors(CLI::App& app, VectorsOptions& options, Action& action);
void add_judge(CLI::App& app, JudgeOptions& options, Action& action);
void add_judge_clients(CLI::App& app, JudgeClientsOptions& options, Action& action);
void add_verify(CLI::App& app, VerifyOptions& options, Action& action);
void add_new_adapter(CLI::App& app, NewAdapterOptions& options, Action& action);
void add_certify_client(CLI::App& app, CertifyClientOptions& options, Action& action);
void add_certify_all(CLI::App& app, CertifyAllOptions& options, Action& action);

}  // namespace fencepost::cli
