// The command line that repeats a run, as its reports print it. What was not given is left out;
// passwords are left out by the caller.
//
//   use(CommandLine("fencepost", "stress").option("--seed", "7").flag("--strict", true).text());
//
// Used by one thread.
#pragma once

#include <string>
#include <string_view>

namespace fencepost::text {

class CommandLine {
 public:
  CommandLine(std::string_view program, std::string_view command);
  // As one word of a shell; an empty value was not given.
  CommandLine& option(std::string_view name, std::string_view value);
  // `usual`: what holds where it is not given.
  CommandLine& option(std::string_view name, double value, double usual);
  CommandLine& flag(std::string_view name, bool given);
  CommandLine& word(std::string_view word);

  [[nodiscard]] std::string text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace fencepost::text
