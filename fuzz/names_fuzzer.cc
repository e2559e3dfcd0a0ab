// Any text as one of the names that scenarios and reports use, as the text of an error, and as a
// client id: what is found is named like that, and nothing else is. Every error has its sentence.
#include <algorithm>
#include <string>
#include <string_view>

#include "base/check.h"
#include "codec/dialect.h"
#include "codec/error_code.h"
#include "codec/resp3.h"
#include "codec/topics.h"
#include "fuzz/input_reader.h"

using namespace fencepost::codec;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fencepost::fuzz::as_text(data, size);
  const auto is_named = [&](const auto& each) { return name(each) == input; };
  const auto code = error_named(input);
  FENCEPOST_CHECK(code ? name(*code) == input
                       : std::none_of(kErrorCodes.begin(), kErrorCodes.end(), is_named));
  const auto divergence = divergence_named(input);
  FENCEPOST_CHECK(divergence ? name(*divergence) == input
                             : std::none_of(kDivergences.begin(), kDivergences.end(), is_named));
  const auto spelling = dialect_named(input);
  FENCEPOST_CHECK(!spelling || dialect(*spelling).name == input);
  FENCEPOST_CHECK(spelling.has_value() == (input == "documented" || input == "deployed"));

  const auto error = error_with_text(input);
  const auto is_text = [&](ErrorCode each) {
    return text(each, dialect(DialectId::kDocumented)) == input ||
           text(each, dialect(DialectId::kDeployed)) == input;
  };
  FENCEPOST_CHECK(error ? is_text(*error)
                        : std::none_of(kErrorCodes.begin(), kErrorCodes.end(), is_text));

  const auto failure = static_cast<DecodeErrorCode>(size % 12);  // one of all codes
  const std::string description = describe({failure, size});
  FENCEPOST_CHECK(description.ends_with(", at offset " + std::to_string(size)));
  FENCEPOST_CHECK(!description.starts_with("unknown"));

  const std::string topic = recommended_response_topic(input);
  const bool bad = input.find_first_of(std::string_view("+#\0", 3)) != std::string_view::npos;
  const bool ours = topic.starts_with(kStorePrefix);  // for a client id made for it
  FENCEPOST_CHECK(response_topic_fault(topic).has_value() == (bad || ours));
  return 0;
}
