// What happens in a part of a capture, in one line and in a word of an id, so that a list of cases
// can be read. Pure and thread safe.
#pragma once

#include <string>
#include <vector>

#include "traffic/record/capture_timeline.h"

namespace fencepost::record {

struct CaptureTitle {
  // "SET NX PX (not applied), VDEL and a notification of DEL: one key, 2 clients"
  std::string text{};
  std::string slug{};  // "set-nx-px.vdel": may be a part of an id; never empty
};

[[nodiscard]] CaptureTitle title_of(const std::vector<const TimelineItem*>& items);

}  // namespace fencepost::record
