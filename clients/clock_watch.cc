#include "clients/clock_watch.h"

#include <algorithm>
#include <utility>

namespace fencepost::clients {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kMaxSkewMs = 60'000;
constexpr std::int64_t kMarginMs = 1'000;  // for our own clock and the way to us
// How long nothing may have been in flight before a request, so that it was stamped after all that
// had come before: with nothing in its way, no request waits that long.
constexpr Time kIdleForOrder = seconds(1);
constexpr Time kIdleForDistance = milliseconds(200);
// Clients refuse a version that is more than a minute ahead of their wall clock.
constexpr std::uint64_t kMaxMergedMs = 50'000;
constexpr std::size_t kMaxVersions = 10'000;
constexpr std::int64_t kSane = std::int64_t{1} << 50U;  // milliseconds: 35,000 years
// The requests are too many to be held up one by one.
constexpr std::size_t kSeveral = 3;
constexpr std::uint64_t kLeastMs = 1'000'000'000'000;
// No queue reverses this many of them.
constexpr std::size_t kMaxBackwards = 8;

std::string text_of(const hlc::Timestamp& timestamp) {
  return hlc::format(timestamp, hlc::Padding::kNone);
}

bool idle_at_least(const StampedRequest& request, Time wanted) {
  return request.idle_for && *request.idle_for >= wanted;
}

}  // namespace

void ClockWatch::received(const hlc::Timestamp& version, Time at) {
  if (versions_.size() < kMaxVersions) versions_.insert(version);
  if (!latest_ || latest_->version < version) latest_ = Received{version, at};
}

void ClockWatch::sent(const StampedRequest& request, std::vector<Diagnostic>& out) {
  check_token_time(request, out);
  note_idle(request);
  if (!request.stamp || request.sent_before) return;
  const hlc::Timestamp& stamp = *request.stamp;
  note_step(request);
  check_distance(request, out);
  if (node_.empty()) node_ = stamp.node;
  // A gateway stamps with the clocks of others.
  several_nodes_ = several_nodes_ || node_ != stamp.node;
  if (several_nodes_) return;
  check_order(request, out);
  check_merged(request, out);
  previous_ = Sent{stamp, request.at};
  if (!last_ || *last_ < stamp) last_ = stamp;
}

void ClockWatch::note_step(const StampedRequest& request) {
  if (!previous_) return;
  // What a queue lets out at its own pace was not stamped at that pace.
  constexpr Time kJitter = std::chrono::milliseconds(20);
  const Time between = request.at - previous_->at;
  const auto stamps = static_cast<std::int64_t>(request.stamp->wall_ms - previous_->stamp.wall_ms);
  const Time off = between - milliseconds(std::clamp<std::int64_t>(stamps, -kMaxSkewMs, kSane));
  in_step_ = std::chrono::abs(off) <= std::max(kJitter, between / 4);
}

void ClockWatch::note_idle(const StampedRequest& request) {
  if (!request.idle_for) return;
  constexpr Time kPart = std::chrono::milliseconds(100);
  idle_ += *request.idle_for;
  const auto version = latest_ ? std::optional(latest_->version) : std::nullopt;
  if (idle_at_least(request, kIdleForOrder)) {
    later_floors_.clear();
    floor_ = {idle_, last_, version};
    sure_floor_ = last_;
    return;
  }
  while (!later_floors_.empty() && idle_ - later_floors_.front().idle >= kIdleForOrder) {
    floor_ = std::move(later_floors_.front());
    later_floors_.pop_front();
  }
  if (later_floors_.empty() || idle_ - later_floors_.back().idle >= kPart) {
    later_floors_.push_back({idle_, last_, version});
  }
}

void ClockWatch::check_distance(const StampedRequest& request, std::vector<Diagnostic>& out) {
  if (!request.store_ms) return;
  const std::uint64_t stamp_ms = request.stamp->wall_ms;
  const auto wall = static_cast<std::int64_t>(std::min<std::uint64_t>(stamp_ms, kSane));
  // Where the store's clock is off on purpose, the client's may be right all the same.
  const std::int64_t at_ms = request.at.count() / 1000;
  const std::int64_t latest = std::max(*request.store_ms, at_ms);
  const std::int64_t earliest = std::min(*request.store_ms, at_ms);
  const std::int64_t ahead =
      wall > latest ? wall - latest : std::min(wall - earliest, std::int64_t{0});
  // A clock that merges is never more than a minute ahead of the store's, whose versions are not.
  const bool too_late = ahead > kMaxSkewMs + kMarginMs;
  // The first of these, in milliseconds, were in 2001: seconds are taken for milliseconds.
  const bool no_clock = stamp_ms < kLeastMs;
  const bool too_early = ahead < -kMaxSkewMs - kMarginMs;
  if (!too_late && !too_early) return;
  if (too_early && in_step_ && idle_ >= kIdleForOrder) ++too_old_;
  out.push_back(
      {&rule("ENV-CLOCK-1"),
       "__ts " + text_of(*request.stamp) + " is " +
           std::to_string((ahead < 0 ? -ahead : ahead) / 1000) + " s " +
           (ahead < 0 ? "behind" : "ahead of") + " the store's clock",
       // It may have been queued that long.
       too_late || no_clock || idle_at_least(request, kIdleForDistance) || too_old_ >= kSeveral});
}

void ClockWatch::check_token_time(const StampedRequest& request,
                                  std::vector<Diagnostic>& out) const {
  if (!request.token || !request.store_ms) return;
  const auto latest_ms = std::max<std::int64_t>(*request.store_ms, request.at.count() / 1000);
  const auto limit = static_cast<std::uint64_t>(latest_ms + kMaxSkewMs + kMarginMs);
  if (request.token->wall_ms <= limit) return;
  out.push_back(
      {&rule("HLC-SKEW-2"),
       "__ft " + text_of(*request.token) + " is " +
           std::to_string((request.token->wall_ms - static_cast<std::uint64_t>(latest_ms)) / 1000) +
           " s ahead of the store's clock"});
}

void ClockWatch::check_order(const StampedRequest& request, std::vector<Diagnostic>& out) {
  const hlc::Timestamp& stamp = *request.stamp;
  const auto diagnose = [&](const hlc::Timestamp& other, const std::string& which) {
    out.push_back(
        {&rule("HLC-CLIENT-1"),
         "__ts " + text_of(stamp) + " is " +
             (stamp == other ? "the same as that" : "behind the client's own " + text_of(other)) +
             " of " + which});
  };
  const bool goes_back = previous_ && stamp < previous_->stamp;
  backwards_ = goes_back && request.idle_for ? backwards_ + 1 : 0;
  if (floor_.stamp && stamp < *floor_.stamp) {
    ++below_;
    diagnose(*floor_.stamp, "an earlier request");
    const bool sure = sure_floor_ && stamp < *sure_floor_;
    out.back().certain = sure || below_ >= kSeveral;
    return;
  }
  if (goes_back) {
    diagnose(*last_, "an earlier request");
    // Threads stamp concurrently, and a queue may not be in order.
    out.back().certain = backwards_ >= kMaxBackwards;
    return;
  }
  if (!request.sets || of_sets_.size() >= kMaxVersions) return;
  // A request may be sent again unchanged.
  const auto [other, is_new] = of_sets_.emplace(stamp, request.content);
  if (!is_new && other->second != request.content)
    diagnose(stamp, "an earlier SET with other content");
}

void ClockWatch::check_merged(const StampedRequest& request, std::vector<Diagnostic>& out) {
  const hlc::Timestamp& stamp = *request.stamp;
  const auto is_behind = [&stamp](const hlc::Timestamp& version) {
    return stamp < version && stamp.node != version.node &&
           version.wall_ms - stamp.wall_ms <= kMaxMergedMs;
  };
  const auto diagnose = [&](const hlc::Timestamp& version, const std::string& which) {
    out.push_back({&rule("HLC-CLIENT-2"), "__ts " + text_of(stamp) + " is behind " + which + ' ' +
                                              text_of(version) + " that it has received"});
  };
  // Who sends a version as its token has read the response with it.
  if (request.token && versions_.contains(*request.token) && is_behind(*request.token)) {
    return diagnose(*request.token, "the version in its own token,");
  }
  if (!latest_ || !request.idle_for || !is_behind(latest_->version)) return;
  // With a counter of 0 the stamp is the client's wall clock: it is not far ahead of that by what
  // it has merged before. It may have been stamped before the version came.
  const bool is_wall = stamp.counter == 0;
  const bool rested =
      idle_at_least(request, kIdleForOrder) && latest_->at + kIdleForOrder <= request.at;
  if (is_wall && in_step_ && floor_.version && is_behind(*floor_.version)) ++unmerged_;
  diagnose(latest_->version, "the version");
  out.back().certain = is_wall && (rested || unmerged_ >= kSeveral);
}

}  // namespace fencepost::clients
