#include "suite/run/failure.h"

#include <string_view>

#include <fmt/format.h>

#include "base/text/yaml_quote.h"

namespace fencepost::run {
namespace {

using judge::Mismatch;

std::string steady_of(const Problem& problem, const text::RunNames& run) {
  std::string out = problem.message.steady(run);
  if (!problem.expected.empty()) out += " | want " + problem.expected.steady(run);
  if (!problem.actual.empty()) out += " | got " + problem.actual.steady(run);
  return out;
}

// If a message is wrong beside its payload, it does not matter which one it was; nor does it for
// what several messages show together.
bool is_of_any_message(const Problem& problem) {
  return problem.malformed || problem.kind == Mismatch::kVersionForm ||
         problem.kind == Mismatch::kVersionMissing || problem.kind == Mismatch::kStatus ||
         problem.kind == Mismatch::kProperty || problem.kind == Mismatch::kMixedForms;
}

std::string cause_of(const Problem& problem) {
  std::string subject = problem.subject;
  if (is_of_any_message(problem)) {
    subject = subject.starts_with("notification") ? "notification" : "";
  }
  std::string out = subject.empty() ? "" : text::Phrase(subject).general() + ": ";
  const std::string got = problem.actual.general();
  if (problem.malformed) return out + got;
  const std::string wanted = problem.expected.general();
  if (problem.kind != Mismatch::kReply || problem.other_form) {
    out += problem.message.general();
    // Two versions are one word here: that one was wanted and one has come says nothing.
    if (wanted == got) return out;
    out += "; ";
  }
  return fmt::format("{}want {}, got {}", out, wanted, got);
}

bool is_error(std::string_view form) { return form.starts_with("-ERR"); }

std::string theme_of(const Problem& problem) {
  const std::string got = problem.actual.general();
  switch (problem.kind) {
    case Mismatch::kNoResponse:
      return "no response";
    case Mismatch::kVersionNotGreater:
    case Mismatch::kVersionNotLater:
      return problem.message.general();
    case Mismatch::kUnsolicited:
      return got;
    case Mismatch::kReply:
    case Mismatch::kReplyForm:
      if (problem.other_form) return {};
      break;
    default:
      return {};
  }
  if (is_error(got)) return "given: " + got;
  // Both dialects of an error are one.
  const std::string wanted = problem.expected.general();
  const bool errors = is_error(wanted) && wanted.find(" or +") == std::string::npos &&
                      wanted.find(" or :") == std::string::npos;
  if (errors) return "not given: " + wanted;
  // PX and tokens do not matter, nor what else would have been right.
  constexpr std::string_view kWithToken = " with __ft";
  std::string subject = problem.subject;
  if (subject.ends_with(kWithToken)) subject.resize(subject.size() - kWithToken.size());
  if (subject.ends_with(" PX")) subject.resize(subject.size() - 3);
  return fmt::format("{}: {} rather than {}", subject, got, wanted.substr(0, wanted.find(" or ")));
}

}  // namespace

Failure failure_of(const Problem& problem, const text::RunNames& run) {
  return {.requirement = problem.attribution.requirement,
          .direct = problem.attribution.direct,
          .candidates = problem.attribution.candidates,
          .subject = problem.subject,
          .kind = problem.kind,
          .message = problem.message.text(),
          .expected = problem.expected.text(),
          .actual = problem.actual.text(),
          .steady = steady_of(problem, run),
          .cause = cause_of(problem),
          .theme = theme_of(problem)};
}

std::string signature(const Failure& failure) {
  if (failure.steady.empty()) return {};
  return text::Phrase(failure.requirement).steady({}) + ": " + failure.steady;
}

std::string quoted_signature(const std::string& signature) { return text::yaml_quoted(signature); }

}  // namespace fencepost::run
