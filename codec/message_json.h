// The one JSON form of a message, in the logs of `fencepost serve --record` and in reports:
// docs/message.schema.json. Bytes that a peer sent are text with the escapes of
// base/bytes.h, as JSON strings must be UTF-8; correlation data is Base16.
//
//   {"topic": "t", "payload": "*1\\r\\n...", "qos": 1, "retain": false, "user_properties":
//   [["__ts", "..."]]}
//
// Pure. A library of its own, fencepost_message_json, as few need it.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "codec/message.h"

namespace fencepost {
class JsonMembers;
}

namespace fencepost::codec {

// message_of() of it is the message again.
[[nodiscard]] nlohmann::ordered_json to_json(const Message& message);

// Errors go to the diagnostic of `members`; a message comes back in any case. Unknown members are
// ignored.
[[nodiscard]] Message message_of(const JsonMembers& members);

}  // namespace fencepost::codec
