#include "concurrency/stress/restart_probe.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <variant>

#include "codec/command.h"
#include "codec/topics.h"
#include "concurrency/stress/traffic.h"
#include "hlc/hlc.h"

namespace fencepost::stress {
namespace {

using namespace std::chrono_literals;
using codec::Condition;
using history::Action;
using history::Operation;
using history::Outcome;

constexpr endpoint::Duration kPause = 50ms;
constexpr std::size_t kWriterKeys = 8;
constexpr std::size_t kValueBytes = 5'000;
// Of a `__ts`, ahead of the store's clock: half of what is allowed. (Req: HLC-SKEW-1)
constexpr std::uint64_t kAheadMs = 30'000;
constexpr std::uint64_t kLowerMs = 500;

Time steady_time() { return std::chrono::steady_clock::now().time_since_epoch(); }

Operation set_of(std::string value) { return {.action = Action::kSet, .value = std::move(value)}; }
Operation set_for(std::chrono::milliseconds time, std::string value = "value") {
  return {.action = Action::kSet, .value = std::move(value), .expires_after = time};
}
Operation set_if(Condition condition) {
  return {.action = Action::kSet, .value = "value", .condition = condition};
}

// It is left alone until it is gone.
bool expires_soon(const RestartExpectation& expected) {
  return expected.expires() && expected.gone_by() < steady_time() + 30s;
}

bool is_carried_out(const Operation& operation) {
  return operation.outcome == Outcome::kOk || operation.outcome == Outcome::kDeleted;
}

}  // namespace

// Requests for one key, one after the other.
struct RestartProbe::Fixture {
  std::string name{};
  std::vector<Operation> operations{};
  std::optional<RestartExpectation> expected{};
  std::optional<hlc::Timestamp> newest{};  // version
  bool is_right = true;                    // each was carried out, with a greater version
};

class RestartProbe::Line {
 public:
  Line(endpoint::Session& session, const std::string& client_id, endpoint::Duration patience)
      : session_(session),
        patience_(patience),
        topic_(codec::recommended_response_topic(client_id)) {
    auto client = session.connect({.client_id = client_id});
    if (client && (*client)->subscribe(topic_)) client_ = std::move(*client);
  }

  [[nodiscard]] bool is_connected() const { return client_ != nullptr; }

  // Completes the operation. False: there was no response, and the line is dead.
  bool ask(Operation& operation, std::uint64_t wall_ms) {
    std::vector<Operation> one{std::move(operation)};
    const bool done = ask_all(one, wall_ms);
    operation = std::move(one.front());
    return done;
  }

  // The same of all of them, which are sent together.
  bool ask_all(std::vector<Operation>& operations, std::uint64_t wall_ms) {
    if (!client_) return false;
    const std::size_t first = asked_;
    bool sent = true;
    for (Operation& operation : operations) {
      if (operation.action == Action::kSet && !operation.timestamp) {
        operation.timestamp = hlc::Timestamp{.wall_ms = wall_ms, .node = "probe"};
      }
      operation.called = steady_time();
      sent = sent && client_->publish(message_of(operation)).has_value();
    }
    if (sent && receive_all(operations, first)) return true;
    client_.reset();
    return false;
  }

 private:
  static std::string correlation_of(std::size_t number) {
    return "restart-probe-" + std::to_string(number);
  }

  codec::Message message_of(const Operation& operation) {
    codec::Message out;
    out.topic = codec::kRequestTopic;
    out.payload = codec::encode({.verb = history::verb_of(operation.action),
                                 .key = operation.key,
                                 .value = operation.value,
                                 .condition = operation.condition,
                                 .expires_after = operation.expires_after});
    out.response_topic = topic_;
    out.correlation_data = correlation_of(asked_++);
    if (operation.timestamp) {
      out.user_properties.emplace_back(codec::kTimestampProperty,
                                       hlc::format(*operation.timestamp));
    }
    if (operation.token) {
      out.user_properties.emplace_back(codec::kTokenProperty, hlc::format(*operation.token));
    }
    return out;
  }

  // `first`: the number of the first of them; each later one has one more.
  bool receive_all(std::vector<Operation>& operations, std::size_t first) {
    std::map<std::string, Operation*> open;
    for (Operation& operation : operations) open[correlation_of(first++)] = &operation;
    const auto deadline = session_.clock().now() + patience_;
    while (!open.empty() && session_.clock().now() < deadline) {
      const auto event = client_->receive(deadline - session_.clock().now());
      if (!event || std::holds_alternative<endpoint::Disconnected>(event->what)) return false;
      const auto* received = std::get_if<endpoint::MessageReceived>(&event->what);
      if (received == nullptr) continue;
      const auto found = open.find(received->message.correlation_data.value_or(""));
      if (found == open.end()) continue;
      found->second->returned = steady_time();
      (void)read_reply(received->message, *found->second);
      open.erase(found);
    }
    return open.empty();
  }

  endpoint::Session& session_;
  endpoint::Duration patience_;
  std::string topic_;
  std::unique_ptr<endpoint::Client> client_{};
  std::size_t asked_ = 0;
};

std::string RestartProbe::key(std::string_view name) const {
  return options_.prefix + "/" + std::to_string(writes_) + "/" + std::string(name);
}

std::vector<RestartProbe::Fixture> RestartProbe::fixtures() const {
  const auto named = [](std::string_view name) { return std::string(name); };
  const hlc::Timestamp token{.wall_ms = wall_ms_, .node = "probe"};
  Operation first = set_of("first");
  first.token = {.wall_ms = wall_ms_ - 2 * kLowerMs, .node = "probe"};
  Operation second = set_of("second");
  second.token = token;
  Operation ahead = set_of("value");
  ahead.timestamp = {.wall_ms = wall_ms_ + kAheadMs, .node = "probe"};
  const Operation del{.action = Action::kDel};
  const Operation vdel{.action = Action::kVdel, .value = "value"};
  return {
      {"set", {set_of("value")}},
      {"overwritten", {set_of("first"), set_of("second")}},
      {"nx", {set_if(Condition::kIfAbsent)}},
      {"nex", {set_if(Condition::kIfAbsentOrEqual), set_if(Condition::kIfAbsentOrEqual)}},
      {"same", {set_of("value"), set_of("value")}},
      {"empty", {set_of("")}},
      {"nul", {set_of(std::string("before\0after\r\n", 14))}},
      {"large", {set_of(std::string(kValueBytes, 'x'))}},
      // Each differs from another one in what some files do not keep apart.
      {named(std::string_view("with\0nul", 8)), {set_of("one")}},
      {named(std::string_view("with\0null", 9)), {set_of("two")}},
      {"blank", {set_of("one")}},
      {"blank ", {set_of("two")}},
      {"case", {set_of("one")}},
      {"CASE", {set_of("two")}},
      {"del", {set_of("value"), del}},
      {"vdel", {set_of("value"), vdel}},
      {"set-again", {set_of("first"), del, set_of("second")}},
      {"long", {set_for(1min)}},
      {"longer", {set_for(100ms, "first"), set_for(1min, "second")}},
      {"short", {set_for(3s)}},
      {"expires", {set_for(30ms)}},
      {"token", {first, second}},
      // Deleted twice: a store that forgets with a key how late its versions are is not bound by
      // it.
      {"clock",
       {set_of("value"), ahead, set_of("value"), set_of("value"), del, set_of("value"), del}},
  };
}

void RestartProbe::write(std::uint64_t wall_ms, Extent extent) {
  end_threads();
  ++writes_;
  wall_ms_ = wall_ms;
  all_ = extent != Extent::kOne;
  plain_.reset();
  expected_.clear();
  written_last_.clear();
  token_.reset();
  version_.reset();
  Line line(session_, options_.client_id, options_.patience);
  write_plain(line);
  if (!all_) return;
  write_all(line);
  if (extent == Extent::kAll) return;
  writer_ = std::jthread([this](const std::stop_token& stopped) {
    Line own(session_, options_.client_id + "-writer", options_.patience);
    for (std::size_t number = 0; !stopped.stop_requested(); ++number) {
      Operation set = set_of(std::to_string(number));
      set.key = key("last-" + std::to_string(number % kWriterKeys));
      Written& written = written_last_[set.key];
      written.in_flight = set;
      if (!own.ask(set, wall_ms_)) return;
      if (set.outcome != Outcome::kOk) return;
      written = {.acknowledged = set};
    }
  });
  std::this_thread::sleep_for(kPause);
}

void RestartProbe::write_plain(Line& line) {
  Operation set = set_of("before " + std::to_string(writes_));
  set.key = key("plain");
  if (!line.ask(set, wall_ms_) || set.outcome != Outcome::kOk) return;
  plain_.emplace(set.key).take(set, options_.bounds);
}

// The first requests of all fixtures together, then the second ones, and so on.
void RestartProbe::write_all(Line& line) {
  std::vector<Fixture> all = fixtures();
  for (Fixture& fixture : all) fixture.expected.emplace(key(fixture.name));
  for (std::size_t round = 0; !all.empty(); ++round) {
    std::vector<Fixture*> asked;
    std::vector<Operation> operations;
    for (Fixture& fixture : all) {
      if (round >= fixture.operations.size()) continue;
      asked.push_back(&fixture);
      operations.push_back(fixture.operations[round]);
      operations.back().key = fixture.expected->key();
    }
    if (asked.empty()) break;
    if (!line.ask_all(operations, wall_ms_)) return;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      asked[i]->is_right = asked[i]->is_right && is_carried_out(operations[i]);
      asked[i]->expected->take(operations[i], options_.bounds);
      if (operations[i].action != Action::kSet) continue;
      std::optional<hlc::Timestamp>& newest = asked[i]->newest;
      if (newest && flaw_of_version(*newest, operations[i])) asked[i]->is_right = false;
      newest = operations[i].version;
    }
  }
  std::vector<Operation> reads;
  for (const Fixture& fixture : all) {
    reads.push_back({.action = Action::kGet, .key = fixture.expected->key()});
  }
  if (!line.ask_all(reads, wall_ms_)) return;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].is_right || all[i].expected->flaw_of(reads[i])) continue;
    if (all[i].name == "expires" && !await_expiry(line, *all[i].expected)) continue;
    if (all[i].name == "clock") version_ = all[i].newest;
    if (all[i].name == "token") look_at_token(line, all[i].operations.back().token);
    expected_.push_back(std::move(*all[i].expected));
  }
}

// True: it has been seen to be missing, and must not return.
bool RestartProbe::await_expiry(Line& line, RestartExpectation& expected) {
  Operation get{.action = Action::kGet, .key = expected.key()};
  const Time deadline = steady_time() + options_.bounds.expiry_late;
  while (line.ask(get, wall_ms_) && get.outcome == Outcome::kValue && steady_time() < deadline) {
    std::this_thread::sleep_for(5ms);
  }
  if (get.outcome != Outcome::kMissing) return false;
  expected.take(get, options_.bounds);
  return true;
}

// Does the store refuse a request without it now?
void RestartProbe::look_at_token(Line& line, const std::optional<hlc::Timestamp>& token) {
  Operation without = set_of("third");
  without.key = key("token");
  if (line.ask(without, wall_ms_) && without.outcome == Outcome::kTokenRequired) token_ = token;
}

void RestartProbe::end_threads() {
  for (std::jthread* thread : {&writer_, &watcher_}) {
    thread->request_stop();
    if (thread->joinable()) thread->join();
  }
}

void RestartProbe::read() {
  end_threads();
  if (!plain_) return;
  const auto deadline = session_.clock().now() + options_.max_outage;
  Operation get{.action = Action::kGet, .key = plain_->key()};
  while (session_.clock().now() < deadline) {
    Line line(session_, options_.client_id, options_.patience);
    if (!line.ask(get, wall_ms_)) {
      std::this_thread::sleep_for(kPause);
      continue;
    }
    const auto flaw = plain_->flaw_of(get);
    ++(flaw ? lost_ : kept_);
    if (flaw && all_) found(*flaw);
    read_all(line);
    break;
  }
  if (expiring_.empty()) return;
  watcher_ = std::jthread([this](const std::stop_token& stopped) { watch_expiry(stopped); });
}

void RestartProbe::watch_expiry(const std::stop_token& stopped) {
  const Time due = std::max_element(expiring_.begin(), expiring_.end(), [](auto& a, auto& b) {
                     return a.gone_by() < b.gone_by();
                   })->gone_by();
  while (!stopped.stop_requested() && steady_time() <= due) std::this_thread::sleep_for(kPause);
  if (stopped.stop_requested()) return;
  Line line(session_, options_.client_id, options_.patience);
  read_expiring(line);
}

void RestartProbe::read_all(Line& line) {
  const auto ask_of = [&](const std::string& name, const Operation& wanted) {
    Operation operation = wanted;
    operation.key = name;
    line.ask(operation, wall_ms_);
    return operation;
  };
  std::vector<Operation> reads;
  for (const RestartExpectation& each : expected_) {
    reads.push_back({.action = Action::kGet, .key = each.key()});
  }
  line.ask_all(reads, wall_ms_);
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    if (const auto flaw = expected_[i].flaw_of(reads[i])) found(*flaw);
    if (expires_soon(expected_[i])) expiring_.push_back(expected_[i]);
  }
  if (version_) {
    if (const auto flaw = flaw_of_version(*version_, ask_of(key("clock"), set_of("value")))) {
      found(*flaw);
    }
  }
  if (token_) {
    Operation lower = set_of("lower");
    lower.token = token_;
    lower.token->wall_ms -= kLowerMs;
    Operation own = set_of("own");
    own.token = token_;
    for (const Operation& set : {set_of("without"), lower, own}) {
      if (const auto flaw = flaw_of_token(*token_, ask_of(key("token"), set))) found(*flaw);
    }
  }
  read_written_last(line);
  read_expiring(line);
  std::vector<Operation> deletions;
  for (const RestartExpectation& each : expected_) {
    if (expires_soon(each)) continue;
    Operation del{.action = Action::kDel, .key = each.key()};
    if (each.key() == key("token")) del.token = {.wall_ms = wall_ms_ + kAheadMs, .node = "probe"};
    deletions.push_back(std::move(del));
  }
  for (const auto& [name, written] : written_last_) {
    deletions.push_back({.action = Action::kDel, .key = name});
  }
  deletions.push_back({.action = Action::kDel, .key = plain_->key()});
  line.ask_all(deletions, wall_ms_);
}

// The request in flight may have been carried out or not.
void RestartProbe::read_written_last(Line& line) {
  std::vector<Operation> reads;
  for (const auto& [name, written] : written_last_) {
    reads.push_back({.action = Action::kGet, .key = name});
  }
  line.ask_all(reads, wall_ms_);
  for (const Operation& get : reads) {
    const Written& written = written_last_[get.key];
    const bool is_later =
        written.in_flight && get.outcome == Outcome::kValue && get.read == written.in_flight->value;
    if (!written.acknowledged || is_later) continue;
    RestartExpectation expected(get.key);
    expected.take(*written.acknowledged, options_.bounds);
    if (auto flaw = expected.flaw_of(get)) {
      flaw->text += " (it was written immediately before the broker ended)";
      found(*flaw);
    }
  }
}

void RestartProbe::read_expiring(Line& line) {
  std::vector<Operation> reads;
  for (const RestartExpectation& each : expiring_) {
    reads.push_back({.action = Action::kGet, .key = each.key()});
  }
  line.ask_all(reads, wall_ms_);
  std::vector<RestartExpectation> left;
  for (std::size_t i = 0; i < reads.size(); ++i) {
    const auto flaw = expiring_[i].flaw_of(reads[i]);
    if (flaw) {
      found(*flaw);
      Operation del{.action = Action::kDel, .key = reads[i].key};
      (void)line.ask(del, wall_ms_);
    } else if (reads[i].outcome != Outcome::kMissing) {
      left.push_back(std::move(expiring_[i]));
    }
  }
  expiring_ = std::move(left);
}

void RestartProbe::finish() {
  end_threads();
  std::erase_if(expiring_,
                [](const RestartExpectation& each) { return each.gone_by() > steady_time(); });
  if (expiring_.empty()) return;
  Line line(session_, options_.client_id, options_.patience);
  read_expiring(line);
}

void RestartProbe::found(const RestartFlaw& flaw) {
  has_findings_ = true;
  // One of each rule: what else is wrong then is mostly the same.
  DeliveryFinding& finding = findings_[std::string(flaw.requirement)];
  if (finding.times++ > 0) return;
  finding.requirement = flaw.requirement;
  finding.text = "after the broker had ended and started again, " + flaw.text;
}

std::vector<DeliveryFinding> RestartProbe::findings() {
  end_threads();
  std::vector<DeliveryFinding> out;
  for (const auto& [requirement, finding] : findings_) out.push_back(finding);
  return out;
}

}  // namespace fencepost::stress
