// Mutations of traces that keep their meaning: operations come and go, fields change, timestamps
// move about the limits. Traces in which clients use the same keys, values and tokens are
// preferred, because that is where stores go wrong.
//
//   Random random(seed);
//   mutate(trace, random, kMaxOperations);
//
// Pure: all chance comes from the engine that is handed in. Thread safe.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "workload/operation.h"
#include "workload/random.h"

namespace fencepost::workload {

// Changes the bytes of a value; the result is cut to kMaxValueBytes. In a fuzzer, its own mutation.
using ValueMutation = std::function<void(std::string& value, Random& random)>;

// The mutation used without a seed: a byte more, less, or different.
void change_bytes(std::string& value, Random& random);

// A random operation of a few clients on a few keys.
[[nodiscard]] Operation random_operation(Random& random);

// Changes a trace in one place or a few. Input and result are normalized and have at most
// `max_operations`, which is not 0; the result is never empty.
void mutate(Trace& trace, Random& random, std::size_t max_operations,
            const ValueMutation& change_value = change_bytes);

// A trace of the operations of both in turn: prefix of the one, piece of the other, and so on. At
// most `max_operations`.
[[nodiscard]] Trace cross(const Trace& a, const Trace& b, Random& random,
                          std::size_t max_operations);

}  // namespace fencepost::workload
