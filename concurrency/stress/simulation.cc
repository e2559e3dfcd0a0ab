#include "concurrency/stress/simulation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/check.h"
#include "codec/topics.h"
#include "workload/random.h"

namespace fencepost::stress {
namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;

constexpr std::uint64_t kSimulatedEpochMs = 1'767'225'600'000;  // 2026-01-01
constexpr microseconds kPatience = 200ms;
constexpr microseconds kReconnect = 3ms;

// Something that will happen; `message` is what goes to the store or to a client.
struct Happening {
  enum class What : std::uint8_t { kAsk, kArrive, kReply, kBreak, kConnect };
  microseconds at{0};
  std::uint64_t number = 0;  // of equal times the first comes first
  What what = What::kAsk;
  std::uint32_t client = 0;
  std::uint64_t connection = 0;  // of the client: what belongs to an earlier one is gone
  codec::Message message{};
};

struct Later {
  bool operator()(const Happening& a, const Happening& b) const {
    return a.at != b.at ? a.at > b.at : a.number > b.number;
  }
};

class Simulation final : private Journal {
 public:
  Simulation(store::Handler& store, const SimulationOptions& options, Journal* journal)
      : store_(store),
        options_(options),
        journal_(journal),
        random_(options.seed ^ 0x5eed'0f5c'4ed0'1e55ULL),
        checker_(options.bounds.value_or(simulated_bounds()), options.limits,
                 options.stop_at_violation),
        traffic_({.script = {.mix = options.mix,
                             .clients = options.clients,
                             .seed = options.seed,
                             .prefix = "stress/"},
                  .client_prefix = "stress-",
                  .patience = kPatience,
                  .rate = options.rate,
                  .plan = options.plan,
                  .check_reply = options.check_reply},
                 *this),
        lines_(options.clients) {
    for (std::uint32_t client = 0; client < options_.clients; ++client) {
      const std::string id = traffic_.client_id(client);
      clients_[id] = client;
      by_topic_[codec::recommended_response_topic(id)] = client;
    }
  }

  SimulatedRun run(const std::function<bool(const SimulatedRun&)>& stopped) {
    for (std::uint32_t client = 0; client < options_.clients; ++client) connect(client);
    std::uint64_t steps = 0;
    while (goes_on()) {
      if (++steps % kCheckEvery == 0) {
        judge();
        if (options_.stop_at_violation && checker_.found_violation()) break;
        if (stopped) {
          out_.judged = checker_.judged();
          out_.counts = traffic_.counts();
          out_.duration = now_;
          if (stopped(out_)) break;
        }
      }
      step();
    }
    finish();
    return std::move(out_);
  }

 private:
  static constexpr std::uint64_t kCheckEvery = 512;

  struct Line {  // of one client
    std::uint64_t connection = 0;
    microseconds to_store{0};  // when its last message arrives there
    microseconds to_client{0};
    bool waits = false;  // it will send a request by itself
  };

  void called(std::uint64_t id, const history::Operation& operation) override {
    if (journal_ != nullptr) journal_->called(id, operation);
  }
  void returned(std::uint64_t id, const history::Operation& operation) override {
    if (journal_ != nullptr) journal_->returned(id, operation);
    checker_.add(operation);
    if (options_.keep_operations) out_.operations.push_back(operation);
  }
  void notified(const history::Notification& notification) override {
    if (journal_ != nullptr) journal_->notified(notification);
    checker_.add(notification);
  }
  void linked(const history::Connection& connection) override {
    if (journal_ != nullptr) journal_->linked(connection);
    checker_.add(connection);
  }

  void judge() {
    for (const std::size_t generation : traffic_.closed()) {
      checker_.close(traffic_.prefix_of(generation), now_);
      static_cast<void>(traffic_.take_keys(generation));
    }
    checker_.judge(now_);
  }

  // Most messages are quick; some wait behind others.
  microseconds delay() {
    if (random_.one_in(50)) return microseconds(1'000 + random_.below(6'000));
    return microseconds(20 + random_.below(random_.one_in(4) ? 900 : 200));
  }

  void plan(microseconds at, Happening::What what, std::uint32_t client,
            codec::Message message = {}) {
    queue_.push_back({.at = at,
                      .number = next_number_++,
                      .what = what,
                      .client = client,
                      .connection = lines_[client].connection,
                      .message = std::move(message)});
    std::push_heap(queue_.begin(), queue_.end(), Later());
  }

  void connect(std::uint32_t client) {
    traffic_.connected(client, now_);
    ask_at(client, now_ + microseconds(random_.below(1'000)));
  }

  void ask_at(std::uint32_t client, microseconds time) {
    if (std::exchange(lines_[client].waits, true)) return;
    plan(time, Happening::What::kAsk, client);
  }

  // Its requests that have arrived are carried out.
  void break_line(std::uint32_t client) {
    ++lines_[client].connection;
    traffic_.disconnected(client, now_);
    store_.disconnect(traffic_.client_id(client));
    plan(now_ + kReconnect, Happening::What::kConnect, client);
  }

  // The last requests and replies may wait in the store, and nowhere else.
  bool goes_on() {
    if (!queue_.empty()) return true;
    traffic_.give_up(now_);
    const auto next = store_.next_expiry();
    return traffic_.under_way() > 0 && next && *next <= now_ + kPatience;
  }

  void step() {
    const auto expiry = store_.next_expiry();
    if (expiry && (queue_.empty() || *expiry <= queue_.front().at)) {
      now_ = std::max(now_, *expiry);
      std::vector<store::Delivery> out;
      store_.expire(instant(), out);
      send(out);
      return;
    }
    std::pop_heap(queue_.begin(), queue_.end(), Later());
    const Happening next = std::move(queue_.back());
    queue_.pop_back();
    now_ = std::max(now_, next.at);
    const bool gone = next.connection != lines_[next.client].connection;
    switch (next.what) {
      case Happening::What::kAsk:
        lines_[next.client].waits = false;
        ask(next.client);
        break;
      case Happening::What::kArrive:
        arrive(next);
        break;
      case Happening::What::kReply:
        if (gone) break;
        traffic_.received(next.client, next.message, now_);
        ask(next.client);
        break;
      case Happening::What::kBreak:
        if (!gone) break_line(next.client);
        break;
      case Happening::What::kConnect:
        connect(next.client);
        break;
    }
  }

  void ask(std::uint32_t client) {
    traffic_.give_up(now_);
    if (is_over()) return;
    while (auto request = traffic_.next(client, now_, wall_ms())) {
      if (chance(options_.lost_in_10000)) {
        traffic_.excuse(request->correlation_data.value_or(""));
        continue;
      }
      Line& line = lines_[client];
      line.to_store = std::max(line.to_store, now_ + delay());
      if (chance(options_.broken_in_10000)) {
        plan(now_ + microseconds(random_.below(1'000)), Happening::What::kBreak, client);
      }
      plan(line.to_store, Happening::What::kArrive, client, std::move(*request));
      if (is_over()) return;
    }
    // A client that waits for a lost response continues after its time-out.
    const bool paced = options_.rate > 0;
    ask_at(client, now_ + (paced ? microseconds(500) : kPatience));
  }

  [[nodiscard]] bool is_over() const {
    return traffic_.counts().requests >= options_.requests || now_ >= options_.duration;
  }
  [[nodiscard]] std::uint64_t wall_ms() const {
    return kSimulatedEpochMs + static_cast<std::uint64_t>(now_.count() / 1000);
  }
  [[nodiscard]] store::Instant instant() const { return {.wall_ms = wall_ms(), .steady = now_}; }

  // A request of a connection that has ended may still arrive, but does not register the client.
  void arrive(const Happening& request) {
    const bool gone = request.connection != lines_[request.client].connection;
    const bool registers = request.message.payload.find("KEYNOTIFY") != std::string::npos;
    if (gone && (registers || random_.one_in(2))) return;
    const std::string id = traffic_.client_id(request.client);
    std::vector<store::Delivery> out;
    const store::Handling handling =
        store_.handle({.client_id = id, .user_name = {}}, request.message, instant(), out);
    send(out);
    if (!gone && handling == store::Handling::kDisconnect) break_line(request.client);
  }

  void send(std::vector<store::Delivery>& deliveries) {
    for (store::Delivery& delivery : deliveries) {
      const bool reply = delivery.client_id.empty();
      const auto& readers = reply ? by_topic_ : clients_;
      const auto found = readers.find(reply ? delivery.message.topic : delivery.client_id);
      if (found == readers.end()) continue;
      if (reply && chance(options_.lost_in_10000)) {
        traffic_.excuse(delivery.message.correlation_data.value_or(""));
        continue;
      }
      Line& line = lines_[found->second];
      line.to_client = std::max(line.to_client, now_ + delay());
      plan(line.to_client, Happening::What::kReply, found->second, std::move(delivery.message));
    }
  }

  bool chance(std::size_t in_10000) { return in_10000 > 0 && random_.below(10'000) < in_10000; }

  void finish() {
    // In a run that ends early, what is still in flight is lost with it. Req: ENV-RESPONSE-1
    if (goes_on()) traffic_.excuse_all();
    now_ += kPatience + 1ms;
    traffic_.give_up(now_);
    for (const std::size_t generation : traffic_.closed(true)) {
      checker_.close(traffic_.prefix_of(generation), now_);
    }
    checker_.finish();
    out_.deliveries = traffic_.delivery().findings();
    out_.doubts = traffic_.delivery().doubts();
    if (options_.broken_in_10000 > 0) out_.doubts.lost = 0;
    out_.judged = checker_.judged();
    out_.counts = traffic_.counts();
    out_.duration = now_;
  }

  store::Handler& store_;
  const SimulationOptions& options_;
  Journal* journal_;
  workload::Random random_;
  OnlineChecker checker_;
  Traffic traffic_;
  std::vector<Line> lines_;
  std::map<std::string, std::uint32_t> clients_{};   // by id
  std::map<std::string, std::uint32_t> by_topic_{};  // of responses
  std::vector<Happening> queue_{};                   // a heap
  std::uint64_t next_number_ = 0;
  microseconds now_{0};
  SimulatedRun out_{};
};

}  // namespace

history::Bounds simulated_bounds() {
  // Above what delay() makes of a request or a reply.
  return {.expiry_early = 10ms, .expiry_late = 10ms, .notification_late = 50ms};
}

SimulatedRun simulate(store::Handler& store, const SimulationOptions& options, Journal* journal,
                      const std::function<bool(const SimulatedRun&)>& stopped) {
  FENCEPOST_CHECK(options.mix != nullptr);
  return Simulation(store, options, journal).run(stopped);
}

}  // namespace fencepost::stress
