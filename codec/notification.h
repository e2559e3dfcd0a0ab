// Key notifications: the payload that an observer of a key receives. (Req: NTF-*)
//
//   SET:    *4 NOTIFY SET VALUE <new value>
//   delete: *2 NOTIFY DEL        (documented)    *2 NOTIFY DELETE    (deployed)
//
// Pure and thread safe. The key is in the topic: see topics.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/dialect.h"
#include "codec/resp3.h"

namespace fencepost::codec {

enum class Operation { kSet, kDelete };

struct Notification {
  Operation operation = Operation::kSet;
  std::string_view value{};  // kSet: the new value

  friend bool operator==(const Notification&, const Notification&) = default;
};

void append_notification(std::string& out, const Notification& notification,
                         const Dialect& dialect);

struct DecodedNotification {
  Operation operation = Operation::kSet;
  std::string_view value{};       // kSet: the new value, a view into the payload
  std::optional<DialectId> form;  // set for a delete: the dialect that spells it like this

  friend bool operator==(const DecodedNotification&, const DecodedNotification&) = default;
};

// Reads a notification in either dialect's form, byte by byte strict.
[[nodiscard]] Result<DecodedNotification, DecodeError> decode_notification(
    std::string_view payload, const Limits& limits = {});

}  // namespace fencepost::codec
