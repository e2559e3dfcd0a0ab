#include "cli/manual.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"

namespace fencepost::cli {
namespace {

// A backslash, and a dot or a quote at the beginning of a line, have a meaning in troff.
std::string troff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool begins = out.empty() || out.back() == '\n';
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\n') {
      out += "\n.br\n";
    } else {
      out += c;
    }
  }
  return out;
}

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// "-j, --jobs N"
std::string usage_of(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true);
  std::string out;
  for (const std::string& name : option.get_snames()) out += (out.empty() ? "-" : ", -") + name;
  for (const std::string& name : option.get_lnames()) out += (out.empty() ? "--" : ", --") + name;
  return takes_value(option) ? out + " " + option.get_type_name() : out;
}

std::string options_of(const CLI::App& command) {
  std::string out;
  for (const CLI::Option* option : command.get_options()) {
    out +=
        fmt::format(".TP\n.B {}\n{}\n", troff(usage_of(*option)), troff(option->get_description()));
  }
  return out;
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_name().empty(); });
}

// "--run --skip": all long options of a command.
std::string long_options(const CLI::App& command) {
  std::string out;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      out += (out.empty() ? "--" : " --") + name;
    }
  }
  return out;
}

// The words that an option takes, of "failures|all"; empty when any will do.
std::string words_of(const CLI::Option& option) {
  std::string type = option.get_type_name();
  if (type.find('|') == std::string::npos) return {};
  std::replace(type.begin(), type.end(), '|', ' ');
  return type;
}

bool names_file(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  return type == "FILE" || type == "PATH" || type == "FOLDER";
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// For bash: what may follow the options of a command.
std::string bash_values(const CLI::App& command) {
  std::string out;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional() || !takes_value(*option)) continue;
    std::string pattern;
    for (const std::string& name : option->get_lnames())
      pattern += (pattern.empty() ? "--" : "|--") + name;
    for (const std::string& name : option->get_snames())
      pattern += (pattern.empty() ? "-" : "|-") + name;
    const std::string words = words_of(*option);
    const std::string action =
        names_file(*option) ? "COMPREPLY=($(compgen -f -- \"$word\"))"
        : words.empty()     ? "COMPREPLY=()"
                            : fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$word\"))", words);
    out += fmt::format("        {}) {}; return ;;\n", pattern, action);
  }
  return out;
}

// Words that stand alone, such as the subjects of list; files otherwise.
std::string positional_words(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional()) return words_of(*option);
  }
  return {};
}

std::string bash(const CLI::App& app) {
  std::string names;
  std::string cases;
  for (const CLI::App* command : commands_of(app)) {
    names += command->get_name() + " ";
    const std::string words = positional_words(*command);
    cases += fmt::format(
        "    {})\n      case $before in\n{}      esac\n      if [[ $word == -* ]]; then\n        "
        "COMPREPLY=($(compgen -W '{}' -- \"$word\"))\n      else\n        COMPREPLY=($(compgen {} "
        "-- \"$word\"))\n      fi ;;\n",
        command->get_name(), bash_values(*command), long_options(*command),
        words.empty() ? "-f" : "-W '" + words + "'");
  }
  return fmt::format(
      "# Completion of fencepost for bash.\n_fencepost() {{\n  local "
      "word=${{COMP_WORDS[COMP_CWORD]}} "
      "before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}}\n  if ((COMP_CWORD == 1)); "
      "then\n"
      "    COMPREPLY=($(compgen -W '{}help {}' -- \"$word\"))\n    return\n  fi\n  case $command "
      "in\n"
      "    help) COMPREPLY=($(compgen -W '{}' -- \"$word\")) ;;\n{}  esac\n}}\n"
      "complete -o filenames -F _fencepost fencepost\n",
      names, long_options(app), names, cases);
}

// In single quotes, as zsh and fish take them.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// A description in a specification of _arguments, where brackets and colons have a meaning.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_value(const CLI::Option& option) {
  const std::string words = words_of(option);
  if (!words.empty()) return ":value:(" + words + ")";
  return names_file(option) ? ":file:_files" : ":value:";
}

std::string zsh(const CLI::App& app) {
  std::string names;
  std::string cases;
  for (const CLI::App* command : commands_of(app)) {
    names += fmt::format(
        "    {}\n",
        shell_quoted(command->get_name() + ":" + zsh_text(first_line(command->get_description()))));
    cases += fmt::format("    {}) _arguments -s \\\n", command->get_name());
    for (const CLI::Option* option : command->get_options()) {
      const std::string text = "[" + zsh_text(first_line(option->get_description())) + "]";
      const std::string value = takes_value(*option) ? zsh_value(*option) : "";
      const std::string repeatable = option->get_items_expected_max() > 1 ? "*" : "";
      for (const std::string& name : option->get_lnames()) {
        cases +=
            fmt::format("      {} \\\n", shell_quoted(repeatable + "--" + name + text + value));
      }
      for (const std::string& name : option->get_snames()) {
        cases += fmt::format("      {} \\\n", shell_quoted(repeatable + "-" + name + text + value));
      }
    }
    const std::string words = positional_words(*command);
    cases += fmt::format("      {} ;;\n",
                         shell_quoted(words.empty() ? "*:file:_files" : "*:what:(" + words + ")"));
  }
  return fmt::format(
      "#compdef fencepost\n# Completion of fencepost for zsh.\n_fencepost() {{\n  local -a "
      "commands\n"
      "  commands=(\n{}  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    "
      "return\n"
      "  fi\n  local command=$words[2]\n  shift words\n  ((CURRENT--))\n  case $command in\n"
      "{}  esac\n}}\n_fencepost \"$@\"\n",
      names, cases);
}

std::string fish(const CLI::App& app) {
  std::string out = "# Completion of fencepost for fish.\n";
  for (const CLI::App* command : commands_of(app)) {
    const std::string& name = command->get_name();
    out += fmt::format("complete -c fencepost -n __fish_use_subcommand -f -a {} -d {}\n", name,
                       shell_quoted(first_line(command->get_description())));
    for (const CLI::Option* option : command->get_options()) {
      std::string line =
          fmt::format("complete -c fencepost -n '__fish_seen_subcommand_from {}'", name);
      const std::string words = words_of(*option);
      if (option->get_positional()) {
        if (!words.empty()) out += fmt::format("{} -f -a {}\n", line, shell_quoted(words));
        continue;
      }
      for (const std::string& each : option->get_lnames()) line += " -l " + each;
      for (const std::string& each : option->get_snames()) line += " -s " + each;
      if (takes_value(*option)) line += names_file(*option) ? " -r -F" : " -x";
      if (!words.empty()) line += " -a " + shell_quoted(words);
      out += line + " -d " + shell_quoted(first_line(option->get_description())) + "\n";
    }
  }
  return out;
}

}  // namespace

std::string manual_page(const CLI::App& app, const std::string& version) {
  std::string out = fmt::format(
      ".TH FENCEPOST 1 \"\" \"{}\" \"User Commands\"\n.SH NAME\nfencepost \\- conformance suite of "
      "the state store protocol over MQTT 5\n.SH SYNOPSIS\n.B fencepost\n.I command\n[options]\n"
      ".SH DESCRIPTION\nWithout an endpoint, certify runs against its own broker.\n.SH "
      "OPTIONS\n{}",
      troff(version), options_of(app));
  for (const CLI::App* command : commands_of(app)) {
    out += fmt::format(".SH FENCEPOST {}\n{}\n", upper(command->get_name()),
                       troff(command->get_description()));
    out += options_of(*command);
    if (!command->get_footer().empty()) out += ".PP\n" + troff(command->get_footer()) + "\n";
  }
  out += ".SH EXIT STATUS\n" + troff(app.get_footer()) + "\n";
  out += ".SH SEE ALSO\nThe documents in /usr/share/doc/fencepost/, mosquitto(8)\n";
  return out;
}

std::string completion(const CLI::App& app, const std::string& shell) {
  if (shell == "bash") return bash(app);
  if (shell == "zsh") return zsh(app);
  FENCEPOST_CHECK(shell == "fish");
  return fish(app);
}

}  // namespace fencepost::cli
