#include "conformance/preflight.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "codec/message.h"
#include "codec/reply.h"
#include "codec/topics.h"
#include "hlc/hlc.h"

namespace fencepost::conformance {
namespace {

using endpoint::Duration;
using std::chrono::milliseconds;

constexpr Duration kReachTimeout = milliseconds{2'000};
constexpr Duration kReplyTimeout = milliseconds{2'000};
constexpr int kProbes = 200;
constexpr Duration kProbeBudget = milliseconds{500};  // a slow network gets fewer probes

constexpr std::string_view kNotAllowedHint =
    "give credentials in the URL (mqtt://user:password@host) or in a descriptor, and allow the "
    "client to publish to "
    "the request topic and to subscribe to its response topic";

class Prober {
 public:
  Prober(endpoint::Session& session, std::unique_ptr<endpoint::Client> client,
         const std::string& client_id)
      : clock_(session.clock()),
        client_(std::move(client)),
        response_topic_(codec::recommended_response_topic(client_id)),
        key_("fencepost/preflight/" + client_id) {}

  endpoint::Client& client() { return *client_; }
  [[nodiscard]] const std::string& response_topic() const { return response_topic_; }
  [[nodiscard]] const std::string& key() const { return key_; }
  [[nodiscard]] endpoint::Clock& clock() { return clock_; }

  // The response to a command, and how long it took.
  struct Answer {
    codec::Message message;
    Duration round_trip;
  };
  Result<Answer, PreflightError> ask(const std::vector<std::string_view>& arguments,
                                     const std::string& timestamp = {}) {
    codec::Message request;
    request.topic = codec::kRequestTopic;
    request.payload = codec::encode_command(arguments);
    request.response_topic = response_topic_;
    request.correlation_data = fmt::format("preflight-{:06}", ++count_);
    if (!timestamp.empty())
      request.user_properties.emplace_back(codec::kTimestampProperty, timestamp);
    const Duration sent = clock_.now();
    if (auto published = client_->publish(request); !published) {
      return fail(PreflightError{PreflightErrorKind::kNoBroker, published.error().text, ""});
    }
    while (const auto event = client_->receive(sent + kReplyTimeout - clock_.now())) {
      if (const auto* received = std::get_if<endpoint::MessageReceived>(&event->what)) {
        if (received->message.correlation_data != request.correlation_data) continue;
        return Answer{received->message, event->time - sent};
      }
      if (auto error = explain(*event)) return fail(std::move(*error));
    }
    return fail(PreflightError{
        PreflightErrorKind::kNoStore,
        "the broker accepted a GET on the request topic, and no response came within 2 s",
        "is the state store running on this broker? Start a reference one with: fencepost "
        "serve"});
  }

 private:
  static std::optional<PreflightError> explain(const endpoint::Event& event) {
    if (const auto* refused = std::get_if<endpoint::PublishRefused>(&event.what)) {
      return PreflightError{
          PreflightErrorKind::kNotAllowed,
          fmt::format("the broker refused a PUBLISH to the request topic with 0x{:02x}",
                      refused->reason_code),
          std::string(kNotAllowedHint)};
    }
    if (std::holds_alternative<endpoint::Disconnected>(event.what)) {
      return PreflightError{PreflightErrorKind::kNoBroker, "the broker closed the connection", ""};
    }
    return std::nullopt;
  }

  endpoint::Clock& clock_;
  std::unique_ptr<endpoint::Client> client_;
  std::string response_topic_;
  std::string key_;
  int count_ = 0;
};

PreflightError from_endpoint(const endpoint::Error& error) {
  if (error.kind == endpoint::ErrorKind::kNotAllowed) {
    return {PreflightErrorKind::kNotAllowed, error.text, std::string(kNotAllowedHint)};
  }
  return {PreflightErrorKind::kNoBroker, error.text,
          "is the broker running, and are host, port and TLS settings right?"};
}

// The clock of the store, as far as it can be told: the version of a SET is at least the store's
// clock.
Result<void, PreflightError> measure_clock(Prober& prober, PreflightReport& report) {
  // The clock before the SET: what the response needs on its way is no difference between clocks.
  const auto before = static_cast<std::int64_t>(prober.clock().wall_ms());
  // A timestamp far in the past: the version then says nothing of ours.
  const auto answer =
      prober.ask({"SET", prober.key(), "preflight"}, "000000000000001:00000:fencepost");
  if (!answer) return fail(answer.error());
  const auto reply = codec::decode_reply(answer->message.payload);
  if (reply && reply->kind == codec::ReplyKind::kError && reply->value == "not authorized") {
    return fail(PreflightError{PreflightErrorKind::kNotAllowed,
                               "the store answered a SET with: " + escape(answer->message.payload),
                               std::string(kNotAllowedHint)});
  }
  (void)prober.ask({"DEL", prober.key()});
  const std::string* text = answer->message.property(codec::kTimestampProperty);
  const auto version = hlc::parse(text == nullptr ? "" : *text);
  if (!version) return {};  // the cases will say so with more care
  report.version_ahead_ms = static_cast<std::int64_t>(version->wall_ms) - before;
  // No clock is a day behind; a version that is comes from a store that does not use its clock.
  constexpr std::int64_t kDayMs = 24LL * 60 * 60 * 1000;
  if (report.version_ahead_ms < -kDayMs) return {};
  // Earlier requests may have moved versions ahead of the store's clock, never behind it.
  report.clock_offset_ms = std::min<std::int64_t>(0, report.version_ahead_ms + 1);
  return {};
}

Result<void, PreflightError> measure_round_trips(Prober& prober, PreflightReport& report) {
  std::vector<Duration> times;
  const Duration start = prober.clock().now();
  for (int i = 0; i < kProbes; ++i) {
    const auto answer = prober.ask({"GET", prober.key()});
    if (!answer) return fail(answer.error());
    if (i == 0) {
      const auto reply = codec::decode_reply(answer->message.payload);
      if (reply && reply->kind == codec::ReplyKind::kError && reply->value == "not authorized") {
        return fail(
            PreflightError{PreflightErrorKind::kNotAllowed,
                           "the store answered a GET with: " + escape(answer->message.payload),
                           std::string(kNotAllowedHint)});
      }
      continue;  // the first one warms up
    }
    times.push_back(answer->round_trip);
    if (prober.clock().now() - start > kProbeBudget) break;
  }
  std::sort(times.begin(), times.end());
  if (times.empty()) return {};
  report.round_trip_p50 = times[times.size() / 2];
  report.round_trip_p99 = times[times.size() * 99 / 100];
  return {};
}

}  // namespace

Result<PreflightReport, PreflightError> preflight(endpoint::Endpoint& endpoint,
                                                  const std::string& run_id) {
  if (auto reached = endpoint.check_reachable(kReachTimeout); !reached) {
    return fail(PreflightError{PreflightErrorKind::kNoBroker, reached.error().text,
                               "is the broker running, and are host and port right?"});
  }
  auto session = endpoint.open_session();
  if (!session) return fail(from_endpoint(session.error()));
  const std::string client_id = "fp-" + run_id + "-preflight";
  auto client = (*session)->connect({.client_id = client_id});
  if (!client) return fail(from_endpoint(client.error()));
  Prober prober(**session, std::move(*client), client_id);
  // A subscription granted with QoS 0 is in force; the cases will say what is wrong with it.
  if (auto subscribed = prober.client().subscribe(prober.response_topic());
      !subscribed && subscribed.error().reason_code != 0) {
    return fail(from_endpoint(subscribed.error()));
  }
  PreflightReport report;
  if (auto measured = measure_round_trips(prober, report); !measured) return fail(measured.error());
  if (auto measured = measure_clock(prober, report); !measured) return fail(measured.error());
  return report;
}

}  // namespace fencepost::conformance
