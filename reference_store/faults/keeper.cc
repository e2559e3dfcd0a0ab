#include "reference_store/faults/keeper.h"

#include <algorithm>
#include <iterator>

namespace fencepost::store {
namespace {

class KeepingStore final : public Decorator, public Keeper {
 public:
  KeepingStore(const ServiceOptions& options, Keeping keeping)
      : Decorator(options), keeping_(std::move(keeping)) {}

  [[nodiscard]] Keeper* keeper() override { return this; }
  [[nodiscard]] WhenReplaced when_replaced() const override { return keeping_.when_replaced; }

  void load(KeptKeys& kept, std::chrono::microseconds wall) override {
    loaded_ = !kept.keys.empty();
    if (keeping_.load) keeping_.load(kept, wall);
    for (const KeptKey& key : kept.keys) file_[key.key] = key;
    if (kept.taken_over && keeping_.old_reads.count() > 0) at_take_over_ = file_;
  }

  void write(KeptKeys& kept, std::chrono::microseconds wall) override {
    KeptKeys written;
    written.clock = std::move(kept.clock);
    std::size_t in_commit = 0;
    for (KeptKey& key : kept.keys) {
      const auto last = last_.find(key.key);
      const auto before = file_.find(key.key);
      const KeepingContext context{.last = last == last_.end() ? kExpiry : last->second,
                                   .before = before == file_.end() ? nullptr : &before->second,
                                   .number = ++number_,
                                   .in_commit = ++in_commit,
                                   .loaded = loaded_,
                                   .wall = wall};
      if (keeping_.write && !keeping_.write(key, context)) continue;
      written.keys.push_back(std::move(key));
    }
    last_.clear();
    if (keeping_.write_all) keeping_.write_all(written, wall);
    for (const KeptKey& key : written.keys) {
      if (key.gone) {
        file_.erase(key.key);
      } else {
        file_[key.key] = key;
      }
    }
    hold_back(std::move(written), wall);
    kept = {};
    release(kept, wall);
  }

  void end(KeptKeys& kept) override {
    for (Held& held : held_) add(kept, std::move(held.kept));
    held_.clear();
  }

 private:
  struct Held {
    std::chrono::microseconds since{0};
    KeptKeys kept{};
  };
  static const LastChange kExpiry;

  void after(Exchange& exchange) override {
    if (!exchange.command || exchange.response() == nullptr) return;
    if (!at_take_over_.empty()) read_old(exchange);
    const codec::Verb verb = exchange.command->verb;
    const bool changed = verb == codec::Verb::kSet
                             ? exchange.replies(codec::ReplyKind::kOk)
                             : codec::removes(verb) && exchange.response()->payload == ":1\r\n";
    if (!changed) return;
    last_[std::string(exchange.command->key)] = {
        .command = exchange.command,
        .has_token = exchange.request.property(codec::kTokenProperty) != nullptr};
  }

  void read_old(Exchange& exchange) {
    constexpr auto kUnset = std::chrono::microseconds{-1};
    if (taken_over_at_ == kUnset) taken_over_at_ = exchange.now.steady;
    if (exchange.now.steady > taken_over_at_ + keeping_.old_reads) at_take_over_.clear();
    const auto old = at_take_over_.find(std::string(exchange.command->key));
    const bool reads_old = std::hash<std::string_view>()(exchange.caller.client_id) % 2 == 0;
    if (!reads_old || exchange.command->verb != codec::Verb::kGet || old == at_take_over_.end() ||
        !exchange.replies(codec::ReplyKind::kValue)) {
      return;
    }
    const std::string& value = old->second.value;
    exchange.response()->payload = "$" + std::to_string(value.size()) + "\r\n" + value + "\r\n";
    set_property(*exchange.response(), codec::kTimestampProperty, hlc::format(old->second.version));
  }

  static void add(KeptKeys& to, KeptKeys from) {
    std::move(from.keys.begin(), from.keys.end(), std::back_inserter(to.keys));
    if (from.clock) to.clock = std::move(from.clock);
  }

  // One change each, where their number decides.
  void hold_back(KeptKeys written, std::chrono::microseconds wall) {
    if (written.empty()) return;
    if (keeping_.behind > 0) {
      for (KeptKey& key : written.keys) {
        held_.push_back({.since = wall, .kept = {.keys = {std::move(key)}}});
      }
      if (!held_.empty()) held_.back().kept.clock = std::move(written.clock);
    } else {
      held_.push_back({.since = wall, .kept = std::move(written)});
    }
  }

  void release(KeptKeys& kept, std::chrono::microseconds wall) {
    if (keeping_.at_the_end) return;
    while (held_.size() > keeping_.behind && wall >= held_.front().since + keeping_.late) {
      add(kept, std::move(held_.front().kept));
      held_.pop_front();
    }
  }

  Keeping keeping_;
  std::map<std::string, LastChange> last_{};       // by key, since the last commit
  std::map<std::string, KeptKey> file_{};          // with what is held back
  std::map<std::string, KeptKey> at_take_over_{};  // for old reads
  std::chrono::microseconds taken_over_at_{-1};
  std::deque<Held> held_{};
  std::size_t number_ = 0;
  bool loaded_ = false;
};

const LastChange KeepingStore::kExpiry{};

}  // namespace

MakeHandler with_keeping(Keeping keeping) {
  return [keeping = std::move(keeping)](const ServiceOptions& options, std::uint64_t /*seed*/) {
    return std::make_unique<KeepingStore>(options, keeping);
  };
}

}  // namespace fencepost::store
