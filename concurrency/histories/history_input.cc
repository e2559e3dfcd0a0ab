#include "concurrency/histories/history_input.h"

#include <string>
#include <string_view>

#include "base/files.h"
#include "evidence/frame.h"
#include "evidence/record.h"
#include "suite/scenario/file_kind.h"

namespace fencepost::histories {
namespace {

// All lines of a record, each with its end.
Result<void, std::string> read_lines(std::string_view text, history::HistoryReader& reader) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (auto read = reader.line(text.substr(0, end)); !read) return read;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return {};
}

Result<ReadHistory, std::string> read_evidence(const std::string& path,
                                               const history::HistoryReader::Sink& sink) {
  const auto file = read_whole_file(path);
  if (!file) return fail(file.error());
  history::HistoryReader reader(sink);
  bool is_history = false;
  evidence::Frames frames(*file);
  while (const auto frame = frames.next()) {
    evidence::Decoder decoder(*frame);
    while (const auto record = decoder.next()) {
      if (record->kind != evidence::Kind::kHistory) continue;
      is_history = true;
      const auto read = read_lines(record->more().text, reader);
      if (!read) return fail(path + ": " + read.error());
    }
    if (decoder.failed()) return fail(path + " has records that no version of this suite writes");
  }
  if (!is_history) {
    return fail(path +
                " has no history of concurrent requests; `fencepost judge` reads such a file");
  }
  reader.finish();
  return ReadHistory{.cut = !frames.diagnostic().empty()};
}

// For a file that is no history: "; it is a page for people"; may be empty.
std::string what_it_is(const std::string& path) {
  const auto file = read_whole_file(path);
  const std::string_view kind = file ? scenario::kind_of_file(*file) : std::string_view();
  return kind.empty() ? "" : "; it is " + std::string(kind);
}

}  // namespace

Result<ReadHistory, std::string> read_events(const std::string& path,
                                             const history::HistoryReader::Sink& sink,
                                             const std::optional<std::string>& initial) {
  LineReader file(path);
  history::HistoryReader reader(sink, initial);
  ReadHistory out;
  for (std::string line; file.next(line);) {
    if (evidence::is_evidence(line + "\n")) return read_evidence(path, sink);
    if (const auto read = reader.line(line); !read) {
      if (!file.is_cut()) return fail(path + ": " + read.error() + what_it_is(path));
      out.cut = true;
    }
  }
  if (!file.error().empty()) return fail(file.error());
  if (!reader.finish()) out.cut = true;
  out.counts_lines = reader.counts_lines();
  return out;
}

}  // namespace fencepost::histories
