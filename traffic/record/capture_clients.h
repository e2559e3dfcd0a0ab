// The clients of a case, and who they were in the capture. Not thread safe.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "suite/scenario/scenario.h"
#include "traffic/record/capture_timeline.h"

namespace fencepost::record {

// The length of a client id or a key in a comment; the rest is cut.
constexpr std::size_t kMaxBytesInComment = 80;

class CaptureClients {
 public:
  // All that send a request or receive a notification, in the order in which they do.
  explicit CaptureClients(const std::vector<const TimelineItem*>& items);

  [[nodiscard]] bool has(const std::string& id) const { return names_.contains(id); }
  // What the case calls it. There must be one.
  [[nodiscard]] const std::string& name_of(const std::string& id) const { return names_.at(id); }
  // It has to subscribe to its notifications.
  void observes(const std::string& id) { observers_.insert(id); }

  [[nodiscard]] std::vector<scenario::ClientSpec> specs() const;
  // For people: who is who, a line each; and their ids, escaped.
  [[nodiscard]] std::vector<std::string> comments() const;
  [[nodiscard]] std::string ids() const;

 private:
  std::map<std::string, std::string> names_;  // by client id
  std::vector<std::string> order_;            // of client ids
  std::set<std::string> derived_;             // client ids that are not known for sure
  std::set<std::string> observers_;
};

}  // namespace fencepost::record
