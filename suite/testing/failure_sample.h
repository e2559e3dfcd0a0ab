// Failures as the runner makes them, for tests: from texts as people read them.
#pragma once

#include <string>

#include "base/bytes.h"
#include "suite/judge/judge.h"
#include "suite/run/failure.h"

namespace fencepost::test {

// The form of a reply, where the text begins with the bytes of one, escaped; else words.
inline text::Phrase form_of(const std::string& text) {
  const auto bytes = unescape(text.substr(0, text.find(" (")));
  if (!bytes || !codec::decode_reply(*bytes)) return text;
  return judge::describe(judge::ReceivedReply(codec::Message{.payload = *bytes}));
}

// A failure of a reply where the message is the one of replies.
inline run::Failure failure(const std::string& requirement, const std::string& message,
                            const std::string& expected = "", const std::string& actual = "",
                            const std::string& subject = "") {
  const bool reply = message == "the reply is not the expected one";
  run::Failure out =
      run::failure_of({.message = message,
                       .expected = form_of(expected),
                       .actual = form_of(actual),
                       .attribution = {.requirement = requirement},
                       .subject = subject,
                       .kind = reply ? judge::Mismatch::kReply : judge::Mismatch::kOther},
                      {});
  out.expected = expected;
  out.actual = actual;
  return out;
}

}  // namespace fencepost::test
