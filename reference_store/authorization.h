// Who may touch which key. (Req: AUTH-*)
//
//   Result<Authorization, std::string> authorization = parse_authorization(R"({"policies": [{
//     "principals": {"usernames": ["sensor"]},
//     "stateStoreResources": [{"method": "Read", "keyType": "Pattern",
//                              "keys": ["colors/*"]}]}]})");
//   authorization->allows({.client_id = "c", .user_name = "sensor"}, Access::kRead, "colors/red");
//
// Policies are tried in order; the first whose principals match the client decides, and it allows
// what one of its rules allows. A client that no policy matches may touch nothing. Pure; const
// functions are thread safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fencepost::store {

// Who sends a request.
struct Caller {
  std::string_view client_id;
  std::string_view user_name{};  // empty when the client has none
};

enum class Access { kRead, kWrite };  // Read: GET, KEYNOTIFY. Write: SET, DEL, VDEL.
enum class Method { kRead, kWrite, kReadWrite };
enum class KeyType {
  kPattern,  // glob: * ? [a-z] and the substitutions {principal.clientId}, {principal.username}
  kString,   // exactly this text
  kBinary,   // exactly these bytes, written in base64
};

struct Rule {
  Method method = Method::kReadWrite;
  KeyType key_type = KeyType::kPattern;
  std::vector<std::string> keys;
};

// A client belongs to a policy when its id or its user name matches one of the globs.
struct Policy {
  std::vector<std::string> client_ids;
  std::vector<std::string> user_names;
  std::vector<Rule> rules;
};

class Authorization {
 public:
  // Everybody may do everything.
  Authorization() = default;
  explicit Authorization(std::vector<Policy> policies)
      : policies_(std::make_shared<const std::vector<Policy>>(std::move(policies))) {}

  [[nodiscard]] bool allows(const Caller& caller, Access access, std::string_view key) const;

 private:
  // Null: everybody may do everything. Shared, as each store has a copy of this.
  std::shared_ptr<const std::vector<Policy>> policies_;
};

// Reads the JSON form shown above. The error is a sentence that says where and what was expected.
[[nodiscard]] Result<Authorization, std::string> parse_authorization(std::string_view json);

}  // namespace fencepost::store
