// Result<T, E>: a value, or the reason why there is none. Bad input from outside is always a
// Result, never an exception and never an abort.
//
//   Result<int, ParseError> port = parse_port(text);
//   if (!port) return fail(port.error());
//   use(*port);
#pragma once

#include <utility>

#include <tl/expected.hpp>

namespace fencepost {

template <typename T, typename E>
using Result = tl::expected<T, E>;

// Makes the failed side of a Result. The error is moved in.
template <typename E>
[[nodiscard]] tl::unexpected<std::decay_t<E>> fail(E&& error) {
  return tl::unexpected<std::decay_t<E>>(std::forward<E>(error));
}

}  // namespace fencepost
