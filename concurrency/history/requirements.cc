#include "concurrency/history/requirements.h"

#include <algorithm>
#include <array>

namespace fencepost::history {
namespace {

constexpr std::array<std::string_view, 39> kJudged = {
    "DEL-COUNT-1",       "DEL-MISS-1",    "DEL-OK-1",      "DEL-REMOVE-1",  "ENV-ORDER-OPEN-2",
    "ERR-STATE-1",       "FT-ACCEPT-1",   "FT-LOWER-1",    "FT-LOWER-2",    "FT-LOWER-3",
    "FT-OPTIONAL-1",     "FT-REQUIRED-1", "FT-REQUIRED-2", "FT-REQUIRED-3", "GET-HIT-3",
    "NTF-SEND-1",        "NTF-SEND-2",    "NTF-SEND-3",    "NTF-SEND-4",    "NTF-STOP-1",
    "NTF-VALUE-1",       "NTF-VERSION-3", "SET-NEX-1",     "SET-NEX-2",     "SET-NEX-3",
    "SET-NOT-APPLIED-2", "SET-NX-1",      "SET-NX-2",      "SET-PX-1",      "SET-PX-2",
    "SET-PX-4",          "SET-WRITE-1",   "SET-WRITE-2",   "VDEL-MATCH-1",  "VDEL-MISMATCH-1",
    "VDEL-MISS-1",       "VER-GET-2",     "VER-SET-2",     "VER-UPDATE-3"};

}  // namespace

std::span<const std::string_view> judged_requirements() { return kJudged; }

bool is_judged_by_histories(std::string_view requirement) {
  return std::binary_search(kJudged.begin(), kJudged.end(), requirement);
}

}  // namespace fencepost::history
