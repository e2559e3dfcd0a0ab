#include "cli/usage.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text/output.h"
#include "cli/command_support.h"
#include "endpoint/mqtt.h"
#include "endpoint/url.h"
#include "suite/run/exit_code.h"
#include "suite/scenario/yaml_reader.h"

namespace fencepost::cli {
namespace {

constexpr const char* kReportFile = "FILE";  // the name of report_file()

// The name of what checks the value of an option; empty where nothing does.
std::string validator_name(CLI::Option& option) {
  try {
    return option.get_validator(0)->get_name();
  } catch (const CLI::OptionNotFound&) {
    return {};
  }
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> out;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  }
  return out;
}

// "; did you mean this?" for the known word that is near, or that begins like the one typed.
std::string suggestion(const std::string& typed, const std::vector<std::string>& known) {
  std::string guess =
      scenario::nearest(typed, {std::vector<std::string_view>(known.begin(), known.end())});
  const auto longer = std::find_if(known.begin(), known.end(), [&](const std::string& word) {
    return typed.size() > 3 && word.starts_with(typed);
  });
  if (longer != known.end()) guess = *longer;
  return guess.empty() ? "" : "; did you mean " + guess + "?";
}

// "; did you mean --endpoint inproc:?" for what that command has an option for.
std::string meant_by(const std::string& typed, const CLI::App& command) {
  const bool is_descriptor = typed.ends_with(".yaml") || typed.ends_with(".yml");
  const char* option = is_descriptor ? "--descriptor" : "--endpoint";
  if (command.get_option_no_throw(option) == nullptr) return {};
  if (!is_descriptor && !endpoint::parse_url(typed)) return {};
  return fmt::format("; did you mean {} {}?", option, typed);
}

// What was typed and is neither option nor argument.
std::string unexpected(const CLI::App& app, const CLI::App* command) {
  const CLI::App& of = command == nullptr ? app : *command;
  const std::vector<std::string> rest = of.remaining();
  if (rest.empty()) return {};
  const auto option = std::find_if(rest.begin(), rest.end(),
                                   [](const std::string& word) { return word.starts_with('-'); });
  const std::string typed = option == rest.end() ? rest.back() : *option;
  if (typed.starts_with('-')) {
    const std::string name = typed.substr(0, typed.find('='));
    return fmt::format("unknown option {}{}", name, suggestion(name, option_names(of)));
  }
  if (command != nullptr) {
    return fmt::format("{} takes no argument \"{}\"{}", of.get_name(), typed, meant_by(typed, of));
  }
  std::vector<std::string> commands = option_names(of);
  for (const CLI::App* each : app.get_subcommands({})) commands.push_back(each->get_name());
  return fmt::format("unknown command {}{}", typed, suggestion(typed, commands));
}

// The parser's error may quote a URL at the wrong place: without its password.
std::string without_passwords(std::string text, const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    const std::string value = argument.starts_with('-') && equals != std::string::npos
                                  ? argument.substr(equals + 1)
                                  : argument;
    const std::string shown = endpoint::redacted(value);
    if (shown == value) continue;
    for (std::size_t at = text.find(value); at != std::string::npos;
         at = text.find(value, at + shown.size())) {
      text.replace(at, value.size(), shown);
    }
  }
  return text;
}

}  // namespace

CLI::Validator one_of(const std::vector<std::string>& words) {
  const auto check = [words](std::string& value) {
    if (std::find(words.begin(), words.end(), value) != words.end()) return std::string();
    return fmt::format("\"{}\" is not one of {}{}", value, fmt::join(words, ", "),
                       suggestion(value, words));
  };
  return {check, "", fmt::format("{}", fmt::join(words, "|"))};
}

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  const auto check = [least, most](std::string& value) {
    std::uint64_t number = 0;
    const char* end = value.data() + value.size();
    const auto [stop, code] = std::from_chars(value.data(), end, number);
    if (code == std::errc{} && stop == end && number >= least && number <= most) {
      return std::string();
    }
    if (most == UINT64_MAX) {
      return fmt::format("\"{}\" must be a whole number, {} or greater", value, least);
    }
    return fmt::format("\"{}\" must be a whole number from {} to {}", value, least, most);
  };
  return {check, "", "N"};
}

CLI::Validator usable_driver() {
  const auto check = [](const std::string& name) {
    const auto driver = endpoint::driver_named(name);
    return driver ? endpoint::driver_error(*driver) : std::string();
  };
  return {check, ""};
}

CLI::Validator positive_factor(double most) {
  const auto check = [most](std::string& value) {
    double number = 0;
    const bool is_number = CLI::detail::lexical_cast(value, number) && number > 0;
    if (is_number && number <= most) return std::string();
    return is_number && std::isfinite(number)
               ? fmt::format("\"{}\" is more than {}", value, most)
               : fmt::format("\"{}\" must be a number greater than 0, e.g. 2", value);
  };
  return {check, "", "FACTOR"};
}

CLI::Validator report_file() {
  return {[](std::string&) { return std::string(); }, "", kReportFile};
}

std::vector<std::string> with_help_command(const CLI::App& app,
                                           std::vector<std::string> arguments) {
  if (arguments.empty() || arguments.front() != "help") return arguments;
  if (arguments.size() == 1) return {"--help"};
  const auto named = app.get_subcommands(
      [&](const CLI::App* command) { return command->get_name() == arguments[1]; });
  if (named.empty()) return {arguments[1]};  // is refused by its name
  return {arguments[1], "--help"};
}

int refuse(const CLI::App& app, const CLI::ParseError& error,
           const std::vector<std::string>& arguments) {
  if (error.get_exit_code() == 0) {
    std::ostringstream out;
    std::ostringstream diagnostic;
    app.exit(error, out, diagnostic);
    text::print("{}", text::Lines(out.str()));
    return 0;
  }
  const std::vector<CLI::App*> begun = app.get_subcommands();
  const CLI::App* command = begun.empty() ? nullptr : begun.front();
  std::string said = unexpected(app, command);
  const bool no_command = command == nullptr && arguments.empty();
  if (no_command) said = "a command is needed; begin with certify";
  if (said.empty()) said = error.what();
  print_error(without_passwords(said, arguments));
  print_error("           see fencepost {}--help\n",
              command == nullptr ? "" : command->get_name() + " ");
  return static_cast<int>(run::ExitCode::kUsage);
}

bool reports_to_standard_output(const CLI::App& app) {
  for (CLI::App* command : app.get_subcommands()) {
    for (CLI::Option* option : command->get_options()) {
      if (validator_name(*option) != kReportFile) continue;
      const std::vector<std::string> values = option->results();
      if (std::find(values.begin(), values.end(), "-") != values.end()) return true;
    }
  }
  return false;
}

std::string misplaced_url(const CLI::App& app) {
  for (const CLI::App* command : app.get_subcommands()) {
    for (const CLI::Option* option : command->get_options()) {
      const bool names_endpoint = option->get_positional() && command->get_name() == "compare";
      if (option->check_lname("endpoint") || option->check_lname("broker") || names_endpoint) {
        continue;
      }
      for (const std::string& value : option->results()) {
        if (value.find("://") == std::string::npos || value.find('@') == std::string::npos)
          continue;
        return option->get_name() + " does not take a URL; name the endpoint with --endpoint";
      }
    }
  }
  return {};
}

}  // namespace fencepost::cli
