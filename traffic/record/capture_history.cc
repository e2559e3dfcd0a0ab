#include "traffic/record/capture_history.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text/text_wrap.h"
#include "codec/command.h"
#include "codec/dialect.h"
#include "codec/resp3.h"
#include "concurrency/history/history_file.h"
#include "concurrency/stress/traffic.h"
#include "traffic/record/capture_timeline.h"

namespace fencepost::record {
namespace {

using history::Action;
using history::Operation;
using history::Outcome;
using std::chrono::microseconds;

std::optional<hlc::Timestamp> stamp_property(const codec::Message& message, std::string_view name) {
  const std::string* text = message.property(name);
  if (text == nullptr) return std::nullopt;
  auto stamp = hlc::parse(*text);
  return stamp ? std::optional(std::move(*stamp)) : std::nullopt;
}

// Nothing for KEYNOTIFY, and for what is no request.
std::optional<Operation> asked_by(const codec::Message& request) {
  const auto command =
      codec::parse_command(request.payload, codec::dialect(codec::DialectId::kDeployed));
  if (!command || command->verb == codec::Verb::kKeynotify) return std::nullopt;
  Operation out{.key = std::string(command->key),
                .value = std::string(command->value),
                .condition = command->condition,
                .expires_after = command->expires_after,
                .timestamp = stamp_property(request, codec::kTimestampProperty),
                .token = stamp_property(request, codec::kTokenProperty)};
  out.action = *std::find_if(history::kActions.begin(), history::kActions.end(),
                             [&](Action each) { return verb_of(each) == command->verb; });
  return out;
}

bool tells_of_a_token(const Operation& operation) {
  return operation.outcome == Outcome::kTokenRequired || operation.outcome == Outcome::kTokenLower;
}

// The key was not there when it was carried out.
bool tells_of_absence(const Operation& operation) {
  return operation.outcome == Outcome::kMissing ||
         (operation.outcome == Outcome::kOk && operation.condition != codec::Condition::kAlways);
}

class HistoryMaker {
 public:
  HistoryMaker(const Capture& capture, const HistoryOptions& options)
      : capture_(capture), options_(options), timeline_(timeline_of(capture)) {
    // Not that of the first event: packets of several queues may be in another order.
    for (const CapturedEvent& event : capture.events) begin_ = std::min(begin_, time_of(event));
  }

  CaptureHistory run() {
    find_ambiguous();
    for (const TimelineItem& item : timeline_.items) {
      if (item.kind == TimelineItem::Kind::kExchange) add(item);
    }
    if (all_unclear_) keys_.clear();
    std::size_t unclear = 0;
    for (auto& [key, operations] : keys_) {
      if (unclear_.contains(key)) {
        ++unclear;
        continue;
      }
      std::stable_sort(operations.begin(), operations.end(),
                       [](const Operation& a, const Operation& b) { return a.called < b.called; });
      if (!capture_.from_start) keep_what_is_known(key, operations);
      write(operations);
    }
    add_notes(unclear);
    out_.text = history::header_line() + history::bounds_line({});
    std::stable_sort(lines_.begin(), lines_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [time, line] : lines_) out_.text += line;
    return std::move(out_);
  }

 private:
  using ExchangeName = std::pair<std::string, std::string>;  // response topic, correlation data

  static std::optional<ExchangeName> name_of(const codec::Message& request) {
    if (!request.response_topic || !request.correlation_data) return std::nullopt;
    return ExchangeName{*request.response_topic, *request.correlation_data};
  }

  // The request of a response is unknown where two requests with one name were in flight together.
  void find_ambiguous() {
    std::map<ExchangeName, std::vector<const TimelineItem*>> named;
    for (const TimelineItem& item : timeline_.items) {
      if (item.kind != TimelineItem::Kind::kExchange) continue;
      if (const auto name = name_of(*item.message)) named[*name].push_back(&item);
    }
    for (auto& [name, items] : named) {
      std::stable_sort(
          items.begin(), items.end(),
          [](const TimelineItem* a, const TimelineItem* b) { return a->sent < b->sent; });
      for (std::size_t i = 1; i < items.size(); ++i) {
        if (items[i - 1]->received < items[i]->sent) continue;
        ambiguous_.insert(items[i - 1]);
        ambiguous_.insert(items[i]);
      }
    }
  }

  [[nodiscard]] history::Time since_begin(microseconds time) const {
    return time - begin_ + options_.slack;
  }

  void add(const TimelineItem& item) {
    auto operation = asked_by(*item.message);
    if (!operation) return skip(item);
    const auto [client, added] =
        clients_.try_emplace(item.client_id, static_cast<std::uint32_t>(clients_.size()));
    operation->client = client->second;
    operation->called = since_begin(item.sent) - options_.slack;
    replied_ = replied_ || item.reply != nullptr;
    if (item.reply != nullptr && !ambiguous_.contains(&item)) {
      // Times are cut to microseconds.
      operation->returned = since_begin(item.received) + microseconds{1};
      // From a malformed response nothing is known.
      (void)stress::read_reply(*item.reply, *operation);
    } else {
      operation->reason =
          item.reply == nullptr ? "no response was seen" : "it is not clear whose response it is";
    }
    keys_[operation->key].push_back(std::move(*operation));
  }

  // A malformed request changes nothing, if the store also takes it as malformed.
  void skip(const TimelineItem& item) {
    const auto frame = codec::decode_command(item.message->payload);
    const bool named = frame && frame->count >= 2;
    if (named && frame->arguments[0] == codec::name(codec::Verb::kKeynotify)) return;
    Operation refused{.action = Action::kSet};
    const bool known = item.reply != nullptr && stress::read_reply(*item.reply, refused);
    if (known && refused.outcome == Outcome::kRefused) return;
    if (named) {
      unclear_.insert(std::string(frame->arguments[1]));
    } else {
      all_unclear_ = true;
    }
  }

  // For a key that may have had any state before: keeps what came after a moment at which its whole
  // state was known, and what may still happen then.
  void keep_what_is_known(const std::string& key, std::vector<Operation>& operations) {
    const bool fenced = std::any_of(operations.begin(), operations.end(), tells_of_a_token);
    history::Time busy_until{-1};
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const Operation& one = operations[i];
      const bool alone = busy_until < one.called &&
                         (i + 1 == operations.size() || one.returned < operations[i + 1].called);
      if (one.returned != history::kNever) busy_until = std::max(busy_until, one.returned);
      if (alone && shows_state(one, fenced)) return begin_at(operations, i);
    }
    operations.clear();
    never_known_.push_back(key);
  }

  static bool shows_state(const Operation& one, bool fenced) {
    const bool written = one.action == Action::kSet && one.outcome == Outcome::kOk;
    if (written && one.condition == codec::Condition::kAlways) return true;
    // A token may stay when its key goes. Req: FT-OPTIONAL-1
    if (fenced) return false;
    if (written) return one.condition == codec::Condition::kIfAbsent;
    return one.outcome == Outcome::kMissing || one.outcome == Outcome::kDeleted;
  }

  // What came before is over, but for what has no reply.
  void begin_at(std::vector<Operation>& operations, std::size_t first) const {
    const Operation begin = operations[first];
    std::vector<Operation> kept;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const bool pending = i < first && operations[i].returned == history::kNever;
      const bool after = i > first || (i == first && begin.outcome != Outcome::kDeleted);
      if (pending || after) kept.push_back(std::move(operations[i]));
    }
    const bool may_expire = begin.outcome == Outcome::kOk &&
                            begin.condition == codec::Condition::kAlways && !begin.expires_after;
    const bool goes = std::any_of(kept.begin(), kept.end(), tells_of_absence);
    // A store may let the time of the old value run on: once, the key may go by itself.
    if (may_expire && goes) {
      kept.insert(kept.begin(),
                  Operation{.client = static_cast<std::uint32_t>(clients_.size()),
                            .action = Action::kDel,
                            .key = begin.key,
                            .called = begin.called,
                            .reason = "the key may have had a PX before the recording"});
    }
    operations = std::move(kept);
  }

  void write(const std::vector<Operation>& operations) {
    if (!operations.empty()) ++out_.keys;
    for (const Operation& operation : operations) {
      const std::uint64_t id = ++out_.operations;
      lines_.emplace_back(operation.called, history::call_line(id, operation));
      if (operation.returned != history::kNever) {
        lines_.emplace_back(operation.returned, history::return_line(id, operation));
      }
    }
  }

  void add_notes(std::size_t unclear) {
    const auto note = [&](std::size_t count, std::string_view noun, std::string_view what) {
      if (count > 0) {
        out_.notes.push_back(fmt::format("{} {}", text::counted(count, noun), what));
      }
    };
    note(never_known_.size(), "key",
         "left out of the history: it was never known what the store held there");
    note(unclear, "key", "left out of the history: a malformed request was answered");
    note(ambiguous_.size(), "request",
         "without a response in the history: two requests had the same correlation data");
    if (all_unclear_) {
      out_.notes.emplace_back(
          "the history is empty: a request was answered whose key cannot be read");
    }
    if (out_.operations > 0 && !replied_) {
      out_.notes.emplace_back("no response was seen: a history without responses shows nothing");
    }
  }

  const Capture& capture_;
  HistoryOptions options_;
  Timeline timeline_;
  microseconds begin_ = microseconds::max();  // the earliest time
  std::map<std::string, std::uint32_t> clients_{};
  std::map<std::string, std::vector<Operation>> keys_{};
  std::set<const TimelineItem*> ambiguous_{};
  std::set<std::string, std::less<>> unclear_{};
  std::vector<std::string> never_known_{};
  bool all_unclear_ = false;
  bool replied_ = false;  // any of them
  std::vector<std::pair<history::Time, std::string>> lines_{};
  CaptureHistory out_{};
};

}  // namespace

CaptureHistory capture_history(const Capture& capture, const HistoryOptions& options) {
  return HistoryMaker(capture, options).run();
}

}  // namespace fencepost::record
