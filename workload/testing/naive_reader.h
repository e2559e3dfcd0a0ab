// Reads payloads for the naive model, as naively: from the documents alone, with nothing of
// codec/'s own reader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/command.h"
#include "codec/error_code.h"
#include "workload/operation.h"

namespace fencepost::workload {

// A request as understood, regardless of its spelling.
struct Wanted {
  Kind kind = Kind::kGet;
  std::string_view key;
  std::string_view value;
  codec::Condition condition = codec::Condition::kAlways;
  std::optional<std::int64_t> px_ms;
};

// Why a payload is malformed, and the requirement that leaves the answer open; empty where none
// does.
struct Misread {
  codec::ErrorCode error = codec::ErrorCode::kSyntax;
  std::string_view open;
};

// Not thread safe.
class NaiveReader {
 public:
  explicit NaiveReader(bool fractional_expiry) : fractional_expiry_(fractional_expiry) {}

  // Fills in what `payload` requests. The views live until the next call. On an error, what
  // `wanted` holds means nothing.
  std::optional<Misread> understand(const std::string& payload, Wanted& wanted);

 private:
  std::optional<Misread> understand_set(Wanted& wanted);
  std::optional<Misread> split(const std::string& payload);
  std::optional<Misread> read_px(const std::string& text, Wanted& wanted) const;

  bool fractional_expiry_;
  std::vector<std::string> arguments_;
};

}  // namespace fencepost::workload
