// The oracle and the Store agree: for all requests, the oracle accepts what a conforming store
// does, regardless of its clock; and it rejects, on some trace, what a faulty one does.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/gate.h"
#include "codec/dialect.h"
#include "endpoint/in_process.h"
#include "reference_store/faults/fault.h"
#include "reference_store/variants/choices.h"
#include "reference_store/variants/variant_store.h"
#include "suite/scenario/binding.h"
#include "suite/testing/built_in_library.h"
#include "traffic/search/explore.h"
#include "traffic/search/judged_run.h"
#include "traffic/search/seed_traces.h"
#include "workload/trace_text.h"

namespace fencepost::judge {
namespace {

const std::size_t kTraces = all_or_in_gate<std::size_t>(4'000, 500);
const std::size_t kConformingStores = all_or_in_gate<std::size_t>(400, 50);
constexpr std::size_t kCorpusStores = 50;
constexpr std::size_t kTracesOfAFault = 40'000;
constexpr std::size_t kOperations = 40;  // of a trace
constexpr std::uint64_t kSeed = 1;
constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
constexpr std::uint64_t kSeeds = 3;  // of which the median counts

// What `explore --profile P --edition W` judges by.
OracleBasis basis_of(codec::DialectId dialect, scenario::Edition edition) {
  return {
      .waived = scenario::unsettled(test::built_in_requirements().catalogue, {{dialect, edition}}),
      .dialect = dialect};
}
const OracleBasis& by_deployed() {
  static const OracleBasis basis = basis_of(codec::DialectId::kDeployed, scenario::Edition::kGa);
  return basis;
}
const OracleBasis& by_article() {
  static const OracleBasis basis = basis_of(codec::DialectId::kDocumented, scenario::Edition::kGa);
  return basis;
}
const OracleBasis& by_preview() {
  static const OracleBasis basis =
      basis_of(codec::DialectId::kDocumented, scenario::Edition::kPreview);
  return basis;
}

search::JudgedRun run_in_process(const workload::Trace& trace, codec::DialectId dialect,
                                 const store::Fault* fault,
                                 std::chrono::milliseconds clock_offset = {},
                                 const store::Decisions* decisions = nullptr,
                                 const OracleBasis& basis = {}) {
  endpoint::InProcessOptions options{.service = {.dialect = dialect}};
  if (fault != nullptr) {
    options.make_store = [fault](const store::ServiceOptions& service) {
      return fault->make(service, 1);
    };
  }
  if (decisions != nullptr) {
    options.make_store = [decisions](const store::ServiceOptions& service) {
      return std::make_unique<store::VariantStore>(service, *decisions);
    };
  }
  options.conditions.clock_offset = clock_offset;
  const auto endpoint = endpoint::make_in_process_endpoint(std::move(options));
  auto session = endpoint->open_session();
  EXPECT_TRUE(session);
  search::JudgedRunOptions judged;
  std::int64_t offset = clock_offset.count();
  if (fault != nullptr && fault->name == "clock-ahead") offset = 55'000;
  if (fault != nullptr && fault->name == "clock-behind") offset = -600'000;
  judged.oracle.clock = {.low_ms = offset - 1, .high_ms = offset + 1};
  judged.oracle.basis = basis;
  return run_judged(**session, trace, judged);
}

std::string describe(const search::JudgedRun& run, const workload::Trace& trace) {
  if (!run.rejection) return {};
  const search::Rejection& rejection = *run.rejection;
  const codec::Message request = rejection.request.value_or(codec::Message{});
  std::string properties;
  for (const auto& [key, value] : request.user_properties) {
    properties += fmt::format(" {}={}", key, escape(value));
  }
  return fmt::format("operation {}: {}: {}\n{}{}\n{}", rejection.operation,
                     rejection.judgement.requirement, rejection.judgement.because,
                     escape(request.payload), properties, workload::to_text(trace));
}

// The documents by which the store is right.
const OracleBasis* basis_for(const store::Fault* store, codec::DialectId dialect) {
  static const OracleBasis any;
  if (store != nullptr && store->right_by == store::RightBy::kArticle) return &by_article();
  if (store != nullptr && store->right_by == store::RightBy::kPreview) return &by_preview();
  // One form of the other dialect.
  const bool mixed = store != nullptr && (store->id == "B14" || store->id == "B15");
  if (mixed) return &any;
  return dialect == codec::DialectId::kDocumented ? &by_article() : &by_deployed();
}

void expect_accepted(const store::Fault* store, std::size_t traces) {
  std::size_t requests = 0;
  std::size_t undecidable = 0;
  for (std::uint64_t seed = 1; seed <= traces && !testing::Test::HasFailure(); ++seed) {
    const workload::Trace trace = search::example_of(kSeed, seed, kOperations);
    const bool by_article_alone = store != nullptr && store->right_by != store::RightBy::kAll;
    const codec::DialectId dialect =
        by_article_alone ? codec::DialectId::kDocumented : codec::kDialects[seed % 2];
    std::chrono::milliseconds offset{0};
    if (store == nullptr) offset = std::chrono::seconds{20} * (static_cast<int>(seed % 7) - 3);
    const bool strict = store != nullptr && store->right_by == store::RightBy::kAll;
    const OracleBasis basis = strict && seed % 4 < 2 ? OracleBasis{} : *basis_for(store, dialect);
    const search::JudgedRun run = run_in_process(trace, dialect, store, offset, nullptr, basis);
    requests += run.requests;
    undecidable += run.undecidable;
    EXPECT_FALSE(run.lost) << run.lost->text;
    EXPECT_FALSE(run.rejection) << "seed " << seed << " " << (store ? store->name : "") << "\n"
                                << describe(run, trace);
  }
  fmt::print("{}: {} traces, {} requests, {} of them undecidable\n",
             store ? store->name : "the reference store", traces, requests, undecidable);
}

TEST(OracleProp, AcceptsWhatTheStoreDoes) { expect_accepted(nullptr, kTraces); }

TEST(OracleProp, AcceptsWhatIsUnusualAndRight) {
  for (const store::Fault& variant : store::faults()) {
    if (variant.kind != store::FaultKind::kBenign || variant.needs == store::FaultNeeds::kDirect) {
      continue;
    }
    const bool by_all = variant.right_by == store::RightBy::kAll;
    expect_accepted(&variant, by_all ? kTraces / 40 : kTraces / 4);
    if (HasFailure()) return;
  }
}

// Each decides the unspecified points, and the order of its checks, in a way of its own. (Req:
// *-OPEN-*)
TEST(OracleProp, AcceptsRightStoresThatDecideOtherwise) {
  std::size_t requests = 0;
  for (std::uint64_t seed = 1; seed <= kConformingStores && !HasFailure(); ++seed) {
    const codec::DialectId dialect = codec::kDialects[seed % 2];
    const store::Decisions decisions =
        store::random_decisions(seed, dialect == codec::DialectId::kDocumented);
    for (std::uint64_t i = 0; i < kTraces / kConformingStores; ++i) {
      const std::uint64_t example = seed * 1'000 + i;
      const workload::Trace trace = search::example_of(kSeed, example, kOperations);
      const bool article = dialect == codec::DialectId::kDocumented;
      const search::JudgedRun run = run_in_process(trace, dialect, nullptr, {}, &decisions,
                                                   article ? by_article() : by_deployed());
      requests += run.requests;
      EXPECT_FALSE(run.rejection) << "right=" << seed << " example " << example << "\n"
                                  << describe(run, trace) << store::to_text(decisions);
    }
  }
  fmt::print("{} conforming stores, {} requests\n", kConformingStores, requests);
}

// The traces that people have written, which are the corpus of the fuzz targets too.
TEST(OracleProp, AcceptsRightStoresOnTheCorpus) {
  for (std::uint64_t seed = 1; seed <= kCorpusStores && !HasFailure(); ++seed) {
    const codec::DialectId dialect = codec::kDialects[seed % 2];
    const bool article = dialect == codec::DialectId::kDocumented;
    const store::Decisions decisions = store::random_decisions(seed, article);
    for (const workload::Trace& trace : search::seed_traces()) {
      const search::JudgedRun run = run_in_process(trace, dialect, nullptr, {}, &decisions,
                                                   article ? by_article() : by_deployed());
      EXPECT_FALSE(run.rejection) << "right=" << seed << "\n"
                                  << describe(run, trace) << store::to_text(decisions);
    }
  }
}

// The first rules that the oracle finds broken, trace by trace.
std::set<std::string> rejections(std::string_view fault, codec::DialectId dialect,
                                 const OracleBasis& basis) {
  std::set<std::string> out;
  for (std::size_t example = 1; example <= kTraces / 16; ++example) {
    const search::JudgedRun run =
        run_in_process(search::example_of(kSeed, example, kOperations), dialect,
                       store::find_fault(fault), {}, nullptr, basis);
    if (run.rejection) out.insert(run.rejection->judgement.requirement);
  }
  return out;
}

// A store owes what is required by the documents that it is judged by, and no more.
TEST(OracleBasis, DecidesWhatTheStoreOwes) {
  constexpr auto kDocumented = codec::DialectId::kDocumented;
  constexpr auto kDeployed = codec::DialectId::kDeployed;
  EXPECT_EQ(rejections("what-the-article-prints", kDeployed, by_deployed()),
            std::set<std::string>{"ENV-STATUS-1"});
  const std::set<std::string> versions = {"NTF-VERSION-1", "NTF-VERSION-2"};
  EXPECT_EQ(rejections("what-the-preview-prints", kDocumented, by_article()), versions);
  for (const auto& [fault, rule] : std::vector<std::pair<std::string, std::string>>{
           {"no-status", "ENV-STATUS-1"},
           {"content-type-of-text", "ENV-CONTENT-TYPE-1"},
           {"missing-key-has-a-version", "VER-MISS-1"},
           {"set-without-value", "NTF-VALUE-3"}}) {
    EXPECT_EQ(rejections(fault, kDeployed, by_deployed()), std::set<std::string>{rule}) << fault;
    EXPECT_EQ(rejections(fault, kDocumented, by_article()), std::set<std::string>{}) << fault;
  }
}

TEST(OracleBasis, DecidesHowTheStoreSpellsThings) {
  constexpr auto kDocumented = codec::DialectId::kDocumented;
  constexpr auto kDeployed = codec::DialectId::kDeployed;
  const std::set<std::string> spelled = {"SET-NOT-APPLIED-1", "VDEL-MISMATCH-2", "NTF-DEL-1",
                                         "ERR-TEXT-4", "NTF-ERROR-1"};
  for (const auto& [dialect, basis] :
       {std::pair{kDocumented, &by_deployed()}, std::pair{kDeployed, &by_article()}}) {
    const std::set<std::string> seen = rejections("notifications-of-qos-0", dialect, *basis);
    EXPECT_TRUE(seen.contains("SET-NOT-APPLIED-1"));
    EXPECT_TRUE(seen.contains("NTF-DEL-1"));
    for (const std::string& rule : seen) EXPECT_TRUE(spelled.contains(rule)) << rule;
  }
}

// What a workload of commands on a few short keys cannot show, and why.
struct Hidden {
  std::string_view fault;
  std::string_view why;
};
constexpr std::array kHidden = {
    Hidden{"C03", "it is open what too many arguments are"},
    Hidden{"C06", "it needs a length beyond 32 bits"},
    Hidden{"C07", "it needs a negative length"},
    Hidden{"C08", "it needs a huge count"},
    Hidden{"C17", "it needs a value of 65,536 bytes"},
    Hidden{"C26", "it needs a payload without its last line end"},
    Hidden{"F25", "it needs node ids of more than 36 bytes"},
    Hidden{"X04", "it needs a PX beyond 32 bits, and to wait for it"},
    Hidden{"M02", "it needs concurrent requests of several clients"},
    Hidden{"M05", "it needs a request of QoS 0"},
    Hidden{"M06", "it needs a request without response topic"},
    Hidden{"M07", "it needs a response topic that is forbidden"},
    Hidden{"M09", "it needs correlation data that comes again"},
    Hidden{"M11", "it needs other user properties"},
    Hidden{"M12", "it needs another request topic"},
    Hidden{"M15", "it needs a request without correlation data"},
    Hidden{"M16", "it needs a response topic that is forbidden"},
    Hidden{"M17", "it needs another response topic"},
    Hidden{"M19", "it needs other user properties"},
    Hidden{"Q01", "it needs a quota"},
    Hidden{"Q02", "it needs a quota"},
    Hidden{"M24", "it needs a long response topic"},
    Hidden{"M25", "it needs a request of QoS 0"},
    Hidden{"M26", "it needs a response topic that is forbidden"},
    Hidden{"N32", "it needs more than eight observers"},
    Hidden{"N34", "it needs more than 64 observers"},
    Hidden{"N28", "it needs client ids that differ in case alone"},
    Hidden{"N29", "it needs a long client id"},
    Hidden{"R01", "the oracle does not check what an open request has changed"},
    Hidden{"R02", "the oracle does not check what an open request has changed"},
    Hidden{"R03", "the oracle does not check what an open request has changed"},
    Hidden{"R04", "the oracle does not check what an open request has changed"},
    Hidden{"R05", "the oracle does not check what an open request has changed"},
    Hidden{"R06", "the oracle does not check what an open request has changed"},
    Hidden{"L08", "it needs a thousand SETs in one run"},
    Hidden{"L09", "it needs more than a few keys"},
    Hidden{"L10", "it needs a quota"},
    Hidden{"L11", "it needs a quota"},
    Hidden{"A01", "it needs clients that are denied something"},
    Hidden{"A02", "it needs clients that are denied something"},
    Hidden{"A03", "it needs clients that are denied something"},
    Hidden{"A04", "it needs clients that are denied something"},
    Hidden{"A05", "it needs clients that are denied something"},
};

bool is_hidden(const store::Fault& fault) {
  return std::any_of(kHidden.begin(), kHidden.end(),
                     [&](const Hidden& hidden) { return hidden.fault == fault.id; });
}

// The requests until the oracle rejects one; nothing when it rejects none of the traces.
std::optional<std::size_t> requests_to_rejection(const store::Fault& fault, std::uint64_t seed) {
  std::size_t requests = 0;
  for (std::size_t example = 1; example <= kTracesOfAFault; ++example) {
    const search::JudgedRun run = run_in_process(search::example_of(seed, example, kOperations),
                                                 codec::kDialects[example % 2], &fault);
    requests += run.requests;
    if (run.rejection) return requests;
  }
  return std::nullopt;
}

TEST(OracleProp, RejectsWhatFaultyStoresDo) {
  std::map<std::string, std::vector<std::size_t>> by_area;
  std::size_t faults = 0;
  std::size_t looked_at = 0;
  for (const store::Fault& fault : store::faults()) {
    // In the gate each tenth; with other stores and cases, selftest sees all of them.
    if (++looked_at % all_or_in_gate<std::size_t>(1, 10) != 0) continue;
    if (fault.kind != store::FaultKind::kFault || fault.needs != store::FaultNeeds::kNothing ||
        is_hidden(fault)) {
      continue;
    }
    ++faults;
    std::vector<std::size_t> requests;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      requests.push_back(requests_to_rejection(fault, seed).value_or(kNever));
    }
    std::sort(requests.begin(), requests.end());
    const std::size_t median = requests[requests.size() / 2];
    EXPECT_NE(median, kNever) << fault.id << " " << fault.name << " is not rejected";
    fmt::print("{} {}: {} requests\n", fault.id, fault.name, median);
    by_area[std::string(fault.id.substr(0, 1))].push_back(median);
  }
  for (auto& [area, medians] : by_area) {
    std::sort(medians.begin(), medians.end());
    fmt::print("{}: {} faults, median {}, most {}\n", area, medians.size(),
               medians[medians.size() / 2], medians.back());
  }
  fmt::print("{} faults are rejected, {} cannot be seen\n", faults, kHidden.size());
}

}  // namespace
}  // namespace fencepost::judge
