// Any text as a descriptor: it is loaded, or what is wrong with it is said, with a place that is in
// the text; loaded again it is the same. (It asks the environment and the file system whether what
// a descriptor names is there, and changes neither.)
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.h"
#include "endpoint/url.h"
#include "fuzz/input_reader.h"
#include "fuzz/load_errors.h"
#include "suite/target/descriptor.h"

using namespace fencepost;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fencepost::fuzz::as_text(data, size));
  std::vector<scenario::LoadError> errors;
  const auto descriptor = target::load_descriptor({"file.yaml", text}, errors);
  FENCEPOST_CHECK(descriptor.has_value() == errors.empty());
  fencepost::fuzz::check_places(errors, text);
  std::vector<scenario::LoadError> again;
  const auto twice = target::load_descriptor({"file.yaml", text}, again);
  FENCEPOST_CHECK(twice.has_value() == descriptor.has_value() && again.size() == errors.size());
  if (!descriptor) return 0;
  FENCEPOST_CHECK(twice->url == descriptor->url && twice->profile == descriptor->profile);
  FENCEPOST_CHECK(secrets_of(*twice) == secrets_of(*descriptor));
  const auto url = fencepost::endpoint::parse_url(descriptor->url);
  FENCEPOST_CHECK(url && fencepost::endpoint::parse_url(url->display()).has_value());
  return 0;
}
