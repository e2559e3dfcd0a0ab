// A history of concurrent requests, judged: as a screen, as JSON (docs/check.schema.json) and as
// JUnit. `timeline.h` has the page. Used by `fencepost check` and `fencepost stress`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "concurrency/history/checker.h"
#include "suite/scenario/requirement.h"

namespace fencepost::histories {

// The requirement of a violation in a log of another harness, which knows no rules of a store.
inline constexpr std::string_view kNotLinearizable = "not linearizable";

struct CheckedHistory {
  std::string file{};
  std::optional<std::string> initial{};  // of registers, in a log of another harness
  std::size_t operations = 0;
  std::size_t without_reply = 0;  // of the operations
  std::size_t refused = 0;        // with an error that is not of fencing
  std::size_t notifications = 0;
  std::set<std::uint32_t> clients{};
  bool counts_lines = false;  // of another harness: times are numbers of lines
  bool cut = false;           // the last line was not complete
  double seconds = 0;         // for judging
  history::ClockObservation clock{};
  history::OrderObservation order{};
  std::vector<history::KeyVerdict> keys{};
  // What is wrong with the history as a whole, or cannot be decided; never kOk. May be empty.
  std::vector<history::Verdict> whole{};

  // The number of keys with this verdict.
  [[nodiscard]] std::size_t count(history::Answer answer) const;
};

// "SET \"a\" NX __ft 1:0:n"
[[nodiscard]] std::string request_text(const history::Operation& operation);
// "ok  version 1:0:n", "no response (time-out)"
[[nodiscard]] std::string reply_text(const history::Operation& operation);

// "no order of these requests explains the answers", and what the values alone say; empty where a
// violation is not about order.
[[nodiscard]] std::string values_text(const history::Verdict& verdict);

// Is there a key whose requests no order explains?
[[nodiscard]] bool is_not_linearizable(const std::vector<history::KeyVerdict>& keys);

// The operations of a violation, a line each, in the order of their calls. `counts_lines`: as
// above.
[[nodiscard]] std::vector<std::string> counter_example_lines(const history::Verdict& verdict,
                                                             bool counts_lines);

// For the screen: a key that is not ok; at most `most` of them; the history as a whole.
[[nodiscard]] std::string finding_text(const CheckedHistory& checked,
                                       const history::KeyVerdict& key,
                                       const scenario::Catalogue& catalogue);
[[nodiscard]] std::string findings_text(const CheckedHistory& checked,
                                        const scenario::Catalogue& catalogue, std::size_t most);
[[nodiscard]] std::string checked_text(const CheckedHistory& checked,
                                       const scenario::Catalogue& catalogue);

[[nodiscard]] nlohmann::ordered_json to_json(const CheckedHistory& checked);
// One of its keys.
[[nodiscard]] nlohmann::ordered_json to_json(const history::KeyVerdict& key);

// One suite for each history, one test for each key; what is unknown is an error. If many keys
// are ok, one test stands for all of them. `started`: in ISO 8601.
[[nodiscard]] std::string junit(const std::vector<CheckedHistory>& all,
                                const scenario::Catalogue& catalogue, const std::string& started);

}  // namespace fencepost::histories
