#include "conformance/target/probe.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "codec/command.h"
#include "codec/error_code.h"
#include "codec/reply.h"
#include "codec/topics.h"
#include "conformance/run/capability.h"
#include "hlc/hlc.h"

namespace fencepost::target {
namespace {

using endpoint::Duration;

constexpr std::chrono::milliseconds kReplyTimeout{3'000};
constexpr std::size_t kWindow = 64;  // requests in flight

bool needs(const scenario::Case& test_case, std::string_view capability) {
  const auto& names = test_case.requires_;
  return std::find(names.begin(), names.end(), capability) != names.end();
}

bool cites_open_point(const scenario::Case& test_case, const scenario::Catalogue& catalogue) {
  return std::any_of(test_case.requirements.begin(), test_case.requirements.end(),
                     [&](const std::string& id) {
                       const scenario::Requirement* requirement = catalogue.find(id);
                       return requirement != nullptr && requirement->open;
                     });
}

// Writes keys until one is refused, and deletes them.
class QuotaMeter {
 public:
  QuotaMeter(endpoint::Session& session, const ProbeSettings& settings)
      : session_(session),
        settings_(settings),
        client_id_("fp-" + settings.run.run_id + "-quota"),
        response_topic_(codec::recommended_response_topic(client_id_)) {}

  QuotaFinding measure(const std::atomic<bool>& stop) {
    if (connect()) {
      while (written_ < settings_.quota_up_to && !finding_.refused && finding_.problem.empty() &&
             !stop) {
        write_window(std::min(kWindow, settings_.quota_up_to - written_));
      }
      if (stop) finding_.problem = "interrupted";
    }
    for (std::size_t first = 0; first < written_; first += kWindow) {
      remove_window(first, std::min(kWindow, written_ - first));
    }
    return finding_;
  }

 private:
  bool connect() {
    auto client = session_.connect({.client_id = client_id_});
    if (!client) return give_up(client.error().text);
    client_ = std::move(*client);
    if (const auto subscribed = client_->subscribe(response_topic_); !subscribed) {
      return give_up(subscribed.error().text);
    }
    return true;
  }

  bool give_up(std::string problem) {
    if (finding_.problem.empty()) finding_.problem = std::move(problem);
    return false;
  }

  [[nodiscard]] std::string key(std::size_t index) const {
    return fmt::format("{}/{}/quota/{}", settings_.run.key_prefix, settings_.run.run_id, index);
  }

  [[nodiscard]] std::string timestamp() const {
    const auto wall = static_cast<std::int64_t>(session_.clock().wall_ms());
    const std::int64_t of_store = std::max<std::int64_t>(0, wall + settings_.run.clock_offset_ms);
    return hlc::format({static_cast<std::uint64_t>(of_store), 0, client_id_});
  }

  // Sends `count` requests, of which `payload` makes each from its index, and returns the payloads
  // of their replies by index. Those that did not come are not there.
  template <typename Payload>
  std::map<std::size_t, std::string> ask(std::size_t first, std::size_t count,
                                         const Payload& payload) {
    std::map<std::size_t, std::string> replies;
    for (std::size_t index = first; index < first + count; ++index) {
      codec::Message request;
      request.topic = codec::kRequestTopic;
      request.payload = payload(index);
      request.response_topic = response_topic_;
      request.correlation_data = fmt::format("{:016}", index + generation_);
      request.user_properties.emplace_back(codec::kTimestampProperty, timestamp());
      if (const auto sent = client_->publish(request); !sent) {
        give_up(sent.error().text);
        return replies;
      }
    }
    const auto timeout =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::milli>(
            static_cast<double>(kReplyTimeout.count()) * settings_.run.timeout_scale));
    while (replies.size() < count) {
      const auto event = client_->receive(timeout);
      const auto* received = event ? std::get_if<endpoint::MessageReceived>(&event->what) : nullptr;
      if (received == nullptr) {
        give_up(event ? "the broker refused a request, or ended the connection"
                      : "a request was not answered in time");
        return replies;
      }
      const auto index = index_of(received->message.correlation_data.value_or(""));
      if (index && *index >= first && *index < first + count) {
        replies[*index] = received->message.payload;
      }
    }
    return replies;
  }

  // The index of the request that this correlation data was given to.
  [[nodiscard]] std::optional<std::size_t> index_of(const std::string& correlation) const {
    std::size_t value = 0;
    const char* end = correlation.data() + correlation.size();
    const auto [stop, failed] = std::from_chars(correlation.data(), end, value);
    if (failed != std::errc{} || stop != end || value < generation_) return std::nullopt;
    return value - generation_;
  }

  void write_window(std::size_t count) {
    const auto replies = ask(written_, count, [&](std::size_t index) {
      return codec::encode_command({"SET", key(index), "v"});
    });
    written_ += count;
    for (const auto& [index, payload] : replies) {
      const auto reply = codec::decode_reply(payload);
      if (reply && reply->kind == codec::ReplyKind::kOk) {
        ++finding_.stored;
      } else if (reply && reply->kind == codec::ReplyKind::kError &&
                 codec::error_with_text(reply->value) == codec::ErrorCode::kQuotaExceeded) {
        finding_.refused = true;
      } else {
        give_up("the store answered a SET with: " + escape(payload, 200));
      }
    }
  }

  void remove_window(std::size_t first, std::size_t count) {
    generation_ = kGeneration;  // so that late replies to SETs are not taken for these
    auto replies = ask(first, count, [&](std::size_t index) {
      return codec::encode_command({"DEL", key(index)});
    });
    if (replies.size() < count && connect()) {
      replies = ask(first, count, [&](std::size_t index) {
        return codec::encode_command({"DEL", key(index)});
      });
    }
    for (std::size_t index = first; index < first + count; ++index) {
      const auto found = replies.find(index);
      const auto reply =
          found == replies.end() ? std::nullopt : std::optional(codec::decode_reply(found->second));
      const bool gone = reply && *reply && (*reply)->kind == codec::ReplyKind::kCount;
      if (!gone) ++finding_.left_behind;
    }
  }

  static constexpr std::size_t kGeneration = 1'000'000'000;

  endpoint::Session& session_;
  const ProbeSettings& settings_;
  std::string client_id_;
  std::string response_topic_;
  std::unique_ptr<endpoint::Client> client_;
  std::size_t written_ = 0;     // keys 0, 1, ... that a SET was sent for
  std::size_t generation_ = 0;  // added to the index in correlation data
  QuotaFinding finding_;
};

RoleFinding try_role(endpoint::Session& session, const std::string& name,
                     const std::string& run_id) {
  const std::string id = "fp-" + run_id + "-role-" + name;
  auto client = session.connect({.client_id = id, .role = name});
  if (!client) return {name, client.error().text};
  const auto subscribed = (*client)->subscribe(codec::recommended_response_topic(id));
  return {name, subscribed ? "" : subscribed.error().text};
}

run::PreflightError lost(const endpoint::Error& error) {
  return {run::PreflightErrorKind::kNoBroker, error.text, ""};
}

}  // namespace

std::vector<const scenario::Case*> probe_cases(const scenario::Library& library, bool with_quota) {
  std::vector<const scenario::Case*> out;
  for (const scenario::Case& test_case : library.cases) {
    if (needs(test_case, "restart") || (needs(test_case, "quota") && !with_quota)) continue;
    if (cites_open_point(test_case, library.catalogue) || !test_case.divergences.empty() ||
        needs(test_case, "restricted-client")) {
      out.push_back(&test_case);
    }
  }
  return out;
}

Result<Findings, run::PreflightError> probe_endpoint(endpoint::Endpoint& endpoint,
                                                     const scenario::Library& library,
                                                     const ProbeSettings& settings,
                                                     const std::atomic<bool>& stop) {
  const auto checked = run::preflight(endpoint, settings.run.run_id);
  if (!checked) return fail(checked.error());
  Findings out{.preflight = *checked, .offered = endpoint.capabilities(), .roles = {}, .cases = {}};
  if (!out.offered.max_packet_size) out.offered.max_packet_size = checked->packet_limit;
  ProbeSettings with_clock = settings;
  with_clock.run.clock_offset_ms = checked->clock_offset_ms;
  with_clock.run.key_prefix = out.offered.key_prefix;
  auto session = endpoint.open_session();
  if (!session) return fail(lost(session.error()));
  for (const std::string& role : endpoint.capabilities().roles) {
    out.roles.push_back(try_role(**session, role, settings.run.run_id));
    if (!out.roles.back().problem.empty()) std::erase(out.offered.roles, role);
  }
  if (settings.quota_up_to > 0) {
    auto limited = endpoint.open_quota_session();
    if (!limited) return fail(lost(limited.error()));
    out.quota = QuotaMeter(**limited, with_clock).measure(stop);
    out.offered.quota.reset();
    if (out.quota->refused && out.quota->stored > 0) out.offered.quota = out.quota->stored;
  }
  run::SuiteOptions options{
      .settings = with_clock.run, .jobs = settings.jobs, .offered = out.offered};
  options.settings.quota = out.offered.quota;
  out.cases = run_suite(endpoint, probe_cases(library, out.quota.has_value()), library.catalogue,
                        options, stop, [](const run::CaseResult&, std::size_t, std::size_t) {});
  return out;
}

}  // namespace fencepost::target
