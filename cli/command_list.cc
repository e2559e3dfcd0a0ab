// The commands that only read: list, explain, lint.

#include <algorithm>
#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <strings.h>

#include "base/text/output.h"
#include "base/text/printable.h"
#include "base/text/text_wrap.h"
#include "cli/client_cases.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "clients/client_run/client_case_loader.h"
#include "reference_store/faults/fault.h"
#include "reference_store/variants/choices.h"
#include "report/console.h"
#include "selftest/matrix/explain.h"
#include "selftest/matrix/matrix.h"
#include "selftest/matrix/matrix_formats.h"
#include "suite/run/capability.h"
#include "suite/scenario/binding.h"
#include "suite/scenario/library.h"
#include "suite/scenario/moves_clock.h"
#include "suite/scenario/source_excerpt.h"
#include "suite/scenario/unchecked_outcomes.h"

namespace fencepost::cli {
namespace {

using nlohmann::ordered_json;

ordered_json to_json(const scenario::Case& test_case, const scenario::Catalogue& catalogue) {
  return {{"id", test_case.id},
          {"area", test_case.area},
          {"title", test_case.title},
          {"level", name(catalogue.level_of(test_case))},
          {"requirements", test_case.requirements},
          {"requires", test_case.requires_},
          {"tags", scenario::tags_of(test_case)},
          {"file", test_case.position.file},
          {"line", test_case.position.line}};
}

// The command that runs these scenarios, for a shell.
std::string certify_with(const std::string& scenarios) {
  if (scenarios.empty()) return "fencepost certify";
  return "fencepost certify --scenarios " + text::shell_word(scenarios);
}

// A family as a whole; false when no family has this id.
bool explain_family(const std::string& id, const scenario::Library& library) {
  std::vector<const scenario::Case*> members;
  for (const scenario::Case& test_case : library.cases) {
    if (test_case.family == id) members.push_back(&test_case);
  }
  if (members.empty()) return false;
  const scenario::Position& at = members.front()->position;
  text::print("{}  (a family of {} cases, {}:{})\n\n", id, members.size(), at.file, at.line);
  for (const scenario::Case* member : members)
    text::print("    {:<52} {}\n", member->id, member->title);
  text::print("\n  run it with: fencepost certify --run '{}.*'\n", id);
  return true;
}

// A line for each where programs read. On a terminal, what does not fit continues below its
// beginning, or where little room is left there, below all of it.
void print_row(const std::string& left, std::string_view text) {
  const std::size_t width = text::terminal_width(stdout);
  const std::size_t taken = text::columns(left);
  if (!text::is_terminal(stdout) || taken + text::columns(text) <= width) {
    text::print("{}{}\n", left, text);
    return;
  }
  const bool below = taken > width * 3 / 5;
  const std::size_t indent = below ? 6 : taken;
  const std::string wrapped =
      text::wrap(text::one_line(text), {.width = width, .indent = indent, .first = indent});
  text::print("{}{}{}\n", left, text::Lines(below ? "\n" + std::string(indent, ' ') : ""),
              text::Lines(wrapped));
}

void print_errors(const std::vector<scenario::LoadError>& errors,
                  const std::vector<scenario::SourceFile>& files) {
  const auto say = [&](const scenario::LoadError& error) { return with_excerpt(error, files); };
  for (const std::string& text : describe_all(errors, say)) print_error("{}\n", text::Lines(text));
}

}  // namespace

const scenario::Library* open_library(const std::string& scenarios) {
  std::vector<scenario::SourceFile> own;
  if (!scenarios.empty()) {
    auto read = scenario::read_files(scenarios);
    if (!read) {
      print_error("fencepost: {}\n", read.error());
      return nullptr;
    }
    if (read->empty()) {
      print_error("fencepost: no *.yaml in the folder {}\n", scenarios);
      return nullptr;
    }
    own = std::move(*read);
  }
  const auto& files = scenarios.empty() ? scenario::built_in_files() : own;
  // Never destroyed: that takes a tenth as long as loading it, and the program ends then anyhow.
  static auto& opened = *new std::deque<scenario::Library>;
  std::vector<scenario::LoadError> errors;
  scenario::Library& library = opened.emplace_back(load_library(files, errors));
  print_errors(errors, files);
  if (!errors.empty()) {
    text::print(
        stderr,
        "fencepost: {} error{} in the scenario files; scenarios/FORMAT.md describes the format\n",
        errors.size(), errors.size() == 1 ? "" : "s");
    return nullptr;
  }
  if (!scenarios.empty()) library.missing = scenario::missing_cases(library.cases);
  return &library;
}

void print_capability(const run::Capability& row) {
  print_row(fmt::format("{:<18} ", row.name), row.meaning);
  print_row(fmt::format("{:<18} ", ""), "without: " + std::string(row.provide));
}

// What cases may need of an endpoint; needs no scenarios.
run::ExitCode list_capabilities(bool json) {
  ordered_json out = ordered_json::array();
  for (const run::Capability& row : run::all_capabilities()) {
    if (json) {
      out.push_back({{"name", row.name}, {"meaning", row.meaning}, {"provide", row.provide}});
    } else {
      print_capability(row);
    }
  }
  if (json) text::print_document(stdout, out.dump(1) + "\n");
  return run::ExitCode::kConformant;
}

// The stores that are faulty or unusual on purpose; needs no scenarios.
run::ExitCode list_faults(bool json) {
  ordered_json out = ordered_json::array();
  for (const store::Fault& fault : store::faults()) {
    if (json) {
      out.push_back({{"id", fault.id},
                     {"name", fault.name},
                     {"kind", name(fault.kind)},
                     {"needs", name(fault.needs)},
                     {"text", fault.text},
                     {"requirements", fault.requirements}});
    } else {
      print_row(fmt::format("{:<4} {:<7} {:<40} ", fault.id, name(fault.kind), fault.name),
                fault.text);
    }
  }
  if (json) text::print_document(stdout, out.dump(1) + "\n");
  return run::ExitCode::kConformant;
}

// The sentence that leaves a choice unspecified.
std::string sentence_of(const store::Axis& choice, const scenario::Catalogue& catalogue) {
  const scenario::Requirement* requirement = catalogue.find(choice.requirement);
  return requirement == nullptr ? "" : requirement->text;
}

std::vector<std::string> decisions_of(const store::Axis& choice) {
  return {choice.decisions.begin(), choice.decisions.begin() + choice.size()};
}

void print_choice(const store::Axis& choice, const scenario::Catalogue& catalogue) {
  print_row(fmt::format("{:<26} ", choice.name),
            fmt::format("{}", fmt::join(decisions_of(choice), ", ")));
  print_row(fmt::format("{:<26} ", ""),
            fmt::format("{}: {}", choice.requirement, sentence_of(choice, catalogue)));
}

// Where conforming stores differ.
run::ExitCode list_choices(const scenario::Catalogue& catalogue, bool json) {
  ordered_json out = ordered_json::array();
  for (const store::Axis& choice : store::kChoices) {
    if (json) {
      out.push_back({{"axis", choice.name},
                     {"decisions", decisions_of(choice)},
                     {"requirement", choice.requirement},
                     {"open", sentence_of(choice, catalogue)}});
    } else {
      print_choice(choice, catalogue);
    }
  }
  if (json) text::print_document(stdout, out.dump(1) + "\n");
  return run::ExitCode::kConformant;
}

void explain_fault(const store::Fault& fault) {
  text::print("{}  {}  ({})\n\n  does      {}\n", fault.id, fault.name, name(fault.kind),
              fault.text);
  if (!fault.requirements.empty()) {
    text::print("  breaks    {}\n", fmt::format("{}", fmt::join(fault.requirements, ", ")));
  }
  if (fault.needs == store::FaultNeeds::kFailover) {
    text::print(
        "  see it    fencepost stress --endpoint 'embedded?database=store.db&nodes=3&fault={}' "
        "--disturb failover,partition\n",
        fault.name);
    return;
  }
  if (fault.needs == store::FaultNeeds::kKill) {
    text::print(
        "  see it    fencepost stress --endpoint 'embedded?database=store.db&fault={}' --disturb "
        "kill,restart\n"
        "  serve it  fencepost serve --database store.db --fault {}\n",
        fault.name, fault.name);
    return;
  }
  text::print(
      "  see it    fencepost certify --endpoint 'inproc:?fault={}'\n"
      "  serve it  fencepost serve --fault {}\n",
      fault.name, fault.name);
}

// How clients are judged by it: see MatrixRow.
std::string how_of_clients(const scenario::Requirement& requirement,
                           const std::map<std::string, std::size_t>& cases) {
  matrix::MatrixRow row{.requirement = &requirement};
  const auto found = cases.find(requirement.id);
  if (found != cases.end()) row.client_cases = found->second;
  const std::string how = row.how_of_clients();
  return how.empty() ? "" : " (clients: " + how + ')';
}

run::ExitCode list_requirements(const scenario::Catalogue& catalogue, const ListOptions& options) {
  const auto profile = codec::profile_named(options.profile);
  const auto bases =
      bases_of(profile.value_or(codec::Profile::kAuto),
               scenario::edition_named(options.edition).value_or(scenario::Edition::kAuto));
  ordered_json out = ordered_json::array();
  const auto client_cases = client_cases_by_rule(catalogue);
  for (const scenario::Requirement& requirement : catalogue.all()) {
    const std::string_view demanded = profile ? demand(requirement, bases) : "";
    if (options.json) {
      out.push_back(matrix::requirement_json(requirement));
      if (profile) out.back()["demand"] = demanded;
    } else {
      print_row(fmt::format("{:<24} {:<7} {:<7} {}", requirement.id, name(requirement.level),
                            requirement.binds, profile ? fmt::format("{:<8} ", demanded) : ""),
                requirement.text + how_of_clients(requirement, client_cases));
    }
  }
  if (options.json) text::print_document(stdout, out.dump(1) + "\n");
  return run::ExitCode::kConformant;
}

run::ExitCode list(const ListOptions& options) {
  if (options.what == "capabilities") return list_capabilities(options.json);
  if (options.what == "faults") return list_faults(options.json);
  const auto* library = open_library(options.scenarios);
  if (!library) return run::ExitCode::kUsage;
  if (options.what == "choices") return list_choices(library->catalogue, options.json);
  if (options.what == "requirements") return list_requirements(library->catalogue, options);
  ordered_json out = ordered_json::array();
  bool any = false;
  for (const scenario::Case& test_case : library->cases) {
    if (!selects(options.selection, test_case)) continue;
    any = true;
    if (options.json) {
      out.push_back(to_json(test_case, library->catalogue));
    } else {
      print_row(fmt::format("{:<52} ", test_case.id), test_case.title);
    }
  }
  if (options.json) text::print_document(stdout, out.dump(1) + "\n");
  if (any) return run::ExitCode::kConformant;
  print_error(why_empty(options.selection, *library));
  return run::ExitCode::kNothingSelected;
}

// What is not quite an id: in other letters, the beginning of some, or mistyped.
run::ExitCode explain_nearly(const std::string& id, const scenario::Library& library,
                             const std::string& scenarios) {
  constexpr std::size_t kMax = 20;
  std::vector<std::string_view> known;
  for (const scenario::Requirement& requirement : library.catalogue.all())
    known.push_back(requirement.id);
  for (const scenario::Case& test_case : library.cases) known.push_back(test_case.id);
  for (const store::Fault& fault : store::faults()) known.push_back(fault.id);
  for (const run::Capability& row : run::all_capabilities()) known.push_back(row.name);
  for (const store::Axis& choice : store::kChoices) known.push_back(choice.name);
  std::vector<std::string_view> begin;
  for (const std::string_view each : known) {
    if (each == id || each.size() < id.size()) continue;
    if (strncasecmp(each.data(), id.data(), id.size()) != 0) continue;
    if (each.size() == id.size()) return explain(std::string(each), scenarios);
    begin.push_back(each);
  }
  const std::string guess = scenario::nearest(id, known);
  print_error("fencepost: nothing that there is to explain is named {}{}\n", id,
              !begin.empty()  ? "; these begin with it:"
              : guess.empty() ? "; see fencepost list"
                              : "; did you mean " + guess + "?");
  for (std::size_t i = 0; i < std::min(kMax, begin.size()); ++i)
    print_error("           {}\n", begin[i]);
  if (begin.size() > kMax) print_error("           and {} more\n", begin.size() - kMax);
  return run::ExitCode::kUsage;
}

run::ExitCode explain(const std::string& id, const std::string& scenarios) {
  const auto* library = open_library(scenarios);
  if (!library) return run::ExitCode::kUsage;
  const matrix::ExplainOptions how{.width = text::terminal_width(stdout),
                                   .colour = report::console_options(stdout).colour,
                                   .certify = certify_with(scenarios)};
  if (const scenario::Requirement* requirement = library->catalogue.find(id)) {
    text::print("{}", text::Lines(explain_requirement(*requirement, *library, how)));
    return run::ExitCode::kConformant;
  }
  const auto found =
      std::find_if(library->cases.begin(), library->cases.end(),
                   [&](const scenario::Case& test_case) { return test_case.id == id; });
  if (found != library->cases.end()) {
    text::print("{}", text::Lines(explain_case(*found, *library, how)));
    return run::ExitCode::kConformant;
  }
  if (explain_family(id, *library)) return run::ExitCode::kConformant;
  if (const store::Fault* fault = store::find_fault(id)) {
    explain_fault(*fault);
    return run::ExitCode::kConformant;
  }
  for (const run::Capability& row : run::all_capabilities()) {
    if (row.name != id) continue;
    print_capability(row);
    return run::ExitCode::kConformant;
  }
  for (const store::Axis& choice : store::kChoices) {
    if (choice.name != id) continue;
    print_choice(choice, library->catalogue);
    return run::ExitCode::kConformant;
  }
  return explain_nearly(id, *library, scenarios);
}

run::ExitCode lint(const std::vector<std::string>& paths) {
  std::vector<scenario::SourceFile> files;
  if (paths.empty()) files = scenario::built_in_files();
  for (const std::string& path : paths) {
    auto read = scenario::read_files(path);
    if (!read) {
      print_error("fencepost: {}\n", read.error());
      return run::ExitCode::kUsage;
    }
    files.insert(files.end(), read->begin(), read->end());
  }
  std::vector<scenario::LoadError> errors;
  const scenario::Library library = load_library(files, errors);
  (void)client_run::load_client_cases(files, library.catalogue.ids(), errors);
  // Both loaders report invalid YAML.
  std::set<std::string> printed;
  std::erase_if(errors, [&](const scenario::LoadError& each) {
    return !printed.insert(describe(each)).second;
  });
  for (const scenario::Case& test_case : library.cases) {
    const auto unchecked = scenario::requests_with_unchecked_outcomes(test_case);
    errors.insert(errors.end(), unchecked.begin(), unchecked.end());
  }
  // Only a library with its own catalogue is complete: all its rules need cases.
  std::vector<scenario::LoadError> warnings;
  if (errors.empty() && std::any_of(files.begin(), files.end(), scenario::is_catalogue)) {
    matrix::CoverageProblems problems = check_coverage(matrix::make_matrix(library));
    errors = std::move(problems.errors);
    warnings = std::move(problems.warnings);
  }
  print_errors(errors, files);
  for (const scenario::LoadError& warning : warnings) {
    print_error("{}:{}: warning: {}\n", warning.position.file, warning.position.line, warning.text);
  }
  text::print("{}, {}, {}, {}, {}\n", text::counted(files.size(), "file"),
              text::counted(library.cases.size(), "case"),
              text::counted(library.catalogue.all().size(), "requirement"),
              text::counted(errors.size(), "error"), text::counted(warnings.size(), "warning"));
  return errors.empty() ? run::ExitCode::kConformant : run::ExitCode::kUsage;
}

}  // namespace fencepost::cli
