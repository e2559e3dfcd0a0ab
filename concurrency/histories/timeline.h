// A history and its verdicts as one self-contained page of HTML: a timeline of the clients, on
// which the operations of each finding are marked.
//
//   Timeline timeline(verdicts, events.size());  // what Checker::finish() has said
//   for (const history::Event& event : events) timeline.add(event);  // as the checker got them
//   const std::string page = timeline.html({.source = "run.jsonl"}, catalogue);
//
// The history may be handed over as it is read from a file, see history_input.h: of a long one only
// a part is kept, that around the findings. Not thread safe.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "concurrency/history/checker.h"
#include "suite/scenario/requirement.h"

namespace fencepost::histories {

struct TimelineHead {
  std::string source{};  // of the history: a file, an endpoint
  bool counts_lines = false;
  // Below the verdict, name and value: seed, workload, duration.
  std::vector<std::pair<std::string, std::string>> facts{};
  // What and how: "Judge again", "fencepost check run.jsonl".
  std::vector<std::pair<std::string, std::string>> commands{};
  // What is wrong with the history as a whole, or cannot be decided; never kOk.
  std::vector<history::Verdict> whole{};
  std::size_t more_ok = 0;  // keys without a verdict of their own, because they are ok
};

struct TimelineLimits {
  std::size_t operations = 200'000;    // on the page
  std::size_t notifications = 50'000;  // on the page
  std::size_t findings = 200;          // violations and unknown keys, violations first
  std::size_t bytes = 256;             // of one value
};

class Timeline {
 public:
  // `operations`: as many as add() will be given, or more.
  Timeline(const std::vector<history::KeyVerdict>& verdicts, std::size_t operations,
           const TimelineLimits& limits = {});

  void add(const history::Event& event);

  [[nodiscard]] std::string html(const TimelineHead& head,
                                 const scenario::Catalogue& catalogue) const;

 private:
  [[nodiscard]] bool wanted(history::Index number) const;

  TimelineLimits limits_;
  std::vector<history::KeyVerdict> findings_{};  // not ok
  std::size_t ok_ = 0;
  std::size_t violations_ = 0;
  std::size_t unknown_ = 0;
  std::size_t total_;
  // Numbers of operations: what is kept, from and to (not including).
  std::vector<std::pair<std::size_t, std::size_t>> kept_{};
  std::set<history::Index> named_{};  // by findings: kept wherever they are
  history::Index next_ = 0;
  std::vector<std::pair<history::Index, history::Operation>> operations_{};
  std::vector<history::Notification> notifications_{};
  std::vector<history::Connection> connections_{};
  std::vector<history::Disturbance> marks_{};         // of all clients
  std::vector<history::Disturbance> disturbances_{};  // of known clients
};

}  // namespace fencepost::histories
