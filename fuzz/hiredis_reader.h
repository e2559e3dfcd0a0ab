// What hiredis, a reader of RESP in wide use, makes of a request. It takes more than the protocol
// allows (nulls, integers, malformed line ends), so it can only say of a request that we have
// accepted whether the arguments are the same.
#pragma once

#include <string_view>
#include <vector>

namespace fencepost::fuzz {

// Does hiredis read `input` as one array of these bulk strings, and nothing after it? False, too,
// when it reads none.
[[nodiscard]] bool hiredis_reads(std::string_view input,
                                 const std::vector<std::string_view>& arguments);

}  // namespace fencepost::fuzz
