// Any bytes as a conforming store and a trace of operations: regardless of what the store decides
// at the points that the documents leave open, the oracle of explore rejects nothing that it does.
//
// Input: eight bytes, least significant first, that choose the decisions, and in their lowest bit
// the dialect; then a trace (workload/trace_bytes.h).
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "fuzz/judged_store.h"
#include "reference_store/variants/choices.h"
#include "reference_store/variants/variant_store.h"
#include "workload/trace_bytes.h"

namespace fencepost {
namespace {

constexpr std::size_t kSeedBytes = sizeof(std::uint64_t);

std::uint64_t seed_of(std::string_view bytes) {
  std::uint64_t seed = 0;
  for (std::size_t i = 0; i < std::min(bytes.size(), kSeedBytes); ++i) {
    seed |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return seed;
}

}  // namespace
}  // namespace fencepost

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fencepost;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::uint64_t seed = seed_of(bytes);
  const workload::Trace trace = workload::decode_trace(bytes.substr(std::min(size, kSeedBytes)));
  const bool by_article = seed % 2 == 0;
  const store::Decisions decisions = store::random_decisions(seed, by_article);

  const std::optional<std::string> rejection =
      fuzz::judged(trace, by_article ? codec::DialectId::kDocumented : codec::DialectId::kDeployed,
                   store::make_variant(decisions));
  if (rejection) {
    std::fprintf(stderr, "%s%s\n", rejection->c_str(), store::to_text(decisions).c_str());
  }
  FENCEPOST_CHECK(!rejection);
  return 0;
}
