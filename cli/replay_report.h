// The report of a `replay`, for people and for files.
#pragma once

#include "cli/replay_session.h"
#include "conformance/report/console.h"
#include "conformance/text/colour.h"

namespace fencepost::cli {

// On standard output. All that it is made with must outlive it.
class ReplayPrinter {
 public:
  ReplayPrinter(ReplaySession& session, report::ConsoleOptions style, report::Console& console)
      : session_(session), style_(style), paint_(style.colour), console_(console) {}

  void begin() const;
  // Each case, what was healed, and the verdict.
  void end();

 private:
  void print_list() const;
  void explain(const replay::Replay& replay);
  [[nodiscard]] const report::ReportContext& context_of(const replay::Replay& replay);
  void print_verdict() const;

  ReplaySession& session_;
  report::ConsoleOptions style_;
  text::Paint paint_;
  report::Console& console_;
};

// Those that the options ask for. False after a complaint; the others are written all the same.
[[nodiscard]] bool write_reports(const ReplaySession& session);

}  // namespace fencepost::cli
