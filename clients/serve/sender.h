// Who sent a request, as far as a store can know that is a client of the broker itself: MQTT does
// not deliver the client id of a publisher. Pure.
//
//   sender_of(request);  // "thermostat-7"; empty: the request does not say it
//
// A claim, which nobody has checked: each client that may publish requests may name any other.
#pragma once

#include <string>

#include "codec/message.h"

namespace fencepost::serve {

// The client id in the response topic, `clients/{client id}/...`, which the article recommends. An
// id may have slashes where one of the endings that are in use follows it. The user property
// `__srcId`, which SDKs set, decides where the topic has the id in upper-case Base16, and where it
// does not begin with `clients/`.
[[nodiscard]] std::string sender_of(const codec::Message& request);

}  // namespace fencepost::serve
