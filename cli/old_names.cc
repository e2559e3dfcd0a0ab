#include "cli/old_names.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "cli/command_support.h"

namespace fencepost::cli {
namespace {

struct OldName {
  std::string_view command;  // that has it; empty: every command that has the new name
  std::string_view before;
  std::string_view now;  // empty: the option has no effect
};

// Remove a row when the version after the one that brought it is released.
constexpr OldName kOldNames[] = {
    {"", "diff", "compare"},
    {"", "--wording", "--edition"},
    {"certify", "--fix-baseline", "--update-baseline"},
    {"certify", "--junit-strict", ""},
    {"merge", "--junit-strict", ""},
    {"judge", "--junit-strict", ""},
    {"certify-all", "--at-once", "--parallel"},
    {"certify-client", "--only", "--run"},
    {"certify-client", "--list", "--dry-run"},
    {"certify-client", "--profile", "--dialect"},
    {"explore", "--max-time", "--duration"},
    {"explore", "--save", "--out-dir"},
    {"explore", "--stop-after", "--max-failures"},
    {"list", "axes", "choices"},
    {"matrix", "--full", "--verbose"},
    {"record", "--time", "--duration"},
    {"replay", "--heal", "--update"},
    {"replay", "--runs", "--repeat"},
    {"selftest", "--right", "--variants"},
    {"serve", "--hold-puback", "--puback-delay"},
    {"serve", "--profile", "--dialect"},
    {"serve", "--right", "--variant"},
    {"stress", "--on-the-way", "--network-delay"},
};

class Renaming {
 public:
  explicit Renaming(const CLI::App& app) : app_(app) {}

  std::vector<std::string> of(const std::vector<std::string>& arguments) {
    std::vector<std::string> out;
    bool is_value = false;
    for (auto at = arguments.begin(); at != arguments.end(); ++at) {
      if (*at == "--" && !is_value) {
        out.insert(out.end(), at, arguments.end());
        break;
      }
      const std::string word = is_value ? *at : renamed(*at);
      if (!word.empty() || at->empty()) out.push_back(word);
      is_value = !is_value && takes_next(word);
      if (command_ == nullptr && !word.starts_with('-')) command_ = command_named(word);
    }
    return out;
  }

 private:
  [[nodiscard]] const CLI::App* command_named(const std::string& name) const {
    const auto found =
        app_.get_subcommands([&](const CLI::App* command) { return command->get_name() == name; });
    return found.empty() ? nullptr : found.front();
  }

  // Is the next argument the value of this one?
  [[nodiscard]] bool takes_next(const std::string& word) const {
    if (command_ == nullptr || !word.starts_with('-')) return false;
    const CLI::Option* option = command_->get_option_no_throw(word);
    return option != nullptr && option->get_items_expected_max() > 0;
  }

  [[nodiscard]] bool is_used_here(const OldName& old) const {
    if (command_ == nullptr) return old.command.empty() && !old.before.starts_with('-');
    if (!old.command.empty()) return command_->get_name() == old.command;
    return command_->get_option_no_throw(std::string(old.now)) != nullptr;
  }

  // `word`, which may be --name=value, with the new name; empty when it has no effect.
  std::string renamed(const std::string& word) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string_view name = std::string_view(word).substr(0, equals);
    for (const OldName& old : kOldNames) {
      if (name != old.before || !is_used_here(old)) continue;
      if (warned_.insert(old.before).second) {
        print_error(
            old.now.empty()
                ? fmt::format("warning: {} does nothing; it goes with the next version", name)
                : fmt::format("warning: {} is now {}; the old name goes with the next version",
                              name, old.now));
      }
      return old.now.empty() ? std::string() : std::string(old.now) + word.substr(equals);
    }
    return word;
  }

  const CLI::App& app_;
  const CLI::App* command_ = nullptr;
  std::set<std::string_view> warned_{};
};

}  // namespace

std::vector<std::string> with_new_names(const CLI::App& app,
                                        const std::vector<std::string>& arguments) {
  return Renaming(app).of(arguments);
}

}  // namespace fencepost::cli
