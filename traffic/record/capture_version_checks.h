// What a case demands of the versions in replies: where two were the same, or one was newer, they
// have to be so again. Not thread safe.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "suite/scenario/scenario.h"
#include "traffic/record/capture_keys.h"
#include "traffic/record/capture_versions.h"

namespace fencepost::record {

class VersionChecks {
 public:
  // Must outlive this.
  explicit VersionChecks(CaptureVersions& versions) : versions_(versions) {}

  // A first step of the case makes the key, and saves its version under this name.
  void begin_with(const std::string& key, const std::string& name) { unnamed_.emplace(key, name); }

  // The check for an exchange with a reply; nothing where the article leaves it open. `key`: as it
  // was before; keeps the name of its version.
  [[nodiscard]] std::optional<scenario::TimestampCheck> check(const TimelineItem& item,
                                                              const ReadExchange& exchange,
                                                              KeyNow& key);

 private:
  [[nodiscard]] scenario::TimestampCheck of_new(const std::string& version,
                                                const TimelineItem& item, KeyNow& key);
  [[nodiscard]] scenario::TimestampCheck of_known(const std::string& version,
                                                  const ReadExchange& exchange, KeyNow& key);
  [[nodiscard]] bool is_greater(const std::string& version, const std::string& name) const;

  CaptureVersions& versions_;
  std::map<std::string, std::string> unnamed_;  // of keys from before: the name of the version
  std::map<std::string, std::string> saved_;    // versions by name
};

}  // namespace fencepost::record
