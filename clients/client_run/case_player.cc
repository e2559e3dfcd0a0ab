#include "clients/client_run/case_player.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "base/bytes.h"
#include "clients/client_run/attribution.h"
#include "clients/client_run/test_bed.h"
#include "codec/resp3.h"
#include "hlc/hlc.h"

namespace fencepost::client_run {
namespace {

constexpr std::size_t kMaxOfKey = 60;
constexpr Milliseconds kToDisconnect{1'000};
constexpr Milliseconds kForOneNotification{3'000};

Moment after(Milliseconds time) { return std::chrono::steady_clock::now() + time; }

std::string title_of(const Command& command) {
  std::string out(name(command.kind));
  if (request_of(command)) out += " \"" + escape(command.key, kMaxOfKey) + '"';
  return out;
}

bool is_same_version(const std::string& one, const std::string& other) {
  const auto left = hlc::parse(one);
  const auto right = hlc::parse(other);
  return left && right ? *left == *right : one == other;
}

bool is_same_version(const std::optional<std::string>& one,
                     const std::optional<std::string>& other) {
  return one && other ? is_same_version(*one, *other) : one.has_value() == other.has_value();
}

// Is it the version of a reply that gave the lock? An SDK may ask for it many times.
bool is_token_of(const Awaited& lock, const std::optional<std::string>& token) {
  const auto gives = [](const std::string& payload) { return payload == "+OK\r\n"; };
  if (gives(lock.payload_sent) && is_same_version(lock.version_sent, token)) return true;
  return std::any_of(lock.replies_again.begin(), lock.replies_again.end(),
                     [&](const codec::Message& reply) {
                       const std::string* version = reply.property(codec::kTimestampProperty);
                       return gives(reply.payload) && version != nullptr && token &&
                              is_same_version(*version, *token);
                     });
}

std::string quoted_or_none(const std::optional<std::string>& text) {
  constexpr std::size_t kMax = 200;
  return text ? '"' + escape(*text, kMax) + '"' : "none";
}

BrokerOptions broker_options(const ClientCase& test_case, codec::DialectId dialect) {
  BrokerOptions out{.dialect = dialect};
  for (const Step& step : test_case.steps) {
    if (const auto* clock = std::get_if<ClockStep>(&step.what)) out.clock_ahead = clock->ahead;
  }
  return out;
}

// A command that was sent to the adapter.
struct Underway {
  std::int64_t id = 0;
  const CommandStep* step = nullptr;
  std::optional<std::size_t> ticket{};
  std::optional<std::string> line{};  // of its result
};

class CasePlayer {
 public:
  CasePlayer(const ClientCase& test_case, AdapterProcess& adapter, const Greeting& greeting,
             const PlayOptions& options, std::size_t number)
      : case_(test_case),
        adapter_(adapter),
        greeting_(greeting),
        options_(options),
        client_id_(fmt::format("fencepost-client-{}", number)) {}

  PlayResult play() {
    const Moment began = std::chrono::steady_clock::now();
    auto test_bed = TestBed::open(broker_options(case_, options_.dialect), adapter_);
    if (!test_bed) {
      result_.suite_error = "no port for Fencepost's broker: " + test_bed.error();
      return std::move(result_);
    }
    test_bed_ = std::move(*test_bed);
    test_bed_->stop_with(options_.stop);
    play_steps();
    if (!result_.adapter_is_lost) end_connection();
    test_bed_->close();
    take_findings();
    if (!test_bed_->error().empty())
      result_.suite_error = "Fencepost's broker " + test_bed_->error();
    result_.wire = test_bed_->broker().trace();
    result_.time =
        std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - began);
    return std::move(result_);
  }

 private:
  [[nodiscard]] bool can(std::string_view capability) const {
    return greeting_.capabilities.contains(capability);
  }
  ScriptedBroker& broker() { return test_bed_->broker(); }

  // Adds a problem to the step that is played. `rule`: empty where none follows from it.
  void add_problem(std::string_view rule, std::string expected, std::string actual) {
    ClientProblem problem{
        .requirement = std::string(rule.empty() ? case_.requirements.front() : rule),
        .expected = std::move(expected),
        .actual = std::move(actual)};
    if (step_ != nullptr) {
      problem.step = fmt::format("step {}, {}", index_ + 1, step_title_);
      problem.position = step_->position;
    }
    result_.problems.push_back(std::move(problem));
  }

  // What the step is for, where it says so.
  [[nodiscard]] std::string_view cited_or(std::string_view rule) const {
    return step_ == nullptr || step_->cites.empty() ? rule : step_->cites;
  }
  // The rule of a command that has come to nothing: that of its own answer, else of what has
  // happened to the client before.
  [[nodiscard]] std::string_view rule_of_no_response(const CommandStep& step) const {
    const std::string_view own = attribution::of_reply(step, nullptr);
    return cited_or(attribution::of_answer(step) || provoked_.empty() ? own : provoked_);
  }

  void play_steps() {
    const auto is_connect = [](const Step& step) {
      const auto* command = std::get_if<CommandStep>(&step.what);
      return command != nullptr && command->command.kind == CommandKind::kConnect;
    };
    bool connected = std::any_of(case_.steps.begin(), case_.steps.end(), is_connect);
    for (index_ = 0; index_ < case_.steps.size(); ++index_) {
      step_ = &case_.steps[index_];
      step_title_ = step_->title;
      const bool prepares = std::holds_alternative<BrokerStep>(step_->what) ||
                            std::holds_alternative<ClockStep>(step_->what) ||
                            std::holds_alternative<OtherStep>(step_->what);
      if (!connected && !prepares) {
        connect();
        connected = true;
      }
      step_began_ = test_bed_->now();
      // What follows a step that failed would fail for the same reason.
      if (!result_.problems.empty()) return;
      std::visit([this](const auto& step) { play_step(step); }, step_->what);
      step_ended_ = test_bed_->now();
      if (!result_.problems.empty()) return;
      if (const auto rule = attribution::of_event(*step_)) provoked_ = cited_or(*rule);
    }
  }

  void connect() {
    play_step(CommandStep{.command = {.kind = CommandKind::kConnect},
                          .expected = {Expected{.kind = ResultKind::kOk}}});
  }

  // --- steps ---

  void play_step(const CommandStep& step) {
    Underway under_way = begin(step);
    if (wait_for({&under_way})) judge(under_way);
  }

  void play_step(const TogetherStep& step) {
    std::vector<Underway> all;
    all.reserve(step.commands.size());
    std::vector<Underway*> pointers;
    std::vector<std::size_t> tickets;
    // The tickets first, so that no reply goes out before its order is known.
    for (const CommandStep& each : step.commands) {
      all.push_back({.step = &each, .ticket = expect_request(each)});
      pointers.push_back(&all.back());
      tickets.push_back(*all.back().ticket);
    }
    if (step.reversed) {
      std::reverse(tickets.begin(), tickets.end());
      broker().hold(std::move(tickets));
    }
    for (Underway& each : all) tell(each);
    if (!wait_for(pointers)) return;
    together_ = &step;
    // Where one was not sent, the replies of the others may have waited for it.
    const auto first_lost = std::find_if(all.begin(), all.end(), [this](const Underway& each) {
      return !broker().awaited(*each.ticket).came;
    });
    if (first_lost != all.end()) judge(*first_lost);
    for (auto each = all.begin(); each != all.end() && result_.problems.empty(); ++each) {
      if (each != first_lost) judge(*each);
    }
    together_ = nullptr;
  }

  void play_step(const NotificationStep& step) {
    const std::string wanted = fmt::format(
        "the notification that \"{}\" {}", escape(step.key, kMaxOfKey),
        step.operation == codec::Operation::kSet ? "is \"" + escape(step.value, kMaxOfKey) + '"'
                                                 : "is deleted");
    while (true) {
      CommandStep next{
          .command = {.kind = CommandKind::kNotification, .timeout = kForOneNotification}};
      Underway under_way = begin(next);
      if (!wait_for({&under_way})) return;
      const auto report = read_report(*under_way.line, CommandKind::kNotification);
      if (!report) return distrust(report.error());
      // QoS 1: a notification may come again.
      const std::string description = describe(*report);
      if (report->kind == ResultKind::kChanged && description == last_notification_) continue;
      const bool is_it =
          report->kind == ResultKind::kChanged && report->key == step.key &&
          report->operation == step.operation &&
          (step.operation == codec::Operation::kDelete || report->value == step.value);
      if (is_it) {
        last_notification_ = description;
      } else if (reconnected_ && report->kind == ResultKind::kChanged &&
                 observed_.contains(report->key)) {
        continue;  // a client may read what it has missed, and report that
      } else {
        add_problem(rule_of_notification(step, *report), wanted,
                    report->kind == ResultKind::kMissing ? "no notification" : description);
      }
      return;
    }
  }

  [[nodiscard]] std::string_view rule_of_notification(const NotificationStep& wanted,
                                                      const Report& report) const {
    const auto is_reported = [&report](const Step& step) {
      const auto* next = std::get_if<NotificationStep>(&step.what);
      return next != nullptr && next->key == report.key && next->operation == report.operation &&
             next->value == report.value;
    };
    const bool is_of_case = std::any_of(case_.steps.begin(), case_.steps.end(), is_reported);
    const bool observed = observed_.contains(report.key);
    const std::string_view own =
        attribution::of_notification(wanted, {report, observed, observed && is_of_case});
    // What a conforming store never sends was reported, or has kept other messages from being
    // reported.
    const bool is_provoked = provoked_.starts_with("NTF-") || provoked_.starts_with("LIFE-");
    const bool is_strange = report.kind == ResultKind::kMissing || (observed && !is_of_case);
    const bool other_key = report.key != wanted.key && report.kind == ResultKind::kChanged;
    // A notification of another key is wrong regardless of what the step is for.
    if (own == "NTF-TOPIC-1") return own;
    return cited_or(is_provoked && is_strange && !other_key ? provoked_ : own);
  }

  void play_step(const BrokerStep& step) { broker().set_limits(step); }
  void play_step(const ClockStep& /*step*/) {}  // it is so from the beginning
  void play_step(const OtherStep& step) { broker().change(step, test_bed_->now()); }
  void play_step(const NotifyStep& step) { broker().notify(step, test_bed_->now()); }
  void play_step(const UnmatchedStep& step) { broker().unmatched(step, test_bed_->now()); }
  void play_step(const CutStep& step) {
    broker().cut(step, test_bed_->now());
    (void)test_bed_->run_until([this] { return !broker().is_connected(); }, after(options_.grace));
  }
  void play_step(const PauseStep& step) {
    (void)test_bed_->run_until([] { return false; }, after(step.time));
    notice_loss();
  }

  void play_step(const ReconnectStep& step) {
    reconnected_ = true;
    if (!can("reconnects")) return connect();
    const bool back = test_bed_->run_until([this] { return broker().is_connected(); },
                                           after(options_.timeout + options_.grace));
    if (!back && !notice_loss()) {
      add_problem(cited_or("LIFE-KEY-1"),
                  "a new connection, because the adapter states that its SDK reconnects by itself",
                  "no new connection");
    }
    if (!back || step.observed.empty()) return;
    const bool again = test_bed_->run_until([&] { return broker().is_observed(step.observed); },
                                            after(options_.timeout + options_.grace));
    if (again || notice_loss()) return;
    add_problem(cited_or("LIFE-RECONNECT-1"),
                fmt::format("KEYNOTIFY \"{}\" again", escape(step.observed, kMaxOfKey)),
                "it was not sent on the new connection");
  }

  // --- commands ---

  std::optional<std::size_t> expect_request(const CommandStep& step) {
    if (!request_of(step.command)) return std::nullopt;
    Command command = step.command;
    const bool has_holder =
        command.kind == CommandKind::kLock || command.kind == CommandKind::kUnlock;
    command.names_itself = has_holder && !can("lock-holder");
    return broker().expect(
        {.command = std::move(command), .answer = step.answer.value_or(right_answer())});
  }

  void tell(Underway& under_way) {
    const Command& command = under_way.step->command;
    under_way.id = ++last_id_;
    const auto token = versions_.find(command.token);
    adapter_.send(command_line(command, {.id = under_way.id,
                                         .port = test_bed_->port(),
                                         .client_id = client_id_,
                                         .token = token == versions_.end() ? "" : token->second,
                                         .timeout = command.timeout.value_or(options_.timeout)}));
  }

  Underway begin(const CommandStep& step) {
    step_title_ = title_of(step.command);
    accepted_before_ = broker().accepted();
    broker().forget_others();
    Underway out{.step = &step, .ticket = expect_request(step)};
    tell(out);
    return out;
  }

  // Takes the lines that have arrived. False after one that answers no command.
  bool take_lines(const std::vector<Underway*>& all) {
    while (auto line = adapter_.take_line()) {
      constexpr std::size_t kMaxReports = 60;
      constexpr std::size_t kMaxOfLine = 400;
      if (result_.reports.size() < kMaxReports) {
        result_.reports.push_back(escape(*line, kMaxOfLine));
      }
      const auto id = id_of(*line);
      const auto found = std::find_if(all.begin(), all.end(), [&](const Underway* each) {
        return id && each->id == *id && !each->line;
      });
      if (found != all.end()) {
        (*found)->line = std::move(*line);
      } else {
        strange_ = std::move(*line);
        return false;
      }
    }
    return true;
  }

  bool wait_for(const std::vector<Underway*>& all) {
    Milliseconds most{0};
    for (const Underway* each : all) {
      most = std::max(most, each->step->command.timeout.value_or(options_.timeout));
    }
    const auto done = [&] {
      return !take_lines(all) ||
             std::all_of(all.begin(), all.end(), [](const Underway* each) { return each->line; });
    };
    if (test_bed_->run_until(done, after(most + options_.grace))) {
      if (!strange_) return true;
      distrust(fmt::format("a line that answers none of the pending commands, {}: \"{}\"",
                           ids_of(all), escape(*strange_, kMaxOfKey * 4)));
      return false;
    }
    if (notice_loss(rule_of_no_response(*all.front()->step))) return false;
    lose(rule_of_no_response(*all.front()->step),
         fmt::format("no result within {} ms: the adapter hangs", (most + options_.grace).count()));
    return false;
  }

  // What it writes is not reliable, and shows nothing about the client.
  void distrust(const std::string& what) {
    result_.adapter_error = fmt::format(
        "the adapter itself has an error, in case {}, {}: {}; expected one line for each command, "
        "with its id and the result, and nothing else on standard output: "
        "docs/adapter.schema.json",
        case_.id, step_title_, what);
    result_.adapter_is_lost = true;  // its next lines may belong to this case
    add_problem("", "a result", what);
  }

  static std::string ids_of(const std::vector<Underway*>& all) {
    std::string out = all.size() == 1 ? "id " : "ids ";
    for (const Underway* each : all) {
      if (each != all.front()) out += ", ";
      out += std::to_string(each->id);
    }
    return out;
  }

  // Is the adapter gone? `rule`: of the pending command; empty: there is none.
  bool notice_loss(std::string_view rule = {}) {
    if (!adapter_.is_gone()) return false;
    lose(rule.empty() ? cited_or(provoked_) : rule, "the adapter " + adapter_.how_it_ended());
    return true;
  }

  void lose(std::string_view rule, std::string actual) {
    came_to_nothing_ = true;
    add_problem(rule, "a result", std::move(actual));
    result_.adapter_is_lost = true;
    result_.last_words = adapter_.last_words();
  }

  // --- verdicts ---

  void judge(const Underway& under_way) {
    const CommandStep& step = *under_way.step;
    step_title_ = title_of(step.command);
    const auto report = read_report(*under_way.line, step.command.kind);
    if (!report) return distrust(report.error());
    judge_wire(under_way, *report);
    // A request that was not sent has no response.
    if (!result_.problems.empty()) return;
    judge_report(under_way, *report);
    if (step.command.kind == CommandKind::kObserve) observed_.insert(step.command.key);
    if (step.command.kind == CommandKind::kUnobserve) observed_.erase(step.command.key);
    if (!step.saves.empty() && report->version) versions_[step.saves] = *report->version;
  }

  // Was the command sent to the broker?
  void judge_wire(const Underway& under_way, const Report& report) {
    const CommandStep& step = *under_way.step;
    if (step.command.kind == CommandKind::kConnect) {
      if (report.kind == ResultKind::kOk && broker().accepted() == accepted_before_) {
        add_problem("ENV-MQTT5-1", "a connection to Fencepost's broker", "no connection");
      }
      return;
    }
    if (!under_way.ticket) return;
    const Awaited& awaited = broker().awaited(*under_way.ticket);
    const bool refused = step.may_be_refused_unsent && report.kind == ResultKind::kError;
    if (!awaited.came) {
      if (refused) return;
      const auto& others = broker().others();
      const std::string last = others.empty() ? ""
                                              : "; another request was sent: \"" +
                                                    escape(others.back(), kMaxOfKey * 4) + '"';
      // Where nothing was sent at all, what happened before has kept the client from it.
      const bool is_kept = others.empty() && !provoked_.empty();
      came_to_nothing_ = others.empty();
      return add_problem(
          is_kept ? cited_or(provoked_) : attribution::of_request(step.command, others),
          "the request \"" + escape(codec::encode(*request_of(step.command))) + '"',
          "it was not sent" + last);
    }
    const auto token = versions_.find(step.command.token);
    if (token == versions_.end()) return;
    if (awaited.token && is_same_version(*awaited.token, token->second)) return;
    add_problem(attribution::of_token(step.command.kind), "__ft " + quoted_or_none(token->second),
                "__ft " + quoted_or_none(awaited.token));
  }

  // Where the SDK names the holders of its locks itself, `holder` reports that name.
  [[nodiscard]] std::vector<Expected> expected_of(const CommandStep& step) {
    std::vector<Expected> out = step.expected;
    if (step.command.kind != CommandKind::kHolder || broker().own_name().empty()) return out;
    for (Expected& each : out) {
      const bool is_its_own =
          std::any_of(case_.steps.begin(), case_.steps.end(), [&each](const Step& other) {
            const auto* command = std::get_if<CommandStep>(&other.what);
            return command != nullptr && command->command.kind == CommandKind::kLock &&
                   command->command.value == each.value;
          });
      if (is_its_own) each.value = broker().own_name();
    }
    return out;
  }

  void judge_report(const Underway& under_way, const Report& report) {
    const CommandStep& step = *under_way.step;
    const bool with_text = can("error-text");
    const std::vector<Expected> expected = expected_of(step);
    const bool is_right = std::any_of(expected.begin(), expected.end(), [&](const Expected& each) {
      return is_expected(report, each, options_.dialect, with_text);
    });
    // A conforming client may send the request again: then an expected reply has come.
    const bool again = under_way.ticket && broker().awaited(*under_way.ticket).again;
    const bool is_lock = step.command.kind == CommandKind::kLock;
    if (again && !is_lock && report.kind != ResultKind::kError) return;
    if (!is_right) {
      std::string wanted;
      for (const Expected& each : expected) {
        wanted += (wanted.empty() ? "" : ", or ") + describe(each, options_.dialect);
      }
      came_to_nothing_ =
          report.kind == ResultKind::kError && step.expected.front().kind != ResultKind::kError;
      return add_problem(rule_of_result(step, report), wanted, describe(report));
    }
    if (report.kind == ResultKind::kHeld && under_way.ticket) {
      const Awaited& lock = broker().awaited(*under_way.ticket);
      if (is_token_of(lock, report.version)) return;
      return add_problem(attribution::of_version(report.kind),
                         "the version with which the lock was acquired, as its token",
                         describe(report));
    }
    const bool has_version =
        step.command.kind != CommandKind::kHolder &&
        (report.kind == ResultKind::kApplied || report.kind == ResultKind::kNotApplied ||
         report.kind == ResultKind::kValue || report.kind == ResultKind::kMissing);
    if (!can("versions") || !has_version || !under_way.ticket) return;
    const auto& sent = broker().awaited(*under_way.ticket).version_sent;
    const bool is_same = is_same_version(sent, report.version);
    // What is no timestamp may be reported as none.
    const bool is_none = sent && !hlc::parse(*sent) && !report.version;
    if (is_same || is_none) return;
    add_problem(attribution::of_version(report.kind), "the version " + quoted_or_none(sent),
                "the version " + quoted_or_none(report.version));
  }

  [[nodiscard]] std::string_view rule_of_result(const CommandStep& step,
                                                const Report& report) const {
    const std::string_view own = attribution::of_reply(step, &report);
    if (report.kind == ResultKind::kError && step.expected.front().kind != ResultKind::kError) {
      return together_ != nullptr ? cited_or("ENV-CORRELATION-1") : rule_of_no_response(step);
    }
    // The value of another pending command.
    const bool is_value = report.kind == ResultKind::kValue || report.kind == ResultKind::kMissing;
    const auto is_others = [&](const CommandStep& each) {
      return &each != &step && is_expected(report, each.expected.front(), options_.dialect, false);
    };
    if (together_ != nullptr && is_value &&
        std::any_of(together_->commands.begin(), together_->commands.end(), is_others)) {
      return cited_or("ENV-CORRELATION-1");
    }
    // An error was reported, with another text: only that is wrong, regardless of what the step is
    // for.
    const bool is_text = report.kind == ResultKind::kError && step.expected.front().error;
    return is_text || together_ != nullptr ? own : cited_or(own);
  }

  // --- the end ---

  void end_connection() {
    step_ = nullptr;
    const bool had_problems = !result_.problems.empty();
    CommandStep last{.command = {.kind = CommandKind::kDisconnect, .timeout = kToDisconnect}};
    Underway under_way = begin(last);
    // Results of commands that have failed may still come.
    const auto done = [&] {
      (void)take_lines({&under_way});
      strange_.reset();
      return under_way.line.has_value();
    };
    if (test_bed_->run_until(done, after(kToDisconnect + options_.grace))) {
      test_bed_->run_until_nobody_is_connected(kToDisconnect);
      return;
    }
    if (had_problems) {
      result_.adapter_is_lost = true;
    } else if (!notice_loss()) {
      lose(provoked_.empty() ? "ENV-MQTT5-1" : provoked_,
           "no result of disconnect: the adapter hangs");
    }
  }

  // What was sent wrongly is why a step failed, where both were at the same time, or where nothing
  // came of the step any more.
  [[nodiscard]] bool is_cause(const clients::Finding& finding) const {
    if (finding.at > step_ended_ || result_.problems.empty()) return false;
    return came_to_nothing_ || finding.at >= step_began_;
  }

  void take_findings() {
    std::set<std::string_view> found;
    std::vector<ClientProblem> before;
    std::vector<ClientProblem> behind;
    const clients::Finding* cause = nullptr;
    const auto findings = test_bed_->judge().take_findings();
    for (const clients::Finding& finding : findings) {
      const bool is_forgiven = std::find(case_.forgives.begin(), case_.forgives.end(),
                                         finding.rule->id) != case_.forgives.end();
      if (is_forgiven) continue;
      if (finding.rule->level == clients::RuleLevel::kShould) {
        result_.advice.push_back(finding);
        continue;
      }
      if (cause == nullptr && is_cause(finding)) cause = &finding;
      // Only the first diagnostic of a rule counts; the cause stands with the step.
      if (!found.insert(finding.rule->id).second || cause == &finding) continue;
      (finding.at < step_began_ ? before : behind)
          .push_back({.requirement = std::string(finding.rule->id),
                      .sentence = std::string(finding.rule->text),
                      .actual = finding.because});
    }
    auto& problems = result_.problems;
    if (cause != nullptr) {
      problems.resize(1);
      problems.front().requirement = cause->rule->id;
      problems.front().sentence = cause->rule->text;
      problems.front().actual = cause->because + "; therefore " + problems.front().actual;
      std::erase_if(before, [&](const auto& each) { return each.requirement == cause->rule->id; });
    }
    problems.insert(problems.begin(), before.begin(), before.end());
    problems.insert(problems.end(), behind.begin(), behind.end());
  }

  const ClientCase& case_;
  AdapterProcess& adapter_;
  const Greeting& greeting_;
  const PlayOptions& options_;
  std::string client_id_;
  std::unique_ptr<TestBed> test_bed_{};
  PlayResult result_{};
  std::size_t index_ = 0;
  const Step* step_ = nullptr;
  std::string step_title_{};
  std::int64_t last_id_ = 0;
  std::size_t accepted_before_ = 0;
  Time step_began_{};
  Time step_ended_{};
  bool came_to_nothing_ = false;  // the step that failed: no request, no reply, no adapter
  const TogetherStep* together_ = nullptr;  // whose results are judged
  std::string provoked_{};  // the rule by which a client copes with what has happened to it last
  std::map<std::string, std::string> versions_{};  // saved names -> texts
  std::string last_notification_{};
  bool reconnected_ = false;
  std::set<std::string> observed_{};  // keys, from the commands
  std::optional<std::string> strange_{};
};

}  // namespace

PlayResult play_case(const ClientCase& test_case, AdapterProcess& adapter, const Greeting& greeting,
                     const PlayOptions& options, std::size_t number) {
  return CasePlayer(test_case, adapter, greeting, options, number).play();
}

}  // namespace fencepost::client_run
