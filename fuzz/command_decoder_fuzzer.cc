// Any bytes as a request. The strict decoder and a naive one give the same verdict and the same
// arguments, which hiredis finds as well. Of what is accepted there is one spelling; what it means
// survives being encoded again.
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "codec/command.h"
#include "codec/naive_decoder.h"
#include "fuzz/input_reader.h"
#ifdef FENCEPOST_FUZZ_HIREDIS
#include "fuzz/hiredis_reader.h"
#endif

namespace {

using namespace fencepost::codec;

// What it means as a typed command, when its arguments are known.
void check_meaning(std::string_view input, const std::vector<std::string_view>* arguments) {
  const std::optional<Verb> verb = verb_of(input);
  FENCEPOST_CHECK(!verb || name(*verb) == arguments->front());
  for (const DialectId id : kDialects) {
    const auto command = parse_command(input, dialect(id));
    if (command) {
      FENCEPOST_CHECK(command->verb == verb);
      FENCEPOST_CHECK(parse_command(encode(*command), dialect(id)) == command);
      FENCEPOST_CHECK(parse_command(input, dialect(DialectId::kDeployed)) == command);
    } else {
      // Not decodable is a syntax error, and no verb is an unknown command.
      FENCEPOST_CHECK(arguments != nullptr || command.error() == ErrorCode::kSyntax);
      FENCEPOST_CHECK((arguments != nullptr && !verb) ==
                      (command.error() == ErrorCode::kUnknownCommand));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fencepost::fuzz::as_text(data, size);
  const auto arguments = naive::read_command(input);
  FENCEPOST_CHECK(naive::agree(decode_command(input), arguments));
  check_meaning(input, arguments ? &*arguments : nullptr);
  if (!arguments) return 0;
  FENCEPOST_CHECK(encode_command(*arguments) == input);
#ifdef FENCEPOST_FUZZ_HIREDIS
  FENCEPOST_CHECK(fencepost::fuzz::hiredis_reads(input, *arguments));
#endif
  return 0;
}
