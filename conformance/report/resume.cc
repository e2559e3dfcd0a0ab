#include "conformance/report/resume.h"

#include <utility>

#include <fmt/format.h>

#include "endpoint/url.h"

namespace fencepost::report {
namespace {

bool same(const run::Selection& a, const run::Selection& b) {
  return a.run == b.run && a.skip == b.skip && a.tags == b.tags && a.requirements == b.requirements;
}

bool no_files(const ReportFiles& files) {
  return files.json.empty() && files.junit.empty() && files.html.empty() && files.sarif.empty() &&
         files.badge.empty();
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
    return fmt::format("{} is of a run with {}: {} {} contradicts it; leave {} out to go on", file,
                       was, option.name, option.given, option.name);
  }
  return {};
}

std::string missing_password(const std::string& file, const std::string& given,
                             const std::string& was) {
  const bool whole = endpoint::parse_url(was) && was.find("***") == std::string::npos;
  if (!given.empty() || was.empty() || whole) return {};
  return fmt::format(
      "{} is of a run with --endpoint {}, and passwords are not kept: give --endpoint again", file,
      was);
}

std::string other_selection(const std::string& file, const run::Selection& given,
                            const run::Selection& was) {
  if (!is_filtered(given) || same(given, was)) return {};
  return file + " is of a run with another selection of cases: leave it out to go on";
}

// The first thing that keeps the run from going on; empty when nothing does.
std::string obstacle(const std::string& file, const Invocation& given, const Head& head) {
  const Call& was = head.call;
  const ReportContext& context = head.context;
  const std::string seed = given.seed ? std::to_string(*given.seed) : "";
  for (const std::string& found :
       {contradiction(file, {{"--endpoint", given.call.url, was.url},
                             {"--descriptor", given.call.descriptor, was.descriptor}}),
        missing_password(file, given.call.url, was.url),
        contradiction(file, {{"--scenarios", given.call.scenarios, was.scenarios},
                             {"--driver", given.call.driver, was.driver},
                             {"--baseline", given.call.baseline, was.baseline},
                             {"--profile", given.profile, std::string(name(context.profile))},
                             {"--wording", given.wording, std::string(name(context.wording))},
                             {"--seed", seed, std::to_string(context.seed)},
                             flag("--strict", given.strict, context.strict),
                             flag("--shuffle", given.call.shuffled, was.shuffled)}),
        other_selection(file, given.selection, context.selection),
        contradiction(file, {{"--shard", given.shard == "auto" ? "" : given.shard,
                              shard_text(context.selection)}})}) {
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
                 .wording = std::string(name(context.wording)),
                 .seed = context.seed,
                 .strict = context.strict,
                 .selection = context.selection,
                 .shard = shard_text(context.selection)};
  if (given.call.timeout_scale != 1.0) out.call.timeout_scale = given.call.timeout_scale;
  if (!no_files(given.call.files)) out.call.files = given.call.files;
  return out;
}

Result<Resumed, std::string> resume(const std::string& path, const Invocation& given) {
  auto file = scenario::read_file(path);
  if (!file) return fail(std::move(file.error()));
  auto head = read_head(*file);
  if (!head) return fail(std::move(head.error()));
  auto invocation = completed(path, given, *head);
  if (!invocation) return fail(std::move(invocation.error()));
  return Resumed{std::move(*file), std::move(*head), std::move(*invocation)};
}

Result<std::vector<run::Kept>, std::string> finished_cases(const Resumed& resumed,
                                                           const scenario::Library& library) {
  auto out = read_cases(resumed.file, resumed.head, library);
  if (out) {
    std::erase_if(*out,
                  [](const run::Kept& kept) { return kept.result.verdict == run::Verdict::kLost; });
  }
  return out;
}

}  // namespace fencepost::report
