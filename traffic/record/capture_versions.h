// Timestamps of a capture as a case sends them: relative to versions that earlier steps save, or to
// `now`, so that they keep their order among each other and their distance from the store's clock.
// Not thread safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hlc/hlc.h"
#include "suite/scenario/scenario.h"

namespace fencepost::record {

// The version that tokens older than all others are relative to is saved by a separate step.
inline constexpr std::string_view kStartVersion = "t0";

class CaptureVersions {
 public:
  // `offset_ms`: the store's clock minus that of the capture. `tokens`: all fencing tokens that
  // will be requested, as they were sent.
  CaptureVersions(std::int64_t offset_ms, const std::vector<std::string>& tokens);

  // A step saves this version; the name is new unless the version has one.
  const std::string& save(const std::string& version);
  // The name of a version that has been saved; null when there is none.
  [[nodiscard]] const std::string* name_of(const std::string& version) const;
  // A version that was there before the capture is saved under a name that is known.
  void alias(const std::string& version, const std::string& name);

  // `refused`: as too far ahead.
  // The `__ts` of a request sent at `time`, e.g. `now`, `now - 10m`, or its text as it is.
  [[nodiscard]] scenario::TimestampSpec timestamp(const std::string& text,
                                                  std::chrono::microseconds time,
                                                  bool refused) const;
  // The same of a fencing token.
  [[nodiscard]] scenario::TimestampSpec token(const std::string& text,
                                              std::chrono::microseconds time, bool refused);

  // Is one of the tokens relative to kStartVersion? To be called after all of them.
  [[nodiscard]] bool uses_start() const { return uses_start_; }

 private:
  [[nodiscard]] std::int64_t ahead_ms(const hlc::Timestamp& timestamp,
                                      std::chrono::microseconds time) const;
  [[nodiscard]] scenario::TimestampExpression relative_token(const hlc::Timestamp& token,
                                                             std::int64_t ahead);
  void note(const std::string& version, const std::string& name);

  std::int64_t offset_ms_;
  std::vector<hlc::Timestamp> tokens_;  // in their order, each once
  std::map<std::string, std::string> names_;
  std::map<hlc::Timestamp, std::string> saved_;
  std::map<hlc::Timestamp, scenario::TimestampExpression> written_;  // tokens
  std::size_t count_ = 0;
  bool uses_start_ = false;
};

}  // namespace fencepost::record
