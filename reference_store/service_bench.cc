// How many requests the reference store handles: one core, from an MQTT message to the messages it
// sends.
//
// After the registered benchmarks it prints lines:
//   service: 1.23 million requests/s (GET 1500 k/s, SET 1100 k/s, mixed) on one core
//   service: 1000 keys, 1.30 million requests/s
// Requests look like those of a client SDK: 16 bytes of correlation data, a padded timestamp with a
// UUID for a node, six user properties. They are made before the clock starts.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/check.h"
#include "codec/message.h"
#include "codec/resp3.h"
#include "codec/topics.h"
#include "reference_store/service.h"

namespace fencepost::store {
namespace {

constexpr std::uint64_t kWallMs = 1'696'374'425'000;
constexpr std::size_t kKeys = 10'000;
constexpr std::string_view kClient = "0190f6a5-7c1e-7a44-9b0e-1f1df3c0a8d2";

codec::Message sdk_request(const std::vector<std::string_view>& arguments) {
  codec::Message message;
  message.topic = std::string(codec::kRequestTopic);
  message.payload = codec::encode_command(arguments);
  message.response_topic = "clients/" + std::string(kClient) +
                           "/services/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/"
                           "invoke/response";
  message.correlation_data = std::string(
      "\x01\x90\xf6\xa5\x7c\x1e\x7a\x44\x9b\x0e\x1f\x1d\xf3\xc0"
      "\xa8\xd2",
      16);
  message.content_type = std::string(codec::kContentType);
  message.payload_format = std::uint8_t{0};
  message.expiry_seconds = 10;
  message.user_properties = {{"__srcId", std::string(kClient)},
                             {"__ts", "001696374425000:00000:" + std::string(kClient)},
                             {"__protVer", "1.0"},
                             {"$partition", std::string(kClient)},
                             {"$high_priority", ""}};
  return message;
}

enum class Workload { kGet, kSet, kMixed };

// A pass over all keys. Mixed: of ten requests five GET, four SET, one DEL.
std::vector<codec::Message> requests(Workload workload, std::size_t keys) {
  const std::string value(32, 'v');
  std::vector<codec::Message> messages;
  for (std::size_t i = 0; i < keys; ++i) {
    // Neighbours in time are no neighbours in the key space: 7919 is prime.
    const std::string key = "sensors/line-4/" + std::to_string(i * 7919 % keys);
    const std::size_t turn = workload == Workload::kMixed ? i % 10 : 0;
    const bool set = workload == Workload::kSet || (turn >= 5 && turn < 9);
    if (set) {
      messages.push_back(sdk_request({"SET", key, value}));
    } else {
      messages.push_back(sdk_request({turn == 9 ? "DEL" : "GET", key}));
    }
  }
  return messages;
}

// A store that has every key.
class Loaded {
 public:
  explicit Loaded(Workload workload, std::size_t keys = kKeys)
      : requests_(requests(workload, keys)) {
    for (const codec::Message& set : requests(Workload::kSet, keys)) handle(set);
    FENCEPOST_CHECK(service_.key_count() == keys);
  }

  // Handles the next request; time passes at a million requests a second.
  void handle_next() {
    handle(requests_[next_]);
    next_ = next_ + 1 == requests_.size() ? 0 : next_ + 1;
  }

 private:
  void handle(const codec::Message& message) {
    now_.steady += std::chrono::microseconds{1};
    now_.wall_ms = kWallMs + static_cast<std::uint64_t>(now_.steady.count() / 1000);
    out_.clear();
    const Handling handling = service_.handle({.client_id = kClient}, message, now_, out_);
    FENCEPOST_CHECK(handling == Handling::kAnswered);
    FENCEPOST_CHECK(out_.size() == 1);
    FENCEPOST_CHECK(out_.front().message.payload.front() != '-');
    benchmark::DoNotOptimize(out_.data());
  }

  Service service_;
  std::vector<codec::Message> requests_;
  std::size_t next_ = 0;
  Instant now_{.wall_ms = kWallMs, .steady = std::chrono::microseconds{0}};
  std::vector<Delivery> out_;
};

void service(benchmark::State& state, Workload workload) {
  Loaded loaded(workload);
  for (auto _ : state) loaded.handle_next();
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_CAPTURE(service, get, Workload::kGet);
BENCHMARK_CAPTURE(service, set, Workload::kSet);
BENCHMARK_CAPTURE(service, mixed, Workload::kMixed);

// Requests per second: the best of several rounds, since other work on the machine can only slow a
// round down.
double rate(Workload workload, std::size_t keys = kKeys) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRounds = 7;
  constexpr int kRequests = 200'000;
  Loaded loaded(workload, keys);
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const Clock::time_point start = Clock::now();
    for (int i = 0; i < kRequests; ++i) loaded.handle_next();
    const std::chrono::duration<double> taken = Clock::now() - start;
    best = std::max(best, kRequests / taken.count());
  }
  return best;
}

void print_summary() {
  const double get = rate(Workload::kGet);
  const double set = rate(Workload::kSet);
  const double mixed = rate(Workload::kMixed);
  std::printf("service: %.2f million requests/s (GET %.0f k/s, SET %.0f k/s, mixed) on one core\n",
              mixed / 1e6, get / 1e3, set / 1e3);
  for (const std::size_t keys : {std::size_t{1'000}, std::size_t{10'000}, std::size_t{100'000}}) {
    std::printf("service: %zu keys, %.2f million requests/s\n", keys,
                rate(Workload::kMixed, keys) / 1e6);
  }
}

}  // namespace
}  // namespace fencepost::store

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return EXIT_FAILURE;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  fencepost::store::print_summary();
  return EXIT_SUCCESS;
}
