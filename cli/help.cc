#include "cli/help.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/text/text_wrap.h"

namespace fencepost::cli {
namespace {

// Where the text of an option and of a command begins.
constexpr std::size_t kOptionColumn = 26;
constexpr std::size_t kCommandColumn = 18;
constexpr std::size_t kMaxWidth = 80;
constexpr std::ptrdiff_t kScreen = 45;  // lines: help that fits leaves out no option

struct CommandGroup {
  const char* heading;
  std::string_view commands;
};

constexpr CommandGroup kCommandGroups[] = {
    {"Certify", "certify probe certify-all"},
    {"Search", "explore replay stress check record"},
    {"Clients", "serve judge-clients certify-client new-adapter"},
    {"Evidence and reports", "judge verify merge compare"},
    {"Reference", "list explain lint matrix selftest vectors manual completion"},
};

struct OptionGroup {
  std::string_view command;  // empty: every command without a row that has the option
  const char* heading;
  std::string_view options;
  std::string_view rare;  // shown with --help-all only, where all do not fit
};

// Headings, and the options below each, stand in the help in this order.
constexpr OptionGroup kOptionGroups[] = {
    {"", "Endpoint", "endpoint descriptor profile", "edition driver"},
    {"stress", "Endpoint", "", "clock-offset network-delay"},
    {"probe", "Measurements", "quota-up-to max-time", ""},
    {"record", "Source", "endpoint descriptor duration subscribe pcap port from", ""},
    {"judge-clients", "Source", "pcap port from", "from-start clock-offset node-id"},
    {"serve", "Listener", "port bind ready-file tls broker",
     "tls-host certificate key client-ca user password-file receive-maximum maximum-packet-size "
     "descriptor client-id"},
    {"serve", "Store", "dialect fault variant quota response-delay",
     "response-jitter clock-offset authorization database node-id null seed control"},
    {"serve", "Client rules", "judge-clients json junit html", "puback-delay drop-at-puback"},
    {"certify-client", "Adapter", "dialect timeout pass-env", ""},
    {"judge", "Rules", "profile edition strict", ""},
    {"certify-all", "Rules", "profile strict", ""},
    {"verify", "Signature", "signature allowed-signers signer", ""},
    {"selftest", "Stores", "fault endpoint variants profile pairs seed", "driver"},
    {"list", "Requirements", "profile edition", ""},
    {"vectors", "Content", "profile max-bytes", ""},
    {"matrix", "Content", "report scenarios", ""},
    {"explain", "Content", "scenarios", ""},
    {"list", "Selection", "scenarios", ""},
    {"certify-client", "Selection", "run dry-run", ""},
    {"", "Selection", "run skip tag requirement", "scenarios shard last-failed dry-run"},
    {"compare", "Endpoints among the runs", "profile strict jobs", "seed timeout-scale"},
    {"stress", "Workload", "workload clients duration seed disturb",
     "rate disturb-every keep-going no-shrink timeout-scale"},
    {"explore", "Search", "duration max-failures jobs seed exhaustive ignore replay",
     "shard from-example rate max-examples max-operations example fresh-connections disturb "
     "disturb-every timeout-scale"},
    {"check", "Check", "initial max-steps", ""},
    {"replay", "Run", "repeat update", ""},
    {"", "Run", "parallel jobs max-failures strict stress",
     "x fail-on-skip seed depth shuffle timeout-scale fresh-connections every-case"},
    {"", "Baseline and evidence", "baseline update-baseline",
     "against evidence certificate sign resume"},
    {"list", "Output", "json", ""},
    {"", "Output", "out out-dir site history slack record explain quiet verbose help",
     "trace show open-routing"},
    {"", "Reports (FILE may be -, standard output)", "json junit html sarif markdown",
     "against-comment badge transcripts no-github"},
};

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

bool has_word(std::string_view text, std::string_view word) {
  const std::vector<std::string_view> words = words_of(text);
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The option of a command with this name, or null.
const CLI::Option* find_option(const CLI::App& command, std::string_view name) {
  return command.get_option_no_throw((name.size() == 1 ? "-" : "--") + std::string(name));
}

std::string_view name_of(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_snames().front() : option.get_lnames().front();
}

const OptionGroup& group_of(const std::string& command, std::string_view option) {
  for (const std::string_view of : {std::string_view(command), std::string_view()}) {
    for (const OptionGroup& group : kOptionGroups) {
      if (group.command != of) continue;
      if (has_word(group.options, option) || has_word(group.rare, option)) return group;
    }
  }
  check_failed(fmt::format("{} --{} has no group in the help", command, option).c_str(), __FILE__,
               __LINE__);
}

// A name, and a text beside it from `column` on, or below it where there is no room.
std::string beside(const std::string& name, const std::string& description, std::size_t column,
                   std::size_t width) {
  std::string out = "  " + name;
  if (description.empty()) return out + "\n";
  const bool below = out.size() + 1 > column;
  out += below ? "\n" + std::string(column, ' ') : std::string(column - out.size(), ' ');
  return out + text::wrap(description, {.width = width, .indent = column, .first = column}) + "\n";
}

// "-j, --jobs N"; the words that an option takes are in its text.
std::string shown_name(const CLI::Option& option) {
  std::string out = option.get_name(option.get_positional(), true);
  if (const std::size_t comma = out.find(",--"); comma != std::string::npos) {
    out.insert(comma + 1, " ");
  }
  if (option.get_positional() || option.get_items_expected_max() == 0) return out;
  const std::string type = option.get_type_name();
  return out + " " + (type.find('|') == std::string::npos ? type : "WORD");
}

class TerminalHelp : public CLI::Formatter {
 public:
  explicit TerminalHelp(std::size_t width) : width_(width) { label("SUBCOMMAND", "COMMAND"); }

  void add_rare(const CLI::Option* option) { rare_.insert(option); }

  [[nodiscard]] std::string make_help(const CLI::App* app, std::string name,
                                      CLI::AppFormatMode mode) const override {
    const std::string begin =
        wrapped(app->get_description()) + "\n" + make_usage(app, std::move(name)) + arguments(*app);
    const std::string end = app->get_footer().empty() ? "" : "\n" + wrapped(app->get_footer());
    if (app->get_parent() == nullptr) return begin + commands(*app) + end;
    std::string all = begin + option_groups(*app, true) + end;
    const auto lines = std::count(all.begin(), all.end(), '\n');
    const std::size_t rare = rare_options(*app);
    if (mode == CLI::AppFormatMode::All || lines <= kScreen || rare == 0) return all;
    return begin + option_groups(*app, false) + end +
           fmt::format("--help-all shows {} more options\n", rare);
  }

 private:
  [[nodiscard]] std::string wrapped(const std::string& text) const {
    return text::wrap(text, {.width = width_}) + "\n";
  }

  [[nodiscard]] std::string option_text(const CLI::Option& option) const {
    return beside(shown_name(option), option.get_description(), kOptionColumn, width_);
  }

  [[nodiscard]] std::string arguments(const CLI::App& command) const {
    std::string out;
    for (const CLI::Option* option : command.get_options()) {
      if (option->get_positional()) out += option_text(*option);
    }
    return out.empty() ? out : "\nArguments:\n" + out;
  }

  [[nodiscard]] std::string option_groups(const CLI::App& command, bool all) const {
    std::vector<std::pair<std::string_view, std::string>> lines;  // below each heading
    std::set<const CLI::Option*> done;
    for (const OptionGroup& group : kOptionGroups) {
      for (const std::string_view names : {group.options, all ? group.rare : std::string_view()}) {
        for (const std::string_view name : words_of(names)) {
          const CLI::Option* option = find_option(command, name);
          if (option == nullptr || option->get_group() != group.heading) continue;
          if ((!all && rare_.contains(option)) || !done.insert(option).second) continue;
          if (lines.empty() || lines.back().first != group.heading)
            lines.push_back({group.heading, ""});
          lines.back().second += option_text(*option);
        }
      }
    }
    std::string out;
    for (const auto& [heading, options] : lines) out += fmt::format("\n{}:\n{}", heading, options);
    return out;
  }

  // One line each: what else there is to say is in the help of the command.
  [[nodiscard]] std::string commands(const CLI::App& app) const {
    std::string out;
    for (const CommandGroup& group : kCommandGroups) {
      out += fmt::format("\n{}:\n", group.heading);
      for (const std::string_view name : words_of(group.commands)) {
        const std::string text = app.get_subcommand(std::string(name))->get_description();
        out += beside(std::string(name), text.substr(0, text.find('\n')), kCommandColumn, width_);
      }
    }
    return out;
  }

  [[nodiscard]] std::size_t rare_options(const CLI::App& command) const {
    const std::vector<const CLI::Option*> options = command.get_options();
    return static_cast<std::size_t>(
        std::count_if(options.begin(), options.end(),
                      [this](const CLI::Option* option) { return rare_.contains(option); }));
  }

  std::size_t width_;
  std::set<const CLI::Option*> rare_{};
};

// What stands for the value of an option in the help.
std::string value_name(CLI::Option& option) {
  constexpr std::pair<const char*, std::string_view> kNames[] = {
      {"URL", "endpoint broker"},
      {"FILE",
       "descriptor baseline against out pcap from record report authorization history evidence "
       "sign resume "
       "reports histories signature allowed-signers file last-failed ready-file tls certificate "
       "key client-ca password-file database json"},
      {"PATH", "scenarios replay paths"},
      {"FOLDER", "out-dir site folder"},
      {"GLOB", "run skip ignore"},
      {"ID", "requirement id node-id client-id"},
      {"TAG", "tag"},
      {"K/N", "shard"},
      {"TIME",
       "clock-offset network-delay response-delay response-jitter puback-delay duration max-time "
       "timeout slack stress disturb-every"},
      {"FILTER", "subscribe"},
      {"DECISIONS", "variant"},
      {"KIND", "null"},
      {"KINDS", "disturb"},
      {"ADDRESS", "bind"},
      {"HOST", "tls-host"},
      {"NAME", "user signer fault pass-env"},
      {"VALUE", "initial"},
  };
  std::string checked;  // "failures|all", which completions use, or N
  try {
    checked = option.get_validator(0)->get_name();
  } catch (const CLI::OptionNotFound&) {  // nothing checks its value
  }
  if (!checked.empty()) return checked;
  const std::string name =
      option.get_positional() ? option.get_name(true) : std::string(name_of(option));
  for (const auto& [value, names] : kNames) {
    if (has_word(names, name)) return value;
  }
  return "TEXT";
}

void lay_out_command(CLI::App& command, TerminalHelp& formatter) {
  for (CLI::Option* option : command.get_options()) {
    if (option == command.get_help_all_ptr()) {
      option->group("");  // the last line of the help names it where it shows more
      continue;
    }
    if (option->get_items_expected_max() > 0) option->type_name(value_name(*option));
    if (option->get_positional()) continue;
    const OptionGroup& group = group_of(command.get_name(), name_of(*option));
    option->group(group.heading);
    if (has_word(group.rare, name_of(*option))) formatter.add_rare(option);
  }
}

}  // namespace

void lay_out_help(CLI::App& app) {
  const auto formatter =
      std::make_shared<TerminalHelp>(std::min(kMaxWidth, text::terminal_width(stdout)));
  app.formatter(formatter);
  for (CLI::App* command : app.get_subcommands({})) {
    command->formatter(formatter);
    const bool known = std::any_of(
        std::begin(kCommandGroups), std::end(kCommandGroups),
        [&](const CommandGroup& group) { return has_word(group.commands, command->get_name()); });
    FENCEPOST_CHECK(known);
    lay_out_command(*command, *formatter);
  }
}

}  // namespace fencepost::cli
