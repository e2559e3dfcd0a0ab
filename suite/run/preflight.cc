#include "suite/run/preflight.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "codec/message.h"
#include "endpoint/packet_size.h"
#include "hlc/hlc.h"
#include "suite/run/request_client.h"
#include "suite/run/time_limits.h"

namespace fencepost::run {
namespace {

using endpoint::Duration;
using std::chrono::milliseconds;

constexpr Duration kReachTimeout = milliseconds{2'000};
constexpr int kProbes = 200;
constexpr Duration kProbeBudget = milliseconds{500};  // a slow network gets fewer probes

constexpr std::string_view kNotAllowedHint =
    "are user name and password right (mqtt://user:password@host, a descriptor, or "
    "FENCEPOST_PASSWORD), and may this client publish to the request topic and subscribe to its "
    "response topic?";

class Prober {
 public:
  Prober(endpoint::Session& session, std::unique_ptr<endpoint::Client> client,
         const std::string& client_id, const std::string& key_prefix, double timeout_scale)
      : reply_timeout_(scaled(kReplyTimeout, timeout_scale)),
        unacknowledged_after_(scaled(kStandstill, timeout_scale)),
        clock_(session.clock()),
        client_("preflight", std::move(client), client_id, clock_),
        key_(key_prefix + "/preflight/" + client_id) {}

  RequestClient& client() { return client_; }
  [[nodiscard]] const std::string& key() const { return key_; }
  [[nodiscard]] endpoint::Clock& clock() { return clock_; }

  // Did the connection end because the broker had sent what MQTT 5 forbids a server?
  [[nodiscard]] bool breaks_mqtt() const { return breaks_mqtt_; }
  // There is a store: what it leaves unanswered after that is a failure, which the cases find.
  [[nodiscard]] bool answered() const { return answered_; }
  // Notes how the connection ended when a SUBSCRIBE was not acknowledged.
  void note_end() {
    client_.drain();
    breaks_mqtt_ = protocol_error_ended();
  }

  // Sends a command and waits for the reply, which the exchange has.
  Result<const judge::Exchange*, PreflightError> ask(const std::vector<std::string_view>& arguments,
                                                     const std::string& timestamp = {}) {
    codec::Message request = client_.request(arguments);
    if (!timestamp.empty())
      request.user_properties.emplace_back(codec::kTimestampProperty, timestamp);
    if (const auto limit = client_.raw().packet_limit();
        limit && endpoint::publish_packet_size(request) > *limit) {
      return fail(PreflightError{
          PreflightErrorKind::kNotAllowed,
          fmt::format(
              "a PUBLISH of {} bytes: the broker takes a Maximum Packet Size of {} (MQTT 5, "
              "3.2.2.3.6)",
              endpoint::publish_packet_size(request), *limit),
          ""});
    }
    const auto sent = client_.send(std::move(request));
    if (!sent) {
      const bool allowed = sent.error().kind != endpoint::ErrorKind::kNotAllowed;
      return fail(
          PreflightError{allowed ? PreflightErrorKind::kNoBroker : PreflightErrorKind::kNotAllowed,
                         sent.error().text, ""});
    }
    client_.await(**sent, reply_timeout_);
    if ((*sent)->reply) {
      answered_ = true;
      return *sent;
    }
    breaks_mqtt_ = breaks_mqtt_ || protocol_error_ended();
    if (!(*sent)->refused && !client_.disconnected()) {
      // Perhaps it was never sent, because nothing before it is acknowledged. (MQTT 5, 4.9)
      client_.raw().await_acknowledgements(unacknowledged_after_);
      client_.drain();
    }
    return fail(why_no_reply(**sent, arguments.front()));
  }

 private:
  [[nodiscard]] bool protocol_error_ended() const {
    return client_.disconnected() && !client_.disconnected()->section.empty();
  }

  [[nodiscard]] PreflightError why_no_reply(const judge::Exchange& exchange,
                                            std::string_view verb) const {
    if (exchange.refused) {
      return {PreflightErrorKind::kNotAllowed,
              fmt::format("the broker refused a PUBLISH to the request topic with 0x{:02x}",
                          *exchange.refused),
              std::string(kNotAllowedHint)};
    }
    if (client_.disconnected()) {
      const std::string& why = client_.disconnected()->text;
      const std::string& section = client_.disconnected()->section;
      if (!section.empty()) {
        return {PreflightErrorKind::kWrongBroker,
                fmt::format("MQTT 5, {} (ENV-MQTT5-3): {}", section, why), ""};
      }
      return {PreflightErrorKind::kNoBroker,
              "the broker closed the connection" + (why.empty() ? "" : ": " + why), ""};
    }
    return {
        PreflightErrorKind::kNoStore,
        fmt::format("the broker accepted a {} on the request topic, and no response came within "
                    "{:g} s",
                    verb, std::chrono::duration<double>(reply_timeout_).count()),
        "is the state store running on this broker, or does it need longer than that "
        "(--timeout-scale)? Start a reference one with: fencepost serve"};
  }

  Duration reply_timeout_;
  Duration unacknowledged_after_;
  endpoint::Clock& clock_;
  RequestClient client_;
  std::string key_;
  bool breaks_mqtt_ = false;
  bool answered_ = false;
};

PreflightError from_endpoint(const endpoint::Error& error) {
  if (error.kind == endpoint::ErrorKind::kNotAllowed) {
    return {PreflightErrorKind::kNotAllowed, error.text, std::string(kNotAllowedHint)};
  }
  return {PreflightErrorKind::kNoBroker, error.text,
          "is the broker running, and are host, port and TLS settings right?"};
}

// The error when the store has refused this client the key.
std::optional<PreflightError> not_authorized(const char* verb, const judge::ReceivedReply& reply) {
  if (reply.error() != codec::ErrorCode::kNotAuthorized) return std::nullopt;
  return PreflightError{
      PreflightErrorKind::kNotAllowed,
      fmt::format("the store answered a {} with: {}", verb, escape(reply.payload())),
      std::string(kNotAllowedHint)};
}

// Sends the requests of estimate_clock() to the store. The first error ends them.
class StoreProbe final : public judge::ClockProbe {
 public:
  explicit StoreProbe(Prober& prober) : prober_(prober) {}

  // Why there is no store to certify. What follows from odd timestamps is for the cases to find.
  [[nodiscard]] const std::optional<PreflightError>& error() const { return error_; }

  [[nodiscard]] std::int64_t now_ms() override {
    return static_cast<std::int64_t>(prober_.clock().wall_ms());
  }
  void pause_until(std::int64_t time_ms) override {
    const std::int64_t left_ms = time_ms - now_ms();
    if (left_ms > 0) prober_.clock().wait_until(prober_.clock().now() + milliseconds{left_ms});
  }

  [[nodiscard]] std::optional<judge::VersionSeen> read_version() override {
    // A timestamp far in the past: the version then says nothing of ours.
    const auto answer = ask({"SET", prober_.key(), "preflight"}, 1);
    if (!answer) {
      error_ = answer.error();
      return std::nullopt;
    }
    const std::string* text = (*answer)->reply->message.property(codec::kTimestampProperty);
    const auto version = hlc::parse(text == nullptr ? "" : *text);
    if (!version) return std::nullopt;  // the cases will say so with more care
    return judge::VersionSeen{judge::wall_of(*version), version->counter, (*answer)->interval()};
  }

  [[nodiscard]] std::optional<judge::Offered> offer(std::int64_t timestamp_ms,
                                                    judge::OfferKind kind) override {
    std::vector<std::string_view> command = {"SET", prober_.key(), "preflight"};
    if (kind == judge::OfferKind::kInVain) command.emplace_back("NX");
    const auto answer = ask(command, timestamp_ms);
    if (!answer) return std::nullopt;
    const judge::ReceivedReply& reply = *(*answer)->reply;
    if (!reply.decoded) return std::nullopt;
    if (!reply.is(codec::ReplyKind::kError)) return judge::Offered{false, (*answer)->interval()};
    // Another error says nothing of the clock.
    if (reply.error() != codec::ErrorCode::kTimestampTooFarAhead) return std::nullopt;
    return judge::Offered{true, (*answer)->interval()};
  }

 private:
  Result<const judge::Exchange*, PreflightError> ask(const std::vector<std::string_view>& command,
                                                     std::int64_t timestamp_ms) {
    const auto wall_ms = static_cast<std::uint64_t>(std::max<std::int64_t>(timestamp_ms, 0));
    auto answer = prober_.ask(command, hlc::format({wall_ms, 0, "fencepost"}));
    if (!answer) return answer;
    if (auto refused = not_authorized("SET", *(*answer)->reply)) return fail(std::move(*refused));
    return answer;
  }

  Prober& prober_;
  std::optional<PreflightError> error_;
};

Result<void, PreflightError> measure_clock(Prober& prober, PreflightReport& report) {
  StoreProbe probe(prober);
  const judge::ClockEstimate estimate = judge::estimate_clock(probe);
  if (probe.error()) return fail(*probe.error());
  (void)prober.ask({"DEL", prober.key()});
  report.clock_offset_ms = estimate.offset_ms;
  report.clock_bounds = estimate.bounds;
  report.clock_source = estimate.source;
  return {};
}

Result<void, PreflightError> measure_round_trips(Prober& prober, PreflightReport& report) {
  std::vector<Duration> times;
  Result<void, PreflightError> out;
  const Duration start = prober.clock().now();
  for (int i = 0; i < kProbes; ++i) {
    const auto answer = prober.ask({"GET", prober.key()});
    if (!answer) {
      out = fail(answer.error());
      break;
    }
    if (i == 0) {
      if (auto refused = not_authorized("GET", *(*answer)->reply)) return fail(std::move(*refused));
      continue;  // the first one warms up
    }
    times.push_back((*answer)->reply->time - (*answer)->sent);
    if (prober.clock().now() - start > kProbeBudget) break;
  }
  std::sort(times.begin(), times.end());
  if (times.empty()) return out;
  report.round_trip_p50 = times[times.size() / 2];
  report.round_trip_p99 = times[times.size() * 99 / 100];
  return out;
}

}  // namespace

Result<PreflightReport, PreflightError> preflight(endpoint::Endpoint& endpoint,
                                                  const std::string& run_id, double timeout_scale) {
  if (auto reached = endpoint.check_reachable(kReachTimeout); !reached) {
    return fail(PreflightError{PreflightErrorKind::kNoBroker, reached.error().text,
                               "is the broker running, and are host and port right?"});
  }
  auto session = endpoint.open_session();
  if (!session) return fail(from_endpoint(session.error()));
  const std::string client_id = "fp-" + run_id + "-preflight";
  auto client = (*session)->connect({.client_id = client_id});
  if (!client) return fail(from_endpoint(client.error()));
  Prober prober(**session, std::move(*client), client_id, endpoint.capabilities().key_prefix,
                timeout_scale);
  // A subscription granted with QoS 0 is in force; the cases will say what is wrong with it.
  if (auto subscribed = prober.client().raw().subscribe(prober.client().response_topic());
      !subscribed && subscribed.error().reason_code != 0) {
    prober.note_end();
    if (!prober.breaks_mqtt()) return fail(from_endpoint(subscribed.error()));
  }
  PreflightReport report;
  report.packet_limit = prober.client().raw().packet_limit();
  auto measured = measure_round_trips(prober, report);
  if (measured || prober.answered()) {
    const auto clock = measure_clock(prober, report);
    if (measured) measured = clock;
  }
  if (measured) return report;
  // Req: ENV-MQTT5-3, ENV-RESPONSE-1. These the cases find, with the packets that show it.
  const PreflightErrorKind why = measured.error().kind;
  const bool left_to_cases =
      why == PreflightErrorKind::kNoStore || why == PreflightErrorKind::kNoBroker;
  if (prober.breaks_mqtt() || (prober.answered() && left_to_cases)) return report;
  return fail(measured.error());
}

}  // namespace fencepost::run
