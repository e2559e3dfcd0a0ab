#include "clients/serve/judged_command.h"

#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include "base/text/printable.h"
#include "endpoint/broker_process.h"

namespace fencepost::serve {
namespace {

constexpr std::chrono::seconds kEndOfCommand{5};

}  // namespace

std::vector<std::string> command_variables(const BrokerPlace& place) {
  std::vector<std::string> out = {"FENCEPOST_HOST=" + endpoint::address_to_reach(place.bind),
                                  "FENCEPOST_PORT=" + std::to_string(place.port),
                                  "FENCEPOST_URL=" + place.url};
  if (!place.ca_file.empty()) {
    out.push_back("FENCEPOST_CA_FILE=" + std::filesystem::absolute(place.ca_file).string());
  }
  return out;
}

Result<std::unique_ptr<JudgedCommand>, std::string> JudgedCommand::start(
    std::vector<std::string> words, const std::vector<std::string>& variables) {
  const std::string program = words.at(0);
  auto child = ChildProcess::start({.words = std::move(words),
                                    .variables = environment_with(own_environment(), variables),
                                    .input = STDIN_FILENO,
                                    .output = STDOUT_FILENO,
                                    .errors = STDERR_FILENO});
  if (child) return std::unique_ptr<JudgedCommand>(new JudgedCommand(*child));
  return fail(fmt::format("cannot start {}: {}", text::shell_word(program),
                          std::generic_category().message(child.error())));
}

std::optional<int> JudgedCommand::exit_code() {
  const auto ending = child_.ending();
  if (!ending) return std::nullopt;
  return ending->as_shells_say();
}

int JudgedCommand::end() { return child_.end(kEndOfCommand).as_shells_say(); }

}  // namespace fencepost::serve
