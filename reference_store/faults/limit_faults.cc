// Faults of quota and authorization.

#include "reference_store/faults/decorator.h"

namespace fencepost::store {
namespace {

using codec::ErrorCode;
using codec::Verb;

// ---- rules with another function in their place

bool always_room(std::size_t /*keys*/, std::size_t /*quota*/) { return true; }

bool one_key_too_many(std::size_t keys, std::size_t quota) {
  return quota == 0 || keys < quota + 1;
}

Access keynotify_needs_write(Verb verb) {
  return verb == Verb::kKeynotify ? Access::kWrite : access_needed(verb);
}

Access removal_needs_read(Verb verb) {
  return verb == Verb::kDel || verb == Verb::kVdel ? Access::kRead : access_needed(verb);
}

Access get_needs_write(Verb verb) {
  return verb == Verb::kGet ? Access::kWrite : access_needed(verb);
}

// ---- stores of their own

// L10: every SET that succeeds takes a place, also of a key that exists.
class OverwritingCountsForTheQuota final : public Decorator {
 public:
  explicit OverwritingCountsForTheQuota(const ServiceOptions& options)
      : Decorator(options), quota_(options.store.quota) {}

 private:
  void before(const Caller& /*caller*/, codec::Message& request, const Instant& /*now*/) override {
    full_ = false;
    const auto command = codec::parse_command(request.payload, dialect());
    if (quota_ == 0 || !command || command->verb != Verb::kSet) return;
    full_ = taken_ >= quota_;
    if (full_) request.payload = codec::encode_command({"GET", command->key});
  }
  void after(Exchange& exchange) override {
    if (!exchange.command || exchange.response() == nullptr) return;
    if (full_) {
      answer_error(exchange, ErrorCode::kQuotaExceeded);
      return;
    }
    if (exchange.command->verb == Verb::kSet && exchange.replies(codec::ReplyKind::kOk)) ++taken_;
    if (exchange.response()->payload == ":1\r\n" && taken_ > 0) --taken_;
  }

  std::size_t quota_;
  std::size_t taken_ = 0;
  bool full_ = false;
};

// L11: the place of a deleted key stays taken.
class DeletedKeysCountForTheQuota final : public Decorator {
 public:
  explicit DeletedKeysCountForTheQuota(const ServiceOptions& options)
      : Decorator(options), quota_(options.store.quota) {}

 private:
  void before(const Caller& /*caller*/, codec::Message& request, const Instant& /*now*/) override {
    full_ = false;
    const auto command = codec::parse_command(request.payload, dialect());
    if (quota_ == 0 || !command || command->verb != Verb::kSet) return;
    Tamper store(service());
    full_ = store.value(command->key) == nullptr && store.keys().size() + lost_ >= quota_;
    if (full_) request.payload = codec::encode_command({"GET", command->key});
  }
  void after(Exchange& exchange) override {
    if (exchange.response() == nullptr) return;
    if (full_) {
      answer_error(exchange, ErrorCode::kQuotaExceeded);
    } else if (exchange.response()->payload == ":1\r\n") {
      ++lost_;
    }
  }

  std::size_t quota_;
  std::size_t lost_ = 0;
  bool full_ = false;
};

// A request that is not authorized is answered so, and carried out.
class DeniedIsCarriedOut final : public Decorator {
 public:
  explicit DeniedIsCarriedOut(const ServiceOptions& options)
      : Decorator(without_authorization(options)), authorization_(options.store.authorization) {}

 private:
  static ServiceOptions without_authorization(ServiceOptions options) {
    options.store.authorization = {};
    return options;
  }
  void after(Exchange& exchange) override {
    if (!exchange.command || exchange.response() == nullptr) return;
    if (authorization_.allows(exchange.caller, access_needed(exchange.command->verb),
                              exchange.command->key)) {
      return;
    }
    answer_error(exchange, ErrorCode::kNotAuthorized);
  }

  Authorization authorization_;
};

MakeHandler without_authorization() {
  return [](const ServiceOptions& options, std::uint64_t /*seed*/) {
    ServiceOptions open = options;
    open.store.authorization = {};
    return std::make_unique<Service>(std::move(open));
  };
}

}  // namespace

std::vector<Fault> limit_faults() {
  return {
      {.id = "Q01",
       .name = "no-quota",
       .text = "the store accepts any number of keys",
       .requirements = {"QUOTA-KEYS-1"},
       .make = with_rules([](Rules& rules) { rules.has_room = always_room; })},
      {.id = "Q02",
       .name = "one-key-too-many",
       .text = "the store accepts one key more than its quota",
       .requirements = {"QUOTA-KEYS-1"},
       .make = with_rules([](Rules& rules) { rules.has_room = one_key_too_many; })},
      {.id = "L10",
       .name = "overwriting-counts-for-the-quota",
       .text = "every SET counts for the quota, also of an existing key",
       .requirements = {"QUOTA-KEYS-1", "QUOTA-KEYS-3"},
       .make = with_decorator<OverwritingCountsForTheQuota>()},
      {.id = "L11",
       .name = "deleted-keys-count-for-the-quota",
       .text = "a deleted key still counts for the quota",
       .requirements = {"QUOTA-KEYS-3"},
       .make = with_decorator<DeletedKeysCountForTheQuota>()},
      {.id = "A01",
       .name = "no-authorization",
       .text = "every client has all rights",
       .requirements = {"AUTH-DENIED-1"},
       .make = without_authorization()},
      {.id = "A02",
       .name = "denied-is-carried-out",
       .text = "a request that is not authorized is answered as such, but is carried out",
       .requirements = {"AUTH-DENIED-1", "ERR-STATE-1"},
       .make = with_decorator<DeniedIsCarriedOut>()},
      {.id = "A03",
       .name = "keynotify-needs-write",
       .text = "KEYNOTIFY requires the right to write",
       .requirements = {"AUTH-READ-1", "AUTH-DENIED-1"},
       .make = with_rules([](Rules& rules) { rules.access_needed = keynotify_needs_write; })},
      {.id = "A04",
       .name = "removal-needs-read",
       .text = "DEL and VDEL require the right to read",
       .requirements = {"AUTH-WRITE-1", "AUTH-DENIED-1"},
       .make = with_rules([](Rules& rules) { rules.access_needed = removal_needs_read; })},
      {.id = "A05",
       .name = "get-needs-write",
       .text = "GET requires the right to write",
       .requirements = {"AUTH-READ-1", "AUTH-DENIED-1"},
       .make = with_rules([](Rules& rules) { rules.access_needed = get_needs_write; })},
  };
}

}  // namespace fencepost::store
