// Faults of SET, NX and NEX.

#include <algorithm>
#include <iterator>
#include <map>

#include "codec/resp3.h"
#include "reference_store/faults/decorator.h"

namespace fencepost::store {
namespace {

using codec::Condition;

// ---- rules with another function in their place

bool nx_overwrites(Condition condition, const std::string* stored, std::string_view offered) {
  return condition == Condition::kIfAbsent || condition_holds(condition, stored, offered);
}

bool nex_behaves_as_nx(Condition condition, const std::string* stored, std::string_view offered) {
  return condition_holds(
      condition == Condition::kIfAbsentOrEqual ? Condition::kIfAbsent : condition, stored, offered);
}

bool nex_ignores_the_value(Condition condition, const std::string* stored,
                           std::string_view offered) {
  return condition == Condition::kIfAbsentOrEqual || condition_holds(condition, stored, offered);
}

bool nex_compares_a_prefix(Condition condition, const std::string* stored,
                           std::string_view offered) {
  if (condition == Condition::kIfAbsentOrEqual && stored != nullptr) {
    return offered.starts_with(*stored) || stored->starts_with(offered);
  }
  return condition_holds(condition, stored, offered);
}

// ---- between the store and the network

bool is_set(const Exchange& exchange) {
  return exchange.command && exchange.command->verb == codec::Verb::kSet &&
         exchange.response() != nullptr;
}

bool is_refused_condition(const Exchange& exchange) {
  return is_set(exchange) && exchange.replies(codec::ReplyKind::kNotApplied);
}

void failed_nx_says_ok(Exchange& exchange) {
  if (is_refused_condition(exchange)) exchange.response()->payload = "+OK\r\n";
}

void failed_nx_says_missing(Exchange& exchange) {
  if (is_refused_condition(exchange)) exchange.response()->payload = "$-1\r\n";
}

void failed_nx_moves_the_version(Exchange& exchange) {
  if (!is_refused_condition(exchange)) return;
  if (hlc::Timestamp* version = exchange.store.version(exchange.command->key)) ++version->counter;
}

void failed_nx_applies_px(Exchange& exchange) {
  if (!is_refused_condition(exchange) || !exchange.command->expires_after) return;
  exchange.store.set_deadline(exchange.command->key,
                              exchange.now.steady + *exchange.command->expires_after);
}

// Answers a SET as one whose condition does not hold.
void answer_not_applied(Exchange& exchange, const codec::Dialect& dialect) {
  exchange.response()->payload = dialect.set_not_applied;
}

// S06: remembers keys that have expired, and takes them for present until they are swept.
class NxSeesExpiredKeys final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  void before(const Caller& /*caller*/, codec::Message& request, const Instant& now) override {
    refuse_ = false;
    const auto command = codec::parse_command(request.payload, dialect());
    if (!command || command->verb != codec::Verb::kSet) return;
    const auto died = deadlines_.find(std::string(command->key));
    constexpr std::chrono::seconds kSweep{1};
    refuse_ = command->condition == Condition::kIfAbsent && died != deadlines_.end() &&
              died->second <= now.steady && now.steady < died->second + kSweep;
    if (refuse_) request.payload = codec::encode_command({"GET", command->key});
  }
  void after(Exchange& exchange) override {
    if (refuse_) {
      answer_not_applied(exchange, dialect());
      return;
    }
    if (!is_set(exchange) || !exchange.replies(codec::ReplyKind::kOk)) return;
    const std::string key(exchange.command->key);
    deadlines_.erase(key);
    if (exchange.command->expires_after) {
      deadlines_[key] = exchange.now.steady + *exchange.command->expires_after;
    }
  }

  bool refuse_ = false;
  std::map<std::string, std::chrono::microseconds> deadlines_;
};

// S10: NEX compares with the last value that the key ever had.
class NexRemembersDeletedValues final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  void before(const Caller& /*caller*/, codec::Message& request, const Instant& /*now*/) override {
    refuse_ = false;
    const auto command = codec::parse_command(request.payload, dialect());
    if (!command || command->verb != codec::Verb::kSet) return;
    const auto last = last_.find(std::string(command->key));
    refuse_ = command->condition == Condition::kIfAbsentOrEqual && last != last_.end() &&
              last->second != command->value;
    if (refuse_) request.payload = codec::encode_command({"GET", command->key});
  }
  void after(Exchange& exchange) override {
    if (refuse_) {
      answer_not_applied(exchange, dialect());
    } else if (is_set(exchange) && exchange.replies(codec::ReplyKind::kOk)) {
      last_[std::string(exchange.command->key)] = exchange.command->value;
    }
  }

  bool refuse_ = false;
  std::map<std::string, std::string> last_;
};

// S11: a renewal answers +OK and lets the old time run on.
std::optional<std::chrono::microseconds> renewal_keeps_the_old_time(
    const codec::Command& command, const hlc::Timestamp& request,
    std::optional<std::chrono::microseconds> held, const Instant& now) {
  if (command.condition == Condition::kIfAbsentOrEqual && held) return held;
  return deadline_of_set(command, request, held, now);
}

std::optional<std::chrono::microseconds> nex_without_px_keeps_it(
    const codec::Command& command, const hlc::Timestamp& request,
    std::optional<std::chrono::microseconds> held, const Instant& now) {
  if (command.condition == Condition::kIfAbsentOrEqual && !command.expires_after) return held;
  return deadline_of_set(command, request, held, now);
}

std::optional<std::chrono::microseconds> set_without_px_keeps_it(
    const codec::Command& command, const hlc::Timestamp& request,
    std::optional<std::chrono::microseconds> held, const Instant& now) {
  if (!command.expires_after) return held;
  return deadline_of_set(command, request, held, now);
}

// S14: SET of an equal value keeps the version.
class EqualValueKeepsTheVersion final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  void before(const Caller& /*caller*/, codec::Message& request, const Instant& /*now*/) override {
    kept_.reset();
    const auto command = codec::parse_command(request.payload, dialect());
    if (!command || command->verb != codec::Verb::kSet) return;
    Tamper store(service());
    const std::string* value = store.value(command->key);
    if (value != nullptr && *value == command->value) kept_ = *store.version(command->key);
  }
  void after(Exchange& exchange) override {
    if (!kept_ || !is_set(exchange) || !exchange.replies(codec::ReplyKind::kOk)) return;
    *exchange.store.version(exchange.command->key) = *kept_;
    set_property(*exchange.response(), codec::kTimestampProperty, hlc::format(*kept_));
  }

  std::optional<hlc::Timestamp> kept_;
};

// S15: PX is understood behind NX and NEX only, or the other way round.
void wants_condition_before_px(codec::Message& request) {
  std::vector<std::string> arguments = arguments_of(request);
  constexpr std::size_t kOptions = 3;  // SET key value
  if (arguments.size() > kOptions + 2 && arguments[0] == "SET" && arguments[kOptions] != "PX") {
    request.payload = codec::encode_command({"SET"});
  }
}

// S16: of NX and NEX the last counts.
void conflicting_options_accepted(codec::Message& request) {
  std::vector<std::string> arguments = arguments_of(request);
  if (arguments.size() != 5 || arguments[0] != "SET") return;
  const auto is_condition = [](const std::string& text) { return text == "NX" || text == "NEX"; };
  if (!is_condition(arguments[3]) || !is_condition(arguments[4])) return;
  arguments.erase(arguments.begin() + 3);
  set_arguments(request, arguments);
}

// A SET that is refused for its token.
bool is_refused_token(const Exchange& exchange) {
  return is_set(exchange) && (exchange.replies(codec::ErrorCode::kTokenLower) ||
                              exchange.replies(codec::ErrorCode::kTokenRequired));
}

void refused_set_changes_the_value(Exchange& exchange) {
  if (is_refused_token(exchange)) {
    *exchange.store.value(exchange.command->key) = exchange.command->value;
  }
}

void refused_set_deletes_the_key(Exchange& exchange) {
  if (is_refused_token(exchange)) exchange.store.erase(exchange.command->key);
}

// S20: NEX as the list of options prints it, `NEX <value>`, and not as the lock example has it.
void nex_needs_a_value(codec::Message& request) {
  std::vector<std::string> arguments = arguments_of(request);
  const auto nex = std::find(arguments.begin(), arguments.end(), "NEX");
  const bool has_nex = nex != arguments.end() && nex - arguments.begin() >= 3;
  if (!has_nex || arguments[0] != "SET") return;
  const auto value = std::next(nex);
  if (value == arguments.end() || *value == "PX") {
    request.payload = codec::encode_command({});  // refused
    return;
  }
  arguments.erase(value);
  set_arguments(request, arguments);
}

// S19: the reply is sent before the effect, which comes some requests later.
class RepliesBeforeTheEffect final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  // The value appears with the second request after the SET.
  void before(const Caller& /*caller*/, codec::Message& /*request*/,
              const Instant& /*now*/) override {
    if (!late_) return;
    Tamper store(service());
    if (++seen_ < 2) return;
    if (std::string* value = store.value(late_->first)) *value = late_->second;
    late_.reset();
  }
  void after(Exchange& exchange) override {
    if (late_ || !is_set(exchange) || !exchange.replies(codec::ReplyKind::kOk)) return;
    late_ = {std::string(exchange.command->key), std::string(exchange.command->value)};
    seen_ = 0;
    *exchange.store.value(exchange.command->key) = "not yet";
  }

  std::optional<std::pair<std::string, std::string>> late_;
  int seen_ = 0;
};

}  // namespace

// A table. NOLINTNEXTLINE(readability-function-size)
std::vector<Fault> set_faults() {
  return {
      {.id = "S01",
       .name = "nx-overwrites",
       .text = "SET with NX overwrites a key that exists",
       .requirements = {"SET-NX-2"},
       .make = with_rules([](Rules& rules) { rules.condition_holds = nx_overwrites; })},
      {.id = "S02",
       .name = "failed-nx-says-ok",
       .text = "SET with NX or NEX whose condition does not hold answers +OK and writes nothing",
       .requirements = {"SET-NX-2", "SET-NEX-3", "SET-NOT-APPLIED-1"},
       .make = with_exchange(failed_nx_says_ok)},
      {.id = "S03",
       .name = "failed-nx-says-missing",
       .text = "SET with NX on a key that exists answers $-1",
       .requirements = {"SET-NOT-APPLIED-1"},
       .make = with_exchange(failed_nx_says_missing)},
      {.id = "S04",
       .name = "failed-nx-moves-the-version",
       .text = "SET with NX on a key that exists gives the key a new version",
       .requirements = {"SET-NOT-APPLIED-2"},
       .make = with_exchange(failed_nx_moves_the_version)},
      {.id = "S05",
       .name = "failed-nx-applies-px",
       .text = "SET with NX and PX on a key that exists gives the key the new expiry",
       .requirements = {"SET-NOT-APPLIED-2"},
       .make = with_exchange(failed_nx_applies_px)},
      {.id = "S06",
       .name = "nx-sees-expired-keys",
       .text = "SET with NX is refused for an expired key until it is removed, a second later",
       .requirements = {"SET-NX-3", "SET-PX-4"},
       .make = with_decorator<NxSeesExpiredKeys>()},
      {.id = "S07",
       .name = "nex-behaves-as-nx",
       .text = "SET with NEX refuses a key that exists, with any value",
       .requirements = {"SET-NEX-2", "LOCK-RENEW-1"},
       .make = with_rules([](Rules& rules) { rules.condition_holds = nex_behaves_as_nx; })},
      {.id = "S08",
       .name = "nex-ignores-the-value",
       .text = "SET with NEX overwrites any value",
       .requirements = {"SET-NEX-3", "LOCK-ACQUIRE-2"},
       .make = with_rules([](Rules& rules) { rules.condition_holds = nex_ignores_the_value; })},
      {.id = "S09",
       .name = "nex-compares-a-prefix",
       .text = "SET with NEX treats a value as equal if it begins like the stored one",
       .requirements = {"SET-NEX-3"},
       .make = with_rules([](Rules& rules) { rules.condition_holds = nex_compares_a_prefix; })},
      {.id = "S10",
       .name = "nex-remembers-deleted-values",
       .text = "SET with NEX compares with the last value also after the key was deleted",
       .requirements = {"SET-NEX-1"},
       .make = with_decorator<NexRemembersDeletedValues>()},
      {.id = "S11",
       .name = "renewal-keeps-the-old-time",
       .text = "SET with NEX and PX of an equal value does not restart the expiry",
       .requirements = {"SET-NEX-5", "LOCK-RENEW-1", "SET-PX-5"},
       .make =
           with_rules([](Rules& rules) { rules.deadline_of_set = renewal_keeps_the_old_time; })},
      {.id = "S14",
       .name = "equal-value-keeps-the-version",
       .text = "SET of the value that the key has returns the old version",
       .requirements = {"VER-UPDATE-3"},
       .make = with_decorator<EqualValueKeepsTheVersion>()},
      {.id = "S15",
       .name = "px-only-before-the-condition",
       .text = "SET accepts PX only before NX or NEX, not after it as in the lock example",
       .requirements = {"SET-GRAMMAR-1", "LOCK-ACQUIRE-1"},
       .make = with_request(wants_condition_before_px)},
      {.id = "S17",
       .name = "refused-set-changes-the-value",
       .text = "a SET that is refused for its token has already changed the value",
       .requirements = {"FT-REJECT-1"},
       .make = with_exchange(refused_set_changes_the_value)},
      {.id = "S18",
       .name = "refused-set-deletes-the-key",
       .text = "a SET that is refused for its token deletes the key",
       .requirements = {"FT-REJECT-1"},
       .make = with_exchange(refused_set_deletes_the_key)},
      {.id = "S19",
       .name = "replies-before-the-effect",
       .text = "SET answers +OK before its value can be read",
       .requirements = {"SET-WRITE-1", "GET-HIT-3"},
       .make = with_decorator<RepliesBeforeTheEffect>()},
      {.id = "S20",
       .name = "nex-needs-a-value",
       .text = "NEX is an option only if a value follows it",
       .requirements = {"SET-NEX-4", "SET-NEX-1", "LOCK-ACQUIRE-1"},
       .make = with_request(nex_needs_a_value)},
      // What the article leaves open: a store may do this, and a report says that it does.
      {.id = "S12",
       .name = "nex-without-px-keeps-the-expiry",
       .text = "SET with NEX and without PX of an equal value keeps the old expiry",
       .kind = FaultKind::kBenign,
       .make = with_rules([](Rules& rules) { rules.deadline_of_set = nex_without_px_keeps_it; })},
      {.id = "S13",
       .name = "set-without-px-keeps-the-expiry",
       .text = "SET without PX keeps the expiry of the old value",
       .kind = FaultKind::kBenign,
       .make = with_rules([](Rules& rules) { rules.deadline_of_set = set_without_px_keeps_it; })},
      {.id = "S16",
       .name = "conflicting-options-accepted",
       .text = "SET with NX and NEX uses the later of the two",
       .kind = FaultKind::kBenign,
       .make = with_request(conflicting_options_accepted)},
  };
}

}  // namespace fencepost::store
