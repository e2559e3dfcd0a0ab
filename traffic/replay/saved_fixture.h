// Test only: a saved case, and stores that keep its rule, or break it in two ways.
#pragma once

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "suite/testing/fake_endpoint.h"
#include "traffic/replay/session.h"

namespace fencepost::replay {

// `recorded`: lines of it, or none.
inline std::string nx_case(const std::string& recorded = "", const std::string& more = "") {
  return "# A comment of mine.\narea: saved\ncases:\n  - id: saved.nx\n"
         "    title: NX keeps the value\n    note: \"It's mine.\"   # and so is this\n" +
         recorded +
         "    requirements: [SET-NX-2, SET-OK-1, GET-HIT-3]\n    divergence: [set-not-applied]\n" +
         more +
         "    steps:\n      - set: {key: k, value: one}\n"
         "        expect: {reply: ok, cites: SET-OK-1}\n"
         "      - set: {key: k, value: two, options: [NX]}\n        expect: not-applied\n";
}

inline constexpr const char* kGetCase =
    "area: saved\ncases:\n  - id: saved.get\n    title: GET reads what SET wrote\n"
    "    requirements: [GET-HIT-3]\n    steps:\n      - set: {key: k, value: one}\n"
    "        expect: ok\n      - get: k\n        expect: {reply: {value: one}}\n";

inline test::Behaviour right() { return test::reference_store(); }
// Says this to a SET with NX.
inline test::Behaviour answers_nx(std::string payload) {
  return test::wrong_reply(codec::Verb::kSet, [payload](test::Message& message) {
    if (message.payload == ":-1\r\n") message.payload = payload;
  });
}
inline test::Behaviour overwrites() { return answers_nx("+OK\r\n"); }
inline test::Behaviour says_missing() { return answers_nx("$-1\r\n"); }

inline Session session_of(SavedCases saved, std::size_t runs = 1) {
  Session out{.saved = std::move(saved),
              .context = {.endpoint = "fake:",
                          .seed = 7,
                          .strict = true,
                          .command = "fencepost certify --endpoint fake:",
                          .started = "2026-01-01T00:00:00Z"}};
  out.suite.strict = true;
  out.suite.settings = test::settings();
  out.run.runs = runs;
  for (std::size_t i = 0; i < runs; ++i) out.run_ids.push_back("run" + std::to_string(i));
  return out;
}

inline Session session_of(std::vector<scenario::SourceFile> files, std::size_t runs = 1) {
  std::vector<std::string> diagnostics;
  Session out = session_of(load_cases(std::move(files), diagnostics), runs);
  out.run.load_errors = diagnostics;
  return out;
}

inline const std::atomic<bool> kNeverStop{false};

inline void no_progress(const run::CaseResult&, std::size_t, std::size_t) {}

inline void run_at(test::Behaviour store, Session& session) {
  test::FakeEndpoint endpoint({.behaviour = std::move(store)});
  run_rounds(session, endpoint, no_progress, kNeverStop);
}

// "saved.nx fixed"
inline std::vector<std::string> outcomes(const Session& session) {
  std::vector<std::string> out;
  for (const Replay& each : session.run.cases) {
    out.push_back(each.test_case->id + " " + std::string(name(each.outcome)));
  }
  return out;
}

// As it fails at this store, as lines of `recorded`.
inline std::string recorded_at(test::Behaviour store) {
  Session session = session_of({{"it.yaml", nx_case()}});
  run_at(std::move(store), session);
  std::string text = signature(session.run.cases.front().result.failure);
  for (std::size_t at = text.find('\''); at != std::string::npos; at = text.find('\'', at + 2)) {
    text.insert(at, "'");
  }
  return "    recorded:\n      by: hand  # me\n      # Seen once.\n      signature: '" + text +
         "'\n      seed: 7\n";
}

}  // namespace fencepost::replay
