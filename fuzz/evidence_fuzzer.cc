// Files of evidence: the input as the records of a frame, and as a file. What is read is written
// and read again the same; a damaged file is never more than what it was.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#ifdef FENCEPOST_FUZZ_FRAMES
#include "evidence/frame.h"
#endif
#include "evidence/record.h"

namespace {

using fencepost::evidence::Decoder;
using fencepost::evidence::Encoder;

// The records that can be read; each is the same after it was written again.
std::size_t check_records(std::string_view bytes) {
  Decoder decoder(bytes);
  Encoder encoder;
  std::size_t count = 0;
  while (const auto record = decoder.next()) {
    encoder.add(*record);
    ++count;
  }
  const std::string again = encoder.take();
  Decoder first(bytes);
  Decoder second(again);
  for (std::size_t i = 0; i < count; ++i) {
    const auto record = second.next();
    FENCEPOST_CHECK(record.has_value());
    FENCEPOST_CHECK(*record == *first.next());
  }
  FENCEPOST_CHECK(!second.next() && !second.failed());
  return count;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  FENCEPOST_CHECK(check_records(input) <= input.size());
#ifdef FENCEPOST_FUZZ_FRAMES
  fencepost::evidence::Frames frames(input);
  while (const auto records = frames.next()) check_records(*records);
  // A file of ours with the input in it is read as it was.
  std::string file(fencepost::evidence::kMagic);
  file += fencepost::evidence::make_frame(input);
  fencepost::evidence::Frames ours(file);
  const auto content = ours.next();
  FENCEPOST_CHECK(content.has_value());
  FENCEPOST_CHECK(*content == input);
#endif
  return 0;
}
