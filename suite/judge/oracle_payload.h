// What the bytes of a request leave open, for the oracle: whether a payload that is no command to
// us may be one to another conforming store, and which error is right. Pure.
#pragma once

#include <string_view>

#include "codec/command.h"
#include "codec/error_code.h"
#include "codec/message.h"
#include "suite/judge/oracle_key.h"

namespace fencepost::judge {

// What is open about the spelling of a SET; its outcome is left empty.
[[nodiscard]] UnspecifiedChoice open_form_of(const codec::Command& command,
                                             std::string_view payload);

// May KEYNOTIFY be refused for a property that it does not need?
[[nodiscard]] bool may_be_refused_for_properties(const codec::Message& request);

// Must a request whose payload we refuse with `error` get just that one? Not where it may be
// another.
[[nodiscard]] bool is_definite(const codec::Message& request, codec::ErrorCode error);

// May a payload that we refuse with `error` be a command to another conforming store?
[[nodiscard]] bool is_lenient(const codec::Message& request, codec::ErrorCode error);

}  // namespace fencepost::judge
