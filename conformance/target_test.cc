#include "conformance/target.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conformance/case_runner.h"
#include "conformance/fake_endpoint.h"
#include "conformance/library.h"
#include "reference_store/authorization.h"

namespace fencepost::conformance {
namespace {

using namespace fake;  // made for this test
using namespace std::chrono_literals;
using codec::DialectId;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

// A folder of its own that goes with it.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "fencepost-XXXXXX").string();
    FENCEPOST_CHECK(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

// --- descriptors -------------------------------------------------------------------------------

// All complaints about a descriptor, one a line; empty when it was taken.
std::string complaints(const std::string& content, const std::string& file = "d.yaml") {
  std::vector<LoadError> errors;
  const auto loaded = load_descriptor({file, content}, errors);
  EXPECT_EQ(loaded.has_value(), errors.empty());
  std::string out;
  for (const LoadError& error : errors) out += (out.empty() ? "" : "\n") + describe(error);
  return out;
}

TEST(Descriptor, SaysEverythingThatAUrlCannot) {
  const Folder folder;
  for (const std::string name : {"ca.pem", "tls/client.pem", "tls/client.key"})
    folder.write(name, "");
  std::vector<LoadError> errors;
  const auto loaded = load_descriptor({(folder.path() / "d.yaml").string(), R"(
url: mqtts://broker.example
tls: {ca: ca.pem, certificate: tls/client.pem, key: tls/client.key}
roles:
  restricted: {user: r, password: "p:1"}
  other: {user: o}
capabilities: {quota: 1000}
timeout: 1500ms
)"},
                                      errors);
  ASSERT_THAT(errors, IsEmpty());
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->url, "mqtts://broker.example");
  EXPECT_EQ(loaded->mqtt.ca, folder.path() / "ca.pem");
  EXPECT_EQ(loaded->mqtt.certificate, folder.path() / "tls/client.pem");
  EXPECT_EQ(loaded->mqtt.key, folder.path() / "tls/client.key");
  EXPECT_EQ(loaded->mqtt.roles.at("restricted").user, "r");
  EXPECT_EQ(loaded->mqtt.roles.at("restricted").password, "p:1");
  EXPECT_EQ(loaded->mqtt.roles.at("other").password, "");
  EXPECT_THAT(loaded->mqtt.capabilities.roles, UnorderedElementsAre("restricted", "other"));
  EXPECT_EQ(loaded->mqtt.capabilities.quota, 1000U);
  EXPECT_EQ(loaded->mqtt.timeout, 1500ms);
}

TEST(Descriptor, NeedsNoMoreThanAUrl) {
  std::vector<LoadError> errors;
  const auto loaded = load_descriptor({"d.yaml", "url: mqtt://localhost"}, errors);
  ASSERT_TRUE(loaded);
  EXPECT_TRUE(loaded->mqtt.ca.empty());
  EXPECT_TRUE(loaded->mqtt.roles.empty());
  EXPECT_FALSE(loaded->mqtt.capabilities.quota);
  EXPECT_EQ(loaded->mqtt.timeout, endpoint::MqttOptions{}.timeout);
}

TEST(Descriptor, TakesAbsolutePathsAsTheyAre) {
  const Folder folder;
  const std::string ca = folder.write("ca.pem", "").string();
  EXPECT_EQ(complaints("url: mqtts://h\ntls: {ca: " + ca + "}", "elsewhere/d.yaml"), "");
}

struct BadDescriptor {
  std::string content;
  std::string complaint;
};

TEST(Descriptor, NamesWhatIsWrongAndWhere) {
  const BadDescriptor kTable[] = {
      {"- url", "d.yaml:1:1: the descriptor must be a mapping, not a list"},
      {"tls: {}", "d.yaml:1:1: the descriptor needs the key \"url\""},
      {"url: mqtt://h\nurl: mqtt://i",
       "d.yaml:2:1: the key \"url\" stands twice in the descriptor; remove one"},
      {"url: mqtt://h\nusr: x",
       "d.yaml:2:1: the descriptor has no such key; did you mean \"url\"?"},
      {"url: 5",
       "d.yaml:1:6: url: put it in quotes; YAML readers take it for something else than text"},
      {"url: mqtt://h\ntls: {ca: none.pem}",
       "d.yaml:2:11: ca: there is no such file; it must be a path, relative to this file"},
      {"url: mqtt://h\ntls: {cert: x}",
       "d.yaml:2:7: tls has no such key; it may have: ca, certificate, key"},
      {"url: mqtt://h\ntls: x", "d.yaml:2:6: tls must be a mapping, not a text"},
      {"url: mqtt://h\nroles: [restricted]",
       "d.yaml:2:8: roles must map names to {user, password}"},
      {"url: mqtt://h\nroles:\n  restricted: {password: x}",
       "d.yaml:3:15: role needs the key \"user\""},
      {"url: mqtt://h\nroles:\n  restricted: {user: r, password: 1234}",
       "d.yaml:3:35: password: put it in quotes; YAML readers take it for something else than "
       "text"},
      {"url: mqtt://h\nroles:\n  restricted: {user: r}\n  restricted: {user: s}",
       "d.yaml:4:3: the key \"restricted\" stands twice in roles; remove one"},
      {"url: mqtt://h\ncapabilities: {quota: 0}",
       "d.yaml:2:23: quota must be a whole number from 1 to 100000 without quotes, not \"0\""},
      {"url: mqtt://h\ncapabilities: {quota: 100001}",
       "d.yaml:2:23: quota must be a whole number from 1 to 100000 without quotes, not \"100001\""},
      {"url: mqtt://h\ncapabilities: {quota: '5'}",
       "d.yaml:2:23: quota must be a whole number from 1 to 100000 without quotes, not \"5\""},
      {"url: mqtt://h\ncapabilities: {keys: 5}",
       "d.yaml:2:16: capabilities has no such key; it may have: quota"},
      {"url: mqtt://h\ntimeout: 5",
       "d.yaml:2:10: timeout must be a duration such as 150ms, 2s or 1m, not \"5\""},
  };
  for (const BadDescriptor& row : kTable) EXPECT_EQ(complaints(row.content), row.complaint);
}

TEST(Descriptor, QuotesNothingThatCouldBeASecret) {
  const std::vector<std::string> texts = {
      "mqtt://me:s3cret@h",
      "url: !s3cret x",
      "url: *s3cret",
      "url: [s3cret]",
      "url: mqtt://h\nroles: {r: s3cret}",
      "url: mqtt://h\nroles: {r: {user: me, s3cret}}",
      "url: mqtt://h\nroles: {r: {user: me, password s3cret}}",
      "url: mqtt://h\nroles: {r: {user: me, password: !s3cret}}",
      "url: mqtt://h\nroles: {r: {user: me, password: {s3cret: 1}}}",
      "url: mqtt://h\nroles: {r: {user: 2001-12-14t21:59:43s3cret, password: 0x5ec7e7}}",
      "url: mqtt://h\ntls: s3cret",
      "url: mqtt://h\ntls: {key: s3cret}",
  };
  for (const std::string& text : texts) {
    const std::string said = complaints(text);
    EXPECT_THAT(said, HasSubstr("d.yaml:")) << text;
    EXPECT_THAT(said, testing::Not(HasSubstr("s3cret"))) << text;
    EXPECT_THAT(said, testing::Not(HasSubstr("0x5ec7e7"))) << text;
  }
}

TEST(Descriptor, KnowsItsSecrets) {
  std::vector<LoadError> errors;
  const auto loaded = load_descriptor({"d.yaml", R"(
url: mqtt://me:a%20b@h
roles: {one: {user: r, password: "c"}, two: {user: s}}
)"},
                                      errors);
  ASSERT_TRUE(loaded);
  EXPECT_THAT(secrets_of(*loaded), ElementsAre("a%20b", "a b", "c"));
  EXPECT_THAT(secrets_of({}), IsEmpty());
}

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
            "usage: the endpoint has no option \"dialekt\"; it may have dialect, clock-offset, "
            "response-delay and response-jitter");
  EXPECT_EQ(opened("inproc:?dialect=both"),
            "usage: dialect=both is neither documented nor deployed");
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
  const Case test_case = case_of({.more = "divergence: [set-not-applied]", .steps = R"(
- set: {key: k, value: "one"}
  expect: ok
- set: {key: k, value: "two", options: [NX]}
  expect: not-applied
)"});
  const CaseResult result = run_on(*target->endpoint, test_case);
  EXPECT_EQ(told(result), "passed");
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

TEST(Target, KeepsTheRestrictedRoleToItsKeys) {
  ASSERT_TRUE(store::parse_authorization(reference_authorization()));
  const auto target = open_target({.url = "inproc:", .mqtt = {}}, DialectId::kDeployed);
  ASSERT_TRUE(target);
  const Case test_case = case_of({.more = "clients: {a: {}, r: {role: restricted}}", .steps = R"(
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
  EXPECT_EQ(told(run_on(*target->endpoint, test_case)), "passed");
}

// --- libraries ---------------------------------------------------------------------------------

std::vector<std::string> names_in(const std::filesystem::path& path, const Folder& folder) {
  const auto files = read_files(path);
  if (!files) return {files.error()};
  std::vector<std::string> out;
  for (const SourceFile& file : *files) {
    out.push_back(std::filesystem::path(file.name).lexically_relative(folder.path()).string() +
                  "=" + file.content);
  }
  return out;
}

TEST(Library, ReadsAFileOrTheYamlFilesOfAFolder) {
  const Folder folder;
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

const SourceFile kSample{"sample.yaml", R"(area: t
cases:
- id: one
  title: A case
  requirements: [R-MUST-1]
  steps:
  - get: k
    expect: missing
)"};

TEST(Library, TakesTheCatalogueAmongItsFilesOrTheBuiltInOne) {
  std::vector<LoadError> errors;
  const Library own = load_library({kSample, {"x/requirements.yaml", kCatalogueText}}, errors);
  EXPECT_THAT(errors, IsEmpty());
  EXPECT_THAT(own.cases, SizeIs(1));
  EXPECT_NE(own.catalogue.find("R-MUST-1"), nullptr);
  EXPECT_EQ(own.catalogue.find("SET-NX-1"), nullptr);
  const Library built_in = load_library({kSample}, errors);
  EXPECT_NE(built_in.catalogue.find("SET-NX-1"), nullptr);
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_THAT(describe(errors[0]),
              HasSubstr("sample.yaml:5:18: there is no requirement \"R-MUST-1\""));
  EXPECT_THAT(built_in.cases, IsEmpty());
}

TEST(Library, RefusesAnIdThatStandsInTwoFiles) {
  SourceFile again = kSample;
  again.name = "again.yaml";
  std::vector<LoadError> errors;
  static_cast<void>(load_library({kSample, again, {"requirements.yaml", kCatalogueText}}, errors));
  ASSERT_THAT(errors, SizeIs(1));
  EXPECT_THAT(describe(errors[0]), HasSubstr("again.yaml:3:3: the case id one stands already at "
                                             "sample.yaml:3"));
}

TEST(Library, HasACatalogueBuiltIn) {
  std::vector<LoadError> errors;
  const Library library = load_library(built_in_files(), errors);
  EXPECT_NE(library.catalogue.find("SET-NX-1"), nullptr);
}

}  // namespace
}  // namespace fencepost::conformance
