// Reads the notations for bytes and keys of a scenario file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "suite/scenario/scenario.h"
#include "suite/scenario/yaml_reader.h"

namespace fencepost::scenario {

// Text, or one of {escaped}, {hex}, {repeat, times}, {size}, {join}, {command}, {key, append},
// {all_bytes}, {fill_packet}, {filled}.
[[nodiscard]] std::optional<BytesSpec> load_bytes(YamlReader& reader, YamlNode node,
                                                  std::string_view what);

// A symbolic name, or {name, append} or {exact: bytes}.
[[nodiscard]] std::optional<BytesSpec> load_key(YamlReader& reader, YamlNode node,
                                                std::string_view what);

// The bytes of a value in which no key and no measure of another stands; else nothing.
[[nodiscard]] std::optional<std::string> literal_of(const BytesSpec& bytes);

// The most bytes of one value that a short notation may request.
inline constexpr std::int64_t kMaxSize = 16LL * 1024 * 1024;

// The 256 bytes 00 to ff.
[[nodiscard]] std::string all_bytes();

// These bytes, written out.
[[nodiscard]] std::string bytes_of(const LongBytes& bytes);

// The bytes of a pattern of this size that no shifted copy of itself equals: a torn value shows.
[[nodiscard]] std::string patterned_bytes(std::size_t size);

}  // namespace fencepost::scenario
