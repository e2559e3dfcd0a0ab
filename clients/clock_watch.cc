#include "clients/clock_watch.h"

#include <algorithm>

namespace fencepost::clients {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kMostSkewMs = 60'000;
constexpr std::int64_t kMarginMs = 1'000;  // for our own clock and the way to us
// How long nothing may have been under way before a request, so that it was stamped after all that
// had come before: with nothing in its way, no request waits that long.
constexpr Time kIdleForOrder = seconds(1);
constexpr Time kIdleForDistance = milliseconds(200);
// Clients refuse a version that is more than a minute ahead of their wall clock.
constexpr std::uint64_t kMostMergedMs = 50'000;
constexpr std::size_t kMostVersions = 10'000;

std::string text_of(const hlc::Timestamp& timestamp) {
  return hlc::format(timestamp, hlc::Padding::kNone);
}

bool idle_at_least(const StampedRequest& request, Time wanted) {
  return request.idle_for && *request.idle_for >= wanted;
}

}  // namespace

void ClockWatch::received(const hlc::Timestamp& version, Time at) {
  if (versions_.size() < kMostVersions) versions_.insert(version);
  if (!latest_ || latest_->version < version) latest_ = Received{version, at};
}

void ClockWatch::sent(const StampedRequest& request, std::vector<Complaint>& out) {
  if (!request.stamp || request.sent_before) return;
  const hlc::Timestamp& stamp = *request.stamp;
  check_distance(request, out);
  if (node_.empty()) node_ = stamp.node;
  // A gateway stamps with the clocks of others.
  several_nodes_ = several_nodes_ || node_ != stamp.node;
  if (several_nodes_) return;
  check_order(request, out);
  check_merged(request, out);
  if (!last_ || *last_ < stamp) last_ = stamp;
}

void ClockWatch::check_distance(const StampedRequest& request, std::vector<Complaint>& out) const {
  if (!request.store_ms) return;
  constexpr std::uint64_t kSane = std::uint64_t{1} << 62U;
  const auto wall = static_cast<std::int64_t>(std::min(request.stamp->wall_ms, kSane));
  // Where the store's clock is off on purpose, the client's may be right all the same.
  const std::int64_t at_ms = request.at.count() / 1000;
  const std::int64_t latest = std::max(*request.store_ms, at_ms);
  const std::int64_t earliest = std::min(*request.store_ms, at_ms);
  const std::int64_t ahead =
      wall > latest ? wall - latest : std::min(wall - earliest, std::int64_t{0});
  // A clock that merges is never more than a minute ahead of the store's, whose versions are not.
  const bool too_late = ahead > kMostSkewMs + kMarginMs;
  const bool too_early =
      ahead < -kMostSkewMs - kMarginMs && idle_at_least(request, kIdleForDistance);
  if (!too_late && !too_early) return;
  out.push_back({&rule("ENV-CLOCK-1"), "__ts " + text_of(*request.stamp) + " is " +
                                           std::to_string((ahead < 0 ? -ahead : ahead) / 1000) +
                                           " s " + (ahead < 0 ? "behind" : "ahead of") +
                                           " the store's clock"});
}

void ClockWatch::check_order(const StampedRequest& request, std::vector<Complaint>& out) const {
  if (!last_ || !(*request.stamp < *last_) || !idle_at_least(request, kIdleForOrder)) return;
  out.push_back({&rule("HLC-CLIENT-1"), "__ts " + text_of(*request.stamp) +
                                            " is behind the client's own " + text_of(*last_) +
                                            " of an earlier request"});
}

void ClockWatch::check_merged(const StampedRequest& request, std::vector<Complaint>& out) const {
  const hlc::Timestamp& stamp = *request.stamp;
  const auto is_behind = [&stamp](const hlc::Timestamp& version) {
    return stamp < version && stamp.node != version.node &&
           version.wall_ms - stamp.wall_ms <= kMostMergedMs;
  };
  const auto complain = [&](const hlc::Timestamp& version, const std::string& which) {
    out.push_back({&rule("HLC-CLIENT-2"), "__ts " + text_of(stamp) + " is behind " + which + ' ' +
                                              text_of(version) + " that it has received"});
  };
  // Who sends a version as its token has read the response with it.
  if (request.token && versions_.contains(*request.token) && is_behind(*request.token)) {
    return complain(*request.token, "the version, its token,");
  }
  // With a counter of 0 the stamp is the client's wall clock: it is not far ahead of that by what
  // it has merged before.
  if (latest_ && idle_at_least(request, kIdleForOrder) && stamp.counter == 0 &&
      is_behind(latest_->version) && latest_->at + kIdleForOrder <= request.at) {
    complain(latest_->version, "the version");
  }
}

}  // namespace fencepost::clients
