// What a request and a connection cost over each client, side by side against one broker with the
// reference store: an echo over a bare socket, the packets alone on a socket, libmosquitto, and the
// two clients of the suite.
//
//   transport_bench [ROUNDS]
//
// Prints one JSON document: of each measurement the median over the rounds (default 5), in which
// all take turns. Processor time is that of this process: the broker and the echo are others.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>
#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "codec/message.h"
#include "codec/resp3.h"
#include "codec/topics.h"
#include "endpoint/broker_process.h"
#include "endpoint/mqtt.h"
#include "endpoint/socket.h"
#include "endpoint/throw_away_certificate.h"
#include "endpoint/wire/packet.h"

namespace fencepost::endpoint {
namespace {

using std::chrono::steady_clock;

constexpr auto kPatience = std::chrono::seconds{10};
constexpr std::string_view kCorrelation = "0123456789abcdef";

// --- clients -------------------------------------------------------------------------------------

// Clients of one kind, each with at most one request in flight. A failure ends the program.
class Clients {
 public:
  virtual ~Clients() = default;
  // One more, connected and subscribed to its responses.
  virtual void connect(const std::string& id) = 0;
  virtual void send(std::size_t client) = 0;
  virtual void await(std::size_t client) = 0;
  virtual void disconnect_all() = 0;
};

codec::Message request_of(const std::string& id) {
  codec::Message out;
  out.topic = std::string(codec::kRequestTopic);
  out.payload = codec::encode_command(std::vector<std::string_view>{"GET", "bench"});
  out.response_topic = codec::recommended_response_topic(id);
  out.correlation_data = std::string(kCorrelation);
  return out;
}

void no_delay(int descriptor) {
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::send(descriptor, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    FENCEPOST_CHECK(done > 0);
    bytes.remove_prefix(static_cast<std::size_t>(done));
  }
}

Socket connected(std::uint16_t port) {
  auto socket = connect_tcp("127.0.0.1", port,
                            std::chrono::duration_cast<std::chrono::milliseconds>(kPatience));
  FENCEPOST_CHECK(socket.has_value());
  no_delay(socket->descriptor());
  const int flags = fcntl(socket->descriptor(), F_GETFL);
  FENCEPOST_CHECK(fcntl(socket->descriptor(), F_SETFL, flags & ~O_NONBLOCK) == 0);
  return std::move(*socket);
}

// As many bytes there and back as a request and its response have.
class EchoClients final : public Clients {
 public:
  explicit EchoClients(std::uint16_t port) : port_(port) {}
  void connect(const std::string& /*id*/) override { sockets_.push_back(connected(port_)); }
  void send(std::size_t client) override {
    write_all(sockets_[client].descriptor(), std::string(kBytes, 'x'));
  }
  void await(std::size_t client) override {
    char buffer[kBytes];
    FENCEPOST_CHECK(::recv(sockets_[client].descriptor(), buffer, kBytes, MSG_WAITALL) == kBytes);
  }
  void disconnect_all() override { sockets_.clear(); }

 private:
  static constexpr std::size_t kBytes = 170;
  std::uint16_t port_;
  std::vector<Socket> sockets_;
};

// The packets of MQTT and a socket that blocks: what no client can undercut by much.
class RawClients final : public Clients {
 public:
  explicit RawClients(std::uint16_t port) : port_(port) {}

  void connect(const std::string& id) override {
    const codec::Message request = request_of(id);
    wire::Publish publish{
        .qos = 1, .packet_id = 1, .topic = request.topic, .payload = request.payload};
    publish.properties.add(wire::PropertyId::kResponseTopic, *request.response_topic);
    publish.properties.add(wire::PropertyId::kCorrelationData, *request.correlation_data);
    clients_.push_back({connected(port_), bytes_of(publish), {}});
    Client& client = clients_.back();
    write_all(client.socket.descriptor(), bytes_of(wire::Connect{.client_id = id}));
    read_until<wire::Connack>(client);
    const wire::Subscribe subscribe{
        .packet_id = 1, .subscriptions = {{.filter = *request.response_topic, .options = 1}}};
    write_all(client.socket.descriptor(), bytes_of(subscribe));
    read_until<wire::Suback>(client);
  }

  void send(std::size_t client) override {
    write_all(clients_[client].socket.descriptor(), clients_[client].request);
  }

  void await(std::size_t client) override {
    const wire::Packet packet = read_until<wire::Publish>(clients_[client]);
    const auto& response = std::get<wire::Publish>(packet);
    if (response.qos == 0) return;
    write_all(clients_[client].socket.descriptor(),
              bytes_of(wire::Ack{.packet_id = response.packet_id}));
  }

  void disconnect_all() override {
    for (const Client& client : clients_) {
      write_all(client.socket.descriptor(), bytes_of(wire::Disconnect{}));
    }
    clients_.clear();
  }

 private:
  struct Client {
    Socket socket;
    std::string request;
    std::string unread;
  };

  static std::string bytes_of(const wire::Packet& packet) {
    auto bytes = wire::encode(packet);
    FENCEPOST_CHECK(bytes.has_value());
    return std::move(*bytes);
  }

  template <typename Wanted>
  static wire::Packet read_until(Client& client) {
    while (true) {
      auto decoded = wire::decode(client.unread, wire::kLargestPacket);
      FENCEPOST_CHECK(decoded.has_value());
      if (decoded->has_value()) {
        client.unread.erase(0, (*decoded)->size);
        if (std::holds_alternative<Wanted>((*decoded)->packet))
          return std::move((*decoded)->packet);
        continue;
      }
      char buffer[4096];
      const ssize_t count = ::recv(client.socket.descriptor(), buffer, sizeof buffer, 0);
      FENCEPOST_CHECK(count > 0);
      client.unread.append(buffer, static_cast<std::size_t>(count));
    }
  }

  std::uint16_t port_;
  std::vector<Client> clients_;
};

class MosquittoClients final : public Clients {
 public:
  MosquittoClients(std::uint16_t port, std::string ca) : port_(port), ca_(std::move(ca)) {}

  void connect(const std::string& id) override {
    clients_.push_back(std::make_unique<Client>());
    Client& client = *clients_.back();
    client.request = request_of(id);
    client.handle.reset(mosquitto_new(id.c_str(), true, &client));
    mosquitto* const handle = client.handle.get();
    FENCEPOST_CHECK(handle != nullptr);
    mosquitto_int_option(handle, MOSQ_OPT_PROTOCOL_VERSION, MQTT_PROTOCOL_V5);
    mosquitto_int_option(handle, MOSQ_OPT_TCP_NODELAY, 1);
    if (!ca_.empty()) {
      FENCEPOST_CHECK(mosquitto_tls_set(handle, ca_.c_str(), nullptr, nullptr, nullptr, nullptr) ==
                      MOSQ_ERR_SUCCESS);
    }
    mosquitto_connect_callback_set(handle, [](mosquitto*, void* self, int code) {
      FENCEPOST_CHECK(code == 0);
      static_cast<Client*>(self)->done = true;
    });
    mosquitto_subscribe_callback_set(handle, [](mosquitto*, void* self, int, int, const int*) {
      static_cast<Client*>(self)->done = true;
    });
    mosquitto_message_callback_set(handle, [](mosquitto*, void* self, const mosquitto_message*) {
      static_cast<Client*>(self)->done = true;
    });
    FENCEPOST_CHECK(mosquitto_connect(handle, "127.0.0.1", port_, 60) == MOSQ_ERR_SUCCESS);
    wait_for(client);
    FENCEPOST_CHECK(mosquitto_subscribe(handle, nullptr, client.request.response_topic->c_str(),
                                        1) == MOSQ_ERR_SUCCESS);
    wait_for(client);
  }

  void send(std::size_t client) override {
    Client& from = *clients_[client];
    mosquitto_property* properties = nullptr;
    mosquitto_property_add_string(&properties, MQTT_PROP_RESPONSE_TOPIC,
                                  from.request.response_topic->c_str());
    mosquitto_property_add_binary(&properties, MQTT_PROP_CORRELATION_DATA, kCorrelation.data(),
                                  static_cast<std::uint16_t>(kCorrelation.size()));
    FENCEPOST_CHECK(mosquitto_publish_v5(from.handle.get(), nullptr, from.request.topic.c_str(),
                                         static_cast<int>(from.request.payload.size()),
                                         from.request.payload.data(), 1, false,
                                         properties) == MOSQ_ERR_SUCCESS);
    mosquitto_property_free_all(&properties);
  }

  void await(std::size_t client) override { wait_for(*clients_[client]); }

  void disconnect_all() override {
    for (const auto& client : clients_) mosquitto_disconnect(client->handle.get());
    clients_.clear();
  }

 private:
  struct Free {
    void operator()(mosquitto* handle) const { mosquitto_destroy(handle); }
  };
  struct Client {
    codec::Message request;
    std::unique_ptr<mosquitto, Free> handle;
    bool done = false;
  };

  // Its own loop waits with select(), which takes no more than 1,024 descriptors.
  static void wait_for(Client& client) {
    mosquitto* const handle = client.handle.get();
    while (!client.done) {
      const bool writes = mosquitto_want_write(handle);
      pollfd wanted{.fd = mosquitto_socket(handle),
                    .events = static_cast<short>(writes ? POLLIN | POLLOUT : POLLIN),
                    .revents = 0};
      FENCEPOST_CHECK(poll(&wanted, 1, static_cast<int>(kPatience.count()) * 1000) > 0);
      if ((wanted.revents & POLLOUT) != 0) mosquitto_loop_write(handle, 1);
      if ((wanted.revents & POLLIN) != 0) {
        FENCEPOST_CHECK(mosquitto_loop_read(handle, 1) == MOSQ_ERR_SUCCESS);
      }
    }
    client.done = false;
  }

  std::uint16_t port_;
  std::string ca_;
  std::vector<std::unique_ptr<Client>> clients_;
};

class SuiteClients final : public Clients {
 public:
  SuiteClients(Driver driver, std::uint16_t port, const std::string& ca) {
    MqttOptions options;
    options.url = "mqtt://127.0.0.1";
    options.host = "127.0.0.1";
    options.port = port;
    options.driver = driver;
    options.tls = !ca.empty();
    options.ca = ca;
    endpoint_ = make_mqtt_endpoint(std::move(options));
    auto session = endpoint_->open_session();
    FENCEPOST_CHECK(session.has_value());
    session_ = std::move(*session);
  }

  void connect(const std::string& id) override {
    auto client = session_->connect({.client_id = id});
    FENCEPOST_CHECK(client.has_value());
    const codec::Message request = request_of(id);
    FENCEPOST_CHECK((*client)->subscribe(*request.response_topic).has_value());
    clients_.emplace_back(std::move(*client), request);
  }

  void send(std::size_t client) override {
    FENCEPOST_CHECK(clients_[client].first->publish(clients_[client].second).has_value());
  }

  void await(std::size_t client) override {
    const auto event = clients_[client].first->receive(kPatience);
    FENCEPOST_CHECK(event && std::holds_alternative<MessageReceived>(event->what));
  }

  void disconnect_all() override { clients_.clear(); }

 private:
  std::unique_ptr<Endpoint> endpoint_;
  std::unique_ptr<Session> session_;
  std::vector<std::pair<std::unique_ptr<Client>, codec::Message>> clients_;
};

// --- the echo ------------------------------------------------------------------------------------

void serve_echo(int listener) {
  const Socket events(epoll_create1(EPOLL_CLOEXEC));
  const auto watch = [&](int descriptor) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = descriptor}};
    FENCEPOST_CHECK(epoll_ctl(events.descriptor(), EPOLL_CTL_ADD, descriptor, &event) == 0);
  };
  watch(listener);
  while (true) {
    epoll_event ready[64];
    const int count = epoll_wait(events.descriptor(), ready, 64, -1);
    for (int i = 0; i < count; ++i) {
      const int descriptor = ready[i].data.fd;
      if (descriptor == listener) {
        const int made = accept(listener, nullptr, nullptr);
        if (made < 0) continue;
        no_delay(made);
        watch(made);
        continue;
      }
      char buffer[4096];
      const ssize_t size = recv(descriptor, buffer, sizeof buffer, 0);
      if (size <= 0) {
        close(descriptor);
      } else {
        write_all(descriptor, std::string_view(buffer, static_cast<std::size_t>(size)));
      }
    }
  }
}

// A process of its own, which ends with this one; its port.
std::uint16_t start_echo() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  FENCEPOST_CHECK(bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0);
  FENCEPOST_CHECK(listen(listener, SOMAXCONN) == 0);
  FENCEPOST_CHECK(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  if (fork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    serve_echo(listener);
  }
  close(listener);
  return ntohs(address.sin_port);
}

// --- measurements --------------------------------------------------------------------------------

double seconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

using Samples = std::map<std::string, std::vector<double>>;  // by measurement

void connect_many(Clients& clients, std::size_t count) {
  static std::size_t made = 0;
  for (std::size_t i = 0; i < count; ++i) clients.connect(fmt::format("bench-{}", ++made));
}

void measure_round_trips(Clients& clients, Samples& out) {
  constexpr std::size_t kRequests = 3'000;
  connect_many(clients, 1);
  std::vector<double> times;
  for (std::size_t i = 0; i < kRequests; ++i) {
    const auto start = steady_clock::now();
    clients.send(0);
    clients.await(0);
    times.push_back(seconds_since(start) * 1e6);
  }
  clients.disconnect_all();
  std::sort(times.begin(), times.end());
  out["round trip p50, us"].push_back(times[times.size() / 2]);
  out["round trip p99, us"].push_back(times[times.size() * 99 / 100]);
}

// All clients are concurrent; one thread sends and receives.
void measure_throughput(Clients& clients, std::size_t count, Samples& out) {
  constexpr std::size_t kRequests = 16'000;
  connect_many(clients, count);
  const std::size_t rounds = std::max<std::size_t>(kRequests / count, 4);
  const auto start = steady_clock::now();
  const double processor = processor_seconds();
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < count; ++i) clients.send(i);
    for (std::size_t i = 0; i < count; ++i) clients.await(i);
  }
  const auto requests = static_cast<double>(rounds * count);
  const std::string with = fmt::format("{} connections: ", count);
  out[with + "requests/s"].push_back(requests / seconds_since(start));
  out[with + "processor time of a request, us"].push_back((processor_seconds() - processor) /
                                                          requests * 1e6);
  clients.disconnect_all();
}

void measure_connects(Clients& clients, const std::string& name, std::size_t count, Samples& out) {
  const auto start = steady_clock::now();
  for (std::size_t i = 0; i < count; ++i) {
    connect_many(clients, 1);
    clients.disconnect_all();
  }
  out[name].push_back(static_cast<double>(count) / seconds_since(start));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Peer {
  std::string name;
  std::unique_ptr<Clients> plain;
  std::unique_ptr<Clients> tls;  // null: it has none
  Samples samples{};
};

void measure(Peer& peer) {
  constexpr std::size_t kConnects = 200;
  constexpr std::size_t kTlsConnects = 50;
  std::fprintf(stderr, "%s\n", peer.name.c_str());
  measure_round_trips(*peer.plain, peer.samples);
  for (const std::size_t count : {1U, 16U, 128U, 1000U}) {
    measure_throughput(*peer.plain, count, peer.samples);
  }
  measure_connects(*peer.plain, "connects/s", kConnects, peer.samples);
  if (peer.tls) measure_connects(*peer.tls, "connects/s with TLS", kTlsConnects, peer.samples);
}

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  FENCEPOST_CHECK(out.flush().good());
}

void run(std::size_t rounds) {
  const std::uint16_t echo = start_echo();
  // 1,000 connections of ours, and as many of the broker, which inherits this.
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  std::string folder_name = (std::filesystem::temp_directory_path() / "bench-XXXXXX").string();
  FENCEPOST_CHECK(mkdtemp(folder_name.data()) != nullptr);
  const std::filesystem::path folder = folder_name;
  const auto certificate = throw_away_certificate({"127.0.0.1"});
  FENCEPOST_CHECK(certificate.has_value());
  const std::string ca = folder / "ca.pem";
  write_file(ca, certificate->authority);
  write_file(folder / "certificate.pem", certificate->certificate);
  write_file(folder / "key.pem", certificate->key);
  const auto broker = BrokerProcess::start(
      {.tls = TlsListener{.certificate = folder / "certificate.pem", .key = folder / "key.pem"}});
  FENCEPOST_CHECK(broker.has_value());
  const std::uint16_t port = (*broker)->port();
  const std::uint16_t tls = (*broker)->tls_port();
  mosquitto_lib_init();
  std::vector<Peer> peers;
  peers.push_back({"echo", std::make_unique<EchoClients>(echo), nullptr});
  peers.push_back({"packets", std::make_unique<RawClients>(port), nullptr});
  peers.push_back({"libmosquitto", std::make_unique<MosquittoClients>(port, ""),
                   std::make_unique<MosquittoClients>(tls, ca)});
  peers.push_back({"paho", std::make_unique<SuiteClients>(Driver::kPaho, port, ""),
                   std::make_unique<SuiteClients>(Driver::kPaho, tls, ca)});
  peers.push_back({"builtin", std::make_unique<SuiteClients>(Driver::kBuiltin, port, ""),
                   std::make_unique<SuiteClients>(Driver::kBuiltin, tls, ca)});
  for (std::size_t round = 0; round < rounds; ++round) {
    for (Peer& peer : peers) measure(peer);
  }
  nlohmann::ordered_json out;
  out["rounds"] = rounds;
  for (const Peer& peer : peers) {
    for (const auto& [name, values] : peer.samples) {
      out["measurements"][name][peer.name] = median(values);
    }
  }
  fmt::print("{}\n", out.dump(2));
  peers.clear();
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace fencepost::endpoint

int main(int argc, char** argv) {
  constexpr std::size_t kRounds = 5;
  fencepost::endpoint::run(argc > 1 ? std::strtoul(argv[1], nullptr, 10) : kRounds);
  return 0;
}
