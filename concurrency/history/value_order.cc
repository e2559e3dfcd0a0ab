#include "concurrency/history/value_order.h"

#include <algorithm>
#include <iterator>

namespace fencepost::history {
namespace {

constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();

// A value, and who wrote and read it.
struct Cluster {
  std::size_t writes = 0;
  std::size_t reads = 0;
  bool certain = false;  // the write was answered
  std::int64_t write_called = kFirst;
  std::int64_t first_read_returned = kLast;
  std::int64_t first_return = kLast;
  std::int64_t last_call = kFirst;

  void take(const Entry& entry) {
    first_return = std::min(first_return, entry.returned);
    last_call = std::max(last_call, entry.called);
  }
};

struct Zone {
  std::int64_t from;
  std::int64_t to;
};

// False when an entry is of no kind that zones are for.
bool gather(const KeyHistory& history, std::vector<Cluster>& clusters, Cluster& absent) {
  clusters.resize(history.texts().size());
  for (const Entry& entry : history.entries()) {
    if (entry.outcome == Outcome::kRefused) continue;
    if (entry.action == Action::kGet && entry.outcome == Outcome::kMissing) {
      ++absent.reads;
      absent.take(entry);
    } else if (entry.action == Action::kGet) {
      Cluster& cluster = clusters[entry.other];
      ++cluster.reads;
      cluster.first_read_returned = std::min(cluster.first_read_returned, entry.returned);
      cluster.take(entry);
    } else {
      const bool written = entry.outcome == Outcome::kOk || entry.outcome == Outcome::kUnknown;
      const bool plain = entry.condition == codec::Condition::kAlways && entry.token == kNone &&
                         entry.expires_after < 0;
      if (entry.action != Action::kSet || !written || !plain) return false;
      Cluster& cluster = clusters[entry.value];
      if (++cluster.writes > 1) return false;
      cluster.certain = entry.outcome == Outcome::kOk;
      cluster.write_called = entry.called;
      cluster.take(entry);
    }
  }
  return true;
}

bool fits(std::vector<Zone>& lasting, const std::vector<Zone>& moments) {
  const auto earlier = [](const Zone& a, const Zone& b) { return a.from < b.from; };
  std::sort(lasting.begin(), lasting.end(), earlier);
  for (std::size_t i = 1; i < lasting.size(); ++i) {
    if (lasting[i - 1].to > lasting[i].from) return false;
  }
  return std::none_of(moments.begin(), moments.end(), [&](const Zone& moment) {
    const auto after = std::lower_bound(lasting.begin(), lasting.end(), moment, earlier);
    return after != lasting.begin() && std::prev(after)->to > moment.to;
  });
}

// A value, by the entries that wrote it and that show it.
struct Sighting {
  std::size_t writers = 0;
  Index writer = kNone;
  Index first = kNone;  // of its SET and the GETs of it, that which returned first
};

std::vector<Sighting> sightings_of(const KeyHistory& history) {
  const auto& entries = history.entries();
  std::vector<Sighting> out(history.texts().size());
  for (Index i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    const bool read = entry.outcome == Outcome::kValue;
    if (!read && !entry.writes_value()) continue;
    Sighting& value = out[read ? entry.other : entry.value];
    if (!read) {
      ++value.writers;
      value.writer = i;
      if (entry.outcome != Outcome::kOk) continue;
    }
    const bool earlier = value.first == kNone || entry.returned < entries[value.first].returned;
    if (earlier) value.first = i;
  }
  return out;
}

// It was there from its only SET on, and not before.
bool is_certain(const std::vector<Entry>& entries, const Sighting& value) {
  if (value.writers != 1 || value.first == kNone) return false;
  const Entry& writer = entries[value.writer];
  const bool written = writer.outcome == Outcome::kOk || writer.outcome == Outcome::kUnknown;
  return written && writer.called <= entries[value.first].returned;
}

}  // namespace

Decision decide_by_zones(const KeyHistory& history) {
  std::vector<Cluster> clusters;
  Cluster absent{.writes = 1, .certain = true};
  if (!gather(history, clusters, absent)) return Decision::kUndecided;
  // The key was absent before everything else.
  absent.first_return = kFirst;
  if (absent.reads != 0) clusters.push_back(absent);
  std::vector<Zone> lasting;
  std::vector<Zone> moments;
  for (const Cluster& cluster : clusters) {
    if (cluster.reads == 0 && !cluster.certain) continue;  // it need not have happened
    if (cluster.writes == 0) return Decision::kNoOrder;
    if (cluster.first_read_returned < cluster.write_called) return Decision::kNoOrder;
    if (cluster.first_return < cluster.last_call) {
      lasting.push_back({cluster.first_return, cluster.last_call});
    } else {
      moments.push_back({cluster.last_call, cluster.first_return});
    }
  }
  return fits(lasting, moments) ? Decision::kOrder : Decision::kNoOrder;
}

Decision decide_by_values(const KeyHistory& history, const Bounds& bounds,
                          const SearchLimits& limits) {
  const Decision quick = decide_by_zones(history);
  if (quick != Decision::kUndecided) return quick;
  KeyHistory values = history.without_versions();
  values.resolve();
  if (!values.flaws().empty()) return Decision::kNoOrder;
  return search(values, bounds, limits).decision;
}

std::vector<Index> stale_read(const KeyHistory& history) {
  const auto& entries = history.entries();
  const std::vector<Sighting> values = sightings_of(history);
  const auto first_return = [&](const Sighting& value) { return entries[value.first].returned; };
  const auto called = [&](const Sighting& value) { return entries[value.writer].called; };
  std::vector<Sighting> certain;
  std::copy_if(values.begin(), values.end(), std::back_inserter(certain),
               [&](const Sighting& value) { return is_certain(entries, value); });
  std::sort(certain.begin(), certain.end(), [&](const Sighting& a, const Sighting& b) {
    return first_return(a) < first_return(b);
  });
  std::vector<Index> reads;
  for (Index i = 0; i < entries.size(); ++i) {
    if (entries[i].outcome == Outcome::kValue) reads.push_back(i);
  }
  std::sort(reads.begin(), reads.end(), [&](Index a, Index b) {
    return std::pair(entries[a].called, a) < std::pair(entries[b].called, b);
  });
  // Of an answered SET and a GET, the SET says more, where it had returned by then.
  const auto shown_by = [&](const Sighting& value, std::int64_t before) {
    const Entry& writer = entries[value.writer];
    const bool by_writer = writer.outcome == Outcome::kOk && writer.returned < before;
    return by_writer ? value.writer : value.first;
  };
  const Sighting* newest = nullptr;  // of what was there before the read
  auto next = certain.begin();
  for (const Index read : reads) {
    for (; next != certain.end() && first_return(*next) < entries[read].called; ++next) {
      if (newest == nullptr || called(*next) > called(*newest)) newest = &*next;
    }
    const Sighting& old = values[entries[read].other];
    if (newest == nullptr || !is_certain(entries, old)) continue;
    if (first_return(old) >= called(*newest)) continue;
    return {shown_by(old, called(*newest)), shown_by(*newest, entries[read].called), read};
  }
  return {};
}

}  // namespace fencepost::history
