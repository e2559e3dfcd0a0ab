// The text of a timestamp behind what a string holds already: without an allocation where there is
// room for it. For those who write one with each request.
#pragma once

#include <string>

#include "hlc/hlc.h"

namespace fencepost::hlc {

// Appends what format() returns. (Req: HLC-PARSE-1)
void append(std::string& out, const Timestamp& timestamp, Padding padding = Padding::kCanonical);

}  // namespace fencepost::hlc
