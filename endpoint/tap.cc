#include "endpoint/tap.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include <sys/eventfd.h>
#include <sys/socket.h>

#include "base/poll_until.h"
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
  bool broken = false;
};

short wanted_of(const Stream& here, const Way& from_here, const Way& to_here) {
  int out = here.waits_to_write() ? POLLOUT : 0;
  if (!from_here.source_ended && from_here.waits.empty()) out |= POLLIN;
  if (!to_here.waits.empty()) out |= POLLOUT;
  return static_cast<short>(out);
}

void write_waiting(TappedPair& pair, Way& way, Stream& sink) {
  while (!way.waits.empty()) {
    const Moved moved = sink.write(way.waits);
    if (moved.ended) pair.broken = true;
    if (moved.bytes == 0) return;
    way.waits.erase(0, moved.bytes);
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
      std::size_t at = 2;
      for (TappedPair& pair : pairs_) {
        if (at + 2 > entries_.size()) break;
        serve(pair, entries_[at].revents, entries_[at + 1].revents);
        at += 2;
      }
      end_finished();
      if (entries_[1].revents != 0) (void)accept_one();
    }
    read_rest_of_all();
    for (const TappedPair& pair : pairs_) watcher_.on_closed(pair.number);
  }

 private:
  // False: it is time to end.
  bool wait() {
    entries_.clear();
    entries_.push_back({wake_, POLLIN, 0});
    // Without a descriptor left, new clients wait until another one goes.
    entries_.push_back({full_ ? -1 : listener_, POLLIN, 0});
    for (const TappedPair& pair : pairs_) {
      const short of_client = wanted_of(*pair.client, pair.up, pair.down);
      entries_.push_back({pair.client->descriptor(), of_client, 0});
      entries_.push_back(
          {pair.broker->descriptor(), wanted_of(*pair.broker, pair.down, pair.up), 0});
    }
    return poll_until(entries_, next_due()) >= 0 && entries_[0].revents == 0;
  }

  // When something has to be done by itself.
  [[nodiscard]] LatePubacks::Moment next_due() const {
    auto first = LatePubacks::Moment::max();
    for (const TappedPair& pair : pairs_) {
      const auto due =
          pair.pubacks && pair.down.waits.empty() ? pair.pubacks->next_due() : std::nullopt;
      if (due) first = std::min(first, *due);
    }
    return first;
  }

  // What a client has sent before its end is seen, in either order: clients are judged by it.
  void read_rest(TappedPair& pair) {
    std::size_t seen = 0;
    while (!pair.up.source_ended && seen < kMaxAtTheEnd) {
      const Moved moved = read_some(pair, pair.up, *pair.client);
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
    if ((client & of_client) != 0 && !pair.up.source_ended && pair.up.waits.empty()) {
      const Moved moved = read_some(pair, pair.up, *pair.client);
      if (!pair.up.waits.empty()) watcher_.on_sent(pair.number, pair.up.waits);
      if (!moved.error.empty() && pair.client->is_in_handshake()) {
        watcher_.on_no_handshake(pair.number, moved.error);
      }
    }
    if ((broker & (POLLIN | POLLHUP | POLLERR)) != 0 && !pair.down.source_ended &&
        pair.down.waits.empty()) {
      (void)read_some(pair, pair.down, *pair.broker);
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
    write_waiting(pair, pair.up, *pair.broker);
    write_waiting(pair, pair.down, *pair.client);
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
      watcher_.on_closed(each->number);
      each = pairs_.erase(each);
      full_ = false;
    }
  }

  // False: nobody waits to be.
  bool accept_one() {
    Socket client(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (client.descriptor() < 0) {
      full_ = errno == EMFILE || errno == ENFILE;
      return false;
    }
    auto broker = options_.to_socket.empty()
                      ? connect_tcp(options_.to_address, options_.to_port, kTapConnectTimeout)
                      : connect_unix(options_.to_socket, kTapConnectTimeout);
    if (!broker) return true;
    pairs_.push_back({++last_, Stream::accepted(std::move(client), tls_),
                      Stream::accepted(std::move(*broker), nullptr)});
    if (options_.pubacks.any()) pairs_.back().pubacks.emplace(options_.pubacks, pubacks_);
    watcher_.on_opened(last_);
    return true;
  }

  const TapOptions& options_;
  TapWatcher& watcher_;
  SSL_CTX* tls_;  // null: none
  int listener_;
  int wake_;
  bool full_ = false;
  std::uint64_t last_ = 0;
  std::uint64_t pubacks_ = 0;
  std::list<TappedPair> pairs_{};
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
