// Any number of runs side by side, each a column: what each store does differently from the rules,
// how each requirement stands, which cases do not end alike, and what each does where the rules
// leave a choice. The runs may be of several implementations, or of one at several times; the
// versions of the suite may differ. Pure.
//
//   const auto first = read_column(*file, "mosquitto"); ...
//   const SideBySide found = side_by_side({*first, *second}, library.catalogue);
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/report.h"
#include "suite/run/exit_code.h"
#include "suite/scenario/scenario_loader.h"

namespace fencepost::report {

// What one run says of one requirement that explains failures.
struct ColumnFinding {
  std::string verdict;  // failed, warning or expected-failure
  std::string cause;    // as the report has it
  std::size_t cases = 0;
};

// What was seen of the dialects' forms, or of what is left open: by place or requirement.
using SeenWords = std::map<std::string, std::set<std::string>>;

// What became of one case in one run.
struct ColumnCase {
  std::string title{};
  std::string verdict{};  // passed, failed, warning, expected-failure, inconclusive, ...
  bool passes = false;    // regardless of what a baseline says to it
  std::string requirement{};
  std::size_t step = 0;  // from 1; 0: none
  std::size_t line = 0;
  std::string kind{};       // of what differs
  std::string signature{};  // what stays of the failure from run to run
  std::string cause{};      // the same without the rule: see run/failure.h
  std::string message{};
  std::string expected{};
  std::string actual{};
  SeenWords forms{};
  SeenWords unspecified_points{};

  // Has the run shown whether the store passes?
  [[nodiscard]] bool is_decided() const;
};

// What concurrent clients, or all short workloads, have shown.
struct ColumnPhase {
  bool ran = false;
  std::set<std::string> broken{};  // requirements; no warnings
};

// The member "format" of a certificate: certificate.h.
inline constexpr const char* kCertificateFormat = "fencepost-certificate";

// One run, as its JSON report or its certificate has it.
struct Column {
  std::string name;
  std::string file;
  std::string endpoint;
  std::string suite_version;
  std::string suite_commit;
  std::string started;
  std::string profile;
  std::string edition;
  std::string dialect;
  std::string judged_by{};  // "deployed, ga"; empty in a report of a version that did not say it
  std::string stopped_because;
  std::string part{};  // "1 of 1927 cases selected"; empty: all were
  int exit_code = 0;
  bool is_certificate = false;  // which has no cases
  bool strict = false;
  bool endpoint_lost = false;
  std::uint64_t seed = 0;
  std::int64_t clock_offset_ms = 0;
  double round_trip_ms = 0;                         // median, in the cases
  double unloaded_round_trip_ms = 0;                // median, before the run
  std::map<std::string, std::size_t> cases{};       // passed, failed, ... -> how many
  std::map<std::string, ColumnCase> results{};      // by id of the case
  std::map<std::string, ColumnFinding> findings{};  // by requirement
  std::map<std::string, std::string> states{};      // by requirement: passed, broken, ...
  std::map<std::string, ColumnPhase> phases{};      // "stress", "enumeration": those it has
  SeenWords forms{};                                // by place where the dialects differ
  SeenWords seen{};                                 // by open requirement: its outcomes
};

// Reads a JSON report of certify or merge, or a certificate. `name`: empty for that of the
// endpoint. The error says which file, what is wrong and what to do.
[[nodiscard]] Result<Column, std::string> read_column(const scenario::SourceFile& file,
                                                      const std::string& name);

// A requirement, a case, or a place where the dialects differ; a cell for each column, empty where
// the run says nothing of it.
struct ComparedRow {
  std::string id;
  std::string level;  // empty where this suite does not know it; of a case: of the rule it breaks
  std::string text;
  std::vector<std::string> cells{};  // the state or verdict; of what was seen, its words: "a, b"
  // Between two columns that say something: skipped, not-run, not-shown and inconclusive say
  // nothing. For a finding, whether any column does not have it, too.
  bool differs = false;
  // For forms and unspecified points: the cases that saw it otherwise in one run than in another.
  // They decide whether it differs: what only one run has seen is no difference, the other did not
  // come so far. Certificates do not have them.
  std::vector<std::string> cases{};
};

struct SideBySide {
  std::vector<Column> columns;
  std::vector<ComparedRow> findings;  // cells are "failed", "warning", ...: see Column::findings
  std::vector<ComparedRow> requirements;
  // Those that do not end alike, a must before a should, and those that some run did not decide.
  std::vector<ComparedRow> cases;
  std::vector<ComparedRow> forms;
  std::vector<ComparedRow> unspecified_points;
  std::size_t compared = 0;   // cases that all runs decided
  std::size_t skipped = 0;    // cases that all runs skipped
  bool certificates = false;  // alone: there are no cases

  [[nodiscard]] bool differs() const;
};

// Names that occur twice get their file behind them. Rows are in the order of the catalogue; what
// it does not have comes last.
[[nodiscard]] SideBySide side_by_side(std::vector<Column> columns,
                                      const scenario::Catalogue& catalogue);

// kFailed where the runs differ; else kUnreachable where an endpoint was lost, kNothingSelected
// where all runs decided no case, kInconclusive where some run did not decide one, kConformant.
[[nodiscard]] run::ExitCode exit_code(const SideBySide& found);

// How many rules of level MUST the run is about, and how many of these it has shown to be kept.
struct ColumnScore {
  std::size_t kept = 0;
  std::size_t all = 0;
};
[[nodiscard]] ColumnScore score_of(const Column& column, const scenario::Catalogue& catalogue);

// The verdict of a run in a few words: "conformant", "NOT conformant", "inconclusive", ...; of a
// part that would be conformant, "no failure in a part".
[[nodiscard]] std::string_view verdict_of(const Column& column);

// For a terminal of that width; the last line says what differs.
[[nodiscard]] std::string side_by_side_text(const SideBySide& found,
                                            const scenario::Catalogue& catalogue, std::size_t width,
                                            bool colour);
// The last line alone, not ended.
[[nodiscard]] std::string side_by_side_verdict(const SideBySide& found);
// As docs/compare.schema.json says.
[[nodiscard]] std::string side_by_side_json(const SideBySide& found,
                                            const scenario::Catalogue& catalogue);
// One self-contained page; `links`: HTML below its head.
[[nodiscard]] std::string side_by_side_html(const SideBySide& found,
                                            const scenario::Catalogue& catalogue,
                                            const std::string& links = {});

}  // namespace fencepost::report
