// JUnit XML, in the one form that all readers take, those that validate among them: by junit-10.xsd
// of Jenkins' xUnit plugin and by windyroad's JUnit.xsd. These know no attribute of the document,
// and no file, property or output of a test: what a test has of these stands in its suite, behind
// the name of the test. docs/junit.xsd describes it.
//
//   JunitSuite suite{.name = "set", .timestamp = "2026-01-01T00:00:00Z"};
//   suite.cases.push_back({.name = "set.ok", .classname = "statestore.set"});
//   const std::string xml = junit({suite});
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fencepost::text {

using JunitTexts = std::vector<std::pair<std::string, std::string>>;  // a name, and its text

enum class JunitOutcome { kPassed, kSkipped, kFailure, kError };

struct JunitCase {
  std::string name{};  // the second one of a document gets " #2": readers drop it otherwise
  std::string classname{};
  std::chrono::microseconds time{0};
  JunitOutcome outcome = JunitOutcome::kPassed;
  // These describe the outcome, unless it is passed. Messages and texts that are long are cut.
  std::string type{};  // not of what was skipped
  std::string message{};
  std::string text{};
  JunitTexts properties{};
  JunitTexts outputs{};  // "packets", and their lines
};

struct JunitSuite {
  std::string name{};
  std::string timestamp{};  // ISO 8601, UTC
  std::string hostname = "localhost";
  std::optional<std::chrono::microseconds> time{};  // nothing: what its cases take together
  JunitTexts properties{};
  std::vector<JunitCase> cases{};
};

// The document. Bytes that XML cannot hold are escaped, as printable() does. Texts and outputs
// share 20 MB: what has no room is left out, and says so. Pure.
[[nodiscard]] std::string junit(const std::vector<JunitSuite>& suites);

}  // namespace fencepost::text
