// Any bytes as a conforming store and a trace of operations: regardless of what the store decides
// at the points that the documents leave open, the oracle of explore rejects nothing that it does.
//
// Input: eight bytes, least significant first, that choose the decisions, and in their lowest bit
// the dialect; then a trace (workload/trace_bytes.h).
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "codec/dialect.h"
#include "endpoint/in_process.h"
#include "reference_store/variants/choices.h"
#include "reference_store/variants/variant_store.h"
#include "suite/scenario/binding.h"
#include "suite/scenario/library.h"
#include "traffic/search/judged_run.h"
#include "workload/trace_bytes.h"
#include "workload/trace_text.h"

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

// What `explore --profile P --edition ga` judges by.
judge::OracleBasis basis_of(codec::DialectId dialect) {
  std::vector<scenario::LoadError> errors;
  const scenario::Library library = scenario::load_library(scenario::built_in_files(), errors);
  FENCEPOST_CHECK(errors.empty());
  return {.waived = scenario::unsettled(library.catalogue, {{dialect, scenario::Edition::kGa}}),
          .dialect = dialect};
}

void explain(const search::Rejection& rejection, const workload::Trace& trace,
             const store::Decisions& decisions) {
  std::fprintf(stderr, "operation %zu: %s: %s\nsent %s\ngot %s\n%s\n%s\n", rejection.operation,
               std::string(rejection.judgement.requirement).c_str(),
               rejection.judgement.because.c_str(), escape(rejection.request.payload).c_str(),
               rejection.reply ? escape(rejection.reply->payload).c_str() : "nothing",
               workload::to_text(trace).c_str(), store::to_text(decisions).c_str());
}

}  // namespace
}  // namespace fencepost

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace fencepost;
  static const judge::OracleBasis documented = basis_of(codec::DialectId::kDocumented);
  static const judge::OracleBasis deployed = basis_of(codec::DialectId::kDeployed);
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::uint64_t seed = seed_of(bytes);
  const workload::Trace trace = workload::decode_trace(bytes.substr(std::min(size, kSeedBytes)));
  const bool by_article = seed % 2 == 0;
  const store::Decisions decisions = store::random_decisions(seed, by_article);

  endpoint::InProcessOptions options;
  options.service.dialect =
      by_article ? codec::DialectId::kDocumented : codec::DialectId::kDeployed;
  options.make_store = store::make_variant(decisions);
  const auto endpoint = endpoint::make_in_process_endpoint(std::move(options));
  const auto session = endpoint->open_session();
  FENCEPOST_CHECK(session);
  search::JudgedRunOptions judged;
  judged.oracle.clock = {.low_ms = -1, .high_ms = 1};
  judged.oracle.basis = by_article ? documented : deployed;
  const search::JudgedRun run = search::run_judged(**session, trace, judged);
  if (run.rejection) explain(*run.rejection, trace, decisions);
  FENCEPOST_CHECK(!run.rejection);
  FENCEPOST_CHECK(!run.lost);
  return 0;
}
