// Histories in files, read as a stream: as lines, or in a file of evidence.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "concurrency/history/history_file.h"

namespace fencepost::histories {

struct ReadHistory {
  bool counts_lines = false;  // a log of another harness: times are numbers of lines
  bool cut = false;           // a last line without its end, as a killed run leaves one
};

// Hands each event of a file to `sink`, as soon as it is complete. The error names the file and the
// line; what came before it has been handed on. The file may be one of evidence (docs/EVIDENCE.md),
// with the history of a stress run; what follows damage in it is missing, and that is `cut`.
// `initial`: of logs of other harnesses (concurrency/history/edn_log.h).
[[nodiscard]] Result<ReadHistory, std::string> read_events(
    const std::string& path, const history::HistoryReader::Sink& sink,
    const std::optional<std::string>& initial = std::nullopt);

}  // namespace fencepost::histories
