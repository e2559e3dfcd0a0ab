// The report of a `replay`, for people and for files.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "base/text/colour.h"
#include "base/text/output.h"
#include "report/console.h"
#include "report/report_files.h"
#include "traffic/replay/session.h"

namespace fencepost::replay {

// Prints begin() before the cases run and end() after them. All that it is made with must outlive
// it; `console` prints on `stream`, too. An error of the stream is ignored. Not thread safe.
class Printer {
 public:
  Printer(Session& session, std::FILE* stream, report::ConsoleOptions style,
          report::Console& console)
      : session_(session),
        stream_(stream),
        style_(std::move(style)),
        paint_(style_.colour),
        console_(console) {}

  void begin() const;
  // Each case, what was healed, and the verdict. The context of the session gets the command that
  // runs each failure again.
  void end();

 private:
  template <typename... Values>
  void say(fmt::format_string<text::detail::Shown<Values>&...> format,
           const Values&... values) const {
    text::write(stream_, text::format<Values...>(format, values...), style_.colour || style_.live);
  }
  void print_list() const;
  void explain(const Replay& replay);
  [[nodiscard]] const report::ReportContext& context_of(const Replay& replay);
  void print_verdict() const;

  Session& session_;
  std::FILE* stream_;
  report::ConsoleOptions style_;
  text::Paint paint_;
  report::Console& console_;
};

// As report::to_junit() says it: what each case has come to.
[[nodiscard]] std::string to_junit(const Session& session);

// Writes the files `json` and `junit`, where they have a name. The error says what could not be
// written: the other is.
[[nodiscard]] Result<void, std::string> write_reports(const Session& session,
                                                      const report::ReportFiles& files);

}  // namespace fencepost::replay
