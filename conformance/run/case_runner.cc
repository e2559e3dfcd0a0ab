#include "conformance/run/case_runner.h"

#include <algorithm>
#include <map>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/check.h"
#include "codec/reply.h"
#include "codec/topics.h"
#include "conformance/judge/clock_doubt.h"
#include "conformance/run/case_clients.h"
#include "conformance/run/message_checks.h"
#include "conformance/scenario/packet_fill.h"
#include "conformance/scenario/timestamp_expression.h"
#include "endpoint/packet_size.h"
#include "hlc/hlc.h"

namespace fencepost::run {
namespace {

using codec::Message;
using endpoint::Duration;
using std::chrono::milliseconds;

constexpr milliseconds kReplyTimeout{3'000};
constexpr std::size_t kBytesPerSecond = 102'400;  // what a slow path carries of a large value
constexpr milliseconds kCleanupTimeout{1'000};
constexpr std::size_t kCorrelationBytes = 16;  // what the public client SDKs send and insist on
constexpr std::size_t kFillWindow = 64;        // requests in flight while a quota is filled

struct Mark {
  Duration sent{0};
  std::optional<Duration> replied{};
};

// The requirement that prescribes the form.
std::string requirement_of(codec::Divergence divergence) {
  switch (divergence) {
    case codec::Divergence::kSetNotApplied:
      return "SET-NOT-APPLIED-1";
    case codec::Divergence::kVdelMismatch:
      return "VDEL-MISMATCH-2";
    case codec::Divergence::kDeleteOperation:
      return "NTF-DEL-1";
    case codec::Divergence::kLowerTokenText:
      return "ERR-TEXT-4";
    case codec::Divergence::kKeynotifyError:
      return "NTF-ERROR-1";
  }
  return {};
}

class CaseRunner {
 public:
  CaseRunner(const scenario::Case& test_case, endpoint::Session& session,
             const RunSettings& settings)
      : case_(test_case),
        session_(session),
        clock_(session.clock()),
        settings_(settings),
        store_clock_(settings.clock_bounds),
        random_(settings.seed ^ stable_hash(test_case.id)),
        case_tag_(fmt::format("{:08x}", stable_hash(test_case.id) & 0xffffffffU)),
        key_prefix_(settings.key_prefix + "/" + settings.run_id + "/" + case_tag_ + "/"),
        clients_(test_case, session, settings, case_tag_, result_.transcript) {
    result_.test_case = &test_case;
  }

  CaseResult run() {
    const auto started = std::chrono::steady_clock::now();
    MaybeProblem problem = run_steps();
    if (!problem) problem = clients_.check_leftovers();
    result_.verdict = problem ? problem->verdict : Verdict::kPassed;
    if (problem) blame(*problem);
    if (result_.verdict == Verdict::kLost) {
      result_.left_behind = written_keys();
    } else if (settings_.clean_up) {
      remove_keys(session_, written_keys());
    }
    result_.round_trips = clients_.close();
    result_.duration = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - started);
    return std::move(result_);
  }

 private:
  // --- time

  [[nodiscard]] Duration scaled(milliseconds time) const {
    return std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::milli>(
        static_cast<double>(time.count()) * settings_.timeout_scale));
  }

  // How long a reply may take: a large value may come back with it.
  [[nodiscard]] Duration reply_timeout() const {
    return scaled(kReplyTimeout + std::chrono::seconds{largest_payload_ / kBytesPerSecond});
  }

  [[nodiscard]] static std::uint64_t not_negative(std::int64_t wall_ms) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(wall_ms, 0));
  }
  [[nodiscard]] std::int64_t our_wall_ms() const {
    return static_cast<std::int64_t>(clock_.wall_ms());
  }
  [[nodiscard]] std::uint64_t store_wall_ms() const {
    return not_negative(our_wall_ms() + settings_.clock_offset_ms);
  }

  // What the first word of an expression stands for when it is not a saved timestamp.
  [[nodiscard]] std::uint64_t base_wall_ms(const scenario::TimestampExpression& expression) const {
    if (expression.base != scenario::kSkewLimit) return store_wall_ms();
    if (expression.offset_ms < 0) return not_negative(store_clock_.last_accepted_ms(our_wall_ms()));
    const std::int64_t latest_ms = our_wall_ms() + settings_.way_allowance.count();
    return not_negative(store_clock_.first_refused_ms(latest_ms) - 1);
  }

  // --- requests

  std::string random_bytes(std::size_t count) {
    std::string out;
    while (out.size() < count) out += static_cast<char>(random_() & 0xffU);
    return out;
  }

  // The text of a timestamp; nothing when the request has none.
  Result<std::optional<std::string>, Problem> timestamp_text(const scenario::TimestampSpec& spec,
                                                             const CaseClient& from) {
    if (std::holds_alternative<scenario::NoTimestamp>(spec)) return std::optional<std::string>();
    if (const auto* literal = std::get_if<scenario::LiteralTimestamp>(&spec)) {
      return std::optional(literal->text);
    }
    const auto& expression = std::get<scenario::TimestampExpression>(spec);
    const bool unmodified = expression.offset_ms == 0 && expression.counter_offset == 0 &&
                            !expression.counter && !expression.node;
    if (unmodified && saved_.contains(expression.base)) {
      return std::optional(saved_.at(expression.base).text);
    }
    std::map<std::string, hlc::Timestamp> values;
    for (const auto& [name, timestamp] : saved_) values[name] = timestamp.value;
    const auto value = evaluate(expression, base_wall_ms(expression), from.client_id(), values);
    if (!value) return fail(Problem{.verdict = Verdict::kInconclusive, .message = value.error()});
    return std::optional(hlc::format(*value));
  }

  Result<Message, Problem> make_message(const scenario::RequestStep& step, CaseClient& from) {
    Message message;
    message.topic =
        step.topic ? judge::resolve(*step.topic, key_prefix_) : std::string(codec::kRequestTopic);
    message.qos = step.qos;
    message.retain = step.retain;
    message.content_type = step.content_type;
    message.payload_format = step.payload_format;
    message.expiry_seconds = step.expiry_seconds;
    message.user_properties = step.user_properties;
    if (!step.no_response_topic) {
      message.response_topic = step.response_topic
                                   ? judge::resolve(*step.response_topic, key_prefix_)
                                   : from.response_topic();
    }
    if (!step.no_correlation) {
      message.correlation_data = step.correlation ? judge::resolve(*step.correlation, key_prefix_)
                                                  : random_bytes(kCorrelationBytes);
    }
    const auto add = [&](std::string_view name,
                         const scenario::TimestampSpec& spec) -> MaybeProblem {
      auto text = timestamp_text(spec, from);
      if (!text) return text.error();
      if (*text) message.user_properties.emplace_back(name, **text);
      return std::nullopt;
    };
    if (auto problem = add(codec::kTimestampProperty, step.timestamp)) return fail(*problem);
    if (auto problem = add(codec::kTokenProperty, step.token)) return fail(*problem);
    if (auto problem = add_payload(step, from.raw().packet_limit(), message)) return fail(*problem);
    return message;
  }

  // Comes last, as the payload may have to fill the packet.
  MaybeProblem add_payload(const scenario::RequestStep& step, std::optional<std::uint32_t> limit,
                           Message& message) {
    const auto filling = filling_in(step.payload);
    const auto size_with = [&](const std::string& bytes) {
      if (filling) fillings_[filling->excess] = bytes;
      message.payload = judge::resolve(step.payload, key_prefix_, fillings_);
      return endpoint::publish_packet_size(message);
    };
    if (!filling) {
      const std::size_t size = size_with({});
      if (!limit || size <= *limit) return std::nullopt;
      return Problem{.verdict = Verdict::kSkipped,
                     .message = fmt::format("this case sends a packet of {} bytes, and the "
                                            "endpoint takes at most {}",
                                            size, *limit)};
    }
    const auto bytes = scenario::packet_filling({limit.value_or(0), filling->excess}, size_with);
    if (!limit || !bytes) {
      return Problem{.verdict = Verdict::kInconclusive,
                     .message = limit ? bytes.error() : "the broker names no limit for packets"};
    }
    (void)size_with(*bytes);
    return std::nullopt;
  }

  // A request that is under way.
  struct Sent {
    const scenario::RequestStep* step;
    CaseClient* from;
    Pending* pending;
    Message message;
    std::int64_t sent_ms;  // our wall clock at that time
  };

  Result<Sent, Problem> send(const scenario::RequestStep& step) {
    auto from = clients_.get(step.client);
    if (!from) return fail(from.error());
    auto message = make_message(step, **from);
    if (!message) return fail(message.error());
    for (const scenario::BytesSpec& key : step.written_keys) {
      written_keys_.push_back(judge::resolve(key, key_prefix_, fillings_));
    }
    if (const std::string* token = message->property(codec::kTokenProperty)) note_token(*token);
    largest_payload_ = std::max(largest_payload_, message->payload.size());
    const std::int64_t sent_ms = our_wall_ms();
    auto pending = (*from)->send(*message);
    if (!pending) return fail(lost(pending.error()));
    if (!step.mark.empty()) marks_[step.mark] = {.sent = (*pending)->sent};
    return Sent{&step, *from, *pending, std::move(*message), sent_ms};
  }

  // Our wall clock when the request was sent and when its reply had come.
  [[nodiscard]] judge::Interval exchange_of(const Sent& sent) const {
    const Duration passed = clock_.now() - sent.pending->replied;  // first, so that it is too short
    return {.sent_ms = sent.sent_ms,
            .received_ms = our_wall_ms() - std::chrono::floor<milliseconds>(passed).count()};
  }

  void note_token(const std::string& text) {
    fenced_ = true;
    const auto token = hlc::parse(text);
    if (token && !hlc::too_far_ahead(*token, store_wall_ms()) && *token > newest_token_) {
      newest_token_ = *token;
    }
  }

  // A GET that any store answers, to prove that an earlier request of this client will not be.
  Result<Pending*, Problem> send_probe(CaseClient& from) {
    Message message;
    message.topic = codec::kRequestTopic;
    message.payload = codec::encode_command({"GET", key_prefix_ + "probe"});
    message.response_topic = from.response_topic();
    message.correlation_data = random_bytes(kCorrelationBytes);
    auto pending = from.send(message);
    if (!pending) return fail(lost(pending.error()));
    return *pending;
  }

  template <typename Kind>
  static bool expects(const scenario::RequestStep& step) {
    return std::any_of(step.expect.outcomes.begin(), step.expect.outcomes.end(),
                       [](const scenario::Outcome& outcome) {
                         return std::holds_alternative<Kind>(outcome.what);
                       });
  }

  // Silence and disconnection: a probe sent after the request shows which it is.
  MaybeProblem await_non_reply(const Sent& sent) {
    CaseClient& from = *sent.from;
    const auto answered = [&] { return sent.pending->reply || sent.pending->refused; };
    const auto probe = send_probe(from);
    const Pending* probe_pending = probe ? *probe : nullptr;
    from.pump_until(
        [&] { return answered() || (probe_pending != nullptr && probe_pending->reply); },
        reply_timeout());
    if (sent.pending->reply) return judge_reply(sent);
    if (from.disconnected()) {
      if (!expects<scenario::Disconnection>(*sent.step)) return unexpected_disconnect(from);
      from.expect_end();
      return record_open<scenario::Disconnection>(sent);
    }
    const bool silent = sent.pending->refused || (probe_pending != nullptr && probe_pending->reply);
    if (silent && expects<scenario::NoReply>(*sent.step)) {
      sent.pending->closed = forbids_replies(*sent.step);
      return record_open<scenario::NoReply>(sent);
    }
    return Problem{.message = silent ? "the client stayed connected and got no reply"
                                     : "neither this request nor the next one was answered",
                   .expected = expected_text(sent),
                   .actual = silent
                                 ? "no reply; a later request on the same connection was answered"
                                 : "nothing"};
  }

  // Would any reply, however late, be wrong?
  static bool forbids_replies(const scenario::RequestStep& step) {
    return std::all_of(step.expect.outcomes.begin(), step.expect.outcomes.end(),
                       [](const scenario::Outcome& outcome) {
                         return std::holds_alternative<scenario::NoReply>(outcome.what) ||
                                std::holds_alternative<scenario::Disconnection>(outcome.what);
                       });
  }

  template <typename Kind>
  MaybeProblem record_open(const Sent& sent) {
    for (const scenario::Outcome& outcome : sent.step->expect.outcomes) {
      if (std::holds_alternative<Kind>(outcome.what)) note_open_point(*sent.step, outcome);
    }
    return std::nullopt;
  }

  void note_open_point(const scenario::RequestStep& step, const scenario::Outcome& outcome) {
    if (!step.expect.open) return;
    const std::string& id =
        step.expect.cites.empty() ? case_.requirements.front() : step.expect.cites;
    result_.open_points.emplace_back(id, outcome.name);
  }

  [[nodiscard]] judge::ReplyContext context_of(const Sent& sent) const {
    return {.verb = codec::verb_of(sent.message.payload),
            .profile = settings_.profile,
            .key_prefix = key_prefix_,
            .fillings = &fillings_};
  }

  [[nodiscard]] std::string expected_text(const Sent& sent) const {
    return describe(sent.step->expect.outcomes, context_of(sent));
  }

  MaybeProblem await_reply(const Sent& sent) {
    if (expects<scenario::NoReply>(*sent.step) || expects<scenario::Disconnection>(*sent.step)) {
      return await_non_reply(sent);
    }
    CaseClient& from = *sent.from;
    from.pump_until([&] { return sent.pending->reply || sent.pending->refused; }, reply_timeout());
    if (sent.pending->reply) return judge_reply(sent);
    if (sent.pending->refused) {
      return Problem{
          .message = "the broker refused the PUBLISH",
          .expected = expected_text(sent),
          .actual = fmt::format("PUBACK with reason code 0x{:02x}", *sent.pending->refused)};
    }
    if (from.disconnected()) return unexpected_disconnect(from);
    if (!from.surprises().empty()) return clients_.check_surprises();
    return Problem{.message = "no response",
                   .expected = expected_text(sent),
                   .actual = fmt::format("nothing within {} ms", reply_timeout().count() / 1000)};
  }

  MaybeProblem judge_reply(const Sent& sent) {
    const scenario::RequestStep& step = *sent.step;
    const Message& reply = *sent.pending->reply;
    if (!step.mark.empty()) marks_[step.mark].replied = sent.pending->replied;
    MaybeProblem late = check_window(step, sent.pending->replied);
    if (late && !shows_key(reply.payload)) return late;
    MaybeProblem problem = judge_payload(sent, reply);
    // Of an open point's outcomes, a refusal carries no version.
    const bool refusal = step.expect.open && reply.payload.starts_with('-');
    if (!problem && !refusal) {
      problem = check_timestamp(step.expect.timestamp, sent.message, reply, saved_);
    }
    if (!problem) problem = check_properties(step.expect, reply);
    if (problem && late) return late;
    if (problem && problem->cites.empty()) problem->cites = step.expect.cites;
    return problem;
  }

  // Does the reply say that the key was there, with its value, token or expiry? Then it was before,
  // too, however late the reply. `+OK` says nothing of the kind: a condition may have become true.
  static bool shows_key(std::string_view payload) {
    const auto reply = codec::decode_reply(payload);
    if (!reply) return false;
    return reply->kind == codec::ReplyKind::kValue ||
           reply->kind == codec::ReplyKind::kNotApplied ||
           reply->kind == codec::ReplyKind::kError ||
           (reply->kind == codec::ReplyKind::kCount && reply->count > 0);
  }

  // A reply that came after the evidence window fails nothing.
  MaybeProblem check_window(const scenario::RequestStep& step, Duration replied) const {
    if (!step.expect.before) return std::nullopt;
    const Duration limit = time_of(*step.expect.before);
    if (replied < limit) return std::nullopt;
    return Problem{.verdict = Verdict::kInconclusive,
                   .message = fmt::format(
                       "the reply came {} ms after {}, when it no longer proves "
                       "anything; the machine or the network is too slow",
                       (replied - time_of({step.expect.before->mark,
                                           step.expect.before->after_reply, milliseconds{0}}))
                               .count() /
                           1000,
                       step.expect.before->mark)};
  }

  MaybeProblem judge_payload(const Sent& sent, const Message& reply) {
    const scenario::Expectation& expect = sent.step->expect;
    const judge::ReplyContext context = context_of(sent);
    if (expect.outcomes.empty()) {
      const auto decoded = codec::decode_reply(reply.payload);
      if (decoded) return std::nullopt;
      return Problem{.message = "the reply is not well formed: " + codec::describe(decoded.error()),
                     .expected = "a reply of the protocol",
                     .actual = judge::describe_reply(reply.payload)};
    }
    const judge::JudgedReply exchanged{.expected = expect.outcomes,
                                       .request = sent.message,
                                       .reply = reply,
                                       .when = exchange_of(sent)};
    const auto match = match_reply(expect.outcomes, reply.payload, context);
    if (!match) {
      auto doubt = doubt_about_clock(exchanged, store_clock_);
      if (!doubt) return unmatched_reply(expect, reply.payload, context);
      return Problem{.verdict = Verdict::kInconclusive,
                     .message = std::move(*doubt),
                     .expected = expected_text(sent),
                     .actual = judge::describe_reply(reply.payload)};
    }
    note_version(exchanged, store_clock_);
    if (match->form) result_.forms.push_back(*match->form);
    note_open_point(*sent.step, *match->outcome);
    return std::nullopt;
  }

  // The right reply in the wrong dialect deserves to be called that.
  Problem unmatched_reply(const scenario::Expectation& expect, std::string_view payload,
                          const judge::ReplyContext& context) {
    Problem problem{.message = "the reply is not the expected one",
                    .expected = describe(expect.outcomes, context),
                    .actual = judge::describe_reply(payload)};
    judge::ReplyContext either = context;
    either.profile = codec::Profile::kAuto;
    const auto match = match_reply(expect.outcomes, payload, either);
    if (match && match->form) blame_dialect(*match->form, "reply", problem);
    return problem;
  }

  void blame_dialect(const judge::SeenForm& form, const char* what, Problem& problem) {
    result_.forms.push_back(form);
    problem.message =
        fmt::format("the {} has the form of the {} dialect, and this run judges by the {} one",
                    what, codec::dialect(form.second).name, name(settings_.profile));
    problem.cites = requirement_of(form.first);
  }

  // --- steps

  MaybeProblem run_steps() {
    for (std::size_t i = 0; i < case_.steps.size(); ++i) {
      const scenario::Step& step = case_.steps[i];
      result_.step = i + 1;
      result_.position = step.position;
      MaybeProblem problem = std::visit([this](const auto& what) { return run(what); }, step.what);
      if (!problem) problem = clients_.check_surprises();
      if (problem) return problem;
    }
    return std::nullopt;
  }

  MaybeProblem run(const scenario::RequestStep& step) {
    const auto sent = send(step);
    if (!sent) return sent.error();
    return await_reply(*sent);
  }

  MaybeProblem run(const scenario::PipelineStep& step) {
    std::vector<Sent> all;
    for (const scenario::RequestStep& request : step.requests) {
      auto sent = send(request);
      if (!sent) return sent.error();
      all.push_back(std::move(*sent));
    }
    for (const Sent& sent : all) {
      if (auto problem = await_reply(sent)) return problem;
    }
    return std::nullopt;
  }

  MaybeProblem run(const scenario::NotificationStep& step) {
    auto observer = clients_.get(step.client);
    if (!observer) return observer.error();
    std::deque<Notified>& queue = (*observer)->notifications();
    (*observer)->pump_until([&] { return !queue.empty(); }, scaled(step.within));
    const std::string expected = describe_notification(step);
    if (queue.empty()) {
      if ((*observer)->disconnected()) return unexpected_disconnect(**observer);
      if (!(*observer)->surprises().empty()) return clients_.check_surprises();
      return Problem{
          .message = "no notification",
          .expected = expected,
          .actual = fmt::format("nothing within {} ms", scaled(step.within).count() / 1000),
          .cites = step.cites};
    }
    const Notified notified = std::move(queue.front());
    queue.pop_front();
    MaybeProblem problem = judge_notification(step, notified, expected);
    if (problem && problem->cites.empty()) problem->cites = step.cites;
    return problem;
  }

  [[nodiscard]] std::string describe_notification(const scenario::NotificationStep& step) const {
    const std::string key = judge::resolve(step.key, key_prefix_, fillings_);
    std::vector<std::string> forms;
    for (const std::string& payload : notification_payloads(step)) {
      if (std::find(forms.begin(), forms.end(), escape(payload, 300)) == forms.end()) {
        forms.push_back(escape(payload, 300));
      }
    }
    return fmt::format("{} for key \"{}\"", fmt::join(forms, "  or  "), escape(key, 100));
  }

  [[nodiscard]] std::vector<std::string> notification_payloads(
      const scenario::NotificationStep& step) const {
    std::vector<std::string> out;
    const std::string value = step.value ? judge::resolve(*step.value, key_prefix_, fillings_) : "";
    for (const codec::DialectId id : codec::dialects_of(settings_.profile)) {
      std::string payload;
      codec::append_notification(payload, {.operation = step.operation, .value = value},
                                 codec::dialect(id));
      out.push_back(std::move(payload));
    }
    return out;
  }

  MaybeProblem judge_notification(const scenario::NotificationStep& step, const Notified& notified,
                                  const std::string& expected) {
    const std::string key = judge::resolve(step.key, key_prefix_, fillings_);
    const auto decoded = codec::decode_notification(notified.message.payload);
    const std::string actual = fmt::format(
        "{} for key \"{}\"", escape(notified.message.payload, 300), escape(notified.key, 100));
    if (notified.key != key || !decoded || decoded->operation != step.operation) {
      return Problem{.message = "the notification is not the expected one",
                     .expected = expected,
                     .actual = actual};
    }
    const std::vector<codec::DialectId> dialects = codec::dialects_of(settings_.profile);
    const bool wrong_form = decoded->form && std::find(dialects.begin(), dialects.end(),
                                                       *decoded->form) == dialects.end();
    const bool wrong_value =
        step.value && decoded->value != judge::resolve(*step.value, key_prefix_, fillings_);
    if (wrong_form && !wrong_value) {
      Problem problem{.message = {}, .expected = expected, .actual = actual};
      blame_dialect({codec::Divergence::kDeleteOperation, *decoded->form}, "notification", problem);
      return problem;
    }
    if (wrong_value) {
      return Problem{.message = "the notification is not the expected one",
                     .expected = expected,
                     .actual = actual};
    }
    if (decoded->form)
      result_.forms.emplace_back(codec::Divergence::kDeleteOperation, *decoded->form);
    if (step.qos && notified.message.qos != *step.qos) {
      return Problem{.message = "the notification has another QoS",
                     .expected = fmt::format("QoS {}", *step.qos),
                     .actual = fmt::format("QoS {}", notified.message.qos)};
    }
    if (notified.message.retain) {
      return Problem{.message = "the notification is a retained message",
                     .expected = "retain 0",
                     .actual = "retain 1"};
    }
    const scenario::Expectation properties{.content_type = step.content_type};
    if (auto problem = check_properties(properties, notified.message)) return problem;
    return check_timestamp(step.timestamp, {}, notified.message, saved_);
  }

  // Proves that nothing has arrived for `step.client`: the notification of a key that only this
  // step uses must be the next thing that does.
  MaybeProblem run(const scenario::SilenceStep& step) {
    auto observer = clients_.get(step.client);
    if (!observer) return observer.error();
    auto writer = clients_.get(step.writer);
    if (!writer) return writer.error();
    const std::string fence = key_prefix_ + fmt::format("fence-{}", ++fences_);
    if (auto problem = command(**observer, {"KEYNOTIFY", fence})) return problem;
    written_keys_.push_back(fence);
    if (auto problem = command(**writer, {"SET", fence, "fence"})) return problem;
    std::deque<Notified>& queue = (*observer)->notifications();
    (*observer)->pump_until([&] { return !queue.empty() || !(*observer)->surprises().empty(); },
                            reply_timeout());
    if (auto problem = clients_.check_surprises()) return problem;
    if (queue.empty()) {
      if ((*observer)->disconnected()) return unexpected_disconnect(**observer);
      return Problem{.message = "the fence notification did not arrive",
                     .expected = "a notification for the fence key and nothing before it",
                     .actual = "nothing",
                     .cites = step.cites};
    }
    const Notified first = std::move(queue.front());
    queue.pop_front();
    if (first.key != fence) {
      return Problem{.message = "a notification that must not be sent",
                     .expected = "no notification",
                     .actual = fmt::format("{} for key \"{}\"", escape(first.message.payload, 300),
                                           escape(first.key, 100)),
                     .cites = step.cites};
    }
    return command(**observer, {"KEYNOTIFY", fence, "STOP"});
  }

  // Sends a request of the suite's own and wants it to succeed.
  MaybeProblem command(CaseClient& from, const std::vector<std::string_view>& arguments) {
    scenario::RequestStep step;
    step.client = from.name();
    step.payload = {scenario::LiteralBytes{codec::encode_command(arguments)}};
    if (arguments.front() == "SET") step.timestamp = scenario::TimestampExpression{.base = "now"};
    step.expect.outcomes = {{scenario::PlainReply{codec::ReplyKind::kOk}}};
    return run(step);
  }

  [[nodiscard]] Duration time_of(const scenario::TimePoint& point) const {
    const auto mark = marks_.find(point.mark);
    FENCEPOST_CHECK(mark != marks_.end());  // the loader has checked the names
    const Duration base =
        point.after_reply ? mark->second.replied.value_or(mark->second.sent) : mark->second.sent;
    return base + point.offset;
  }

  MaybeProblem run(const scenario::WaitStep& step) {
    const WorkPause pause(settings_.places);
    clock_.wait_until(step.until ? time_of(*step.until) : clock_.now() + *step.duration);
    return std::nullopt;
  }

  MaybeProblem run(const scenario::ConnectStep& step) { return clients_.connect(step.client); }

  MaybeProblem run(const scenario::DisconnectStep& step) {
    return clients_.disconnect(step.client, step.drop);
  }

  MaybeProblem run(const scenario::RestartStep& /*step*/) {
    return clients_.restart_broker(reply_timeout());
  }

  MaybeProblem run(const scenario::SubscribeStep& step) {
    auto found = clients_.get(step.client);
    if (!found) return found.error();
    const auto done = (*found)->raw().subscribe(judge::resolve(step.filter, key_prefix_));
    if (!done) return lost(done.error());
    return std::nullopt;
  }

  MaybeProblem run(const scenario::FillQuotaStep& step) {
    auto found = clients_.get(step.client);
    if (!found) return found.error();
    const std::size_t most = settings_.quota.value_or(0) + 1;
    bool refused = false;
    for (std::size_t first = 0; first < most && !refused; first += kFillWindow) {
      if (auto problem =
              fill_window(step, **found, first, std::min(first + kFillWindow, most), refused)) {
        problem->cites = step.cites;
        return problem;
      }
    }
    if (refused) return std::nullopt;
    return Problem{
        .message = fmt::format("{} new keys were stored, more than the quota allows", most),
        .expected = "-ERR the quota has been exceeded\\r\\n",
        .actual = "+OK\\r\\n each time",
        .cites = step.cites};
  }

  // Writes keys [first, last) without waiting in between, then looks at the replies.
  MaybeProblem fill_window(const scenario::FillQuotaStep& step, CaseClient& from, std::size_t first,
                           std::size_t last, bool& refused) {
    std::vector<scenario::RequestStep> requests;
    for (std::size_t i = first; i < last; ++i) {
      requests.push_back(write_of_new_key(from.name(), numbered(step.key, i), "v"));
    }
    return exchange_window(requests,
                           [&](const Message& reply) { refused = refused || is_error(reply); });
  }

  static bool is_error(const Message& reply) { return reply.payload.starts_with('-'); }

  static std::string numbered(const std::string& key, std::size_t i) {
    return key + "-" + std::to_string(i);
  }

  // A SET that is carried out, or refused because of the quota.
  static scenario::RequestStep write_of_new_key(const std::string& client, const std::string& key,
                                                const std::string& value) {
    scenario::RequestStep request;
    request.client = client;
    request.payload = {scenario::CommandBytes{{{scenario::LiteralBytes{"SET"}},
                                               {scenario::KeyBytes{key, ""}},
                                               {scenario::LiteralBytes{value}}}}};
    request.timestamp = scenario::TimestampExpression{.base = "now"};
    request.written_keys = {{scenario::KeyBytes{key, ""}}};
    request.expect.outcomes = {{scenario::PlainReply{codec::ReplyKind::kOk}},
                               {scenario::ErrorReply{codec::ErrorCode::kQuotaExceeded}}};
    return request;
  }

  // Sends all requests, then looks at the replies; `seen` is told of each that is as expected.
  template <typename Seen>
  MaybeProblem exchange_window(const std::vector<scenario::RequestStep>& requests, Seen seen) {
    std::vector<Sent> all;
    for (const scenario::RequestStep& request : requests) {
      auto sent = send(request);
      if (!sent) return sent.error();
      all.push_back(std::move(*sent));
    }
    for (const Sent& sent : all) {
      if (auto problem = await_reply(sent)) return problem;
      seen(*sent.pending->reply);
    }
    return std::nullopt;
  }

  MaybeProblem run(const scenario::WriteManyStep& step) {
    auto found = clients_.get(step.client);
    if (!found) return found.error();
    std::vector<std::string> versions;
    for (const auto window : {&CaseRunner::write_window, &CaseRunner::read_window}) {
      for (std::size_t first = 0; first < step.keys; first += kFillWindow) {
        const std::size_t told = result_.transcript.size();
        const std::size_t last = std::min(first + kFillWindow, step.keys);
        if (auto problem = (this->*window)(step, {first, last}, versions)) {
          if (problem->cites.empty()) problem->cites = step.cites;
          return problem;
        }
        if (first == 0) continue;
        // Of what goes well the transcript has the first messages alone.
        result_.transcript.resize(told);
        (*found)->note(fmt::format("{} {} to {}, as those before",
                                   window == &CaseRunner::write_window ? "writes" : "reads back",
                                   numbered(step.key, first), numbered(step.key, last - 1)));
      }
    }
    return std::nullopt;
  }

  struct Window {
    std::size_t first;
    std::size_t last;  // not included
  };

  static std::string value_of(const std::string& key) { return "value of " + key; }

  MaybeProblem write_window(const scenario::WriteManyStep& step, Window keys,
                            std::vector<std::string>& versions) {
    std::vector<scenario::RequestStep> requests;
    for (std::size_t i = keys.first; i < keys.last; ++i) {
      const std::string key = numbered(step.key, i);
      requests.push_back(write_of_new_key(step.client, key, value_of(key)));
    }
    bool refused = false;
    auto problem = exchange_window(requests, [&](const Message& reply) {
      refused = refused || is_error(reply);
      const std::string* version = reply.property(codec::kTimestampProperty);
      versions.push_back(version == nullptr ? "" : *version);
    });
    if (problem || !refused) return problem;
    return Problem{.verdict = Verdict::kInconclusive,
                   .message = fmt::format("the store has no room for {} keys: it refused one of "
                                          "the first {} because of its quota",
                                          step.keys, keys.last)};
  }

  MaybeProblem read_window(const scenario::WriteManyStep& step, Window keys,
                           std::vector<std::string>& versions) {
    SavedTimestamps others = saved_;
    std::vector<scenario::RequestStep> requests;
    for (std::size_t i = keys.first; i < keys.last; ++i) {
      const std::string key = numbered(step.key, i);
      scenario::RequestStep request;
      request.client = step.client;
      request.payload = {
          scenario::CommandBytes{{{scenario::LiteralBytes{"GET"}}, {scenario::KeyBytes{key, ""}}}}};
      request.timestamp = scenario::NoTimestamp{};
      request.token = scenario::NoTimestamp{};
      request.expect.outcomes = {
          {scenario::ValueReply{{scenario::LiteralBytes{value_of(key) + step.ending}}}}};
      if (const auto version = hlc::parse(versions[i])) {
        saved_[key] = {.value = *version, .text = versions[i]};
        request.expect.timestamp = scenario::TimestampCheck{.equals = key};
      }
      requests.push_back(std::move(request));
    }
    auto problem = exchange_window(requests, [](const Message& /*reply*/) {});
    saved_ = std::move(others);
    return problem;
  }

  // --- afterwards

  void blame(const Problem& problem) {
    result_.message = problem.message;
    result_.expected = problem.expected;
    result_.actual = problem.actual;
    result_.requirement = problem.cites.empty() ? case_.requirements.front() : problem.cites;
  }

  // What the case has written, and how to get rid of it.
  [[nodiscard]] WrittenKeys written_keys() {
    std::sort(written_keys_.begin(), written_keys_.end());
    written_keys_.erase(std::unique(written_keys_.begin(), written_keys_.end()),
                        written_keys_.end());
    return {.keys = std::move(written_keys_),
            .token = fenced_ ? std::optional(hlc::format(last_token())) : std::nullopt,
            .client_id = clients_.client_id("cleaner"),
            .timeout = scaled(kCleanupTimeout)};
  }

  // A token that the store takes for every key of this case: newer than what a case usually uses,
  // or the newest that this one did.
  [[nodiscard]] hlc::Timestamp last_token() const {
    const std::uint64_t wall_ms = not_negative(store_clock_.last_accepted_ms(our_wall_ms()));
    return std::max(hlc::Timestamp{wall_ms, 0, "fencepost"}, newest_token_);
  }

  const scenario::Case& case_;
  endpoint::Session& session_;
  endpoint::Clock& clock_;
  const RunSettings& settings_;
  judge::StoreClock store_clock_;
  std::mt19937_64 random_;
  std::string case_tag_;
  std::string key_prefix_;
  CaseResult result_;
  CaseClients clients_;
  SavedTimestamps saved_;
  std::map<std::string, Mark> marks_;
  std::vector<std::string> written_keys_;
  judge::Fillings fillings_;
  std::size_t largest_payload_ = 0;  // that this case has sent
  bool fenced_ = false;
  hlc::Timestamp newest_token_;  // that was legal when it was sent
  std::size_t fences_ = 0;
};

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed:
      return "passed";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kExpectedFailure:
      return "expected-failure";
    case Verdict::kInconclusive:
      return "inconclusive";
    case Verdict::kSkipped:
      return "skipped";
    case Verdict::kLost:
      return "lost";
    case Verdict::kNotRun:
      return "not-run";
  }
  return "unknown";
}

CaseResult run_case(const scenario::Case& test_case, endpoint::Session& session,
                    const RunSettings& settings) {
  return CaseRunner(test_case, session, settings).run();
}

}  // namespace fencepost::run
