#include "concurrency/stress/load.h"

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <ctime>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "base/threads.h"
#include "codec/command.h"
#include "codec/topics.h"
#include "concurrency/stress/restart_probe.h"
#include "endpoint/cancellation.h"
#include "endpoint/packet_size.h"

namespace fencepost::stress {
namespace {

using namespace std::chrono_literals;
using endpoint::Duration;

constexpr std::size_t kConnectingAtOnce = 16;
constexpr std::size_t kMaxUnjudged = 200'000;  // events: then sending pauses for a while
constexpr Time kTick = 2ms;
constexpr Time kReconnectAfter = 250ms;
constexpr Time kSettleEvery = 2s;
constexpr Time kMaxPause = 300ms;

Time steady() { return std::chrono::steady_clock::now().time_since_epoch(); }

std::chrono::duration<double> processor_time() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// All that threads of a client library may come upon: it lives until the last of them has left.
class Load final : private Journal, public std::enable_shared_from_this<Load> {
 public:
  Load(endpoint::Session& session, const LoadOptions& options)
      : session_(session),
        options_(options),
        start_(steady()),
        traffic_(options.traffic, *this),
        probe_(session, {.client_id = options.traffic.client_prefix + "probe",
                         .prefix = options.traffic.script.prefix + "probe",
                         .bounds = options.bounds,
                         .patience = std::chrono::duration_cast<Duration>(options.traffic.patience),
                         .max_outage = options.max_outage}),
        slots_(options.traffic.script.clients) {}

  Result<void, endpoint::Error> connect_all();
  LoadResult run(const std::atomic<bool>& stop,
                 const std::function<void(const LoadProgress&)>& progress);
  void leave();

 private:
  struct Slot {
    std::mutex mutex{};  // the client is for one thread at a time
    std::unique_ptr<endpoint::Client> client{};
    bool broken = false;  // under the mutex of Load
    Time broken_at{0};
    std::atomic<bool> queued{false};
  };

  // A call is not judged before it has returned.
  void called(std::uint64_t id, const history::Operation& operation) override {
    if (writes_history()) options_.history->called(id, operation);
  }
  void returned(std::uint64_t id, const history::Operation& operation) override {
    if (writes_history()) options_.history->returned(id, operation);
    events_.emplace_back(operation);
  }
  void notified(const history::Notification& notification) override {
    if (writes_history()) options_.history->notified(notification);
    events_.emplace_back(notification);
  }
  void linked(const history::Connection& connection) override {
    if (writes_history()) options_.history->linked(connection);
    events_.emplace_back(connection);
  }
  // What is judged and no more: observers are still notified of what clean_up() deletes, and nobody
  // else knows of these deletions.
  [[nodiscard]] bool writes_history() const { return options_.history != nullptr && !judged_all_; }

  [[nodiscard]] Time now() const { return steady() - start_; }
  [[nodiscard]] std::uint64_t wall_ms() {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(session_.clock().wall_ms()) +
                                      options_.wall_offset_ms);
  }
  // The time of an event in microseconds, rounded so that it is not before it came.
  [[nodiscard]] Time time_of(const endpoint::Event& event) const {
    return Time(event.time) + 999ns - start_;
  }

  Result<void, endpoint::Error> connect(std::uint32_t client);
  void on_event(std::uint32_t client);
  void serve(std::uint32_t client);
  void take(std::uint32_t client, endpoint::Event& event);
  void serve_queue(const std::stop_token& stopped);
  void serve_all();
  void tick();
  void hold(std::string_view why, bool on);
  void reconnect();
  bool reconnect(std::uint32_t client);
  void look_at_broker();
  void take_injected();
  void before_disturbance(endpoint::NetworkFault fault);
  void after_disturbance(endpoint::NetworkFault fault);
  void judge(bool all = false);
  void settle_now_and_then();
  void await_acknowledgements();
  void take_results(LoadResult& out);
  [[nodiscard]] std::vector<DeliveryFinding> lost_in_histories(const Judged& judged);
  void clean_up();
  [[nodiscard]] bool is_over();
  [[nodiscard]] bool is_reachable();
  [[nodiscard]] LoadProgress progress_now();

  endpoint::Session& session_;
  const LoadOptions& options_;
  const Time start_;

  std::mutex mutex_;  // of what is below
  Traffic traffic_;
  std::vector<history::Event> events_{};  // that the judge has not seen
  std::set<std::string, std::less<>> holds_{};
  std::size_t connected_ = 0;
  std::size_t reconnected_ = 0;
  std::string lost_{};
  Time without_connection_since_{0};
  std::map<endpoint::NetworkFault, std::size_t> injected_{};
  std::vector<Time> ends_{};  // of the broker, through which the store keeps its keys
  bool judged_all_ = false;   // the history has ended

  // Of the thread that disturbs the broker.
  RestartProbe probe_;
  std::size_t ends_of_broker_ = 0;

  std::vector<Slot> slots_;
  // Used with client libraries that do not let their threads be used.
  std::mutex queue_mutex_;
  std::condition_variable_any queue_filled_;
  std::deque<std::uint32_t> queue_{};

  // Used only by the caller's thread.
  std::optional<OnlineChecker> checker_{};
  std::set<std::string> left_keys_{};
  Time last_settled_{0};
  std::chrono::duration<double> judging_{0};
};

Result<void, endpoint::Error> Load::connect(std::uint32_t client) {
  Slot& slot = slots_[client];
  const std::string id = traffic_.client_id(client);
  auto opened = session_.connect({.client_id = id, .on_event = [load = weak_from_this(), client] {
                                    if (const auto alive = load.lock()) alive->on_event(client);
                                  }});
  if (!opened) return fail(opened.error());
  for (const std::string& filter :
       {codec::recommended_response_topic(id), codec::notification_filter(id)}) {
    if (auto done = (*opened)->subscribe(filter); !done) return fail(done.error());
  }
  const std::lock_guard of_slot(slot.mutex);
  slot.client = std::move(*opened);
  const std::lock_guard lock(mutex_);
  slot.broken = false;
  ++connected_;
  traffic_.connected(client, now());
  return {};
}

Result<void, endpoint::Error> Load::connect_all() {
  hold("connecting", true);
  std::atomic<std::uint32_t> next{0};
  std::mutex error_mutex;
  std::optional<endpoint::Error> error;
  run_in_threads(std::min(kConnectingAtOnce, slots_.size()), [&] {
    for (std::uint32_t client = next++; client < slots_.size(); client = next++) {
      auto done = connect(client);
      if (done) continue;
      const std::lock_guard lock(error_mutex);
      if (!error) {
        error = done.error();
        error->text = "client " + std::to_string(client + 1) + " of " +
                      std::to_string(slots_.size()) + ": " + error->text;
      }
      next = static_cast<std::uint32_t>(slots_.size());
    }
  });
  hold("connecting", false);
  if (error) return fail(std::move(*error));
  return {};
}

void Load::on_event(std::uint32_t client) {
  Slot& slot = slots_[client];
  {
    const std::unique_lock of_slot(slot.mutex, std::try_to_lock);
    // The thread that has it looks for events once more before leaving.
    const bool here = of_slot.owns_lock() && slot.client != nullptr;
    if (here && slot.client->serves_in_place()) return serve(client);
  }
  if (slot.queued.exchange(true)) return;
  const std::lock_guard lock(queue_mutex_);
  queue_.push_back(client);
  queue_filled_.notify_one();
}

void Load::serve_queue(const std::stop_token& stopped) {
  while (true) {
    std::unique_lock lock(queue_mutex_);
    if (!queue_filled_.wait(lock, stopped, [this] { return !queue_.empty(); })) return;
    const std::uint32_t client = queue_.front();
    queue_.pop_front();
    lock.unlock();
    slots_[client].queued = false;
    const std::lock_guard of_slot(slots_[client].mutex);
    if (slots_[client].client) serve(client);
  }
}

// With the mutex of the slot: reads what there is and sends what there is to send.
void Load::serve(std::uint32_t client) {
  Slot& slot = slots_[client];
  while (true) {
    while (auto event = slot.client->take()) take(client, *event);
    std::optional<codec::Message> request;
    {
      const std::lock_guard lock(mutex_);
      if (slot.broken) return;
      request = traffic_.next(client, now(), wall_ms());
    }
    if (!request) return;
    const auto limit = slot.client->packet_limit();
    const bool too_large = limit && endpoint::publish_packet_size(*request) > *limit;
    const Result<void, endpoint::Error> sent =
        too_large ? fail(endpoint::Error{endpoint::ErrorKind::kNotAllowed, ""})
                  : slot.client->publish(*request);
    // Another request that cannot be sent has an end of its connection for its event.
    if (!sent && sent.error().kind == endpoint::ErrorKind::kNotAllowed) {
      const std::lock_guard lock(mutex_);
      traffic_.not_taken(client, request->correlation_data.value_or(""), now());
      return;  // to the next tick: nothing of the broker paces such a client
    }
  }
}

void Load::take(std::uint32_t client, endpoint::Event& event) {
  const std::lock_guard lock(mutex_);
  if (const auto* received = std::get_if<endpoint::MessageReceived>(&event.what)) {
    traffic_.received(client, received->message, time_of(event));
  } else if (const auto* refused = std::get_if<endpoint::PublishRefused>(&event.what)) {
    traffic_.not_taken(client, refused->correlation_data, time_of(event));
  } else if (const auto* end = std::get_if<endpoint::Disconnected>(&event.what)) {
    if (!end->section.empty()) traffic_.broker_is_wrong(end->section, end->text);
    traffic_.disconnected(client, now());
    slots_[client].broken = true;
    slots_[client].broken_at = now();
    --connected_;
    if (connected_ > 0) return;
    without_connection_since_ = now();
    if (options_.network == nullptr && lost_.empty()) {
      lost_ = end->text.empty() ? "all connections ended" : end->text;
    }
  }
}

void Load::look_at_broker() {
  const std::lock_guard lock(mutex_);
  if (options_.network == nullptr || !lost_.empty()) return;
  lost_ = options_.network->broker_error();
  if (options_.network->disturbs_broker()) without_connection_since_ = now();
}

// Without a promise of the store, what it has acknowledged before may be gone: nobody asks for it.
void Load::before_disturbance(endpoint::NetworkFault fault) {
  if (!endpoint::kind_of(fault).may_lose) return;
  const bool keeps = keeps_through(options_.durability, fault);
  // Every second time nothing follows the deletion that is written last: a store may write what
  // DEL has done with the next SET only.
  const bool quiet = keeps && ++ends_of_broker_ % 2 == 0;
  if (quiet) hold("the broker", true);
  probe_.write(wall_ms(), !keeps  ? RestartProbe::Extent::kOne
                          : quiet ? RestartProbe::Extent::kAll
                                  : RestartProbe::Extent::kUntilTheEnd);
  if (keeps) return;
  hold("the broker", true);
  const std::lock_guard lock(mutex_);
  traffic_.renew();
}

void Load::after_disturbance(endpoint::NetworkFault fault) {
  if (!endpoint::kind_of(fault).may_lose) return;
  hold("the broker", false);
  if (keeps_through(options_.durability, fault)) {
    const std::lock_guard lock(mutex_);
    ends_.push_back(now());
  }
  serve_all();
  probe_.read();
}

// They go into the history, and are counted.
void Load::take_injected() {
  if (options_.network == nullptr) return;
  const std::string& prefix = options_.traffic.client_prefix;
  const std::lock_guard lock(mutex_);
  for (const endpoint::InjectedFault& fault : options_.network->take_log()) {
    ++injected_[fault.kind];
    if (endpoint::kind_of(fault.kind).may_lose && keeps_through(options_.durability, fault.kind)) {
      ends_.push_back(fault.at.time_since_epoch() - start_);
    }
    history::Disturbance disturbance{.at = fault.at.time_since_epoch() - start_,
                                     .kind = std::string(endpoint::kind_of(fault.kind).name)};
    std::uint32_t client = 0;
    const std::string& id = fault.client_id;
    const bool known =
        id.starts_with(prefix) &&
        std::from_chars(id.data() + prefix.size(), id.data() + id.size(), client).ec == std::errc();
    if (known) disturbance.client = client;
    if (writes_history()) options_.history->disturbed(disturbance);
  }
}

void Load::hold(std::string_view why, bool on) {
  const std::lock_guard lock(mutex_);
  if (on) {
    holds_.emplace(why);
  } else if (const auto found = holds_.find(why); found != holds_.end()) {
    holds_.erase(found);
  }
  traffic_.hold(!holds_.empty());
}

void Load::serve_all() {
  for (std::uint32_t client = 0; client < slots_.size(); ++client) {
    const std::lock_guard of_slot(slots_[client].mutex);
    if (slots_[client].client) serve(client);
  }
}

// There is no endpoint, or the history cannot be written.
bool Load::is_over() {
  const std::lock_guard lock(mutex_);
  const bool error = options_.history != nullptr && !options_.history->error().empty();
  return error || !lost_.empty();
}

// One at a time, and none before all that ended at the same time are known: a broker that
// is gone is not waited for.
void Load::reconnect() {
  for (std::uint32_t client = 0; client < slots_.size(); ++client) {
    Slot& slot = slots_[client];
    {
      const std::lock_guard lock(mutex_);
      if (!lost_.empty()) return;
      if (!slot.broken || now() < slot.broken_at + kReconnectAfter) continue;
    }
    if (reconnect(client)) on_event(client);
    return;
  }
}

// Faults of the network may end all connections; an endpoint is gone that takes none after a while.
// A single attempt may last as long as that while, and prove nothing of the time after it.
bool Load::reconnect(std::uint32_t client) {
  Slot& slot = slots_[client];
  const Time begun = now();
  std::unique_ptr<endpoint::Client> old;
  {
    const std::lock_guard of_slot(slot.mutex);
    old = std::move(slot.client);
  }
  old.reset();
  const bool done = connect(client).has_value();
  const std::lock_guard lock(mutex_);
  if (done) {
    ++reconnected_;
    return true;
  }
  slot.broken_at = now();
  const bool gone = connected_ == 0 && begun >= without_connection_since_ + options_.max_outage;
  if (gone && lost_.empty()) {
    lost_ = "no client could connect again within " + std::to_string(options_.max_outage.count()) +
            " s";
  }
  return false;
}

void Load::tick() {
  std::uint64_t given_up = 0;
  {
    const std::lock_guard lock(mutex_);
    given_up = traffic_.counts().timed_out;
    traffic_.give_up(now());
    given_up = traffic_.counts().timed_out - given_up;
  }
  if (options_.traffic.rate > 0 || given_up > 0) serve_all();
  reconnect();
  look_at_broker();
}

// With `all` also the keys that are in use, as no more requests are sent.
void Load::judge(bool all) {
  take_injected();
  std::vector<history::Event> events;
  std::vector<std::string> over;
  {
    // Which keys are over has to be known of the same moment: else one is closed, and an operation
    // of it that ended meanwhile is judged without the others. (Req: GET-HIT-3)
    const std::lock_guard lock(mutex_);
    events.swap(events_);
    judged_all_ = judged_all_ || all;
    for (const std::size_t generation : traffic_.closed(all)) {
      over.push_back(traffic_.prefix_of(generation));
      left_keys_.merge(traffic_.take_keys(generation));
    }
  }
  if (!checker_) return;
  const bool many = events.size() > kMaxUnjudged;
  if (many) hold("judging", true);
  const auto before = processor_time();
  for (const history::Event& event : events) checker_->add(event);
  events.clear();
  for (const std::string& prefix : over) checker_->close(prefix, now());
  checker_->judge(now());
  judging_ += processor_time() - before;
  if (!many) return;
  hold("judging", false);
  serve_all();
}

// Clients that never pause leave no moment at which nothing is in flight. It costs a round trip.
void Load::settle_now_and_then() {
  if (!checker_ || now() < last_settled_ + kSettleEvery) return;
  hold("settling", true);
  const Time deadline = now() + kMaxPause;
  bool quiet = false;
  while (!quiet && now() < deadline) {
    {
      const std::lock_guard lock(mutex_);
      quiet = traffic_.under_way() == 0;
    }
    if (!quiet) std::this_thread::sleep_for(200us);
  }
  const Time moment = now();
  hold("settling", false);
  serve_all();
  judge();
  const auto before = processor_time();
  if (quiet) checker_->settle(moment);
  judging_ += processor_time() - before;
  last_settled_ = now();
}

bool Load::is_reachable() {
  const std::lock_guard lock(mutex_);
  return lost_.empty();
}

LoadProgress Load::progress_now() {
  LoadProgress out{.elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(now())};
  if (checker_) {
    out.operations = checker_->judged().operations;
    out.decided = checker_->judged().decided;
    out.violations = checker_->judged().violations.size();
  }
  const std::lock_guard lock(mutex_);
  out.counts = traffic_.counts();
  out.clients = connected_;
  out.reconnected = reconnected_;
  out.injected = injected_;
  return out;
}

LoadResult Load::run(const std::atomic<bool>& stop,
                     const std::function<void(const LoadProgress&)>& progress) {
  constexpr Time kShowEvery = 200ms;
  LoadResult out;
  if (options_.judge)
    checker_.emplace(options_.bounds, options_.limits, options_.stop_at_violation);
  std::jthread queue([this](const std::stop_token& stopped) { serve_queue(stopped); });
  std::jthread ticker([this](const std::stop_token& stopped) {
    while (!stopped.stop_requested()) {
      std::this_thread::sleep_for(kTick);
      tick();
    }
  });
  const Time begin = now();
  last_settled_ = begin;
  Time shown = begin;
  if (options_.network != nullptr) {
    options_.network->set_around([this](auto fault) { before_disturbance(fault); },
                                 [this](auto fault) { after_disturbance(fault); });
    options_.network->set_on(true);
  }
  serve_all();
  const auto over = [&] {
    const bool found = options_.stop_at_violation && checker_ &&
                       (checker_->found_violation() || probe_.has_findings());
    return stop || found || is_over() || now() - begin >= options_.duration;
  };
  while (!over()) {
    std::this_thread::sleep_for(kTick);
    judge();
    settle_now_and_then();
    if (progress && now() >= shown + kShowEvery) {
      shown = now();
      progress(progress_now());
    }
  }
  hold("the end", true);  // first: a busy machine sends until then
  out.asking = now() - begin;
  if (options_.network != nullptr) {
    options_.network->set_on(false);
    options_.network->set_around({}, {});
  }
  out.interrupted = stop;
  ticker.request_stop();
  ticker.join();
  const Time patience = now() + options_.traffic.patience + 1s;
  while (now() < patience) {
    {
      const std::lock_guard lock(mutex_);
      // When the waiting ends, all of it has no response.
      traffic_.give_up(endpoint::waits_have_ended() ? patience : now());
      if (traffic_.under_way() == 0) break;
    }
    std::this_thread::sleep_for(1ms);
  }
  await_acknowledgements();
  judge(true);
  if (checker_) {
    const auto before = processor_time();
    checker_->finish();
    judging_ += processor_time() - before;
    out.judged = checker_->judged();
  }
  out.progress = progress_now();
  out.judging = judging_;
  if (is_reachable()) probe_.finish();
  take_results(out);
  if (options_.history != nullptr) out.error = options_.history->error();
  if (out.lost.empty()) clean_up();
  return out;
}

// Violations between requests before an end of the broker and requests after it.
std::vector<DeliveryFinding> Load::lost_in_histories(const Judged& judged) {
  const std::lock_guard lock(mutex_);
  std::map<std::string, DeliveryFinding, std::less<>> found;
  for (const history::KeyVerdict& each : judged.violations) {
    const auto lies_between = [&](Time end) { return are_on_both_sides(each.verdict.shown, end); };
    if (std::none_of(ends_.begin(), ends_.end(), lies_between)) continue;
    const std::string_view rule = rule_of_restarts(each.verdict.requirement);
    DeliveryFinding& finding = found[std::string(rule)];
    if (finding.times++ > 0) continue;
    finding.requirement = rule;
    finding.text = "the broker ended between the requests of a violation of " +
                   each.verdict.requirement + ": " + each.verdict.text;
  }
  std::vector<DeliveryFinding> out;
  for (auto& [rule, finding] : found) out.push_back(std::move(finding));
  return out;
}

// What there is beside the judge's.
void Load::take_results(LoadResult& out) {
  {
    const std::lock_guard lock(mutex_);
    out.lost = lost_;
    out.deliveries = traffic_.delivery().findings();
    out.doubts = traffic_.delivery().doubts();
  }
  out.kept = probe_.kept();
  out.not_kept = probe_.lost();
  // First: what else is wrong follows from it.
  std::vector<DeliveryFinding> broken = probe_.findings();
  if (broken.empty()) broken = lost_in_histories(out.judged);
  for (DeliveryFinding& each : broken) {
    each.text +=
        ", though the endpoint declares durability: " + std::string(name(options_.durability));
  }
  out.deliveries.insert(out.deliveries.begin(), broken.begin(), broken.end());
  // Where faults of the network have ended each connection that ended, nothing that was lost with
  // one says anything of the endpoint.
  const bool explained = options_.network != nullptr && options_.network->ended_themselves() == 0;
  if (explained) out.doubts.lost = 0;
}

// Each client reads what has come of it itself.
void Load::await_acknowledgements() {
  const Time deadline = now() + options_.acknowledged_within;  // of all of them
  for (std::uint32_t client = 0; client < slots_.size(); ++client) {
    const std::lock_guard of_slot(slots_[client].mutex);
    if (!slots_[client].client) continue;
    slots_[client].client->await_acknowledgements(
        std::chrono::duration_cast<Duration>(std::max(deadline - now(), Time{0})));
    serve(client);
  }
}

// What was written is deleted again: by the first client, without looking at the answers.
void Load::clean_up() {
  constexpr std::size_t kAtOnce = 100;
  const auto patience = std::chrono::duration_cast<Duration>(options_.traffic.patience);
  Slot& slot = slots_.front();
  {
    std::unique_lock lock(mutex_);
    const bool again = slot.broken && options_.network != nullptr;
    lock.unlock();
    if (again && !reconnect(0)) return;
  }
  const std::lock_guard of_slot(slot.mutex);
  if (!slot.client) return;
  const std::string id = traffic_.client_id(0);
  const hlc::Timestamp token{.wall_ms = wall_ms() + 1'000, .node = "zzzz"};
  std::size_t sent = 0;
  std::size_t answered = 0;
  const auto read_until = [&](std::size_t most) {
    const auto deadline = session_.clock().now() + patience;
    while (sent - answered > most && session_.clock().now() < deadline) {
      const auto event = slot.client->receive(deadline - session_.clock().now());
      if (!event || std::holds_alternative<endpoint::Disconnected>(event->what)) return false;
      const auto* received = std::get_if<endpoint::MessageReceived>(&event->what);
      const bool reply =
          received != nullptr && !received->message.topic.starts_with(codec::kStorePrefix);
      if (reply) ++answered;
    }
    return sent - answered <= most;
  };
  const auto request_deletion = [&](const std::string& key, bool with_token) {
    constexpr std::size_t kDigits = 7;
    const std::string number = std::to_string(sent);
    codec::Message request;
    request.topic = codec::kRequestTopic;
    request.payload = codec::encode({.verb = codec::Verb::kDel, .key = key});
    request.response_topic = codec::recommended_response_topic(id);
    request.correlation_data =
        "clean-up-" + std::string(kDigits - std::min(kDigits, number.size()), '0') + number;
    if (with_token) request.user_properties.emplace_back(codec::kTokenProperty, hlc::format(token));
    if (!slot.client->publish(request)) return false;
    ++sent;
    return read_until(kAtOnce);
  };
  for (const std::string& key : left_keys_) {
    // With a token for a key that has one, without for one that a token is refused for. Req:
    // FT-OPEN-2
    if (!request_deletion(key, true) || !request_deletion(key, false)) return;
  }
  read_until(0);
}

void Load::leave() {
  for (Slot& slot : slots_) {
    std::unique_ptr<endpoint::Client> client;
    {
      const std::lock_guard of_slot(slot.mutex);
      client = std::move(slot.client);
    }
    client.reset();
  }
}

}  // namespace

Result<LoadResult, endpoint::Error> run_load(
    endpoint::Endpoint& endpoint, const LoadOptions& options, const std::atomic<bool>& stop,
    const std::function<void(const LoadProgress&)>& progress) {
  auto session = endpoint.open_session();
  if (!session) return fail(session.error());
  const auto load = std::make_shared<Load>(**session, options);
  auto connected = load->connect_all();
  if (!connected) {
    load->leave();
    return fail(connected.error());
  }
  LoadResult out = load->run(stop, progress);
  load->leave();
  return out;
}

}  // namespace fencepost::stress
