// Faults of SET, NX and NEX.

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

// ---- between the store and the wire

bool is_refused_condition(const Exchange& exchange) {
  const codec::Message* response = exchange.response();
  if (response == nullptr || !exchange.command || exchange.command->verb != codec::Verb::kSet) {
    return false;
  }
  const auto reply = codec::decode_reply(response->payload);
  return reply && reply->kind == codec::ReplyKind::kNotApplied;
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

}  // namespace

std::vector<Fault> set_faults() {
  return {
      {.id = "S01",
       .name = "nx-overwrites",
       .text = "SET with NX overwrites a key that exists",
       .requirements = {"SET-NX-2"},
       .make = with_rules([](Rules& rules) { rules.condition_holds = nx_overwrites; })},
      {.id = "S02",
       .name = "failed-nx-says-ok",
       .text = "SET with NX on a key that exists answers +OK, and writes nothing",
       .requirements = {"SET-NX-2", "SET-NOT-APPLIED-1"},
       .make = with_exchange(failed_nx_says_ok)},
      {.id = "S03",
       .name = "failed-nx-says-missing",
       .text = "SET with NX on a key that exists answers $-1",
       .requirements = {"SET-NOT-APPLIED-1"},
       .make = with_exchange(failed_nx_says_missing)},
      {.id = "S04",
       .name = "failed-nx-moves-the-version",
       .text = "SET with NX on a key that exists gives the key a new version",
       .requirements = {"SET-NX-2"},
       .make = with_exchange(failed_nx_moves_the_version)},
      {.id = "S05",
       .name = "failed-nx-applies-px",
       .text = "SET with NX and PX on a key that exists gives the key that expiry",
       .requirements = {"SET-NX-2"},
       .make = with_exchange(failed_nx_applies_px)},
      {.id = "S07",
       .name = "nex-behaves-as-nx",
       .text = "SET with NEX refuses a key that exists, whatever its value",
       .requirements = {"SET-NEX-1"},
       .make = with_rules([](Rules& rules) { rules.condition_holds = nex_behaves_as_nx; })},
      {.id = "S08",
       .name = "nex-ignores-the-value",
       .text = "SET with NEX overwrites any value",
       .requirements = {"SET-NEX-2"},
       .make = with_rules([](Rules& rules) { rules.condition_holds = nex_ignores_the_value; })},
      {.id = "S09",
       .name = "nex-compares-a-prefix",
       .text = "SET with NEX takes a value for equal that begins like the stored one",
       .requirements = {"SET-NEX-2"},
       .make = with_rules([](Rules& rules) { rules.condition_holds = nex_compares_a_prefix; })},
  };
}

}  // namespace fencepost::store
