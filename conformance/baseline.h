// Known failures of an endpoint, kept in a file beside its own sources (not in the suite): a listed
// case must fail, and with the listed signature. A case that fails unlisted, passes although
// listed, fails differently, or whose entry is expired or matches nothing fails the run, so that a
// baseline cannot go stale. The format is described in docs/BASELINES.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "conformance/scenario_loader.h"
#include "conformance/suite.h"
#include "conformance/yaml_reader.h"

namespace fencepost::conformance {

struct KnownFailure {
  std::string case_glob;
  std::string signature;  // start of signature(result); empty: any failure
  std::string reason;
  std::string ticket;
  std::string expires;  // YYYY-MM-DD: the last day on which the entry counts; empty: never
  std::size_t max = 1;  // how many failing cases a glob may cover
  Position position{};
};

struct Baseline {
  std::string file;
  std::vector<KnownFailure> failures;
};

// Reads a baseline; complaints are appended to `errors`.
[[nodiscard]] std::optional<Baseline> load_baseline(const SourceFile& file,
                                                    std::vector<LoadError>& errors);

// What a failure is recognised by: the message, then what was expected and seen, without what
// changes from run to run.
[[nodiscard]] std::string signature(const CaseResult& result);

// Judges the result against the baseline: marks expected failures, and turns unexpected passes and
// other stale entries into failures of the run. `complete` says whether all cases ran (a selected
// run leaves entries unmatched). `today` is YYYY-MM-DD. Returns the complaints about entries, each
// with file and line.
[[nodiscard]] std::vector<std::string> apply_baseline(const Baseline& baseline, bool complete,
                                                      std::string_view today, SuiteResult& result);

// The text of a baseline that expects exactly the failures of this result; reasons and tickets of
// entries that still match are kept.
[[nodiscard]] std::string rewrite_baseline(const Baseline& old, const SuiteResult& result);

}  // namespace fencepost::conformance
