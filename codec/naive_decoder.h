// A second decoder of the same grammar, for tests only: short, slow, and written without a look at
// the first one. Two readings of one grammar that agree on every input are better evidence than one
// reading that agrees with its own author.
//
//   std::optional<naive::Tree> tree = naive::read_value("*1\r\n:7\r\n");
//   tree->elements[0].integer == 7;
//
// It copies whatever it looks at, so its time grows with the square of the input: keep inputs below
// some kilobytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codec/resp3.h"

namespace fencepost::codec::naive {

struct Tree {
  ValueType type = ValueType::kNull;
  std::string text{};
  std::int64_t integer = 0;
  std::vector<Tree> elements{};
};

// The arguments of a command, all of them; nothing when the input is refused.
[[nodiscard]] std::optional<std::vector<std::string>> read_command(const std::string& input,
                                                                   const Limits& limits = {});

// A value of the subset; nothing when the input is refused.
[[nodiscard]] std::optional<Tree> read_value(const std::string& input, const Limits& limits = {});

// Whether both decoders give the same verdict, and on acceptance the same value.
[[nodiscard]] bool agree_on_command(const std::string& input, const Limits& limits = {});
[[nodiscard]] bool agree_on_value(const std::string& input, const Limits& limits = {});

}  // namespace fencepost::codec::naive
