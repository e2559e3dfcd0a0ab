// What clients must know about locks and tokens from the responses of the store: whose version
// a token is, and who has released its lock or was notified that another client holds it.
//
// Pure; of one thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "clients/request_rules.h"
#include "clients/session.h"
#include "hlc/hlc.h"

namespace fencepost::clients {

class TokenWatch {
 public:
  // The response to this request, as its client has received it.
  void answered(const Request& request, const codec::DecodedReply& reply,
                const std::optional<hlc::Timestamp>& version, Time at);

  // A request with a token, of a client that had nothing in flight: it knows all its responses.
  // Reports FT-CLIENT-1.
  void sent(std::string_view client, const hlc::Timestamp& token, Time at,
            std::vector<Diagnostic>& out) const;

  // The store requires a token for this request. Reports FT-REQUIRED-1 where its own client has set
  // one on the key, and has not deleted it since.
  void refused(const Request& request, std::vector<Diagnostic>& out) const;

 private:
  // A version of a key, which may serve as a token.
  struct Version {
    std::string owner{};  // whose SET it was
    std::string value{};
    std::optional<Time> ends{};                       // its expiry, at the latest
    std::set<std::string, std::less<>> given_back{};  // by clients that deleted the key afterwards
    std::set<std::string, std::less<>> lost{};     // to clients that were notified of a later value
    std::set<std::string, std::less<>> refused{};  // to clients that requested another value
  };
  struct Key {
    std::map<hlc::Timestamp, Version> versions{};             // the latest ones
    std::map<std::string, Time, std::less<>> protected_by{};  // clients whose SET brought a token
  };
  void set(Key& key, const Request& request, const std::optional<hlc::Timestamp>& version, Time at);

  std::map<std::string, Key, std::less<>> keys_{};
  std::map<hlc::Timestamp, std::string> key_of_{};  // empty: of several keys
};

}  // namespace fencepost::clients
