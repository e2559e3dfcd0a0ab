#include "fuzz/judged_store.h"

#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "fuzz/input_reader.h"
#include "suite/scenario/binding.h"
#include "suite/scenario/library.h"
#include "traffic/search/judged_run.h"
#include "workload/enumeration.h"
#include "workload/trace_text.h"

namespace fencepost::fuzz {
namespace {

judge::OracleBasis basis_of(codec::DialectId dialect) {
  std::vector<scenario::LoadError> errors;
  const scenario::Library library = scenario::load_library(scenario::built_in_files(), errors);
  FENCEPOST_CHECK(errors.empty());
  return {.waived = scenario::unsettled(library.catalogue, {{dialect, scenario::Edition::kGa}}),
          .dialect = dialect};
}

std::string explained(const search::Rejection& rejection, const workload::Trace& trace) {
  return "operation " + std::to_string(rejection.operation) + ": " +
         std::string(rejection.judgement.requirement) + ": " + rejection.judgement.because +
         "\nsent " + (rejection.request ? escape(rejection.request->payload) : "nothing") +
         "\ngot " + (rejection.reply ? escape(rejection.reply->payload) : "nothing") + "\n" +
         workload::to_text(trace);
}

}  // namespace

std::optional<std::string> judged(const workload::Trace& trace, codec::DialectId dialect,
                                  endpoint::MakeStore make_store) {
  static const judge::OracleBasis documented = basis_of(codec::DialectId::kDocumented);
  static const judge::OracleBasis deployed = basis_of(codec::DialectId::kDeployed);
  endpoint::InProcessOptions options{.make_store = std::move(make_store)};
  options.service.dialect = dialect;
  const auto endpoint = endpoint::make_in_process_endpoint(std::move(options));
  const auto session = endpoint->open_session();
  FENCEPOST_CHECK(session);
  search::JudgedRunOptions how;
  how.oracle.clock = {.low_ms = -1, .high_ms = 1};
  how.oracle.basis = dialect == codec::DialectId::kDocumented ? documented : deployed;
  const search::JudgedRun run = search::run_judged(**session, trace, how);
  FENCEPOST_CHECK(!run.lost);
  if (!run.rejection) return std::nullopt;
  return explained(*run.rejection, trace);
}

workload::Trace request_sequence(const std::uint8_t* data, std::size_t size) {
  InputReader input(data, size);
  workload::Trace out = input.pick(workload::states_of_a_key());
  const workload::Trace& requests = workload::all_requests();
  while (!input.at_end()) {
    const std::size_t low = input.byte();
    out.push_back(requests[(low | std::size_t{input.byte()} << 8U) % requests.size()]);
  }
  return workload::distinguished(std::move(out));
}

}  // namespace fencepost::fuzz

// What is loaded once is no part of what the first input reaches.
extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  using namespace fencepost;
  FENCEPOST_CHECK(!fuzz::judged(fuzz::request_sequence(nullptr, 0), codec::DialectId::kDeployed));
  return 0;
}
