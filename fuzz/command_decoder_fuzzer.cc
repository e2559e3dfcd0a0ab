// Any bytes as a request, decoded and no more, as fast as can be: what is accepted has one
// spelling, and a verb. command_decoder_differential asks others.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "codec/command.h"
#include "fuzz/input_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fencepost::codec;
  const std::string_view input = fencepost::fuzz::as_text(data, size);
  const auto frame = decode_command(input);
  if (!frame) {
    FENCEPOST_CHECK(frame.error().offset <= size);
    return 0;
  }
  static std::string again;  // allocates once
  again.clear();
  append_array_header(again, frame->count);
  for (std::size_t i = 0; i < frame->count && i < CommandFrame::kStored; ++i) {
    append_bulk(again, frame->arguments[i]);
  }
  FENCEPOST_CHECK(frame->count <= CommandFrame::kStored ? input == again
                                                        : input.starts_with(again));
  const auto command = parse_command(input, dialect(DialectId::kDeployed));
  FENCEPOST_CHECK(!command || (command->key == frame->arguments[1] && !command->key.empty() &&
                               name(command->verb) == frame->arguments[0]));
  return 0;
}
