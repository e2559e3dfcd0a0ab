// The lines that pass between us and an adapter: JSON, one object a line. docs/adapter.schema.json
//
//   adapter:  {"fencepost_adapter": 1, "name": "mine", "capabilities": ["set", "get"]}
//   we:       {"id": 1, "command": "get", "key": "6b", "timeout_ms": 5000}
//   adapter:  {"id": 1, "ok": {"value": "6f6e65", "version": "1795435200000:1:StateStore"}}
//   adapter:  {"id": 1, "error": {"kind": "service", "text": "not authorized"}}
//
// Keys and values are hexadecimal. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/result.h"
#include "clients/client_run/client_case.h"

namespace fencepost::client_run {

inline constexpr int kAdapterVersion = 1;

struct Greeting {
  std::string name{};
  std::set<std::string, std::less<>> capabilities{};
};
// The error says what is wrong with the line.
[[nodiscard]] Result<Greeting, std::string> read_greeting(std::string_view line);

// What a command needs beside itself.
struct CommandContext {
  std::int64_t id = 0;
  std::uint16_t port = 0;   // of our broker, on 127.0.0.1
  std::string client_id{};  // of a connect
  std::string token{};      // the text of the version; empty: none
  Milliseconds timeout{};   // for the reply
};
// With its line end.
[[nodiscard]] std::string command_line(const Command& command, const CommandContext& context);

// What an adapter has reported of one command.
struct Report {
  ResultKind kind = ResultKind::kOk;
  std::string value{};     // kValue (of a lock: holder), kChanged
  std::int64_t count = 0;  // kDeleted
  // kApplied, kNotApplied, kValue, kChanged; kHeld: the token
  std::optional<std::string> version{};
  std::string key{};                                    // kChanged
  codec::Operation operation = codec::Operation::kSet;  // kChanged; kMissing there: none came
  std::string error_kind{};                             // kError
  std::string error_text{};
};

// Which command a line is about; nothing when it is no result.
[[nodiscard]] std::optional<std::int64_t> id_of(std::string_view line);

// The error says what is wrong with the line.
[[nodiscard]] Result<Report, std::string> read_report(std::string_view line, CommandKind command);

// "the value \"one\"", "an error of the service: not authorized": for people.
[[nodiscard]] std::string describe(const Report& report);
[[nodiscard]] std::string describe(const Expected& expected, codec::DialectId dialect);

// Is it what is expected? The text of an error is looked at `with_text` only.
[[nodiscard]] bool is_expected(const Report& report, const Expected& expected,
                               codec::DialectId dialect, bool with_text);

}  // namespace fencepost::client_run
