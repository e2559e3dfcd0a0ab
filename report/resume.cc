#include "report/resume.h"

#include <utility>

#include <fmt/format.h>

#include "report/run_evidence.h"

namespace fencepost::report {
namespace {

bool same(const run::Selection& a, const run::Selection& b) {
  return a.run == b.run && a.skip == b.skip && a.tags == b.tags && a.requirements == b.requirements;
}

std::string shard_text(const run::Selection& selection) {
  return selection.shards > 1 ? fmt::format("{}/{}", selection.shard, selection.shards) : "";
}

// An option as it is given, and as it was in the killed run. One that may be left out contradicts
// nothing then.
struct Option {
  const char* name;
  std::string given;
  std::string was;
  bool contradicts = !given.empty() && given != was;
};

Option flag(const char* name, bool given, bool was) { return {name, "", "", given && !was}; }

// Empty when there is no contradiction.
std::string contradiction(const std::string& file, const std::vector<Option>& options) {
  for (const Option& option : options) {
    if (!option.contradicts) continue;
    const std::string was = option.was.empty() ? fmt::format("no {}", option.name)
                                               : fmt::format("{} {}", option.name, option.was);
    return fmt::format("{} is of a run with {}, and {} {} contradicts it; leave {} out to resume",
                       file, was, option.name, option.given, option.name);
  }
  return {};
}

// A store of ours, which runs in this process or as its child.
bool is_own_store(const std::string& url) {
  return url.empty() || url.starts_with("inproc:") || url == "embedded" ||
         url.starts_with("embedded?");
}

// The report that `file` is named after, among those that the run was to write: it lies beside it.
// Each other one has to be given.
struct Beside {
  ReportFiles files{};
  std::string missing{};  // what has to be given, as an option; empty: nothing
};
Beside beside(const std::string& file, const ReportFiles& was) {
  const std::string stem = file.substr(0, file.rfind(kUnfinished));
  const std::string name = stem.substr(stem.rfind('/') + 1);  // npos + 1 is 0
  Beside out;
  for (const ReportKind& kind : report_kinds()) {
    const std::string& report = was.of(kind.name);
    if (report.empty()) continue;
    if (!name.empty() && report.substr(report.rfind('/') + 1) == name) {
      out.files.set(kind.name, stem);
    } else if (out.missing.empty()) {
      out.missing = fmt::format("--{} {}", kind.name, report);
    }
  }
  return out;
}

std::string give_again(const std::string& file, const std::string& what) {
  return fmt::format(
      "{} is of a run with {}: give this option again to resume; what to connect to, to read and "
      "to "
      "write is not taken from a file",
      file, what);
}

// What has to be given, and is not; empty: nothing.
std::string missing(const std::string& file, const Invocation& given, const Call& was) {
  const auto lacks = [](const std::string& option, const std::string& then) {
    return option.empty() && !then.empty();
  };
  if (given.call.url.empty() && !is_own_store(was.url)) {
    return give_again(file, "--endpoint " + was.url);
  }
  if (lacks(given.call.descriptor, was.descriptor)) {
    return give_again(file, "--descriptor " + was.descriptor);
  }
  if (lacks(given.call.scenarios, was.scenarios)) {
    return give_again(file, "--scenarios " + was.scenarios);
  }
  if (lacks(given.call.baseline, was.baseline)) {
    return give_again(file, "--baseline " + was.baseline);
  }
  const std::string report = beside(file, was.files).missing;
  return report.empty() || !given.call.files.none() ? "" : give_again(file, report);
}

std::string other_selection(const std::string& file, const run::Selection& given,
                            const run::Selection& was) {
  if (!is_filtered(given) || same(given, was)) return {};
  return file + " is of a run with another selection of cases: leave the selection out to resume";
}

// The first thing that keeps the run from going on; empty when nothing does.
std::string obstacle(const std::string& file, const Invocation& given, const Head& head) {
  const Call& was = head.call;
  const ReportContext& context = head.context;
  const std::string seed = given.seed ? std::to_string(*given.seed) : "";
  for (const std::string& found :
       {contradiction(file, {{"--endpoint", given.call.url, was.url},
                             {"--descriptor", given.call.descriptor, was.descriptor}}),
        contradiction(file, {{"--scenarios", given.call.scenarios, was.scenarios},
                             {"--driver", given.call.driver, was.driver},
                             {"--baseline", given.call.baseline, was.baseline},
                             {"--profile", given.profile, std::string(name(context.profile))},
                             {"--edition", given.edition, std::string(name(context.edition))},
                             {"--seed", seed, std::to_string(context.seed)},
                             flag("--strict", given.strict, context.strict),
                             flag("--shuffle", given.call.shuffled, was.shuffled)}),
        other_selection(file, given.selection, context.selection),
        contradiction(file, {{"--shard", given.shard == "auto" ? "" : given.shard,
                              shard_text(context.selection)}}),
        missing(file, given, was)}) {
    if (!found.empty()) return found;
  }
  return {};
}

}  // namespace

Result<Invocation, std::string> completed(const std::string& file, const Invocation& given,
                                          const Head& head) {
  if (std::string found = obstacle(file, given, head); !found.empty()) {
    return fail(std::move(found));
  }
  const ReportContext& context = head.context;
  Invocation out{.call = head.call,
                 .profile = std::string(name(context.profile)),
                 .edition = std::string(name(context.edition)),
                 .seed = context.seed,
                 .strict = context.strict,
                 .selection = context.selection,
                 .shard = shard_text(context.selection)};
  if (given.call.timeout_scale != 1.0) out.call.timeout_scale = given.call.timeout_scale;
  out.call.files = given.call.files.none() ? beside(file, head.call.files).files : given.call.files;
  return out;
}

Result<Resumed, std::string> resume(const std::string& path, const Invocation& given) {
  auto file = scenario::read_file(path);
  if (!file) return fail(std::move(file.error()));
  auto kept = read_saved_run(*file);
  if (!kept) return fail(std::move(kept.error()));
  auto invocation = completed(path, given, kept->head.run);
  if (!invocation) return fail(std::move(invocation.error()));
  return Resumed{std::move(*kept), std::move(*invocation)};
}

Result<std::vector<run::FinishedCase>, std::string> finished_cases(
    const Resumed& resumed, const scenario::Library& library) {
  auto out = read_cases(resumed.kept, library);
  if (out) {
    std::erase_if(*out, [](const run::FinishedCase& kept) {
      return kept.result.verdict == run::Verdict::kLost;
    });
  }
  return out;
}

}  // namespace fencepost::report
