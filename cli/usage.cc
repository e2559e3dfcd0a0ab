#include "cli/usage.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text/output.h"
#include "base/text/text_wrap.h"
#include "cli/command_support.h"
#include "endpoint/mqtt.h"
#include "endpoint/url.h"
#include "suite/run/exit_code.h"
#include "suite/scenario/yaml_reader.h"

namespace fencepost::cli {
namespace {

constexpr const char* kReportFile = "FILE";  // the name of report_file()
constexpr std::size_t kOptionColumn = 30;    // where the text of an option begins

// A name, and a text beside it, or below it where there is no room.
std::string beside(const std::string& name, const std::string& description, std::size_t width) {
  std::string out = "  " + name;
  if (description.empty()) return out + "\n";
  const bool below = out.size() + 1 > kOptionColumn;
  out +=
      below ? "\n" + std::string(kOptionColumn, ' ') : std::string(kOptionColumn - out.size(), ' ');
  return out +
         text::wrap(description,
                    {.width = width, .indent = kOptionColumn, .first = kOptionColumn}) +
         "\n";
}

class TerminalHelp : public CLI::Formatter {
 public:
  explicit TerminalHelp(std::size_t width) : width_(width) {}

  [[nodiscard]] std::string make_option(const CLI::Option* option,
                                        bool is_positional) const override {
    return beside(make_option_name(option, is_positional) + make_option_opts(option),
                  make_option_desc(option), width_);
  }
  // One line for a command: what it returns is in its own help.
  [[nodiscard]] std::string make_subcommand(const CLI::App* command) const override {
    const std::string description = command->get_description();
    return beside(command->get_name(), description.substr(0, description.find('\n')), width_);
  }
  [[nodiscard]] std::string make_description(const CLI::App* app) const override {
    return text::wrap(CLI::Formatter::make_description(app), {.width = width_});
  }
  [[nodiscard]] std::string make_footer(const CLI::App* app) const override {
    return text::wrap(CLI::Formatter::make_footer(app), {.width = width_});
  }

 private:
  std::size_t width_;
};

// Of what checks the value of an option; empty where nothing does.
std::string validator_name(CLI::Option& option) {
  try {
    return option.get_validator(0)->get_name();
  } catch (const CLI::OptionNotFound&) {
    return {};
  }
}

// What stands for the value of an option in the help.
std::string value_name(CLI::Option& option) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"endpoint", "URL"},
      {"descriptor", "FILE"},
      {"baseline", "FILE"},
      {"out", "FILE"},
      {"pcap", "FILE"},
      {"from", "FILE"},
      {"record", "FILE"},
      {"report", "FILE"},
      {"authorization", "FILE"},
      {"scenarios", "PATH"},
      {"replay", "PATH"},
      {"paths", "PATH"},
      {"reports", "FILE"},
      {"save", "FOLDER"},
      {"out-dir", "FOLDER"},
      {"file", "FILE"},
      {"last-failed", "FILE"},
      {"ready-file", "FILE"},
      {"run", "GLOB"},
      {"skip", "GLOB"},
      {"ignore", "GLOB"},
      {"requirement", "ID"},
      {"tag", "TAG"},
      {"shard", "K/N"},
      {"clock-offset", "TIME"},
      {"response-delay", "TIME"},
      {"response-jitter", "TIME"},
      {"max-time", "TIME"},
      {"time", "TIME"},
      {"subscribe", "FILTER"},
      {"fault", "NAME"},
      {"null", "KIND"},
      {"right", "DECISIONS"},
      {"node-id", "ID"},
  };
  for (const auto& [name, value] : kNames) {
    const bool named = option.get_positional() ? option.check_name(std::string(name))
                                               : option.check_lname(std::string(name));
    if (named) return std::string(value);
  }
  const std::string checked = validator_name(option);  // the words, or N
  return checked.empty() ? "TEXT" : checked;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> out;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) out.push_back("--" + name);
  }
  return out;
}

// ", did you mean this?" of the known word that is near, or that begins like the one typed.
std::string suggestion(const std::string& typed, const std::vector<std::string>& known) {
  std::string guess =
      scenario::nearest(typed, {std::vector<std::string_view>(known.begin(), known.end())});
  const auto longer = std::find_if(known.begin(), known.end(), [&](const std::string& word) {
    return typed.size() > 3 && word.starts_with(typed);
  });
  if (longer != known.end()) guess = *longer;
  return guess.empty() ? "" : "; did you mean " + guess + "?";
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
    return fmt::format("there is no option {}{}", name, suggestion(name, option_names(of)));
  }
  if (command != nullptr) return fmt::format("{} takes no argument \"{}\"", of.get_name(), typed);
  std::vector<std::string> commands = option_names(of);
  for (const CLI::App* each : app.get_subcommands({})) commands.push_back(each->get_name());
  return fmt::format("there is no command {}{}", typed, suggestion(typed, commands));
}

// A URL at the wrong place ends in the parser's complaint: not its password.
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
      return fmt::format("\"{}\" is no whole number from {} on", value, least);
    }
    return fmt::format("\"{}\" is no whole number from {} to {}", value, least, most);
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
               : fmt::format("\"{}\" is no number greater than 0, e.g. 2", value);
  };
  return {check, "", "FACTOR"};
}

CLI::Validator report_file() {
  return {[](std::string&) { return std::string(); }, "", kReportFile};
}

void explain_on_terminal(CLI::App& app) {
  const auto formatter = std::make_shared<TerminalHelp>(text::terminal_width(stdout));
  app.formatter(formatter);
  for (CLI::App* command : app.get_subcommands({})) {
    command->formatter(formatter);
    for (CLI::Option* option : command->get_options()) {
      if (option->get_items_expected_max() == 0) continue;  // a flag
      option->type_name(value_name(*option));
    }
  }
}

std::vector<std::string> with_help_command(const CLI::App& app,
                                           std::vector<std::string> arguments) {
  if (!arguments.empty() && arguments.front() == "diff") {
    print_error("warning: diff is a part of compare, and its name goes with the next version");
    arguments.front() = "compare";
  }
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
  if (no_command) said = "a command is needed: certify is the one to begin with";
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
      if (option->check_lname("endpoint") || names_endpoint) continue;
      for (const std::string& value : option->results()) {
        if (value.find("://") == std::string::npos || value.find('@') == std::string::npos)
          continue;
        return option->get_name() + " takes no URL; an endpoint is named with --endpoint";
      }
    }
  }
  return {};
}

}  // namespace fencepost::cli
