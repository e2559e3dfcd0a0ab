#include "traffic/record/capture_clients.h"

#include <string_view>

#include <fmt/format.h>

#include "base/bytes.h"

namespace fencepost::record {
namespace {

// `a`, `b`, ... as long as there are letters, then c25, ...
std::string client_name(std::size_t index) {
  constexpr std::string_view kLetters = "abcdefghijklmopqrstuvwxz";  // n and y mean no and yes
  if (index < kLetters.size()) return std::string(kLetters.substr(index, 1));
  return fmt::format("c{}", index + 1);
}

}  // namespace

CaptureClients::CaptureClients(const std::vector<const TimelineItem*>& items) {
  for (const TimelineItem* item : items) {
    if (item->kind == TimelineItem::Kind::kDisconnection) continue;
    const bool is_new = names_.try_emplace(item->client_id, client_name(names_.size())).second;
    if (is_new) order_.push_back(item->client_id);
    if (!item->client_known) derived_.insert(item->client_id);
  }
}

std::vector<scenario::ClientSpec> CaptureClients::specs() const {
  std::vector<scenario::ClientSpec> out;
  for (const std::string& id : order_) {
    out.push_back({.name = names_.at(id), .observes = observers_.contains(id)});
  }
  return out;
}

std::vector<std::string> CaptureClients::comments() const {
  std::vector<std::string> out;
  for (const std::string& id : order_) {
    out.push_back(fmt::format("client {}: {}{}", names_.at(id), escape(id, kMaxBytesInComment),
                              derived_.contains(id) ? " (derived from its response topic)" : ""));
  }
  return out;
}

std::string CaptureClients::ids() const {
  std::vector<std::string> out;
  for (const std::string& id : order_) out.push_back(escape(id, kMaxBytesInComment));
  return fmt::format("{}", fmt::join(out, ", "));
}

}  // namespace fencepost::record
