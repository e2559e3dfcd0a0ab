// Runs tshark (Debian: tshark) over a packet capture.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fencepost::record {

// Calls `use` with what `tshark -n -r FILE WORDS...` prints, piece by piece, to its end. The error
// says that the file is no capture, that tshark is not there, or what it has complained about.
[[nodiscard]] Result<void, std::string> run_tshark(
    const std::string& file, const std::vector<std::string>& words,
    const std::function<void(std::string_view)>& use);

}  // namespace fencepost::record
