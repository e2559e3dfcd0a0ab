#include "base/text/command_line.h"

#include <fmt/format.h>

#include "base/text/printable.h"

namespace fencepost::text {

CommandLine::CommandLine(std::string_view program, std::string_view command)
    : text_(shell_word(program) + ' ' + std::string(command)) {}

CommandLine& CommandLine::option(std::string_view name, std::string_view value) {
  if (!value.empty()) text_ += fmt::format(" {} {}", name, shell_word(value));
  return *this;
}

CommandLine& CommandLine::option(std::string_view name, double value, double usual) {
  if (value != usual) text_ += fmt::format(" {} {:g}", name, value);
  return *this;
}

CommandLine& CommandLine::flag(std::string_view name, bool given) {
  if (given) text_ += fmt::format(" {}", name);
  return *this;
}

CommandLine& CommandLine::word(std::string_view word) {
  text_ += ' ' + shell_word(word);
  return *this;
}

}  // namespace fencepost::text
