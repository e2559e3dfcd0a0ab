// Rules, policies, and the JSON that they are read from.
#include "reference_store/authorization.h"

#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::store {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// ---- Rules

Authorization with_rule(Rule rule) { return Authorization({{{"*"}, {}, {std::move(rule)}}}); }

constexpr Caller kCaller{.client_id = "c", .user_name = "u"};

TEST(Rule, OfTypePatternIsAGlob) {
  const auto authorization =
      with_rule({.key_type = KeyType::kPattern, .keys = {"colors/*", "char?"}});
  EXPECT_TRUE(authorization.allows(kCaller, Access::kRead, "colors/red"));
  EXPECT_TRUE(authorization.allows(kCaller, Access::kRead, "char1"));
  EXPECT_FALSE(authorization.allows(kCaller, Access::kRead, "shapes/round"));
}

TEST(Rule, OfTypeStringOrBinaryIsExact) {
  for (const KeyType type : {KeyType::kString, KeyType::kBinary}) {
    const auto authorization =
        with_rule({.key_type = type, .keys = {"a*", "{principal.clientId}"}});
    EXPECT_TRUE(authorization.allows(kCaller, Access::kRead, "a*"));
    EXPECT_TRUE(authorization.allows(kCaller, Access::kRead, "{principal.clientId}"));
    EXPECT_FALSE(authorization.allows(kCaller, Access::kRead, "ab"));
    EXPECT_FALSE(authorization.allows(kCaller, Access::kRead, "c"));
  }
}

TEST(Rule, GrantsTheAccessThatItsMethodNames) {
  const auto read = with_rule({.method = Method::kRead, .keys = {"k"}});
  EXPECT_TRUE(read.allows(kCaller, Access::kRead, "k"));
  EXPECT_FALSE(read.allows(kCaller, Access::kWrite, "k"));
  const auto write = with_rule({.method = Method::kWrite, .keys = {"k"}});
  EXPECT_FALSE(write.allows(kCaller, Access::kRead, "k"));
  EXPECT_TRUE(write.allows(kCaller, Access::kWrite, "k"));
  const auto both = with_rule({.method = Method::kReadWrite, .keys = {"k"}});
  EXPECT_TRUE(both.allows(kCaller, Access::kRead, "k"));
  EXPECT_TRUE(both.allows(kCaller, Access::kWrite, "k"));
  const auto unknown = with_rule({.method = static_cast<Method>(99), .keys = {"k"}});
  EXPECT_FALSE(unknown.allows(kCaller, Access::kRead, "k"));
}

TEST(Rule, PutsTheCallerIntoPatterns) {
  const auto authorization = with_rule(
      {.keys = {"clients/{principal.clientId}/*", "{principal.username}-{principal.username}",
                "{principal.clientId}@{principal.username}"}});
  const Caller alice{.client_id = "id1", .user_name = "alice"};
  for (const char* key : {"clients/id1/x", "alice-alice", "id1@alice"}) {
    EXPECT_TRUE(authorization.allows(alice, Access::kRead, key)) << key;
    EXPECT_FALSE(authorization.allows(kCaller, Access::kRead, key)) << key;
  }
  EXPECT_FALSE(authorization.allows(alice, Access::kRead, "clients/id2/x"));
  EXPECT_FALSE(authorization.allows(alice, Access::kRead, "alice-bob"));
}

TEST(Rule, ThatAsksForAUserNameGrantsNothingToAClientWithoutOne) {
  const auto authorization =
      with_rule({.keys = {"users/{principal.username}/*", "{principal.username}"}});
  const Caller nameless{.client_id = "c"};
  for (const char* key : {"users//x", "users/u/x", "users/{principal.username}/x", "u", ""}) {
    EXPECT_FALSE(authorization.allows(nameless, Access::kRead, key)) << key;
  }
  EXPECT_TRUE(authorization.allows(kCaller, Access::kRead, "users/u/x"));
}

// A user who may choose a client id must not choose a pattern with it.
TEST(Rule, TakesTheNamesOfTheCallerLiterally) {
  const auto authorization =
      with_rule({.keys = {"clients/{principal.clientId}/*", "users/{principal.username}/*"}});
  for (const char* name : {"*", "?", "[a-z]", "[!x]", "?*", "{principal.username}"}) {
    const Caller caller{.client_id = name, .user_name = name};
    EXPECT_FALSE(authorization.allows(caller, Access::kRead, "clients/v/x")) << name;
    EXPECT_FALSE(authorization.allows(caller, Access::kRead, "users/v/x")) << name;
    const std::string own = "clients/" + std::string(name) + "/x";
    EXPECT_TRUE(authorization.allows(caller, Access::kRead, own)) << name;
  }
  const Caller nested{.client_id = "{principal.username}", .user_name = "v"};
  EXPECT_FALSE(authorization.allows(nested, Access::kRead, "clients/v/x"));
}

TEST(Rule, WithoutKeysGrantsNothing) {
  EXPECT_FALSE(with_rule({.keys = {}}).allows(kCaller, Access::kRead, ""));
}

// ---- Policies

TEST(Authorization, ByDefaultAllowsEverything) {
  const Authorization authorization;
  EXPECT_TRUE(authorization.allows(kCaller, Access::kRead, "k"));
  EXPECT_TRUE(authorization.allows({}, Access::kWrite, "k"));
}

TEST(Authorization, DeniesWhomNoPolicyNames) {
  EXPECT_FALSE(Authorization(std::vector<Policy>{}).allows(kCaller, Access::kRead, "k"));
  const Authorization authorization({{{"other"}, {"other"}, {{.keys = {"*"}}}}});
  EXPECT_FALSE(authorization.allows(kCaller, Access::kRead, "k"));
  EXPECT_FALSE(authorization.allows({}, Access::kRead, "k"));
}

TEST(Authorization, LetsTheFirstPolicyThatMatchesDecide) {
  const Authorization authorization(
      {{{"c"}, {}, {{.method = Method::kRead, .keys = {"k"}}}}, {{"*"}, {}, {{.keys = {"*"}}}}});
  EXPECT_TRUE(authorization.allows(kCaller, Access::kRead, "k"));
  EXPECT_FALSE(authorization.allows(kCaller, Access::kWrite, "k"));
  EXPECT_FALSE(authorization.allows(kCaller, Access::kRead, "other"));
  EXPECT_TRUE(authorization.allows({.client_id = "d"}, Access::kWrite, "k"));
}

TEST(Authorization, AllowsWhatAnyRuleOfThePolicyAllows) {
  const Authorization authorization({{{"c"},
                                      {},
                                      {{.method = Method::kRead, .keys = {"k"}},
                                       {.method = Method::kWrite, .keys = {"k", "w"}}}}});
  EXPECT_TRUE(authorization.allows(kCaller, Access::kRead, "k"));
  EXPECT_TRUE(authorization.allows(kCaller, Access::kWrite, "k"));
  EXPECT_TRUE(authorization.allows(kCaller, Access::kWrite, "w"));
  EXPECT_FALSE(authorization.allows(kCaller, Access::kRead, "w"));
}

TEST(Authorization, KnowsClientsByIdOrByUserName) {
  const Authorization authorization({{{"sensor-*"}, {"admin?"}, {{.keys = {"*"}}}}});
  const auto allows = [&](const Caller& caller) {
    return authorization.allows(caller, Access::kWrite, "k");
  };
  EXPECT_TRUE(allows({.client_id = "sensor-1"}));
  EXPECT_TRUE(allows({.client_id = "x", .user_name = "admin1"}));
  EXPECT_FALSE(allows({.client_id = "admin1", .user_name = "sensor-1"}));
  EXPECT_FALSE(allows({.client_id = "x", .user_name = "admin"}));
}

TEST(Authorization, MatchesNoUserNamePatternForAClientWithoutOne) {
  const Authorization authorization({{{}, {"*"}, {{.keys = {"*"}}}}});
  EXPECT_FALSE(authorization.allows({.client_id = "c"}, Access::kRead, "k"));
  EXPECT_TRUE(authorization.allows({.client_id = "c", .user_name = "u"}, Access::kRead, "k"));
}

// ---- JSON

// A file with one policy for everybody and these resources.
std::string file_with(const std::string& resources) {
  return R"({"policies": [{"principals": {"clientIds": ["*"]}, "stateStoreResources": [)" +
         resources + "]}]}";
}

TEST(AuthorizationJson, ReadsTheWholeForm) {
  const auto authorization = parse_authorization(R"({"policies": [
    {"principals": {"usernames": ["sensor"]},
     "stateStoreResources": [{"method": "Read", "keyType": "Pattern", "keys": ["colors/*"]},
                             {"method": "Write", "keyType": "String", "keys": ["a*", "b"]}]},
    {"principals": {"clientIds": ["c?"], "usernames": ["x"]},
     "stateStoreResources": [{"method": "ReadWrite", "keyType": "Binary", "keys": ["AP8="]}]}]})");
  ASSERT_TRUE(authorization.has_value()) << authorization.error();
  const Caller sensor{.client_id = "s", .user_name = "sensor"};
  EXPECT_TRUE(authorization->allows(sensor, Access::kRead, "colors/red"));
  EXPECT_FALSE(authorization->allows(sensor, Access::kWrite, "colors/red"));
  EXPECT_TRUE(authorization->allows(sensor, Access::kWrite, "a*"));
  EXPECT_FALSE(authorization->allows(sensor, Access::kRead, "a*"));
  EXPECT_FALSE(authorization->allows(sensor, Access::kWrite, "ab"));
  const std::string binary("\0\xff", 2);
  EXPECT_TRUE(authorization->allows({.client_id = "c1"}, Access::kWrite, binary));
  EXPECT_TRUE(authorization->allows({.client_id = "z", .user_name = "x"}, Access::kRead, binary));
  EXPECT_FALSE(authorization->allows({.client_id = "c1"}, Access::kRead, "AP8="));
}

TEST(AuthorizationJson, TakesAPatternWhenNoKeyTypeIsGiven) {
  const auto authorization =
      parse_authorization(file_with(R"({"method": "Read", "keys": ["a*"]})"));
  ASSERT_TRUE(authorization.has_value()) << authorization.error();
  EXPECT_TRUE(authorization->allows(kCaller, Access::kRead, "ab"));
}

TEST(AuthorizationJson, WithoutPoliciesOrRulesDeniesEverything) {
  for (const std::string& text : {std::string(R"({"policies": []})"), file_with("")}) {
    const auto authorization = parse_authorization(text);
    ASSERT_TRUE(authorization.has_value()) << authorization.error();
    EXPECT_FALSE(authorization->allows(kCaller, Access::kRead, "k"));
  }
}

TEST(AuthorizationJson, ReadsBase64OfEveryLength) {
  const std::vector<std::pair<std::string, std::string>> vectors = {{"", ""},
                                                                    {"Zg==", "f"},
                                                                    {"Zm8=", "fo"},
                                                                    {"Zm9v", "foo"},
                                                                    {"Zm9vYg==", "foob"},
                                                                    {"Zm9vYmFy", "foobar"},
                                                                    {"+/+/", "\xfb\xff\xbf"},
                                                                    {"AAAA", std::string(3, '\0')}};
  for (const auto& [text, bytes] : vectors) {
    const auto authorization = parse_authorization(
        file_with(R"({"method": "Read", "keyType": "Binary", "keys": [")" + text + R"("]})"));
    ASSERT_TRUE(authorization.has_value()) << authorization.error();
    EXPECT_TRUE(authorization->allows(kCaller, Access::kRead, bytes)) << text;
    EXPECT_FALSE(authorization->allows(kCaller, Access::kRead, bytes + "x")) << text;
  }
}

TEST(AuthorizationJson, RefusesWhatIsNotBase64AndQuotesIt) {
  for (const std::string text :
       {"a", "ab", "abc", "ab=c", "a b=", "ab-_", "=", "Zg==Zg==", "A===", "===="}) {
    const auto authorization = parse_authorization(file_with(
        R"({"method": "Read", "keyType": "Binary", "keys": ["Zg==", ")" + text + R"("]})"));
    ASSERT_FALSE(authorization.has_value()) << text;
    EXPECT_EQ(authorization.error(),
              "policies[0].stateStoreResources[0].keys: \"" + text + "\" is not base64");
  }
}

TEST(AuthorizationJson, RefusesOtherDocumentsWithASentence) {
  for (const char* text : {"", "{", "{\"policies\": [}", "not json", "\xff", "{} {}"}) {
    const auto authorization = parse_authorization(text);
    ASSERT_FALSE(authorization.has_value()) << text;
    EXPECT_EQ(authorization.error(), "the authorization file is not JSON") << text;
  }
  for (const char* text : {"null", "[]", "1", "\"x\"", "{}", R"({"policies": null})",
                           R"({"policies": {}})", R"({"Policies": []})"}) {
    const auto authorization = parse_authorization(text);
    ASSERT_FALSE(authorization.has_value()) << text;
    EXPECT_THAT(authorization.error(), HasSubstr("an object with an array \"policies\"")) << text;
  }
}

TEST(AuthorizationJson, NamesTheRuleThatIsWrong) {
  const std::string good = R"({"method": "Read", "keys": ["k"]}, )";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"1", " must be an object"},
      {R"({"keys": ["k"]})", ".method must be Read, Write or ReadWrite"},
      {R"({"method": "read", "keys": ["k"]})", ".method must be Read, Write or ReadWrite"},
      {R"({"method": 1, "keys": ["k"]})", ".method must be Read, Write or ReadWrite"},
      {R"({"method": "Read", "keyType": "Glob", "keys": ["k"]})",
       ".keyType must be Pattern, String or Binary"},
      {R"({"method": "Read", "keyType": null, "keys": ["k"]})",
       ".keyType must be Pattern, String or Binary"},
      {R"({"method": "Read"})", ".keys must be an array of strings"},
      {R"({"method": "Read", "keys": "k"})", ".keys must be an array of strings"},
      {R"({"method": "Read", "keys": ["k", 1]})", ".keys must be an array of strings"}};
  for (const auto& [rule, message] : cases) {
    const auto authorization = parse_authorization(file_with(good + rule));
    ASSERT_FALSE(authorization.has_value()) << rule;
    EXPECT_EQ(authorization.error(), "policies[0].stateStoreResources[1]" + message) << rule;
  }
}

TEST(AuthorizationJson, NamesThePolicyThatIsWrong) {
  const std::string good = R"({"principals": {"clientIds": ["c"]}, "stateStoreResources": []}, )";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[]", "policies[1] must be an object"},
      {R"({"stateStoreResources": []})", "policies[1].principals"},
      {R"({"principals": ["c"], "stateStoreResources": []})", "policies[1].principals"},
      {R"({"principals": {}, "stateStoreResources": []})", "policies[1].principals"},
      {R"({"principals": {"clientIds": []}, "stateStoreResources": []})", "policies[1].principals"},
      {R"({"principals": {"clientIds": "c"}, "stateStoreResources": []})",
       "policies[1].principals"},
      {R"({"principals": {"clientIds": ["c"], "usernames": [1]}, "stateStoreResources": []})",
       "policies[1].principals"},
      {R"({"principals": {"clientIds": ["c"]}})",
       "policies[1].stateStoreResources must be an array"},
      {R"({"principals": {"clientIds": ["c"]}, "stateStoreResources": {}})",
       "policies[1].stateStoreResources must be an array"}};
  for (const auto& [policy, message] : cases) {
    const auto authorization = parse_authorization(R"({"policies": [)" + good + policy + "]}");
    ASSERT_FALSE(authorization.has_value()) << policy;
    EXPECT_THAT(authorization.error(), StartsWith(message)) << policy;
  }
}

}  // namespace
}  // namespace fencepost::store
