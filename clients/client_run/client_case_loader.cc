#include "clients/client_run/client_case_loader.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/utf8.h"
#include "clients/client_run/attribution.h"
#include "clients/client_run/step_words.h"
#include "suite/scenario/axes.h"
#include "suite/scenario/yaml_reader.h"

namespace fencepost::client_run {
namespace {

using scenario::YamlNode;
using scenario::YamlReader;
using namespace std::string_view_literals;

constexpr std::array kFileFields = {"certifies"sv, "area"sv, "cases"sv};
constexpr std::array kCaseFields = {"id"sv,    "title"sv,  "requirements"sv, "requires"sv,
                                    "steps"sv, "note"sv,   "axes"sv,         "parts"sv,
                                    "only"sv,  "except"sv, "cover"sv,        "forgives"sv};
constexpr std::array kStepFields = {
    "connect"sv, "disconnect"sv, "set"sv,   "get"sv,    "del"sv,          "vdel"sv,
    "observe"sv, "unobserve"sv,  "lock"sv,  "unlock"sv, "holder"sv,       "together"sv,
    "broker"sv,  "clock"sv,      "other"sv, "notify"sv, "notification"sv, "stray"sv,
    "cut"sv,     "reconnect"sv,  "wait"sv,  "answer"sv, "expect"sv,       "cites"sv,
    "note"sv,    "order"sv};
constexpr std::array kBesideActions = {"answer"sv, "expect"sv, "cites"sv, "note"sv, "order"sv};
constexpr std::array kCommandFields = {"key"sv,   "value"sv,   "condition"sv, "px"sv,
                                       "token"sv, "timeout"sv, "save"sv,      "refused_unsent"sv,
                                       "lease"sv, "renew"sv,   "wait"sv,      "holder"sv};
constexpr std::array kNotificationFields = {"key"sv, "operation"sv, "value"sv};
constexpr std::array kBrokerFields = {"receive_maximum"sv, "maximum_packet_size"sv, "keep_alive"sv,
                                      "forgets_session"sv, "refuses"sv};
constexpr std::array kCutFields = {"reason"sv};
constexpr std::array kClockFields = {"ahead"sv, "behind"sv};
constexpr std::array kOtherFields = {"set"sv, "del"sv, "value"sv, "after"sv};
constexpr std::array kNotifyFields = {"key"sv,     "operation"sv, "value"sv,
                                      "payload"sv, "version"sv,   "times"sv};
constexpr std::array kReconnectFields = {"observed"sv};
constexpr std::array kUnmatchedFields = {"payload"sv, "correlation"sv};
constexpr std::array kCommands = {
    CommandKind::kConnect, CommandKind::kDisconnect, CommandKind::kSet,     CommandKind::kGet,
    CommandKind::kDel,     CommandKind::kVdel,       CommandKind::kObserve, CommandKind::kUnobserve,
    CommandKind::kLock,    CommandKind::kUnlock,     CommandKind::kHolder};

template <std::size_t kSize>
bool is_one_of(const std::array<std::string_view, kSize>& names, std::string_view word) {
  return std::find(names.begin(), names.end(), word) != names.end();
}

std::optional<CommandKind> command_named(std::string_view word) {
  const auto* const found = std::find_if(kCommands.begin(), kCommands.end(),
                                         [word](CommandKind kind) { return name(kind) == word; });
  if (found == kCommands.end()) return std::nullopt;
  return *found;
}

class ClientStepLoader {
 public:
  ClientStepLoader(YamlReader& reader, ClientCase& test_case) : reader_(reader), case_(test_case) {}

  void load(YamlNode steps) {
    if (!steps.is_list() || steps.size() == 0) {
      reader_.diagnose(steps, "steps must be a list of at least one step");
      return;
    }
    for (const YamlNode node : steps.items()) {
      if (auto step = load_step(node)) case_.steps.push_back(std::move(*step));
    }
  }

 private:
  std::optional<std::string> action_of(YamlNode node) {
    std::optional<std::string> out;
    for (const auto& entry : node.entries()) {
      const std::string& word = entry.key.scalar();
      if (is_one_of(kBesideActions, word)) continue;
      if (out) {
        reader_.diagnose(entry.key, "a step has one action, but this one has both \"" + *out +
                                        "\" and \"" + word + "\"; make two steps");
        return std::nullopt;
      }
      out = word;
    }
    if (!out) reader_.diagnose(node, "this step does nothing; give it an action such as set");
    return out;
  }

  std::optional<Step> load_step(YamlNode node) {
    if (!reader_.check_map(node, "step", kStepFields)) return std::nullopt;
    const auto action = action_of(node);
    if (!action) return std::nullopt;
    const std::size_t before = reader_.diagnostics();
    Step out{.position = reader_.position(node), .title = *action};
    if (const auto cites = node.member("cites"); cites.is_defined()) {
      out.cites = load_citation(cites);
    }
    const YamlNode body = node.member(*action);
    if (const auto command = command_named(*action)) {
      out.what = load_command(*command, node, body);
    } else {
      for (const std::string_view beside : {"answer"sv, "expect"sv}) {
        if (const auto found = node.member(beside); found.is_defined()) {
          reader_.diagnose(found, "only commands have this; \"" + *action + "\" is not a command");
        }
      }
      load_other_action(*action, node, body, out);
    }
    if (reader_.diagnostics() > before) return std::nullopt;
    if (!attribution::is_attributed(out)) {
      reader_.diagnose(node, "no rule follows from a failure of this step: add cites");
    }
    return out;
  }

  std::string load_citation(YamlNode node) {
    std::string id = reader_.text(node, "cites").value_or("");
    const auto& known = case_.requirements;
    if (std::find(known.begin(), known.end(), id) == known.end()) {
      reader_.diagnose(node, "cites must be one of the case's requirements, not \"" + id + '"');
    }
    return id;
  }

  CommandStep load_command(CommandKind kind, YamlNode step, YamlNode body) {
    CommandStep out{.command = {.kind = kind}};
    constexpr std::array kOfKeyAlone = {CommandKind::kGet, CommandKind::kDel, CommandKind::kObserve,
                                        CommandKind::kUnobserve, CommandKind::kHolder};
    const bool of_key_alone =
        std::find(kOfKeyAlone.begin(), kOfKeyAlone.end(), kind) != kOfKeyAlone.end();
    if (of_key_alone && !body.is_map()) {
      out.command.key = read_bytes(reader_, body, "key").value_or("");
    } else if (reader_.check_map(body, step_name(kind), kCommandFields)) {
      load_command_fields(body, out);
    }
    if (const auto answer = step.member("answer"); answer.is_defined()) {
      if (!request_of(out.command)) reader_.diagnose(answer, "only a request has an answer");
      out.answer = read_answer(reader_, answer);
    }
    out.expected = read_expected(reader_, step, kind);
    return out;
  }

  static std::string_view step_name(CommandKind kind) { return name(kind); }

  void load_command_fields(YamlNode body, CommandStep& out) {
    Command& command = out.command;
    const auto given = [&body](std::string_view name) { return body.member(name).is_defined(); };
    const bool is_set = command.kind == CommandKind::kSet;
    if (request_of(command) && !given("key")) reader_.diagnose(body, "key is missing");
    if (given("key")) command.key = read_bytes(reader_, body.member("key"), "key").value_or("");
    const bool with_value = is_set || command.kind == CommandKind::kVdel;
    if (with_value != given("value")) {
      reader_.diagnose(body, with_value ? "value is missing" : "only set and vdel have a value");
    }
    if (given("value")) {
      command.value = read_bytes(reader_, body.member("value"), "value").value_or("");
    }
    load_lock_fields(body, command);
    if (!is_set && (given("condition") || given("px"))) {
      reader_.diagnose(body, "only set has a condition or px");
    }
    if (given("condition")) load_condition(body.member("condition"), command);
    if (given("px")) {
      constexpr std::int64_t kMax = 1'000'000'000'000;
      const auto time = reader_.integer(body.member("px"), "px", 0, kMax);
      if (time) command.expires_after = Milliseconds(*time);
    }
    if (given("token")) load_token(body.member("token"), command);
    if (given("timeout")) command.timeout = reader_.duration(body.member("timeout"), "timeout");
    if (given("save")) {
      out.saves = reader_.text(body.member("save"), "save").value_or("");
      saved_.insert(out.saves);
    }
    if (given("refused_unsent")) {
      out.may_be_refused_unsent =
          reader_.boolean(body.member("refused_unsent"), "refused_unsent").value_or(false);
    }
  }

  void load_lock_fields(YamlNode body, Command& command) {
    const auto given = [&body](std::string_view name) { return body.member(name).is_defined(); };
    const bool is_lock = command.kind == CommandKind::kLock;
    const bool with_holder = is_lock || command.kind == CommandKind::kUnlock;
    if (with_holder != given("holder")) {
      reader_.diagnose(body, with_holder ? "holder is missing" : "only locks have a holder");
    }
    if (is_lock != given("lease")) {
      reader_.diagnose(body, is_lock ? "lease is missing" : "only lock has a lease");
    }
    if (!is_lock && (given("renew") || given("wait"))) {
      reader_.diagnose(body, "only lock has renew or wait");
    }
    if (given("holder")) {
      command.value = read_bytes(reader_, body.member("holder"), "holder").value_or("");
    }
    if (given("lease")) command.expires_after = reader_.duration(body.member("lease"), "lease");
    if (given("renew")) command.renewed_each = reader_.duration(body.member("renew"), "renew");
    if (given("wait")) {
      command.waits = reader_.boolean(body.member("wait"), "wait").value_or(false);
    }
  }

  void load_condition(YamlNode node, Command& command) {
    const auto word = reader_.text(node, "condition");
    if (!word) return;
    if (*word == "NX") {
      command.condition = codec::Condition::kIfAbsent;
    } else if (*word == "NEX") {
      command.condition = codec::Condition::kIfAbsentOrEqual;
    } else {
      reader_.diagnose(node, "condition must be NX or NEX, not \"" + *word + '"');
    }
  }

  void load_token(YamlNode node, Command& command) {
    command.token = reader_.text(node, "token").value_or("");
    if (saved_.contains(command.token)) return;
    reader_.diagnose(node, "no earlier step saves a version as \"" + command.token + '"');
  }

  void load_other_action(const std::string& action, YamlNode step, YamlNode body, Step& out) {
    if (action == "together") return load_together(step, body, out);
    if (action == "notification") return load_notification(body, out);
    if (action == "broker") return load_broker(body, out);
    if (action == "clock") return load_clock(body, out);
    if (action == "other") return load_other(body, out);
    if (action == "notify") return load_notify(body, out);
    if (action == "stray") return load_unmatched(body, out);
    if (action == "wait") {
      out.what = PauseStep{reader_.duration(body, "wait").value_or(Milliseconds{})};
      return;
    }
    if (action == "reconnect") return load_reconnect(body, out);
    CutStep cut;
    if (!reader_.check_map(body, "cut", kCutFields)) return;
    if (const auto reason = body.member("reason"); reason.is_defined()) {
      cut.reason = load_refusal(reason, "reason");
    }
    out.what = cut;
  }

  void load_together(YamlNode step, YamlNode body, Step& out) {
    TogetherStep all;
    for (const YamlNode item : body.items()) {
      auto loaded = load_step(item);
      if (!loaded) return;
      auto* command = std::get_if<CommandStep>(&loaded->what);
      if (command == nullptr || !request_of(command->command)) {
        reader_.diagnose(item, "together must have only requests");
        return;
      }
      all.commands.push_back(std::move(*command));
    }
    if (all.commands.size() < 2) reader_.diagnose(body, "together must have at least two requests");
    if (const auto order = step.member("order"); order.is_defined()) {
      const auto word = reader_.text(order, "order");
      all.reversed = word == "reversed";
      if (word && *word != "reversed" && *word != "sent") {
        reader_.diagnose(order, "order must be sent or reversed, not \"" + *word + '"');
      }
    }
    out.what = std::move(all);
  }

  std::optional<codec::Operation> load_operation(YamlNode node) {
    const auto word = reader_.text(node, "operation");
    if (!word) return std::nullopt;
    if (*word == "set") return codec::Operation::kSet;
    if (*word == "delete") return codec::Operation::kDelete;
    reader_.diagnose(node, "operation must be set or delete, not \"" + *word + '"');
    return std::nullopt;
  }

  void load_notification(YamlNode body, Step& out) {
    if (!reader_.check_map(body, "notification", kNotificationFields, {"key", "operation"})) return;
    NotificationStep step;
    step.key = read_bytes(reader_, body.member("key"), "key").value_or("");
    const auto operation = load_operation(body.member("operation"));
    if (operation) step.operation = *operation;
    if (const auto value = body.member("value"); value.is_defined()) {
      step.value = read_bytes(reader_, value, "value").value_or("");
    }
    out.what = std::move(step);
  }

  void load_broker(YamlNode body, Step& out) {
    if (!reader_.check_map(body, "broker", kBrokerFields)) return;
    BrokerStep step;
    constexpr std::int64_t kMax16 = 65'535;
    constexpr std::int64_t kMaxBytes = 16 << 20;
    if (const auto most = body.member("receive_maximum"); most.is_defined()) {
      const auto number = reader_.integer(most, "receive_maximum", 1, kMax16);
      if (number) step.receive_maximum = static_cast<std::uint16_t>(*number);
    }
    if (const auto most = body.member("maximum_packet_size"); most.is_defined()) {
      const auto number = reader_.integer(most, "maximum_packet_size", 1, kMaxBytes);
      if (number) step.largest_packet = static_cast<std::uint32_t>(*number);
    }
    if (const auto time = body.member("keep_alive"); time.is_defined()) {
      const auto number = reader_.integer(time, "keep_alive", 1, kMax16);
      if (number) step.keep_alive_s = static_cast<std::uint16_t>(*number);
    }
    if (const auto forgets = body.member("forgets_session"); forgets.is_defined()) {
      step.forgets_session = reader_.boolean(forgets, "forgets_session").value_or(false);
    }
    if (const auto reason = body.member("refuses"); reason.is_defined()) {
      step.refuses = load_refusal(reason, "refuses");
    }
    out.what = step;
  }

  std::optional<std::uint8_t> load_refusal(YamlNode node, std::string_view what) {
    constexpr std::int64_t kFirst = 0x80;
    constexpr std::int64_t kLast = 0xff;
    const auto number = reader_.integer(node, what, kFirst, kLast);
    if (!number) return std::nullopt;
    return static_cast<std::uint8_t>(*number);
  }

  void load_clock(YamlNode body, Step& out) {
    if (!reader_.check_map(body, "clock", kClockFields)) return;
    const bool ahead = body.member("ahead").is_defined();
    if (body.size() != 1) return reader_.diagnose(body, "clock takes either ahead or behind");
    const auto time = reader_.duration(body.member(ahead ? "ahead" : "behind"), "clock");
    if (time) out.what = ClockStep{ahead ? *time : -*time};
  }

  void load_other(YamlNode body, Step& out) {
    if (!reader_.check_map(body, "other", kOtherFields)) return;
    OtherStep step;
    const bool is_set = body.member("set").is_defined();
    if (is_set == body.member("del").is_defined() || is_set != body.member("value").is_defined()) {
      return reader_.diagnose(body, "other takes {set: key, value: bytes} or {del: key}");
    }
    step.verb = is_set ? codec::Verb::kSet : codec::Verb::kDel;
    step.key = read_bytes(reader_, body.member(is_set ? "set" : "del"), "key").value_or("");
    if (is_set) step.value = read_bytes(reader_, body.member("value"), "value").value_or("");
    if (const auto after = body.member("after"); after.is_defined()) {
      step.after = reader_.duration(after, "after").value_or(Milliseconds{});
    }
    out.what = std::move(step);
  }

  void load_notify(YamlNode body, Step& out) {
    if (!reader_.check_map(body, "notify", kNotifyFields, {"key"})) return;
    NotifyStep step;
    step.key = read_bytes(reader_, body.member("key"), "key").value_or("");
    const auto payload = body.member("payload");
    if (payload.is_defined() == body.member("operation").is_defined()) {
      return reader_.diagnose(body, "notify takes either an operation or a payload");
    }
    if (payload.is_defined()) {
      step.payload = read_bytes(reader_, payload, "payload").value_or("");
    } else {
      step.operation = load_operation(body.member("operation"));
    }
    if (const auto value = body.member("value"); value.is_defined()) {
      step.value = read_bytes(reader_, value, "value").value_or("");
    }
    if (const auto version = body.member("version"); version.is_defined()) {
      step.version = reader_.text(version, "version");
      if (step.version == "none") step.version = "";
    }
    if (const auto times = body.member("times"); times.is_defined()) {
      constexpr std::int64_t kMaxTimes = 100;
      step.times = static_cast<int>(reader_.integer(times, "times", 1, kMaxTimes).value_or(1));
    }
    out.what = std::move(step);
  }

  void load_reconnect(YamlNode body, Step& out) {
    if (!reader_.check_map(body, "reconnect", kReconnectFields)) return;
    ReconnectStep step;
    if (const auto key = body.member("observed"); key.is_defined()) {
      step.observed = read_bytes(reader_, key, "observed").value_or("");
    }
    out.what = std::move(step);
  }

  void load_unmatched(YamlNode body, Step& out) {
    if (!reader_.check_map(body, "stray", kUnmatchedFields, {"payload", "correlation"})) return;
    out.what =
        UnmatchedStep{read_bytes(reader_, body.member("payload"), "payload").value_or(""),
                      read_bytes(reader_, body.member("correlation"), "correlation").value_or("")};
  }

  YamlReader& reader_;
  ClientCase& case_;
  std::set<std::string> saved_{};
};

void add_needs_of_bytes(const std::string& bytes, std::set<std::string>& out) {
  if (!is_utf8(bytes)) out.emplace("binary");
}

bool is_of_locks(CommandKind kind) {
  return kind == CommandKind::kLock || kind == CommandKind::kUnlock || kind == CommandKind::kHolder;
}

// What a command takes, beside a connection.
void add_needs(const CommandStep& step, std::set<std::string>& out) {
  const Command& command = step.command;
  add_needs_of_bytes(command.key, out);
  add_needs_of_bytes(command.value, out);
  if (is_of_locks(command.kind)) {
    out.emplace("locks");
    if (command.waits) out.emplace("lock-waits");
    if (command.renewed_each) out.emplace("lock-renewal");
    return;
  }
  if (request_of(command)) {
    out.emplace(command.kind == CommandKind::kUnobserve ? "observe" : name(command.kind));
  }
  if (command.condition != codec::Condition::kAlways) out.emplace("conditions");
  if (command.expires_after) out.emplace("expiry");
  if (!command.token.empty()) out.emplace("tokens");
  if (!step.saves.empty()) out.emplace("versions");
}

std::set<std::string> needs_of(const Step& step) {
  std::set<std::string> out;
  if (const auto* command = std::get_if<CommandStep>(&step.what)) add_needs(*command, out);
  if (const auto* together = std::get_if<TogetherStep>(&step.what)) {
    out.emplace("concurrent");
    for (const CommandStep& each : together->commands) add_needs(each, out);
  }
  if (const auto* other = std::get_if<OtherStep>(&step.what)) {
    add_needs_of_bytes(other->value, out);
  }
  const auto* reconnect = std::get_if<ReconnectStep>(&step.what);
  if (reconnect != nullptr && !reconnect->observed.empty()) out.emplace("reconnects");
  return out;
}

// Would it fail an adapter that reports success for everything and sends nothing?
bool asks_for_a_request(const ClientCase& test_case) {
  return std::any_of(test_case.steps.begin(), test_case.steps.end(), [](const Step& step) {
    if (std::holds_alternative<TogetherStep>(step.what)) return true;
    const auto* command = std::get_if<CommandStep>(&step.what);
    return command != nullptr && request_of(command->command) && !command->may_be_refused_unsent;
  });
}

class ClientFileLoader {
 public:
  ClientFileLoader(const std::set<std::string>& requirements,
                   std::vector<scenario::LoadError>& errors)
      : requirements_(requirements), errors_(errors) {}

  void load(const scenario::SourceFile& file) {
    YamlReader reader(file.name, errors_);
    const auto root = reader.parse(file);
    if (!root || !root->member("certifies").is_defined()) return;
    if (!reader.check_map(*root, "the file", kFileFields, {"certifies", "area", "cases"})) return;
    if (root->member("certifies").scalar() != "clients") {
      reader.diagnose(root->member("certifies"), "certifies must be clients");
    }
    area_ = reader.text(root->member("area"), "area").value_or("");
    const YamlNode cases = root->member("cases");
    if (!cases.is_list() || cases.size() == 0) {
      reader.diagnose(cases, "cases must be a list of at least one case");
    }
    for (const YamlNode node : cases.items()) {
      for (const scenario::FamilyMember& member : scenario::members_of(reader, node)) {
        load_case(reader, member);
      }
    }
  }

  std::vector<ClientCase> take() { return std::move(cases_); }

 private:
  void load_case(YamlReader& reader, const scenario::FamilyMember& member) {
    const YamlNode node = member.node;
    const std::size_t before = reader.diagnostics();
    if (!reader.check_map(node, "case", kCaseFields, {"id", "title", "requirements", "steps"}))
      return;
    ClientCase out{.area = area_, .position = reader.position(node)};
    out.id = reader.text(node.member("id"), "id").value_or("");
    out.title = reader.text(node.member("title"), "title").value_or("");
    // A member of a cover has only its number.
    const std::string words = scenario::describe(member.bindings);
    if (out.title.find(words) == std::string::npos) out.title += ": " + words;
    reader.for_each_text(node.member("requirements"), "requirements",
                         [&](const std::string& id, YamlNode item) {
                           out.requirements.push_back(id);
                           diagnose_unknown(reader, id, item);
                         });
    if (out.requirements.empty())
      reader.diagnose(node, "a case must have at least one requirement");
    if (const auto needs = node.member("requires"); needs.is_defined()) {
      reader.for_each_text(needs, "requires", [&](const std::string& word, YamlNode item) {
        add_need(out, word);
        const auto& known = known_capabilities();
        if (std::find(known.begin(), known.end(), word) != known.end()) return;
        reader.diagnose(item, "unknown capability of adapters: \"" + word + '"');
      });
    }
    if (const auto forgiven = node.member("forgives"); forgiven.is_defined()) {
      reader.for_each_text(forgiven, "forgives", [&](const std::string& id, YamlNode item) {
        out.forgives.push_back(id);
        diagnose_unknown(reader, id, item);
      });
    }
    ClientStepLoader(reader, out).load(node.member("steps"));
    for (const Step& step : out.steps) {
      for (const std::string& each : needs_of(step)) add_need(out, each);
    }
    if (reader.diagnostics() == before && !asks_for_a_request(out)) {
      reader.diagnose(node, "an adapter that does nothing would pass this case: add a request");
    }
    check_id(reader, node, out);
    if (reader.diagnostics() == before) cases_.push_back(std::move(out));
  }

  static void add_need(ClientCase& out, const std::string& word) {
    const bool is_there = std::find(out.needs.begin(), out.needs.end(), word) != out.needs.end();
    if (!is_there) out.needs.push_back(word);
  }

  void check_id(YamlReader& reader, YamlNode node, const ClientCase& loaded) {
    constexpr std::size_t kMaxOfId = 80;
    const bool legal =
        !loaded.id.empty() && loaded.id.size() <= kMaxOfId &&
        loaded.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") == std::string::npos;
    if (!legal) {
      reader.diagnose(node.member("id"), "id \"" + loaded.id +
                                             "\" must be at most 80 lower-case letters, digits, "
                                             "dots and dashes");
    }
    const auto [entry, is_new] = seen_.emplace(loaded.id, loaded.position);
    if (is_new) return;
    reader.diagnose(node.member("id"), "the case id " + loaded.id + " is already used at " +
                                           entry->second.file + ":" +
                                           std::to_string(entry->second.line));
  }

  void diagnose_unknown(YamlReader& reader, const std::string& id, YamlNode item) {
    if (requirements_.contains(id)) return;
    const std::vector<std::string_view> names(requirements_.begin(), requirements_.end());
    const std::string guess = scenario::nearest(id, names);
    reader.diagnose(item, "there is no requirement \"" + id + "\"" +
                              (guess.empty() ? "; see fencepost list requirements"
                                             : "; did you mean \"" + guess + "\"?"));
  }

  const std::set<std::string>& requirements_;
  std::vector<scenario::LoadError>& errors_;
  std::string area_{};
  std::vector<ClientCase> cases_{};
  std::map<std::string, scenario::Position> seen_{};
};

}  // namespace

const std::vector<std::string_view>& known_capabilities() {
  static const std::vector<std::string_view> known = {
      "set",        "get",    "del",        "vdel",         "observe",    "expiry",
      "conditions", "tokens", "versions",   "concurrent",   "reconnects", "error-text",
      "binary",     "locks",  "lock-waits", "lock-renewal", "lock-holder"};
  return known;
}

std::vector<ClientCase> load_client_cases(const std::vector<scenario::SourceFile>& files,
                                          const std::set<std::string>& requirements,
                                          std::vector<scenario::LoadError>& errors) {
  ClientFileLoader loader(requirements, errors);
  const std::size_t before = errors.size();
  for (const scenario::SourceFile& file : files) loader.load(file);
  // The members of a family have mistakes in common.
  std::set<std::string> said;
  const auto is_said = [&said](const scenario::LoadError& error) {
    return !said.insert(scenario::describe(error)).second;
  };
  const auto first = errors.begin() + static_cast<std::ptrdiff_t>(before);
  errors.erase(std::remove_if(first, errors.end(), is_said), errors.end());
  return loader.take();
}

}  // namespace fencepost::client_run
