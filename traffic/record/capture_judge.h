// Judges captured traffic: which answers does no conforming store give? Pure.
#pragma once

#include <string>
#include <vector>

#include "suite/judge/oracle.h"
#include "traffic/record/capture.h"
#include "traffic/record/capture_timeline.h"

namespace fencepost::record {

// One for each item of the timeline; that of what cannot be judged is accepted.
[[nodiscard]] std::vector<judge::Judgement> judge(const Capture& capture, const Timeline& timeline);

// "client a, SET k": escaped, for people.
[[nodiscard]] std::string describe(const TimelineItem& item);

}  // namespace fencepost::record
