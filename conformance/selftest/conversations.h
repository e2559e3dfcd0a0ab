// What cases ask the right store and are told, call by call. A case that a wrong store would tell
// the same, at the same times, comes to the same verdict: it need not be run.
//
//   Conversations heard;
//   const auto endpoint = heard.listen_to(right);  // run the cases with this one
//   if (heard.are_the_same("SET-1/1", wrong)) use("the verdict of the right one");
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "endpoint/endpoint.h"

namespace fencepost::selftest {

// One call at the seam, and what came of it.
struct Call {
  enum class What {
    kConnect,
    kSubscribe,
    kUnsubscribe,
    kPublish,
    kReceive,
    kDisconnect,
    kDrop,
    kDestroy,  // the client
    kWait
  };
  What what = What::kWait;
  std::size_t client = 0;  // in the order of connects
  std::string filter{};
  codec::Message message{};
  endpoint::ClientOptions options{};
  endpoint::Duration time{0};  // a time-out, or until when
  std::optional<endpoint::Error> error{};
  std::optional<endpoint::Event> event{};
  endpoint::Duration clock{0};  // when it was over
};

// Of endpoints in process, whose sessions begin at the same time and share nothing.
class Conversations {
 public:
  // Passes all calls on, and keeps those of callers that say who they are (open_session_for).
  // `endpoint` and this must outlive the result. Sessions are used by one thread at a time.
  [[nodiscard]] std::unique_ptr<endpoint::Endpoint> listen_to(endpoint::Endpoint& endpoint);

  // Asks `other` what the caller asked then: is everything told the same, at the same time? False
  // when the caller was not heard, or did what cannot be asked again. Any number of threads, once
  // nobody is listened to any more.
  [[nodiscard]] bool are_the_same(const std::string& caller, endpoint::Endpoint& other) const;

  struct Conversation {
    bool isolated = false;
    bool repeatable = true;
    std::vector<Call> calls{};
  };

 private:
  std::map<std::string, Conversation> by_caller_;

  friend class ListeningEndpoint;
};

}  // namespace fencepost::selftest
