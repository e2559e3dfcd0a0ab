// Any bytes as a request, as command_decoder has them. The strict decoder and a naive one give the
// same verdict and the same arguments, which hiredis finds as well. What is accepted has one
// spelling; what it means survives being encoded again.
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "codec/command.h"
#include "codec/testing/naive_decoder.h"
#include "fuzz/input_reader.h"
#ifdef FENCEPOST_FUZZ_HIREDIS
#include "fuzz/hiredis_reader.h"
#endif

namespace {

using namespace fencepost::codec;

// What it means as a typed command, when these are its arguments.
void check_meaning(std::string_view input, const std::vector<std::string_view>& arguments) {
  const std::optional<Verb> verb = verb_of(input);
  const auto deployed = parse_command(input, dialect(DialectId::kDeployed));
  const auto documented = parse_command(input, dialect(DialectId::kDocumented));
  FENCEPOST_CHECK(!verb || name(*verb) == arguments.front());
  FENCEPOST_CHECK(!documented || documented == deployed);  // the deployed dialect takes more
  if (deployed) {
    FENCEPOST_CHECK(deployed->verb == verb);
    FENCEPOST_CHECK(parse_command(encode(*deployed), dialect(DialectId::kDocumented)) == deployed);
  } else {
    FENCEPOST_CHECK(!verb == (deployed.error() == ErrorCode::kUnknownCommand));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fencepost::fuzz::as_text(data, size);
  const auto arguments = naive::read_command(input);
  FENCEPOST_CHECK(naive::agree(decode_command(input), arguments));
  if (!arguments) {
    const auto command = parse_command(input, dialect(DialectId::kDeployed));
    FENCEPOST_CHECK(!command && command.error() == ErrorCode::kSyntax && !verb_of(input));
    return 0;
  }
  check_meaning(input, *arguments);
  FENCEPOST_CHECK(encode_command(*arguments) == input);
#ifdef FENCEPOST_FUZZ_HIREDIS
  FENCEPOST_CHECK(fencepost::fuzz::hiredis_reads(input, *arguments));
#endif
  return 0;
}
