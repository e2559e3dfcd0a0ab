#include "suite/target/probe.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "codec/error_code.h"
#include "codec/reply.h"
#include "codec/topics.h"
#include "hlc/hlc.h"
#include "suite/run/capability.h"
#include "suite/run/request_client.h"
#include "suite/run/time_limits.h"

namespace fencepost::target {
namespace {

using endpoint::Duration;

constexpr std::size_t kWindow = 64;  // requests in flight

bool needs(const scenario::Case& test_case, std::string_view capability) {
  const auto& names = test_case.requires_;
  return std::find(names.begin(), names.end(), capability) != names.end();
}

bool cites_unspecified(const scenario::Case& test_case, const scenario::Catalogue& catalogue) {
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
        reply_timeout_(run::scaled(run::kReplyTimeout, settings.run.timeout_scale)) {}

  QuotaFinding measure(const std::atomic<bool>& stop) {
    if (connect()) {
      while (written_ < settings_.quota_up_to && !finding_.refused && finding_.problem.empty() &&
             !stop) {
        write_window(std::min(kWindow, settings_.quota_up_to - written_));
      }
      if (stop) finding_.problem = "interrupted";
    }
    // Also after a failure or an interruption: a store of others must not stay full.
    for (std::size_t first = 0; first < written_; first += kWindow) {
      remove_window(first, std::min(kWindow, written_ - first));
    }
    return finding_;
  }

 private:
  // Each time under an id of its own, so that late replies to an earlier client go nowhere.
  bool connect() {
    const std::string id =
        connections_++ == 0 ? client_id_ : fmt::format("{}-{}", client_id_, connections_);
    client_.reset();
    auto connection = session_.connect({.client_id = id});
    if (!connection) return give_up(connection.error().text);
    client_.emplace("quota", std::move(*connection), id, session_.clock());
    if (const auto subscribed = client_->raw().subscribe(client_->response_topic()); !subscribed) {
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

  // Sends `count` requests, of which `arguments` makes each from its index, and waits for their
  // replies: those that came, in order.
  template <typename Arguments>
  std::vector<const judge::ReceivedReply*> ask(std::size_t first, std::size_t count,
                                               const Arguments& arguments) {
    std::vector<const judge::Exchange*> exchanges;
    if (!client_) return {};
    for (std::size_t index = first; index < first + count; ++index) {
      codec::Message request = client_->request(arguments(key(index)));
      request.user_properties.emplace_back(codec::kTimestampProperty, timestamp());
      const auto sent = client_->send(std::move(request));
      if (!sent) {
        give_up(sent.error().text);
        break;
      }
      exchanges.push_back(*sent);
    }
    std::vector<const judge::ReceivedReply*> replies;
    // After the first that does not come, only what has come already counts.
    bool waits = true;
    for (const judge::Exchange* exchange : exchanges) {
      if (waits && (!client_->await(*exchange, reply_timeout_) || !exchange->reply)) {
        give_up(exchange->refused || client_->disconnected()
                    ? "the broker refused a request, or ended the connection"
                    : "a request was not answered in time");
        waits = false;
      }
      if (exchange->reply) replies.push_back(&*exchange->reply);
    }
    return replies;
  }

  void write_window(std::size_t count) {
    const auto replies = ask(written_, count, [](const std::string& key) {
      return std::vector<std::string_view>{"SET", key, "v"};
    });
    written_ += count;
    for (const judge::ReceivedReply* reply : replies) {
      if (reply->is(codec::ReplyKind::kOk)) {
        ++finding_.stored;
      } else if (reply->error() == codec::ErrorCode::kQuotaExceeded) {
        finding_.refused = true;
      } else {
        give_up("the store answered a SET with: " + escape(reply->payload(), 200));
      }
    }
  }

  void remove_window(std::size_t first, std::size_t count) {
    if (removed(first, count) == count) return;
    // Once more: the connection may be what was wrong.
    const std::size_t gone = connect() ? removed(first, count) : 0;
    finding_.left_behind += count - gone;
  }

  // How many of these keys are gone now.
  std::size_t removed(std::size_t first, std::size_t count) {
    const auto replies = ask(first, count, [](const std::string& key) {
      return std::vector<std::string_view>{"DEL", key};
    });
    return static_cast<std::size_t>(std::count_if(
        replies.begin(), replies.end(),
        [](const judge::ReceivedReply* reply) { return reply->is(codec::ReplyKind::kCount); }));
  }

  endpoint::Session& session_;
  const ProbeSettings& settings_;
  std::string client_id_;
  Duration reply_timeout_;
  std::optional<run::RequestClient> client_;
  std::size_t connections_ = 0;
  std::size_t written_ = 0;  // keys 0, 1, ... that a SET was sent for
  QuotaFinding finding_;
};

RoleFinding try_role(endpoint::Session& session, const std::string& name,
                     const run::RunSettings& settings) {
  const auto fixed = settings.client_ids.find(name);
  const std::string id = fixed == settings.client_ids.end()
                             ? "fp-" + settings.run_id + "-role-" + name
                             : fixed->second;
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
    const bool disturbs = std::any_of(test_case.requires_.begin(), test_case.requires_.end(),
                                      endpoint::disturbance_named);
    if (disturbs || (needs(test_case, "quota") && !with_quota)) continue;
    if (cites_unspecified(test_case, library.catalogue) || !test_case.divergences.empty() ||
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
  with_clock.run.client_ids = out.offered.client_ids;
  auto session = endpoint.open_session();
  if (!session) return fail(lost(session.error()));
  for (const std::string& role : endpoint.capabilities().roles) {
    out.roles.push_back(try_role(**session, role, with_clock.run));
    if (!out.roles.back().problem.empty()) std::erase(out.offered.roles, role);
  }
  if (settings.quota_up_to > 0) {
    auto limited = endpoint.open_session({.isolated = true});
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
