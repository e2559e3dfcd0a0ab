// Faults of DEL and VDEL.

#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "reference_store/faults/decorator.h"

namespace fencepost::store {
namespace {

using codec::Verb;

bool any_value_matches(std::string_view /*stored*/, std::string_view /*offered*/) { return true; }

bool has_verb(const Exchange& exchange, Verb verb) {
  return exchange.command && exchange.command->verb == verb && exchange.response() != nullptr;
}

void vdel_mismatch_says_zero(Exchange& exchange) {
  if (has_verb(exchange, Verb::kVdel) && exchange.replies(codec::ReplyKind::kNotApplied)) {
    exchange.response()->payload = ":0\r\n";
  }
}

void vdel_of_missing_key_is_a_mismatch(Exchange& exchange) {
  if (has_verb(exchange, Verb::kVdel) && exchange.response()->payload == ":0\r\n") {
    exchange.response()->payload = exchange.dialect.vdel_mismatch;
  }
}

void vdel_mismatch_deletes(Exchange& exchange) {
  if (has_verb(exchange, Verb::kVdel) && exchange.replies(codec::ReplyKind::kNotApplied)) {
    exchange.store.erase(exchange.command->key);
  }
}

void del_of_missing_key_says_one(Exchange& exchange) {
  if (has_verb(exchange, Verb::kDel) && exchange.response()->payload == ":0\r\n") {
    exchange.response()->payload = ":1\r\n";
  }
}

// D06: a deleted key reads as an empty value.
class TombstonesAreReadable {
 public:
  void operator()(Exchange& exchange) {
    if (!exchange.command || exchange.response() == nullptr) return;
    const std::string key(exchange.command->key);
    codec::Message& response = *exchange.response();
    const bool removal =
        exchange.command->verb == Verb::kDel || exchange.command->verb == Verb::kVdel;
    if (removal && response.payload == ":1\r\n") deleted_.insert(key);
    if (exchange.command->verb == Verb::kSet) deleted_.erase(key);
    if (exchange.command->verb == Verb::kGet && deleted_.contains(key)) {
      response.payload = "$0\r\n\r\n";
    }
  }

 private:
  std::set<std::string> deleted_;
};

void del_takes_a_prefix(Exchange& exchange) {
  if (!has_verb(exchange, Verb::kDel) || exchange.response()->payload != ":1\r\n") return;
  for (const std::string& key : exchange.store.keys()) {
    if (key.starts_with(exchange.command->key)) exchange.store.erase(key);
  }
}

void del_drops_the_registrations(Exchange& exchange) {
  const bool removed = (has_verb(exchange, Verb::kDel) || has_verb(exchange, Verb::kVdel)) &&
                       exchange.response()->payload == ":1\r\n";
  if (removed) exchange.store.observers(exchange.command->key).clear();
}

// D12: that a key does not exist is an error.
void missing_key_is_an_error(Exchange& exchange) {
  if (exchange.response() == nullptr) return;
  const bool read = has_verb(exchange, Verb::kGet) && exchange.replies(codec::ReplyKind::kMissing);
  const bool removed = (has_verb(exchange, Verb::kDel) || has_verb(exchange, Verb::kVdel)) &&
                       exchange.response()->payload == ":0\r\n";
  if (read || removed) exchange.response()->payload = "-ERR no such key\r\n";
}

// D13: a VDEL is taken for a DEL that has too many arguments.
void vdel_takes_no_value(codec::Message& request) {
  std::vector<std::string> arguments = arguments_of(request);
  if (arguments.size() != 3 || arguments[0] != "VDEL") return;
  arguments.pop_back();
  set_arguments(request, arguments);
}

// D11: a DEL that is answered with :1 leaves the key. What is refused, is.
class DelDoesNotDelete final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  struct Entry {
    std::string value;
    hlc::Timestamp version;
    std::optional<hlc::Timestamp> token;
    std::optional<std::chrono::microseconds> deadline;
  };

  void before(const Caller& /*caller*/, codec::Message& request, const Instant& /*now*/) override {
    kept_.reset();
    const auto command = codec::parse_command(request.payload, dialect());
    if (!command || command->verb != Verb::kDel) return;
    Tamper store(service());
    if (store.value(command->key) == nullptr) return;
    kept_ = Entry{.value = *store.value(command->key),
                  .version = *store.version(command->key),
                  .token = *store.token(command->key),
                  .deadline = store.deadline(command->key)};
  }
  void after(Exchange& exchange) override {
    const codec::Message* response = exchange.response();
    if (!kept_ || response == nullptr || response->payload != ":1\r\n") return;
    const std::string_view key = exchange.command->key;
    exchange.store.put(key, kept_->value, kept_->version);
    *exchange.store.token(key) = kept_->token;
    exchange.store.set_deadline(key, kept_->deadline);
    // There are no notifications: all but the response goes.
    exchange.out.erase(exchange.out.begin(), std::prev(exchange.out.end()));
  }

  std::optional<Entry> kept_;
};

}  // namespace

std::vector<Fault> delete_faults() {
  return {
      {.id = "D01",
       .name = "vdel-ignores-the-value",
       .text = "VDEL deletes the key with any value",
       .requirements = {"VDEL-MISMATCH-1"},
       .make = with_rules([](Rules& rules) { rules.value_matches = any_value_matches; })},
      {.id = "D02",
       .name = "vdel-mismatch-says-zero",
       .text = "VDEL of another value answers :0",
       .requirements = {"VDEL-MISMATCH-2"},
       .make = with_exchange(vdel_mismatch_says_zero)},
      {.id = "D03",
       .name = "vdel-of-missing-key-is-a-mismatch",
       .text = "VDEL of a missing key answers minus one",
       .requirements = {"VDEL-MISS-1"},
       .make = with_exchange(vdel_of_missing_key_is_a_mismatch)},
      {.id = "D04",
       .name = "vdel-mismatch-deletes",
       .text = "VDEL of another value answers minus one and still deletes the key",
       .requirements = {"VDEL-MISMATCH-1"},
       .make = with_exchange(vdel_mismatch_deletes)},
      {.id = "D05",
       .name = "del-of-missing-key-says-one",
       .text = "DEL of a missing key answers :1",
       .requirements = {"DEL-MISS-1", "DEL-COUNT-1"},
       .make = with_exchange(del_of_missing_key_says_one)},
      {.id = "D06",
       .name = "tombstones-are-readable",
       .text = "GET of a deleted key returns an empty value",
       .requirements = {"GET-MISS-1", "DEL-REMOVE-1"},
       .make = with_state<TombstonesAreReadable>()},
      {.id = "D07",
       .name = "del-takes-a-prefix",
       .text = "DEL deletes every key that begins like its key",
       .requirements = {"DEL-COUNT-1", "KEY-BINARY-1"},
       .make = with_exchange(del_takes_a_prefix)},
      {.id = "D08",
       .name = "del-drops-the-registrations",
       .text = "a key that was deleted and set again is no longer observed",
       .requirements = {"NTF-KEEP-1"},
       .make = with_exchange(del_drops_the_registrations)},
      {.id = "D11",
       .name = "del-does-not-delete",
       .text = "DEL answers :1 and does not delete the key",
       .requirements = {"DEL-REMOVE-1"},
       .make = with_decorator<DelDoesNotDelete>()},
      {.id = "D12",
       .name = "missing-key-is-an-error",
       .text = "GET, DEL and VDEL of a missing key answer with an unlisted error",
       .requirements = {"RESP-MISSING-KEY-1", "GET-MISS-1", "DEL-MISS-1", "VDEL-MISS-1"},
       .make = with_exchange(missing_key_is_an_error)},
      {.id = "D13",
       .name = "vdel-takes-no-value",
       .text = "VDEL with a value is treated as having one argument too many",
       .requirements = {"VDEL-GRAMMAR-1"},
       .make = with_request(vdel_takes_no_value)},
  };
}

}  // namespace fencepost::store
