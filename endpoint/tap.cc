#include "endpoint/tap.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <iterator>
#include <list>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/poll_until.h"
#include "endpoint/faulty_connection.h"
#include "endpoint/stream.h"
#include "endpoint/tls.h"

namespace fencepost::endpoint {
namespace {

constexpr std::size_t kTapChunk = std::size_t{64} << 10U;
constexpr std::chrono::milliseconds kTapConnectTimeout{2'000};
constexpr int kTapBacklog = 128;
// More than a system keeps of a connection for its reader: nobody can hold up the end by sending.
constexpr std::size_t kMaxAtTheEnd = std::size_t{16} << 20U;
constexpr std::chrono::milliseconds kQuietAtTheEnd{50};
constexpr std::chrono::seconds kMaxEnd{5};
constexpr std::chrono::milliseconds kNextTryWhenFull{50};
constexpr std::string_view kDisconnect("\xe0\x00", 2);  // (MQTT 5, 3.14)

// One way of a connection. Nothing is read while something waits to be written.
struct Way {
  std::string waits{};
  bool source_ended = false;
  bool ended = false;  // the sink knows it, too
};

struct TappedPair {
  std::uint64_t number;
  std::unique_ptr<Stream> client;  // neither is null
  std::unique_ptr<Stream> broker;
  Way up{};    // from the client
  Way down{};  // from the broker
  std::optional<LatePubacks> pubacks{};
  std::optional<FaultyConnection> faulty{};
  bool broken = false;
  bool ended_by_client = false;  // first

  [[nodiscard]] bool holds(bool upward, TapFaults::Moment now) const {
    return faulty && faulty->holds(upward, now);
  }
};

// A connection of ours that takes over that of a client.
struct Twin {
  std::unique_ptr<Stream> broker;  // null: it is over
  TapFaults::Moment until;
};

short wanted_of(const Stream& here, const Way& from_here, const Way& to_here) {
  int out = here.waits_to_write() ? POLLOUT : 0;
  if (!from_here.source_ended && from_here.waits.empty()) out |= POLLIN;
  if (!to_here.waits.empty()) out |= POLLOUT;
  return static_cast<short>(out);
}

void write_waiting(TappedPair& pair, Way& way, Stream& sink, TapFaults::Moment now) {
  const std::size_t most = pair.faulty ? pair.faulty->most_to_write(now) : way.waits.npos;
  while (!way.waits.empty()) {
    const Moved moved = sink.write(std::string_view(way.waits).substr(0, most));
    if (moved.ended) pair.broken = true;
    if (moved.bytes == 0) return;
    way.waits.erase(0, moved.bytes);
    if (most == way.waits.npos) continue;
    pair.faulty->wrote(&way == &pair.up, moved.bytes, now);
    // Others have their turn in between.
    if (!way.waits.empty()) return;
  }
  if (!way.source_ended || way.ended) return;
  way.ended = true;
  sink.end_writing();
}

// What has come, which then waits to be written.
Moved read_some(TappedPair& pair, Way& way, Stream& source) {
  std::array<char, kTapChunk> buffer;  // NOLINT: 64 KiB are not cleared for nothing
  Moved moved = source.read(buffer.data(), buffer.size());
  way.source_ended = moved.ended;
  if (!moved.error.empty()) pair.broken = true;
  way.waits.assign(buffer.data(), moved.bytes);
  return moved;
}

class TapLoop {
 public:
  TapLoop(const TapOptions& options, TapWatcher& watcher, SSL_CTX* tls, int listener, int wake)
      : options_(options), watcher_(watcher), tls_(tls), listener_(listener), wake_(wake) {}

  void run() {
    while (wait()) {
      now_ = std::chrono::steady_clock::now();
      inject();
      std::size_t at = 2;
      for (TappedPair& pair : pairs_) {
        serve(pair, entries_[at].revents, entries_[at + 1].revents);
        at += 2;
      }
      serve_twins(at);
      end_finished();
      if (entries_[1].revents != 0 || full_) (void)accept_one();
    }
    read_rest_of_all();
    for (const TappedPair& pair : pairs_) watcher_.on_closed(pair.number);
  }

 private:
  // False: it is time to end.
  bool wait() {
    entries_.clear();
    entries_.push_back({wake_, POLLIN, 0});
    // Without a descriptor left, new clients wait: this process has other uses for them, too.
    entries_.push_back({full_ ? -1 : listener_, POLLIN, 0});
    for (const TappedPair& pair : pairs_) {
      const bool up_held = pair.holds(true, now_);
      const bool down_held = pair.holds(false, now_);
      // Without anything to wait for, an end that has come would be reported again and again.
      const auto add = [&](const Stream& here, const Way& from, bool from_held, const Way& to,
                           bool to_held) {
        const Way none{.source_ended = true};
        const short wanted = wanted_of(here, from_held ? none : from, to_held ? none : to);
        const bool ignored = wanted == 0 && (from_held || to_held);
        entries_.push_back({ignored ? -1 : here.descriptor(), wanted, 0});
      };
      add(*pair.client, pair.up, up_held, pair.down, down_held);
      add(*pair.broker, pair.down, down_held, pair.up, up_held);
    }
    for (const Twin& twin : twins_) entries_.push_back({twin.broker->descriptor(), POLLIN, 0});
    return poll_until(entries_, next_due()) >= 0 && entries_[0].revents == 0;
  }

  void inject() {
    if (options_.faults == nullptr) return;
    TapFaults& faults = *options_.faults;
    while (const auto strike = faults.due(now_)) {
      if (pairs_.empty()) return;
      auto pair =
          std::next(pairs_.begin(), static_cast<std::ptrdiff_t>(strike->pick % pairs_.size()));
      // The next one where that has a fault.
      bool struck = false;
      for (std::size_t i = 0; i < pairs_.size() && !struck; ++i) {
        struck = pair->faulty->strike(*strike, now_);
        if (struck && strike->fault == NetworkFault::kTakeover) take_over(*pair);
        if (++pair == pairs_.end()) pair = pairs_.begin();
      }
      const bool refuses = struck && strike->fault == NetworkFault::kRefuse;
      if (refuses) refuses_until_ = now_ + strike->length;
    }
    if (faults.is_on()) return;
    for (TappedPair& pair : pairs_) pair.faulty->stop_waiting();
  }

  // Connects as the client has, until the broker has answered: that ends the client's connection.
  // (MQTT 5, 3.1.4-3)
  void take_over(const TappedPair& pair) {
    auto socket = connect_broker();
    if (!socket) return;
    Twin twin{.broker = Stream::accepted(std::move(*socket), nullptr),
              .until = now_ + kind_of(NetworkFault::kTakeover).longest};
    const std::string& connect = pair.faulty->connect();
    if (twin.broker->write(connect).bytes == connect.size()) twins_.push_back(std::move(twin));
  }

  void serve_twins(std::size_t entry) {
    for (Twin& twin : twins_) {
      std::array<char, 256> buffer;  // NOLINT: not cleared for nothing
      const bool answered = entry < entries_.size() && entries_[entry++].revents != 0;
      const bool has_read = answered && twin.broker->read(buffer.data(), buffer.size()).bytes > 0;
      if (!answered && now_ < twin.until) continue;
      if (has_read) (void)twin.broker->write(kDisconnect);
      twin.broker.reset();
    }
    twins_.remove_if([](const Twin& twin) { return twin.broker == nullptr; });
  }

  void end_by_fault(TappedPair& pair) {
    if (const auto fault = pair.faulty->take_effect()) {
      options_.faults->on_effect(pair.number, *fault, now_);
    }
    const FaultyConnection::End end = pair.faulty->end(now_);
    if (end == FaultyConnection::End::kNone) return;
    pair.broken = true;
    for (Stream* each : {pair.client.get(), pair.broker.get()}) {
      end == FaultyConnection::End::kReset ? each->reset() : each->end_writing();
    }
  }

  // When something has to be done by itself.
  [[nodiscard]] LatePubacks::Moment next_due() const {
    auto first = full_ ? now_ + kNextTryWhenFull : LatePubacks::Moment::max();
    if (options_.faults != nullptr) first = std::min(first, options_.faults->next_due(now_));
    for (const Twin& twin : twins_) first = std::min(first, twin.until);
    for (const TappedPair& pair : pairs_) {
      if (const auto due = pair.faulty ? pair.faulty->next_due(now_) : std::nullopt) {
        first = std::min(first, *due);
      }
      const auto due =
          pair.pubacks && pair.down.waits.empty() ? pair.pubacks->next_due() : std::nullopt;
      if (due) first = std::min(first, *due);
    }
    return first;
  }

  Moved read_client(TappedPair& pair) {
    Moved moved = read_some(pair, pair.up, *pair.client);
    if (!moved.error.empty() && pair.client->is_in_handshake()) {
      watcher_.on_no_handshake(pair.number, moved.error);
    }
    return moved;
  }

  // What a client has sent before its end is seen, in either order: clients are judged by it.
  void read_rest(TappedPair& pair) {
    std::size_t seen = 0;
    while (!pair.up.source_ended && seen < kMaxAtTheEnd) {
      const Moved moved = read_client(pair);
      if (moved.bytes == 0) return;
      watcher_.on_sent(pair.number, pair.up.waits);
      seen += moved.bytes;
    }
  }

  // Includes clients that are not accepted yet. It does not wait for clients that have ended.
  void read_rest_of_all() {
    const auto deadline = std::chrono::steady_clock::now() + kMaxEnd;
    while (std::chrono::steady_clock::now() < deadline && accept_one()) {
    }
    std::vector<pollfd> open;
    do {
      open.clear();
      for (TappedPair& pair : pairs_) {
        read_rest(pair);
        if (!pair.up.source_ended) open.push_back({pair.client->descriptor(), POLLIN, 0});
      }
    } while (!open.empty() && std::chrono::steady_clock::now() < deadline &&
             poll_until(open, std::chrono::steady_clock::now() + kQuietAtTheEnd) > 0);
  }

  void serve(TappedPair& pair, short client, short broker) {
    // A handshake reads when it can write, too.
    const int of_client =
        POLLIN | POLLHUP | POLLERR | (pair.client->waits_to_write() ? POLLOUT : 0);
    const bool up_held = pair.holds(true, now_);
    if ((client & of_client) != 0 && !pair.up.source_ended && pair.up.waits.empty() && !up_held) {
      const Moved moved = read_client(pair);
      pair.ended_by_client = moved.ended && !pair.down.source_ended;
      if (pair.faulty) pair.up.waits = pair.faulty->pass(true, pair.up.waits, now_);
      if (!pair.up.waits.empty()) watcher_.on_sent(pair.number, pair.up.waits);
    }
    if ((broker & (POLLIN | POLLHUP | POLLERR)) != 0 && !pair.down.source_ended &&
        pair.down.waits.empty() && !pair.holds(false, now_)) {
      (void)read_some(pair, pair.down, *pair.broker);
      if (pair.faulty) pair.down.waits = pair.faulty->pass(false, pair.down.waits, now_);
      if (pair.pubacks) {
        pair.down.waits = pair.pubacks->add(pair.down.waits, std::chrono::steady_clock::now());
      }
      if (!pair.down.waits.empty()) watcher_.on_delivered(pair.number, pair.down.waits);
    }
    if (pair.pubacks && pair.down.waits.empty()) {
      pair.down.waits = pair.pubacks->due(std::chrono::steady_clock::now());
      if (!pair.down.waits.empty()) watcher_.on_delivered(pair.number, pair.down.waits);
    }
    // Nobody reads what still waits.
    if ((client & POLLERR) != 0 || (broker & POLLERR) != 0) pair.broken = true;
    // Seen also where nothing is read of a client that waits.
    if ((client & POLLERR) != 0 && !pair.down.source_ended) pair.ended_by_client = true;
    if (!pair.holds(true, now_)) write_waiting(pair, pair.up, *pair.broker, now_);
    if (!pair.holds(false, now_)) write_waiting(pair, pair.down, *pair.client, now_);
    if (pair.faulty) end_by_fault(pair);
    if (pair.pubacks && pair.pubacks->dropped()) pair.broken = true;
  }

  void end_finished() {
    for (auto each = pairs_.begin(); each != pairs_.end();) {
      // A broker that has ended its side reads nothing any more.
      const bool finished = each->broken || each->down.ended;
      if (!finished) {
        ++each;
        continue;
      }
      read_rest(*each);
      const bool by_fault =
          each->faulty && (each->faulty->is_taken_over() ||
                           each->faulty->end(now_) != FaultyConnection::End::kNone);
      if (each->faulty && !by_fault && !each->ended_by_client) options_.faults->on_ended_itself();
      watcher_.on_closed(each->number);
      each = pairs_.erase(each);
    }
  }

  [[nodiscard]] Result<Socket, std::string> connect_broker() const {
    if (!options_.to_socket.empty()) return connect_unix(options_.to_socket, kTapConnectTimeout);
    const std::atomic<std::uint16_t>* changing = options_.to_changing_port;
    return connect_tcp(options_.to_address,
                       changing == nullptr ? options_.to_port : changing->load(),
                       kTapConnectTimeout);
  }

  // False: nobody waits to be.
  bool accept_one() {
    Socket client(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    full_ = client.descriptor() < 0 && (errno == EMFILE || errno == ENFILE);
    if (client.descriptor() < 0) return false;
    if (now_ < refuses_until_) {
      Stream::accepted(std::move(client), nullptr)->reset();
      return true;
    }
    auto broker = connect_broker();
    if (!broker) return true;
    pairs_.push_back({++last_, Stream::accepted(std::move(client), tls_),
                      Stream::accepted(std::move(*broker), nullptr)});
    if (options_.pubacks.any()) pairs_.back().pubacks.emplace(options_.pubacks, pubacks_);
    if (options_.faults != nullptr) pairs_.back().faulty.emplace(options_.faults->has_packets());
    watcher_.on_opened(last_);
    return true;
  }

  const TapOptions& options_;
  TapWatcher& watcher_;
  SSL_CTX* tls_;  // null: none
  int listener_;
  int wake_;
  bool full_ = false;  // there was no descriptor for the next client
  std::uint64_t last_ = 0;
  std::uint64_t pubacks_ = 0;
  TapFaults::Moment now_ = std::chrono::steady_clock::now();  // of this turn
  TapFaults::Moment refuses_until_{};
  std::list<TappedPair> pairs_{};
  std::list<Twin> twins_{};
  std::vector<pollfd> entries_{};
};

}  // namespace

struct Tap::Tls {
  TlsContext context;
};

Result<std::unique_ptr<Tap>, std::string> Tap::start(const TapOptions& options,
                                                     TapWatcher& watcher) {
  auto listener = listen_at(options.address, options.port, kTapBacklog);
  if (!listener) return fail(listener.error());
  std::unique_ptr<Tap> out(new Tap(options, watcher, std::move(listener->socket), listener->port));
  if (!options.certificate.empty()) {
    auto tls = make_server_context(options.certificate, options.key, options.client_ca);
    if (!tls) return fail(tls.error());
    out->tls_ = std::unique_ptr<Tls>(new Tls{std::move(*tls)});
  }
  try {
    out->thread_ = std::thread([tap = out.get()] { tap->run(); });
  } catch (const std::system_error& no_thread) {
    return fail(std::string("no thread for it: ") + no_thread.what());
  }
  return out;
}

Tap::Tap(TapOptions options, TapWatcher& watcher, Socket listener, std::uint16_t port)
    : options_(std::move(options)),
      watcher_(watcher),
      listener_(std::move(listener)),
      wake_(eventfd(0, EFD_CLOEXEC)),
      port_(port) {}

void Tap::run() {
  SSL_CTX* tls = tls_ == nullptr ? nullptr : tls_->context.get();
  TapLoop(options_, watcher_, tls, listener_.descriptor(), wake_.descriptor()).run();
}

Tap::~Tap() {
  if (!thread_.joinable()) return;
  eventfd_write(wake_.descriptor(), 1);
  thread_.join();
}

}  // namespace fencepost::endpoint
