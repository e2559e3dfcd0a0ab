#include "suite/target/target.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reference_store/authorization.h"
#include "suite/run/case_runner.h"
#include "suite/scenario/library.h"
#include "suite/testing/fake_endpoint.h"
#include "suite/testing/temporary_folder.h"

namespace fencepost::target {
namespace {

using namespace test;  // made for this test
using namespace std::chrono_literals;
using codec::DialectId;
using test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// --- endpoints ---------------------------------------------------------------------------------

// The URL that an endpoint gives itself, or why it was not opened.
std::string opened(const std::string& url) {
  Descriptor descriptor;
  descriptor.url = url;
  const auto target = open_target(descriptor, DialectId::kDeployed);
  if (target) return target->endpoint->url();
  return (target.error().kind == TargetErrorKind::kUsage ? "usage: " : "unreachable: ") +
         target.error().text;
}

TEST(Target, OpensWhatTheUrlNames) {
  EXPECT_EQ(opened("inproc:"), "inproc:");
  EXPECT_EQ(opened("inproc:?dialect=documented"), "inproc:?dialect=documented");
  EXPECT_EQ(opened("mqtt://user:secret@host:1884"), "mqtt://user:***@host:1884");
  EXPECT_EQ(opened("mqtts://host"), "mqtts://host:8883");
}

TEST(Target, SaysWhichOptionIsUnknown) {
  EXPECT_EQ(opened("inproc:?dialekt=deployed"),
            "usage: the endpoint has no option \"dialekt\"; allowed: dialect, clock-offset, "
            "response-delay, response-jitter, fault, variant, seed and, for embedded, database "
            "and nodes");
  EXPECT_EQ(opened("inproc:?fault=nx-overwrite"),
            "usage: there is no fault \"nx-overwrite\", did you mean nx-overwrites?; see "
            "`fencepost list faults`");
  EXPECT_EQ(opened("inproc:?fault=S01&seed=1x"), "usage: seed=1x is not a number");
  EXPECT_EQ(
      opened("embedded?fault=K07"),
      "usage: K07 writes-at-an-orderly-end is how a store keeps its keys in a file; `fencepost "
      "explain K07` has the command that shows it");
  EXPECT_EQ(opened("inproc:?dialect=both"), "usage: dialect=both must be documented or deployed");
  EXPECT_EQ(opened("embedded?x=y").substr(0, 33), "usage: the endpoint has no option");
  EXPECT_EQ(opened("mqtt://host?dialect=deployed"),
            "usage: mqtt URLs take no options; put them into a descriptor");
  for (const std::string url : {"", "http://host", "mqtt://", "mqtt://host:0"}) {
    EXPECT_THAT(opened(url), testing::StartsWith("usage: ")) << url;
  }
}

std::string refusal(const std::string& url, DialectId dialect) {
  Descriptor descriptor;
  descriptor.url = url;
  const auto target = open_target(descriptor, dialect);
  EXPECT_TRUE(target);
  const scenario::Case test_case = case_of({.more = "divergence: [set-not-applied]", .steps = R"(
- set: {key: k, value: "one"}
  expect: ok
- set: {key: k, value: "two", options: [NX]}
  expect: not-applied
)"});
  const run::CaseResult result = run_on(*target->endpoint, test_case);
  EXPECT_EQ(outcome_text(result), "passed");
  return std::string(codec::dialect(result.forms.at(0).second).name);
}

TEST(Target, SpeaksTheDialectOfTheUrlRatherThanTheGivenOne) {
  EXPECT_EQ(refusal("inproc:", DialectId::kDeployed), "deployed");
  EXPECT_EQ(refusal("inproc:", DialectId::kDocumented), "documented");
  EXPECT_EQ(refusal("inproc:?dialect=documented", DialectId::kDeployed), "documented");
  EXPECT_EQ(refusal("inproc:?dialect=deployed", DialectId::kDocumented), "deployed");
}

TEST(Target, OffersTheCapabilitiesOfTheReferenceStore) {
  const auto target = open_target({.url = "inproc:", .mqtt = {}}, DialectId::kDeployed);
  ASSERT_TRUE(target);
  EXPECT_FALSE(target->endpoint->capabilities().transport);
  EXPECT_EQ(target->endpoint->capabilities().quota, kReferenceQuota);
  EXPECT_TRUE(target->endpoint->capabilities().has_role("restricted"));
}

TEST(Target, HasNoNetworkInProcess) {
  const auto target = open_target({.url = "inproc:", .mqtt = {}}, DialectId::kDeployed,
                                  endpoint::NetworkFaultOptions{});
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().text, "inproc: has no connections to disturb");
}

TEST(Target, TakesTheKeyPrefixOfTheDescriptor) {
  Descriptor descriptor;
  descriptor.url = "inproc:";
  EXPECT_EQ(open_target(descriptor, DialectId::kDeployed)->endpoint->capabilities().key_prefix,
            "fencepost");
  descriptor.mqtt.capabilities.key_prefix = "team/f";
  const auto target = open_target(descriptor, DialectId::kDeployed);
  ASSERT_TRUE(target);
  EXPECT_EQ(target->endpoint->capabilities().key_prefix, "team/f");
  // The rights of the restricted role are below it.
  const scenario::Case test_case = case_of({.more = "clients: {a: {role: restricted}}", .steps = R"(
- set: {key: shared/k, value: "v"}
  expect: ok
)"});
  run::RunSettings below = settings();
  EXPECT_THAT(outcome_text(run_on(*target->endpoint, test_case, below)), HasSubstr("failed"));
  below.key_prefix = "team/f";
  EXPECT_EQ(outcome_text(run_on(*target->endpoint, test_case, below)), "passed");
}

TEST(Target, KeepsTheRestrictedRoleToItsKeys) {
  ASSERT_TRUE(store::parse_authorization(reference_authorization()));
  const auto target = open_target({.url = "inproc:", .mqtt = {}}, DialectId::kDeployed);
  ASSERT_TRUE(target);
  const scenario::Case test_case =
      case_of({.more = "clients: {a: {}, r: {role: restricted}}", .steps = R"(
- set: {client: r, key: shared/k, value: "v"}
  expect: ok
- get: {client: r, key: shared/k}
  expect: {reply: {value: "v"}}
- set: {client: r, key: read-only/k, value: "v"}
  expect: {reply: {error: not-authorized}}
- get: {client: r, key: read-only/k}
  expect: missing
- set: {client: r, key: write-only/k, value: "v"}
  expect: ok
- get: {client: r, key: write-only/k}
  expect: {reply: {error: not-authorized}}
- get: {client: r, key: k}
  expect: {reply: {error: not-authorized}}
- silence: {client: r, writer: a}
- set: {client: r, key: k, value: "v", qos: 0}
  expect: none
- set: {client: a, key: read-only/k, value: "v"}
  expect: ok
)"});
  EXPECT_EQ(outcome_text(run_on(*target->endpoint, test_case)), "passed");
}

// --- libraries ---------------------------------------------------------------------------------

std::vector<std::string> names_in(const std::filesystem::path& path,
                                  const TemporaryFolder& folder) {
  const auto files = scenario::read_files(path);
  if (!files) return {files.error()};
  std::vector<std::string> out;
  for (const scenario::SourceFile& file : *files) {
    out.push_back(std::filesystem::path(file.name).lexically_relative(folder.path()).string() +
                  "=" + file.content);
  }
  return out;
}

TEST(Library, ReadsAFileOrTheYamlFilesOfAFolder) {
  const TemporaryFolder folder;
  folder.write("b/two.yaml", "2");
  folder.write("a/one.yaml", std::string("\0\r\n", 3));
  folder.write("c.yaml", "");
  folder.write("notes.md", "no");
  EXPECT_THAT(names_in(folder.path(), folder),
              ElementsAre(std::string("a/one.yaml=\0\r\n", 14), "b/two.yaml=2", "c.yaml="));
  EXPECT_THAT(names_in(folder.path() / "notes.md", folder), ElementsAre("notes.md=no"));
  EXPECT_THAT(names_in(folder.path() / "none", folder),
              ElementsAre("cannot read " + (folder.path() / "none").string() +
                          ": No such file or directory"));
}

const scenario::SourceFile kSample{"sample.yaml", R"(area: t
cases:
- id: one
  title: A case
  requirements: [R-MUST-1]
  steps:
  - get: k
    expect: missing
)"};

TEST(Library, TakesTheCatalogueAmongItsFilesOrTheBuiltInOne) {
  std::vector<scenario::LoadError> errors;
  const scenario::Library own =
      load_library({kSample, {"x/requirements.yaml", kCatalogueText}}, errors);
  EXPECT_THAT(errors, IsEmpty());
  EXPECT_THAT(own.cases, SizeIs(1));
  EXPECT_NE(own.catalogue.find("R-MUST-1"), nullptr);
  EXPECT_EQ(own.catalogue.find("SET-NX-1"), nullptr);
  const scenario::Library built_in = load_library({kSample}, errors);
  EXPECT_NE(built_in.catalogue.find("SET-NX-1"), nullptr);
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_THAT(describe(errors[0]),
              HasSubstr("sample.yaml:5:18: there is no requirement \"R-MUST-1\""));
  EXPECT_THAT(built_in.cases, IsEmpty());
}

TEST(Library, RefusesAnIdThatStandsInTwoFiles) {
  scenario::SourceFile again = kSample;
  again.name = "again.yaml";
  std::vector<scenario::LoadError> errors;
  static_cast<void>(load_library({kSample, again, {"requirements.yaml", kCatalogueText}}, errors));
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_THAT(describe(errors[0]), HasSubstr("again.yaml:3:3: the case id one is already used at "
                                             "sample.yaml:3"));
}

TEST(Library, HasACatalogueBuiltIn) {
  std::vector<scenario::LoadError> errors;
  const scenario::Library library = load_library(scenario::built_in_files(), errors);
  EXPECT_NE(library.catalogue.find("SET-NX-1"), nullptr);
}

}  // namespace
}  // namespace fencepost::target
