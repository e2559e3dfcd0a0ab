// A second decoder of the same grammar, for tests only: short, slow, and written without reading
// the first one. Two readings of one grammar that agree on every input are better evidence than one
// reading that agrees with its own author.
//
//   std::optional<naive::Tree> tree = naive::read_value("*1\r\n:7\r\n");
//   tree->elements[0].integer == 7;
//
// What it returns are views: they live as long as `input`.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "codec/resp3.h"

namespace fencepost::codec::naive {

struct Tree {
  ValueType type = ValueType::kNull;
  std::string_view text{};
  std::int64_t integer = 0;
  std::vector<Tree> elements{};
};

// The arguments of a command, all of them; nothing when the input is refused.
[[nodiscard]] std::optional<std::vector<std::string_view>> read_command(std::string_view input,
                                                                        const Limits& limits = {});

// A value of the subset; nothing when the input is refused.
[[nodiscard]] std::optional<Tree> read_value(std::string_view input, const Limits& limits = {});

// Whether two readings of one input are the same.
[[nodiscard]] bool agree(const Result<CommandFrame, DecodeError>& ours,
                         const std::optional<std::vector<std::string_view>>& theirs);
[[nodiscard]] bool agree(const Result<Value, DecodeError>& ours, const std::optional<Tree>& theirs);

// Whether both decoders give the same verdict, and on acceptance the same value.
[[nodiscard]] bool agree_on_command(std::string_view input, const Limits& limits = {});
[[nodiscard]] bool agree_on_value(std::string_view input, const Limits& limits = {});

}  // namespace fencepost::codec::naive
