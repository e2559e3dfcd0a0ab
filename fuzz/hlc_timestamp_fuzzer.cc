// Three lines as timestamps. Each is read, or refused, as by a second reader that knows no numbers.
// The order of what that reads is one of texts, so a strict total one, and ours must be the same.
#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "fuzz/input_reader.h"
#include "hlc/hlc.h"
#include "hlc/testing/naive_hlc.h"

using namespace fencepost::hlc;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = fencepost::fuzz::as_text(data, size);
  std::array<naive::Padded, 3> theirs{};
  std::array<Timestamp, 3> ours{};
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const auto padded = naive::read(line);
    const auto parsed = parse(line);
    FENCEPOST_CHECK(parsed.has_value() == padded.has_value());
    FENCEPOST_CHECK(parsed || describe(parsed.error()) != "unknown");
    if (!parsed) return 0;
    for (const Padding padding : {Padding::kNone, Padding::kCanonical}) {
      const std::string formatted = format(*parsed, padding);
      FENCEPOST_CHECK(formatted == naive::spelled(*padded, padding));
      FENCEPOST_CHECK(parse(formatted) == *parsed);
    }
    theirs[i] = *padded;
    ours[i] = *parsed;
  }
  for (std::size_t i = 0; i < ours.size(); ++i) {
    for (std::size_t j = 0; j < ours.size(); ++j) {
      FENCEPOST_CHECK((ours[i] <=> ours[j]) == (theirs[i] <=> theirs[j]));
      FENCEPOST_CHECK((ours[i] == ours[j]) == (theirs[i] == theirs[j]));
    }
  }
  return 0;
}
