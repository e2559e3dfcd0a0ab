#include "suite/run/clean_up.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/run/suite.h"
#include "suite/testing/fake_endpoint.h"

namespace fencepost::run {
namespace {

using namespace test;  // made for this test
using codec::Verb;
using endpoint::Disconnected;
using testing::ElementsAre;
using testing::IsEmpty;

// Writes two keys, one of them fenced; then the store throws the client out.
scenario::Case thrown_out(const std::string& id = "t.case") {
  return case_of({.id = id, .steps = R"(
- {set: {key: plain, value: "v"}, expect: ok}
- {set: {key: fenced, value: "v", ft: now + 60s}, expect: ok}
- {get: plain, expect: {reply: {value: "v"}}}
)"});
}

// The conforming store, which ends the connection of each client that sends a GET, or only of the
// cleaner as well.
Behaviour throwing_out(std::shared_ptr<std::size_t> keys, bool cleaner_too = false) {
  return changed(reference_store({}, std::move(keys)),
                 [cleaner_too](const Published& request, Effects& effects) {
                   const bool cleaner = request.client_id.ends_with("cleaner");
                   if (verb_of(request) == Verb::kGet || (cleaner && cleaner_too)) {
                     effects = {{Disconnected{0x82}}};
                   }
                 });
}

SuiteResult run(FakeEndpoint& endpoint, const std::vector<scenario::Case>& cases) {
  std::vector<const scenario::Case*> pointers;
  for (const scenario::Case& test_case : cases) pointers.push_back(&test_case);
  const std::atomic<bool> stop{false};
  return run_suite(endpoint, pointers, catalogue(), {.settings = settings()}, stop,
                   [](const auto&, auto, auto) {});
}

std::vector<std::string> cleaners(const FakeEndpoint& endpoint) {
  std::vector<std::string> out;
  for (const auto& options : endpoint.connected()) {
    if (options.client_id.ends_with("cleaner")) out.push_back(options.client_id);
  }
  return out;
}

TEST(CleanUpAfterLoss, IsLeftToWhoeverKnowsWhetherTheEndpointIsAlive) {
  const auto keys = std::make_shared<std::size_t>(99);
  FakeEndpoint endpoint({.behaviour = throwing_out(keys)});
  const CaseResult result = run_on(endpoint, thrown_out());
  EXPECT_EQ(result.verdict, Verdict::kLost);
  EXPECT_EQ(*keys, 2U);
  EXPECT_THAT(cleaners(endpoint), IsEmpty());
  std::string prefix = "fencepost/run/" + result.left_behind.client_id.substr(7, 8) + "/";
  EXPECT_THAT(result.left_behind.keys, ElementsAre(prefix + "fenced", prefix + "plain"));
  EXPECT_TRUE(result.left_behind.token);
}

TEST(CleanUpAfterLoss, RemovesTheKeysWhenTheEndpointIsAlive) {
  const auto keys = std::make_shared<std::size_t>(99);
  FakeEndpoint endpoint({.behaviour = throwing_out(keys)});
  const std::vector<scenario::Case> cases = {thrown_out()};
  const SuiteResult result = run(endpoint, cases);
  EXPECT_EQ(result.cases[0].verdict, Verdict::kFailed);
  EXPECT_EQ(*keys, 0U);
  EXPECT_TRUE(result.cases[0].left_behind.empty());
  for (const TranscriptEntry& entry : result.cases[0].transcript) {
    EXPECT_NE(entry.client, "cleaner");
  }
}

TEST(CleanUpAfterLoss, KeepsTheVerdictWhenItFails) {
  const auto keys = std::make_shared<std::size_t>(99);
  FakeEndpoint endpoint({.behaviour = throwing_out(keys, /*cleaner_too=*/true)});
  const std::vector<scenario::Case> cases = {thrown_out("a"), thrown_out("b")};
  const SuiteResult result = run(endpoint, cases);
  EXPECT_EQ(result.summary.failed, 2U);
  EXPECT_THAT(cleaners(endpoint), testing::SizeIs(2));
}

// A lost endpoint gets no requests: that would only take time.
TEST(CleanUpAfterLoss, AsksNobodyWhenTheEndpointIsGone) {
  const auto keys = std::make_shared<std::size_t>(99);
  FakeEndpoint endpoint({.behaviour = throwing_out(keys), .on_reach = [] {
                           return endpoint::Error{endpoint::ErrorKind::kUnreachable, "gone"};
                         }});
  const std::vector<scenario::Case> cases = {thrown_out()};
  const SuiteResult result = run(endpoint, cases);
  EXPECT_TRUE(result.endpoint_lost);
  EXPECT_EQ(*keys, 2U);
  EXPECT_THAT(cleaners(endpoint), IsEmpty());
}

// Req: FT-OPEN-2
TEST(CleanUp, DeletesKeysWithoutATokenWhereAStoreRefusesTokensForThese) {
  const auto keys = std::make_shared<std::size_t>(99);
  const Behaviour conforming = reference_store({}, keys);
  FakeEndpoint endpoint({.behaviour = [&](const Published& request) -> Effects {
    const bool plain = request.message.payload.ends_with("plain\r\n");
    const bool has_token = request.message.property(codec::kTokenProperty) != nullptr;
    if (verb_of(request) != Verb::kDel || !plain || !has_token) return conforming(request);
    return {reply(request, "-ERR a fencing token is not expected\r\n")};
  }});
  EXPECT_EQ(outcome_text(run_on(endpoint, case_of({.steps = R"(
- {set: {key: plain, value: "v"}, expect: ok}
- {set: {key: fenced, value: "v", ft: now + 60s}, expect: ok}
)"}))),
            "passed");
  EXPECT_EQ(*keys, 0U);
}

TEST(CleanUp, ConnectsNobodyWhenThereIsNothingToRemove) {
  FakeEndpoint endpoint({.behaviour = reference_store()});
  EXPECT_EQ(outcome_text(run_on(endpoint, case_of({.steps = "- get: k\n  expect: missing\n"}))),
            "passed");
  EXPECT_THAT(cleaners(endpoint), IsEmpty());
}

}  // namespace
}  // namespace fencepost::run
