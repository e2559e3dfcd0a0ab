// One case of a scenario file from a part of a timeline. See capture_scenario.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "suite/scenario/scenario.h"
#include "traffic/record/capture.h"
#include "traffic/record/capture_scenario.h"
#include "traffic/record/capture_timeline.h"

namespace fencepost::record {

struct CapturedStep {
  const TimelineItem* item = nullptr;
  std::string flagged{};  // "broke SET-NX-2: because"; empty: a conforming store may do this
};

struct CapturedCase {
  std::optional<scenario::Case> test_case{};  // nothing: there is nothing in it that can fail
  std::vector<std::string> comments{};        // for readers of the file
  std::vector<std::string> notes{};           // what could not be written
};

// `offset_ms`: the store's clock minus that of the capture. `number` distinguishes cases that would
// be called the same.
struct CaseSettings {
  std::int64_t offset_ms = 0;
  std::size_t number = 1;
};

[[nodiscard]] CapturedCase captured_case(const Capture& capture,
                                         const std::vector<CapturedStep>& steps,
                                         const CaptureOptions& options,
                                         const CaseSettings& settings);

}  // namespace fencepost::record
