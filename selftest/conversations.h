// The requests to the conforming store while cases run, and its answers, call by call. A faulty
// store that gives the same answers gives each of these cases the same verdict: everything
// between a case and a store in process is the same, and depends on nothing else. So it need not be
// run.
//
//   Conversations heard;
//   const auto endpoint = heard.listen_to(right);  // run the cases with this one
//   if (heard.are_the_same("SET-1/1", wrong)) use("the verdict of the right one");
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "endpoint/endpoint.h"
#include "endpoint/in_process.h"
#include "reference_store/service.h"

namespace fencepost::selftest {

// One call of a session to its store, and what came of it.
struct Call {
  enum class What {
    kHandle,  // after a check whether it serves the topic, which it does
    kIsNotServed,
    kExpire,
    kNextExpiry,
    kDisconnect
  };
  What what = What::kHandle;
  std::string client_id{};   // kHandle: the caller's; kDisconnect: whose connection ended
  std::string user_name{};   // kHandle
  codec::Message request{};  // kHandle: whole; kIsNotServed: its topic
  store::Instant now{};      // kHandle, kExpire

  store::Handling handling{};                              // kHandle
  std::vector<store::Delivery> sent{};                     // kHandle, kExpire
  std::optional<std::chrono::microseconds> next_expiry{};  // kNextExpiry
};

// Holds the conversations of endpoints in process, whose sessions begin at the same time and share
// nothing.
class Conversations {
 public:
  // Passes all calls on, and keeps the requests to the stores of callers that say who they are
  // (SessionRequest). `endpoint` and this must outlive the result. One thread at a time.
  [[nodiscard]] std::unique_ptr<endpoint::Endpoint> listen_to(
      const endpoint::InProcessEndpoint& endpoint);

  // Sends the requests of the caller to a store of `other`: does it answer the same? False when the
  // caller was not recorded, or opened more than one session, and when what `other` sends goes
  // another way. Any number of threads, once the recording has ended.
  [[nodiscard]] bool are_the_same(const std::string& caller,
                                  const endpoint::InProcessEndpoint& other) const;

  struct Conversation {
    bool isolated = false;
    bool repeatable = true;
    std::vector<Call> calls{};
  };

 private:
  std::optional<endpoint::Conditions> conditions_;  // of the endpoint that was listened to
  std::map<std::string, Conversation, std::less<>> by_caller_;

  friend class ListeningEndpoint;
};

}  // namespace fencepost::selftest
