#include "endpoint/recorded.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "evidence/frame.h"

namespace fencepost::endpoint {
namespace {

using evidence::Details;
using evidence::Kind;
using evidence::Record;

Error error_of(const evidence::Failure& failure) {
  Error out{.kind = ErrorKind::kInternal, .text = failure.text};
  if (failure.kind <= static_cast<std::uint8_t>(ErrorKind::kInternal)) {
    out.kind = static_cast<ErrorKind>(failure.kind);
  }
  if (failure.reason_code) out.reason_code = static_cast<int>(*failure.reason_code);
  return out;
}

Result<void, Error> result_of(const Record& record) {
  if (record.more().failure) return fail(error_of(*record.more().failure));
  return {};
}

Error not_asked(const std::string& what) {
  return {ErrorKind::kInternal,
          "the evidence has no record of " + what +
              ": the version of the suite that wrote it did not request this"};
}

bool is_event(Kind kind) {
  return kind == Kind::kReceived || kind == Kind::kRefused || kind == Kind::kEnded;
}

bool is_receive(Kind kind) { return is_event(kind) || kind == Kind::kNothing; }

bool is_answer(Kind kind) {
  return is_event(kind) || kind == Kind::kConnect || kind == Kind::kSubscribe ||
         kind == Kind::kUnsubscribe || kind == Kind::kPublish || kind == Kind::kDisturbance;
}

bool is_clock(Kind kind) {
  return kind == Kind::kNow || kind == Kind::kWall || kind == Kind::kWaited ||
         kind == Kind::kMeasured;
}

// Those who judge add and subtract times and numbers: these can be, without overflow.
bool has_usable_numbers(const Record& record) {
  constexpr std::int64_t kMax = 1'000'000'000'000'000;  // microseconds: 31 years
  const auto fits = [](std::int64_t number) { return number >= -kMax && number <= kMax; };
  return fits(record.time) && fits(record.number);
}

Event event_of(const Record& record) {
  Event out{.what = MessageReceived{}, .time = Duration{record.time}};
  const Details& details = record.more();
  if (record.kind == Kind::kReceived) {
    out.what = MessageReceived{details.message.value_or(codec::Message{})};
  } else if (record.kind == Kind::kRefused) {
    out.what = PublishRefused{.reason_code = static_cast<int>(record.number),
                              .correlation_data = details.text};
  } else {
    Disconnected ended{.text = details.text, .section = details.name};
    if (record.number >= 0) ended.reason_code = static_cast<int>(record.number);
    out.what = std::move(ended);
  }
  return out;
}

// A session as it was. As long as the caller does what was done then, each call has its record, in
// turn. Where a caller of another version does something else, its request is looked for further
// on: time goes by the last record, and messages that were passed over come when he receives.
class Playback {
 public:
  explicit Playback(const Recorded::Stream& stream) : stream_(stream), records_(stream.records) {}

  [[nodiscard]] Duration now() {
    if (const Record* record = next_if(Kind::kNow)) time_ = std::max(time_, record->time);
    return Duration{time_};
  }
  [[nodiscard]] std::uint64_t wall_ms() {
    if (const Record* record = next_if(Kind::kWall)) {
      wall_ = record->time;
      wall_at_ = time_;
    }
    constexpr std::int64_t kMicroseconds = 1000;
    const std::int64_t now = wall_ + std::max<std::int64_t>(0, time_ - wall_at_) / kMicroseconds;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(now, 0));
  }
  void wait_until(Duration time) {
    next_if(Kind::kWaited);
    time_ = std::max<std::int64_t>(time_, time.count());
  }
  [[nodiscard]] Duration measured(Duration time) {
    const Record* record = next_if(Kind::kMeasured);
    return record == nullptr ? time : Duration{record->number};
  }

  // The next one that fits, and what lies before it is passed over; null when there is none.
  template <typename Fits>
  const Record* seek(const Fits& fits) {
    for (std::size_t i = at_; i < records_.size(); ++i) {
      if (!fits(records_[i])) continue;
      for (; at_ < i; ++at_) pass_over(records_[at_]);
      ++at_;
      if (records_[i].time != 0) time_ = std::max(time_, records_[i].time);
      read(records_[i]);
      return &records_[i];
    }
    return nullptr;
  }

  std::optional<Event> receive(std::uint32_t client, Duration timeout) {
    std::deque<const Record*>& missed = missed_[client];
    if (!missed.empty()) {
      const Record* record = missed.front();
      missed.pop_front();
      read(*record);
      return event_of(*record);
    }
    // Not beyond the next request.
    std::size_t i = at_;
    while (i < records_.size() && is_clock(records_[i].kind)) ++i;
    const bool fits =
        i < records_.size() && records_[i].client == client && is_receive(records_[i].kind);
    if (!fits) {
      time_ += std::max<Duration::rep>(timeout.count(), 1);
      return std::nullopt;
    }
    at_ = i + 1;
    read(records_[i]);
    if (is_event(records_[i].kind)) return event_of(records_[i]);
    return std::nullopt;
  }

 private:
  void read(const Record& record) const {
    if (is_answer(record.kind)) ++stream_.read;
  }

  const Record* next_if(Kind kind) {
    if (at_ >= records_.size() || records_[at_].kind != kind) return nullptr;
    return &records_[at_++];
  }

  void pass_over(const Record& record) {
    if (is_event(record.kind)) missed_[record.client].push_back(&record);
    if (record.kind == Kind::kNow) time_ = std::max(time_, record.time);
  }

  const Recorded::Stream& stream_;
  const std::vector<Record>& records_;
  std::size_t at_ = 0;
  std::int64_t time_ = 0;
  std::int64_t wall_ = 0;
  std::int64_t wall_at_ = 0;
  std::map<std::uint32_t, std::deque<const Record*>> missed_;  // by client
};

class PlayedClock final : public Clock {
 public:
  explicit PlayedClock(Playback& playback) : playback_(playback) {}
  [[nodiscard]] std::uint64_t wall_ms() const override { return playback_.wall_ms(); }
  [[nodiscard]] Duration now() const override { return playback_.now(); }
  void wait_until(Duration time) override { playback_.wait_until(time); }

 private:
  Playback& playback_;
};

class PlayedClient final : public Client {
 public:
  PlayedClient(Playback& playback, const Record& connected)
      : playback_(playback), number_(connected.client), has_resumed_(connected.number == 1) {}

  [[nodiscard]] bool has_resumed() const override { return has_resumed_; }

  Result<void, Error> subscribe(const std::string& filter) override {
    return filtered(Kind::kSubscribe, filter);
  }
  Result<void, Error> unsubscribe(const std::string& filter) override {
    return filtered(Kind::kUnsubscribe, filter);
  }
  Result<void, Error> publish(const codec::Message& message) override {
    const Record* record = playback_.seek([&](const Record& each) {
      return each.kind == Kind::kPublish && each.client == number_ &&
             each.more().message == message;
    });
    if (record == nullptr) return fail(not_asked("this request"));
    return result_of(*record);
  }
  // The packet's form is the case's, whose digest the evidence has.
  Result<void, Error> publish_raw(const codec::Message& message,
                                  const RawPacket& /*odd*/) override {
    return publish(message);
  }
  std::optional<Event> receive(Duration timeout) override {
    return playback_.receive(number_, timeout);
  }
  [[nodiscard]] std::optional<std::uint32_t> packet_limit() const override {
    const Record* record = playback_.seek([&](const Record& each) {
      return each.kind == Kind::kPacketLimit && each.client == number_;
    });
    if (record == nullptr || record->number < 0) return std::nullopt;
    return static_cast<std::uint32_t>(record->number);
  }
  void disconnect() override { ends(Kind::kDisconnect); }
  void drop() override { ends(Kind::kDrop); }

 private:
  Result<void, Error> filtered(Kind kind, const std::string& filter) {
    const Record* record = playback_.seek([&](const Record& each) {
      return each.kind == kind && each.client == number_ && each.more().text == filter;
    });
    if (record == nullptr) return fail(not_asked("a subscription to " + filter));
    return result_of(*record);
  }
  void ends(Kind kind) {
    playback_.seek([&](const Record& each) { return each.kind == kind && each.client == number_; });
  }

  Playback& playback_;
  std::uint32_t number_;
  bool has_resumed_;
};

class PlayedSession final : public Session {
 public:
  explicit PlayedSession(const Recorded::Stream& stream) : playback_(stream), clock_(playback_) {}

  Clock& clock() override { return clock_; }
  Result<std::unique_ptr<Client>, Error> connect(const ClientOptions& options) override {
    const Record* record = playback_.seek([&](const Record& each) {
      return each.kind == Kind::kConnect && each.more().text == options.client_id;
    });
    if (record == nullptr) return fail(not_asked("a connection as " + options.client_id));
    if (record->more().failure) return fail(error_of(*record->more().failure));
    return std::make_unique<PlayedClient>(playback_, *record);
  }
  Duration measured(Duration time) override { return playback_.measured(time); }
  Result<void, Error> disturb(const Disturbance& disturbance) override {
    const DisturbanceKind& kind = disturbance.kind;
    const Record* record = playback_.seek([&](const Record& each) {
      // Evidence from the time when there was only this kind has no name.
      const std::string_view name =
          each.more().name.empty() ? kRestartOfBroker.name : each.more().name;
      return each.kind == Kind::kDisturbance && name == kind.name;
    });
    if (record == nullptr) {
      return fail(not_asked("a " + std::string(kind.name) + " of the " + std::string(kind.object)));
    }
    return result_of(*record);
  }

 private:
  Playback playback_;
  PlayedClock clock_;
};

class PlayedEndpoint final : public Endpoint {
 public:
  PlayedEndpoint(const Recorded& recorded, std::string url, Capabilities capabilities)
      : recorded_(recorded), url_(std::move(url)), capabilities_(std::move(capabilities)) {}

  [[nodiscard]] const std::string& url() const override { return url_; }
  [[nodiscard]] const Capabilities& capabilities() const override { return capabilities_; }
  Result<std::unique_ptr<Session>, Error> open_session(const SessionRequest& request) override {
    const Recorded::Stream* stream = recorded_.find(request.caller);
    if (stream == nullptr) return fail(not_asked("a session for " + request.caller));
    stream->asked = true;
    if (stream->failure) return fail(error_of(*stream->failure));
    return std::make_unique<PlayedSession>(*stream);
  }
  Result<void, Error> check_reachable(Duration /*timeout*/, const std::string& caller) override {
    const auto* failure = recorded_.reachable(caller);
    if (failure == nullptr) return fail(not_asked("a look for the endpoint"));
    if (*failure) return fail(error_of(**failure));
    return {};
  }

 private:
  const Recorded& recorded_;
  std::string url_;
  Capabilities capabilities_;
};

}  // namespace

Result<Recorded, std::string> Recorded::read(std::string_view file) {
  if (!evidence::is_evidence(file)) return fail(std::string("is not an evidence file"));
  Recorded out;
  evidence::Frames frames(file);
  std::size_t records = 0;
  while (const auto frame = frames.next()) {
    evidence::Decoder decoder(*frame);
    bool usable = true;
    while (auto record = decoder.next()) {
      if (++records > kMaxRecords) return fail(std::string("has too many records"));
      usable = usable && has_usable_numbers(*record);
      if (usable) out.add(*std::move(record));
    }
    if (decoder.failed() || !usable) {
      return fail(std::string("has a record that no version of this suite writes"));
    }
  }
  if (out.head_.empty()) return fail(std::string("is truncated: it ends before its header"));
  out.diagnostic_ = frames.diagnostic();
  out.open_.clear();
  return out;
}

void Recorded::add(Record record) {
  const Details& details = record.more();
  switch (record.kind) {
    case Kind::kHead:
      if (head_.empty()) head_ = details.text;
      last_head_ = details.text;
      return;
    case Kind::kCase:
      cases_.push_back(details.text);
      return;
    case Kind::kEnd:
      end_ = details.text;
      return;
    case Kind::kHistory:
      has_history_ = true;
      return;
    case Kind::kReachable:
      reachable_.emplace(details.text, details.failure);
      return;
    case Kind::kOpened: {
      auto& stream = streams_[details.text];
      if (stream) {
        twice_.insert(details.text);
        return;
      }
      stream = std::make_unique<Stream>();
      stream->failure = details.failure;
      open_[record.session] = details.text;
      return;
    }
    case Kind::kClosed:
      if (const auto closed = open_.extract(record.session)) {
        streams_[closed.mapped()]->whole = true;
      }
      return;
    default:
      break;
  }
  const auto caller = open_.find(record.session);
  if (caller == open_.end()) return;
  published_ += record.kind == Kind::kPublish ? 1 : 0;
  received_ += record.kind == Kind::kReceived ? 1 : 0;
  Stream& stream = *streams_[caller->second];
  stream.answers += is_answer(record.kind) ? 1 : 0;
  stream.records.push_back(std::move(record));
}

bool Recorded::has(const std::string& caller) const {
  const Stream* stream = find(caller);
  return stream != nullptr && stream->whole;
}

std::vector<std::string> Recorded::unread() const {
  std::vector<std::string> out;
  for (const auto& [caller, stream] : streams_) {
    if (!stream->whole || !stream->is_read()) out.push_back(caller);
  }
  return out;
}

const Recorded::Stream* Recorded::find(const std::string& caller) const {
  const auto found = streams_.find(caller);
  return found == streams_.end() ? nullptr : found->second.get();
}

const std::optional<evidence::Failure>* Recorded::reachable(const std::string& caller) const {
  const auto found = reachable_.find(caller);
  return found == reachable_.end() ? nullptr : &found->second;
}

std::unique_ptr<Endpoint> play(const Recorded& recorded, std::string url,
                               Capabilities capabilities) {
  return std::make_unique<PlayedEndpoint>(recorded, std::move(url), std::move(capabilities));
}

}  // namespace fencepost::endpoint
