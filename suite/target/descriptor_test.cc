#include "suite/target/descriptor.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "suite/target/contradiction.h"
#include "suite/target/descriptor_fields.h"
#include "suite/target/hook.h"
#include "suite/testing/temporary_folder.h"

namespace fencepost::target {
namespace {

using namespace std::chrono_literals;
using test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

// All errors about a descriptor, one a line; empty when it was taken.
std::string diagnostics(const std::string& content, const std::string& file = "d.yaml") {
  std::vector<scenario::LoadError> errors;
  const auto loaded = load_descriptor({file, content}, errors);
  EXPECT_EQ(loaded.has_value(), errors.empty());
  std::string out;
  for (const scenario::LoadError& error : errors)
    out += (out.empty() ? "" : "\n") + scenario::describe(error);
  return out;
}

Descriptor loaded(const std::string& content, const std::filesystem::path& folder = {}) {
  std::vector<scenario::LoadError> errors;
  auto descriptor = load_descriptor({(folder / "d.yaml").string(), content}, errors);
  for (const scenario::LoadError& error : errors) ADD_FAILURE() << scenario::describe(error);
  return descriptor.value_or(Descriptor{});
}

TEST(Descriptor, SaysEverythingThatAUrlCannot) {
  const TemporaryFolder folder;
  for (const std::string name : {"ca.pem", "tls/client.pem", "tls/client.key", "r.pem", "r.key"}) {
    folder.write(name, "");
  }
  setenv("FENCEPOST_TEST_PASSWORD", "from outside", 1);
  const Descriptor all = loaded(R"(
url: mqtts://broker.example
profile: documented
timeout: 1500ms
tls: {ca: ca.pem, certificate: tls/client.pem, key: tls/client.key}
roles:
  default: {user: me, password_env: FENCEPOST_TEST_PASSWORD}
  restricted: {user: r, password: "p:1"}
  other: {certificate: r.pem, key: r.key}
  third: {client_id: Sensor-1}
key_prefix: team-a/fencepost
capabilities: {quota: 1000, max_packet_size: 5000, store_in_broker: false}
clock_tolerance: 250ms
hooks: {restart: "./restart --now", timeout: 90s}
note: For readers.
)",
                                folder.path());
  EXPECT_EQ(all.url, "mqtts://broker.example");
  EXPECT_EQ(all.profile, codec::Profile::kDocumented);
  EXPECT_EQ(all.mqtt.timeout, 1500ms);
  EXPECT_EQ(all.mqtt.ca, folder.path() / "ca.pem");
  EXPECT_EQ(all.mqtt.certificate, folder.path() / "tls/client.pem");
  EXPECT_EQ(all.mqtt.key, folder.path() / "tls/client.key");
  EXPECT_EQ(all.mqtt.credentials.user, "me");
  EXPECT_EQ(all.mqtt.credentials.password, "from outside");
  EXPECT_EQ(all.password_variables.at("default"), "FENCEPOST_TEST_PASSWORD");
  EXPECT_EQ(all.mqtt.roles.at("restricted").user, "r");
  EXPECT_EQ(all.mqtt.roles.at("restricted").password, "p:1");
  EXPECT_EQ(all.mqtt.roles.at("other").password, "");
  EXPECT_EQ(all.mqtt.roles.at("other").certificate, folder.path() / "r.pem");
  EXPECT_EQ(all.mqtt.roles.at("other").key, folder.path() / "r.key");
  EXPECT_THAT(all.mqtt.capabilities.roles, UnorderedElementsAre("restricted", "other", "third"));
  EXPECT_THAT(all.mqtt.capabilities.client_ids, ElementsAre(Pair("third", "Sensor-1")));
  EXPECT_EQ(all.mqtt.capabilities.key_prefix, "team-a/fencepost");
  EXPECT_EQ(all.mqtt.capabilities.quota, 1000U);
  EXPECT_EQ(all.mqtt.capabilities.max_packet_size, 5000U);
  EXPECT_FALSE(all.mqtt.capabilities.store_in_broker);
  EXPECT_EQ(all.clock_tolerance, 250ms);
  ASSERT_EQ(all.hooks.size(), 1U);
  const Hook& hook = all.hooks.at("restart");
  EXPECT_EQ(hook.command, "./restart --now");
  EXPECT_EQ(hook.directory, folder.path());
  EXPECT_EQ(hook.timeout, 90s);
  EXPECT_EQ(all.mqtt.hook_timeout, 90s);
}

TEST(Descriptor, NeedsNoMoreThanAUrl) {
  const Descriptor least = loaded("url: mqtt://localhost");
  EXPECT_TRUE(least.mqtt.ca.empty());
  EXPECT_TRUE(least.mqtt.roles.empty());
  EXPECT_TRUE(least.mqtt.credentials.user.empty());
  EXPECT_FALSE(least.mqtt.capabilities.quota);
  EXPECT_FALSE(least.mqtt.capabilities.max_packet_size);
  EXPECT_TRUE(least.mqtt.capabilities.store_in_broker);
  EXPECT_EQ(least.mqtt.capabilities.key_prefix, "fencepost");
  EXPECT_EQ(least.mqtt.timeout, endpoint::MqttOptions{}.timeout);
  EXPECT_FALSE(least.profile);
  EXPECT_FALSE(least.clock_tolerance);
  EXPECT_TRUE(least.hooks.empty());
}

TEST(Descriptor, TakesAbsolutePathsAsTheyAre) {
  const TemporaryFolder folder;
  const std::string ca = folder.write("ca.pem", "").string();
  EXPECT_EQ(diagnostics("url: mqtts://h\ntls: {ca: " + ca + "}", "elsewhere/d.yaml"), "");
}

struct BadDescriptor {
  std::string content;
  std::string diagnostic;
};

TEST(Descriptor, NamesWhatIsWrongAndWhere) {
  const BadDescriptor kTable[] = {
      {"- url", "d.yaml:1:1: the descriptor must be a mapping, not a list"},
      {"tls: {}", "d.yaml:1:1: the descriptor needs the key \"url\""},
      {"url: mqtt://h\nurl: mqtt://i",
       "d.yaml:2:1: the key \"url\" is twice in the descriptor; remove one"},
      {"url: mqtt://h\nusr: x",
       "d.yaml:2:1: the descriptor has no such key; did you mean \"url\"?"},
      {"url: 5", "d.yaml:1:6: url: put it in quotes; YAML does not read it as text"},
      {"url: mqtt://h\nprofile: both",
       "d.yaml:2:10: profile must be auto, documented or deployed, not \"both\""},
      {"url: mqtt://h\ntimeout: 5",
       "d.yaml:2:10: timeout must be a duration such as 150ms, 2s or 1m, not \"5\""},
      {"url: mqtt://h\nclock_tolerance: 1d",
       "d.yaml:2:18: clock_tolerance must be a duration such as 150ms, 2s or 1m, not \"1d\""},
      {"url: mqtt://h\nkey_prefix: /a",
       "d.yaml:2:13: key_prefix \"/a\" must be at most 64 letters, digits, dots, dashes, "
       "underscores and slashes, without a slash at its ends"},
      {"url: mqtt://h\nnote: [a]", "d.yaml:2:7: note must be text, not a list"},
  };
  for (const BadDescriptor& row : kTable) EXPECT_EQ(diagnostics(row.content), row.diagnostic);
  for (const std::string prefix : {"\"\"", "a/", "a*", "a b", "\"a\\\"\"", "[a]"}) {
    EXPECT_THAT(diagnostics("url: mqtt://h\nkey_prefix: " + prefix), HasSubstr("d.yaml:2:13: "));
  }
  EXPECT_THAT(diagnostics("url: http://h"),
              HasSubstr("d.yaml:1:6: \"http://h\" is not an endpoint"));
}

TEST(Descriptor, NamesWhatIsWrongWithTls) {
  const BadDescriptor kTable[] = {
      {"{ca: none.pem}",
       "d.yaml:2:11: ca: there is no such file; it must be a path, relative to this file"},
      {"{ca: .}",
       "d.yaml:2:11: ca: there is no such file; it must be a path, relative to this file"},
      {"{cert: x}", "d.yaml:2:7: tls has no such key; allowed: ca, certificate, key"},
      {"x", "d.yaml:2:6: tls must be a mapping, not a text"},
      {"{key: /etc/passwd}", "d.yaml:2:6: a key needs its certificate"},
  };
  for (const BadDescriptor& row : kTable) {
    EXPECT_EQ(diagnostics("url: mqtts://h\ntls: " + row.content), row.diagnostic);
  }
  EXPECT_EQ(diagnostics("url: mqtt://h\ntls: {}"),
            "d.yaml:2:6: tls is not used by mqtt:// URLs; write mqtts://, or remove it");
}

TEST(Descriptor, NamesWhatIsWrongWithRoles) {
  const BadDescriptor kTable[] = {
      {" [restricted]", "d.yaml:2:8: roles must be a mapping, not a list"},
      {"\n  r: {password: x}",
       "d.yaml:3:6: a role needs a user, a certificate or a client_id\n"
       "d.yaml:3:6: a password needs its user"},
      {"\n  r: {}", "d.yaml:3:6: a role needs a user, a certificate or a client_id"},
      {"\n  r: {user: r, password: 1234}",
       "d.yaml:3:26: password: put it in quotes; YAML does not read it as text"},
      {"\n  r: {user: r}\n  r: {user: s}",
       "d.yaml:4:3: the key \"r\" is twice in roles; remove one"},
      {"\n  r: {user: r, password: a, password_env: B}",
       "d.yaml:3:43: the role already has a password; remove it, or password_env"},
      {"\n  r: {user: r, password_env: FENCEPOST_NO_SUCH}",
       "d.yaml:3:30: password_env: there is no environment variable of this name"},
      {"\n  r: {user: r, key: /etc/passwd}", "d.yaml:3:6: a key needs its certificate"},
      {"\n  r: {client_id: a/b}",
       "d.yaml:3:18: client_id \"a/b\" must be at most 64 letters, digits, dots, dashes and "
       "underscores"},
      {"\n  default: {user: r, client_id: a}",
       "d.yaml:3:33: client_id: this role has many clients; remove it"},
  };
  for (const BadDescriptor& row : kTable) {
    EXPECT_EQ(diagnostics("url: mqtt://h\nroles:" + row.content), row.diagnostic);
  }
  EXPECT_EQ(diagnostics("url: mqtt://me@h\nroles:\n  default: {user: r}"),
            "d.yaml:3:3: the url already has a user; remove it there or here");
  EXPECT_EQ(diagnostics("url: mqtt://me@h\nroles:\n  restricted: {user: r}"), "");
}

TEST(Descriptor, NamesWhatIsWrongWithLimitsAndHooks) {
  const std::string quota =
      "d.yaml:2:23: quota must be a whole number from 1 to 100000 without "
      "quotes, not ";
  const std::string size =
      "d.yaml:2:33: max_packet_size must be a whole number from 1024 to "
      "268435460 without quotes, not ";
  const BadDescriptor kTable[] = {
      {"capabilities: {quota: 0}", quota + "\"0\""},
      {"capabilities: {quota: 100001}", quota + "\"100001\""},
      {"capabilities: {quota: '5'}", quota + "\"5\""},
      {"capabilities: {max_packet_size: 1023}", size + "\"1023\""},
      {"capabilities: {max_packet_size: 268435461}", size + "\"268435461\""},
      {"capabilities: {keys: 5}",
       "d.yaml:2:16: capabilities has no such key; allowed: quota, max_packet_size, "
       "store_in_broker"},
      {"hooks: {}",
       "d.yaml:2:8: hooks needs the key \"restart\" or \"kill\" or \"failover\" or \"stop\" or "
       "\"continue\" or \"partition\" or \"heal\""},
      {"hooks: {stop: pause}", "d.yaml:2:8: hooks has stop and not continue; one undoes the other"},
      {"hooks: {heal: join}", "d.yaml:2:8: hooks has heal and not partition; one undoes the other"},
      {"durability: always",
       "d.yaml:2:13: durability must be none, restart, kill or failover, not \"always\""},
      {"hooks: {restart: \"\"}", "d.yaml:2:18: restart must be a command"},
      {"hooks: {restart: x, timeout: 2h}", "d.yaml:2:30: timeout must be at most 1h"},
      {"hooks: {explode: x, restart: x}",
       "d.yaml:2:9: hooks has no such key; allowed: " +
           fmt::format("{}, stop, continue, partition, heal, timeout",
                       fmt::join(endpoint::kDisturbanceNames, ", "))},
  };
  for (const BadDescriptor& row : kTable) {
    EXPECT_THAT(diagnostics("url: mqtt://h\n" + row.content), HasSubstr(row.diagnostic));
  }
}

TEST(Descriptor, LeavesTheEndpointsOfTheSuiteAsTheyAre) {
  for (const std::string key :
       {"roles: {r: {user: r}}", "capabilities: {quota: 5}", "tls: {}", "hooks: {restart: x}"}) {
    EXPECT_THAT(diagnostics("url: embedded\n" + key),
                HasSubstr("cannot be set for embedded, which has its own; remove it"));
    EXPECT_THAT(diagnostics("url: 'inproc:'\n" + key), HasSubstr("which has its own"));
  }
  EXPECT_EQ(diagnostics("url: embedded?dialect=documented\nprofile: documented\nkey_prefix: a\n"
                        "clock_tolerance: 1s\ntimeout: 1s"),
            "");
}

// --- the schema

const nlohmann::json& schema() {
  static const nlohmann::json parsed = [] {
    std::ifstream file(FENCEPOST_SOURCE_DIR "/docs/descriptor.schema.json");
    return nlohmann::json::parse(file, nullptr, false);
  }();
  return parsed;
}

std::set<std::string> keys_of(const nlohmann::json& properties) {
  std::set<std::string> out;
  for (const auto& entry : properties.items()) out.insert(entry.key());
  return out;
}

struct Mapping {
  std::string pointer;
  std::span<const std::string_view> fields;
};

TEST(DescriptorSchema, HasTheKeysOfTheLoader) {
  ASSERT_FALSE(schema().is_discarded());
  namespace fields = descriptor_fields;
  const Mapping kTable[] = {
      {"", fields::kDescriptor},
      {"/definitions/product", fields::kProduct},
      {"/definitions/tls", fields::kTls},
      {"/definitions/role", fields::kRole},
      {"/definitions/capabilities", fields::kCapabilities},
      {"/definitions/hooks", fields::kHooks},
  };
  for (const Mapping& row : kTable) {
    const nlohmann::json& mapping = schema().at(nlohmann::json::json_pointer(row.pointer));
    const std::set<std::string> wanted(row.fields.begin(), row.fields.end());
    EXPECT_EQ(keys_of(mapping.at("properties")), wanted) << row.pointer;
    EXPECT_EQ(mapping.at("additionalProperties"), false) << row.pointer;
  }
  // A mapping that no row names would escape the comparison.
  EXPECT_EQ(schema().at("definitions").size(), std::size(kTable) - 1 + 2);  // and durations, lines
}

// --- what is said against what is seen

TEST(Contradiction, IsAnotherPacketSizeThanTheAnnouncedOne) {
  Descriptor descriptor;
  run::PreflightReport seen;
  EXPECT_EQ(contradiction(descriptor, seen), "");
  seen.packet_limit = 5'000;
  EXPECT_EQ(contradiction(descriptor, seen), "");
  descriptor.mqtt.capabilities.max_packet_size = 5'000;
  EXPECT_EQ(contradiction(descriptor, seen), "");
  descriptor.mqtt.capabilities.max_packet_size = 6'000;
  EXPECT_THAT(contradiction(descriptor, seen),
              HasSubstr("says max_packet_size: 6000, but the broker announces 5000"));
  seen.packet_limit.reset();
  EXPECT_EQ(contradiction(descriptor, seen), "");
}

TEST(Contradiction, IsAClockThatIsFartherThanTolerated) {
  Descriptor descriptor;
  run::PreflightReport seen;
  seen.clock_offset_ms = -251;
  EXPECT_EQ(contradiction(descriptor, seen), "");
  descriptor.clock_tolerance = 251ms;
  EXPECT_EQ(contradiction(descriptor, seen), "");
  descriptor.clock_tolerance = 250ms;
  EXPECT_THAT(contradiction(descriptor, seen),
              HasSubstr("clock_tolerance: 250ms, but the store's clock is 251 ms behind"));
  seen.clock_offset_ms = 251;
  EXPECT_THAT(contradiction(descriptor, seen), HasSubstr("251 ms ahead of"));
}

// --- hooks

std::string outcome(const Hook& hook) {
  const auto done = run_hook(hook);
  return done ? "done" : done.error();
}

TEST(Hook, RunsACommandInTheGivenFolder) {
  const TemporaryFolder folder;
  EXPECT_EQ(outcome({.command = "echo said > file && test \"$PWD\" = " + folder.path().string(),
                     .directory = folder.path()}),
            "done");
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "file"));
}

TEST(Hook, SaysHowItEndedAndWhatItWrote) {
  EXPECT_EQ(outcome({.command = "exit 3"}), "the hook ended with exit code 3; it wrote nothing");
  EXPECT_EQ(outcome({.command = "echo out; echo err >&2; false"}),
            "the hook ended with exit code 1; it wrote:\nout\nerr");
  EXPECT_THAT(outcome({.command = "kill -9 $$"}), HasSubstr("ended with signal 9"));
  EXPECT_THAT(outcome({.command = "no-such-command-here"}), HasSubstr("exit code 127"));
  EXPECT_THAT(outcome({.command = "true", .directory = "/no/such/folder"}),
              HasSubstr("cannot start the hook in /no/such/folder"));
}

TEST(Hook, ShowsTheEndOfALongOutput) {
  const std::string text =
      outcome({.command = "for i in $(seq 2000); do echo line $i; done; exit 1"});
  EXPECT_THAT(text, HasSubstr("it wrote:\n..."));
  EXPECT_THAT(text, testing::EndsWith("line 2000"));
  EXPECT_LT(text.size(), 2'500U);
}

// Has this process ended? One that nobody has waited for yet counts.
bool ended(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(stat)), {});
  return text.empty() || text.find(") Z ") != std::string::npos;
}

pid_t pid_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  pid_t pid = 0;
  file >> pid;
  return pid;
}

TEST(Hook, EndsWithItsTimeTogetherWithWhatItHasStarted) {
  const TemporaryFolder folder;
  const std::string command = "sleep 1000 & echo $! > pid; echo begun; wait";
  EXPECT_EQ(outcome({.command = command, .directory = folder.path(), .timeout = 4s}),
            "the hook did not end within 4000 ms and was killed; it wrote:\nbegun");
  const pid_t pid = pid_in(folder.path() / "pid");
  ASSERT_GT(pid, 1);
  const auto deadline = std::chrono::steady_clock::now() + 300s;
  while (!ended(pid) && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_TRUE(ended(pid));
}

// A broker that it starts in the background does not count in the time that it takes, and stays.
TEST(Hook, LeavesWhatItStartsInTheBackground) {
  const TemporaryFolder folder;
  EXPECT_EQ(outcome({.command = "sleep 1000 & echo $! > pid", .directory = folder.path()}), "done");
  const pid_t pid = pid_in(folder.path() / "pid");
  ASSERT_GT(pid, 1);
  EXPECT_FALSE(ended(pid));
  EXPECT_EQ(kill(pid, SIGKILL), 0);
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
    const std::string said = diagnostics(text);
    EXPECT_THAT(said, HasSubstr("d.yaml:")) << text;
    EXPECT_THAT(said, testing::Not(HasSubstr("s3cret"))) << text;
    EXPECT_THAT(said, testing::Not(HasSubstr("0x5ec7e7"))) << text;
  }
}

TEST(Descriptor, KnowsItsSecrets) {
  std::vector<scenario::LoadError> errors;
  const auto loaded = load_descriptor({"d.yaml", R"(
url: mqtt://me:a%20b@h
roles: {one: {user: r, password: "c"}, two: {user: s}}
)"},
                                      errors);
  ASSERT_TRUE(loaded);
  EXPECT_THAT(secrets_of(*loaded), testing::ElementsAre("a%20b", "a b", "c"));
  EXPECT_THAT(secrets_of({}), IsEmpty());
}

}  // namespace
}  // namespace fencepost::target
