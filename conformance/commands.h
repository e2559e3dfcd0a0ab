// The commands of the program, one function each: options in, exit code out. main.cc only parses
// the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/report_files.h"
#include "conformance/suite.h"

namespace fencepost::conformance {

struct CertifyOptions {
  std::string endpoint{};    // empty: the descriptor's, or embedded
  std::string descriptor{};  // a file
  std::string scenarios{};   // a folder instead of the built-in cases
  std::string profile = "auto";
  bool strict = false;
  Selection selection{};
  std::string shard{};   // K/N
  std::size_t jobs = 0;  // 0: a sensible number
  double timeout_scale = 1.0;
  std::optional<std::uint64_t> seed{};
  ReportFiles reports{};
  bool trace = false;
  bool quiet = false;
  std::string program =
      "fencepost";  // how it was called, for the command that reproduces a failure
};
[[nodiscard]] ExitCode certify(CertifyOptions options);

struct ServeOptions {
  std::uint16_t port = 1883;
  std::string profile = "deployed";
  std::size_t quota = 0;
  std::string authorization{};
  std::string node_id = "StateStore";
  bool verbose = false;
};
[[nodiscard]] ExitCode serve(const ServeOptions& options);

struct ListOptions {
  std::string what = "cases";  // or requirements
  std::string scenarios{};
  bool json = false;
};
[[nodiscard]] ExitCode list(const ListOptions& options);

struct MatrixOptions {
  std::string scenarios{};
  std::string report{};  // a JSON report of certify, whose results are added
  std::string json{};    // files; "-": standard output
  std::string html{};
  std::string markdown{};
  bool full = false;  // every requirement with its cases
};
[[nodiscard]] ExitCode matrix(const MatrixOptions& options);

[[nodiscard]] ExitCode explain(const std::string& id, const std::string& scenarios);

// Checks scenario files; without paths those built in.
[[nodiscard]] ExitCode lint(const std::vector<std::string>& paths);

// The library that `scenarios` names (empty: the built-in one). Complaints go to standard error.
[[nodiscard]] std::optional<struct Library> open_library(const std::string& scenarios);

}  // namespace fencepost::conformance
