#include "conformance/report/journal.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <map>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "base/json_reader.h"
#include "conformance/report/case_json.h"
#include "conformance/report/report_json.h"
#include "conformance/run/time_limits.h"
#include "conformance/scenario/digest.h"

namespace fencepost::report {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::string_view kBeginning = R"({"unfinished":)";
constexpr mode_t kMode = 0666;  // and what umask says
constexpr std::size_t kReadBlock = 65'536;

std::string reason() {
  return std::strerror(errno);  // NOLINT(concurrency-mt-unsafe): glibc's is safe
}

std::string line_of(const ordered_json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

ordered_json call_json(const Call& call, const std::string& cases) {
  ordered_json files = ordered_json::object();
  for (const ReportKind& kind : report_kinds()) {
    if (const std::string& path = call.files.of(kind.name); !path.empty()) files[kind.name] = path;
  }
  return {{"cases", cases},
          {"url", call.url},
          {"descriptor", call.descriptor},
          {"scenarios", call.scenarios},
          {"driver", call.driver},
          {"baseline", call.baseline},
          {"shuffled", call.shuffled},
          {"timeout_scale", call.timeout_scale},
          {"reports", std::move(files)}};
}

Call call_of(const JsonMembers& record) {
  Call out{.url = record.text("url"),
           .descriptor = record.text("descriptor"),
           .scenarios = record.text("scenarios"),
           .driver = record.text("driver"),
           .baseline = record.text("baseline"),
           .shuffled = record.flag("shuffled")};
  const json* scale = record.find("timeout_scale");
  if (scale != nullptr && scale->is_number() && scale->get<double>() > 0 &&
      scale->get<double>() <= run::kMaxTimeoutScale) {
    out.timeout_scale = scale->get<double>();
  } else {
    record.wrong("timeout_scale",
                 fmt::format("a number greater than 0, at most {}", run::kMaxTimeoutScale));
  }
  const JsonMembers files = record.object("reports");
  for (const ReportKind& kind : report_kinds()) {
    out.files.set(kind.name, files.text_if_there(kind.name));
  }
  return out;
}

// The lines that are whole: what a kill has cut off has no line feed.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    out.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string complaint_of(const scenario::SourceFile& file, std::size_t line,
                         const std::string& what) {
  return fmt::format("{}:{}: {}", file.name, line, what);
}

const scenario::Case* find_case(const scenario::Library& library, const std::string& id) {
  const auto found = std::find_if(library.cases.begin(), library.cases.end(),
                                  [&](const scenario::Case& each) { return each.id == id; });
  return found == library.cases.end() ? nullptr : &*found;
}

}  // namespace

std::string head_line(const ReportContext& context, const scenario::Library& library,
                      const Call& call) {
  ordered_json out;
  out["unfinished"] = call_json(call, scenario::digest(library));
  out.update(report_document({}, library.catalogue, context));
  // What follows from cases.
  for (const char* member : {"summary", "differences", "requirements", "cases", "exit_code"}) {
    out.erase(member);
  }
  return line_of(out);
}

std::string case_line(const run::CaseResult& result, bool undecided, bool with_transcript) {
  ordered_json out = case_record(result, with_transcript);
  if (undecided) out["undecided"] = true;
  return line_of(out);
}

Result<std::unique_ptr<Journal>, std::string> Journal::open(const std::string& path) {
  const int descriptor = ::open(
      path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW, kMode);
  if (descriptor < 0 && errno == ELOOP) {
    return fail(fmt::format("cannot write {}: it is a link, which is not followed", path));
  }
  if (descriptor < 0) return fail(fmt::format("cannot write {}: {}", path, reason()));
  std::unique_ptr<Journal> out(new Journal(path, descriptor));
  struct stat about {};
  if (::fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode)) {
    return fail(fmt::format("cannot write {}: it is no file", path));
  }
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    return fail(fmt::format("cannot write {}: another run is writing it", path));
  }
  out->written_ = static_cast<std::size_t>(about.st_size);
  return out;
}

Result<std::unique_ptr<Journal>, std::string> Journal::create(const std::string& path,
                                                              const std::string& head) {
  auto out = open(path);
  if (!out) return out;
  const std::string before = (*out)->content();
  if (!before.empty() && !before.starts_with(kBeginning)) {
    return fail(fmt::format("cannot write {}: there is a file that no run has left", path));
  }
  if (::ftruncate((*out)->descriptor_, 0) != 0) {
    return fail(fmt::format("cannot write {}: {}", path, reason()));
  }
  (*out)->written_ = 0;
  (*out)->write(head);
  return out;
}

Result<std::unique_ptr<Journal>, std::string> Journal::go_on(const std::string& path) {
  auto out = open(path);
  if (!out) return out;
  const std::string content = (*out)->content();
  const std::size_t whole = content.rfind('\n') + 1;  // npos + 1 is 0
  if (::ftruncate((*out)->descriptor_, static_cast<off_t>(whole)) != 0) {
    return fail(fmt::format("cannot write {}: {}", path, reason()));
  }
  (*out)->written_ = whole;
  return out;
}

Journal::~Journal() { ::close(descriptor_); }

void Journal::keep(const run::CaseResult& result, bool undecided, bool with_transcript) {
  write(case_line(result, undecided, with_transcript));
}

// A line is written whole or not at all: one that is torn would spoil the next.
void Journal::write(const std::string& line) {
  pending_ += line;
  pending_ += '\n';
  std::size_t done = 0;
  while (done < pending_.size()) {
    const ssize_t count = ::write(descriptor_, pending_.data() + done, pending_.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  if (done == pending_.size()) {
    written_ += done;
    pending_.clear();
    return;
  }
  if (trouble_.empty()) trouble_ = fmt::format("cannot write {}: {}", path_, reason());
  // The file then ends in half a line, which readers leave out; the next try begins a new one.
  if (done > 0 && ::ftruncate(descriptor_, static_cast<off_t>(written_)) != 0) {
    written_ += done;
    pending_.insert(0, "\n");
  }
}

// Under its name, that is: another may have it by now.
bool Journal::is_there() const {
  struct stat ours {};
  struct stat there {};
  return ::fstat(descriptor_, &ours) == 0 && ::stat(path_.c_str(), &there) == 0 &&
         ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

bool Journal::is_whole() const { return pending_.empty() && is_there(); }

std::string Journal::content() const {
  std::string out;
  std::vector<char> block(kReadBlock);
  for (off_t at = 0;;) {
    const ssize_t count = ::pread(descriptor_, block.data(), block.size(), at);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    out.append(block.data(), static_cast<std::size_t>(count));
    at += count;
  }
  return out + pending_;
}

void Journal::remove() {
  if (is_there()) std::remove(path_.c_str());
}

bool is_unfinished(const scenario::SourceFile& file) {
  return file.content.starts_with(kBeginning);
}

Head head_of(const JsonMembers& root) {
  Head out;
  out.version = root.text("suite_version");
  out.context = context_of(root);
  const JsonMembers unfinished = root.object("unfinished");
  out.call = call_of(unfinished);
  out.cases = unfinished.text("cases");
  return out;
}

Result<Head, std::string> read_head(const scenario::SourceFile& file) {
  const auto lines = lines_of(file.content);
  const json document = lines.empty() ? json() : read_json(lines.front());
  if (!is_unfinished(file) || !document.is_object()) {
    return fail(file.name + ": is not what a killed run of `fencepost certify` leaves, " +
                "REPORT" + kUnfinished);
  }
  JsonComplaint complaint;
  Head out = head_of(JsonMembers(document, "", complaint));
  if (!out.version.empty() && out.version != suite_version()) {
    return fail(
        fmt::format("{}: was written by fencepost {}, and this is {}: use that version, or "
                    "run the cases again",
                    file.name, escape(out.version, 40), suite_version()));
  }
  if (complaint.any()) return fail(complaint_of(file, 1, complaint.text()));
  return out;
}

std::size_t count_cases(const scenario::SourceFile& file) {
  const std::size_t lines = lines_of(file.content).size();
  return lines > 0 ? lines - 1 : 0;
}

Result<std::vector<run::Kept>, std::string> read_cases(const scenario::SourceFile& file,
                                                       const Head& head,
                                                       const scenario::Library& library) {
  if (head.cases != scenario::digest(library)) {
    return fail(file.name +
                ": its run had other cases than these (name them with --scenarios), or "
                "they have changed since");
  }
  std::vector<run::Kept> out;
  std::map<const scenario::Case*, std::size_t> known;
  const auto lines = lines_of(file.content);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const json document = read_json(lines[i]);
    if (lines[i].empty() || document.is_discarded()) continue;  // a disk was full
    JsonComplaint complaint;
    const JsonMembers record(document, "", complaint);
    const std::string id = record.text("case");
    const scenario::Case* test_case = find_case(library, id);
    if (!complaint.any() && test_case == nullptr) record.wrong("case", "the id of a case");
    if (complaint.any()) return fail(complaint_of(file, i + 1, complaint.text()));
    run::Kept kept{.result = case_of(record, *test_case),
                   .undecided = record.flag_if_there("undecided")};
    if (!selects(head.context.selection, *test_case))
      record.wrong("case", "one of the run's cases");
    if (complaint.any()) return fail(complaint_of(file, i + 1, complaint.text()));
    const auto [place, fresh] = known.emplace(test_case, out.size());
    if (fresh) {
      out.push_back(std::move(kept));
    } else {
      out[place->second] = std::move(kept);
    }
  }
  return out;
}

Result<Report, std::string> read_unfinished(const scenario::SourceFile& file,
                                            const scenario::Library& library) {
  auto head = read_head(file);
  if (!head) return fail(std::move(head.error()));
  auto cases = read_cases(file, *head, library);
  if (!cases) return fail(std::move(cases.error()));
  std::map<const scenario::Case*, run::CaseResult*> found;
  for (run::Kept& kept : *cases) found[kept.result.test_case] = &kept.result;
  Report out{.file = file.name, .result = {}, .context = std::move(head->context)};
  std::size_t missing = 0;
  for (const scenario::Case& test_case : library.cases) {
    if (!selects(out.context.selection, test_case)) continue;
    const auto kept = found.find(&test_case);
    if (kept == found.end()) {
      ++missing;
      out.result.cases.push_back(
          {.test_case = &test_case, .failure = {.position = test_case.position}});
    } else {
      out.result.cases.push_back(std::move(*kept->second));
    }
    out.result.longest_wait = std::max(out.result.longest_wait, test_case.expected_wait());
  }
  run::SuiteResult& result = out.result;
  result.interrupted = true;
  result.basis = basis_of(result, out.context.profile, out.context.wording);
  for (run::CaseResult& each : result.cases) settle(each, library.catalogue, result.basis);
  run::summarize(result, library.catalogue, out.context.strict);
  out.context.known_cases = library.cases.size();
  out.context.stopped_because = fmt::format("the run was killed: {} of {} cases had finished",
                                            result.cases.size() - missing, result.cases.size());
  return out;
}

}  // namespace fencepost::report
