#include "conformance/histories/history_input.h"

#include "base/files.h"

namespace fencepost::histories {

Result<ReadHistory, std::string> read_events(const std::string& path,
                                             const history::HistoryReader::Sink& sink) {
  LineReader file(path);
  history::HistoryReader reader(sink);
  ReadHistory out;
  for (std::string line; file.next(line);) {
    if (const auto read = reader.line(line); !read) {
      if (!file.is_cut()) return fail(path + ": " + read.error());
      out.cut = true;
    }
  }
  if (!file.trouble().empty()) return fail(file.trouble());
  reader.finish();
  out.counts_lines = reader.counts_lines();
  return out;
}

}  // namespace fencepost::histories
