// Faults at the end of a connection: of what is there for the next one of its client, and of what
// its client has written.

#include <map>
#include <set>
#include <string>

#include "reference_store/faults/decorator.h"

namespace fencepost::store {
namespace {

using codec::ReplyKind;
using codec::Verb;

bool registers(const Exchange& exchange) {
  return exchange.command && exchange.command->verb == Verb::kKeynotify &&
         !exchange.command->stop && exchange.replies(ReplyKind::kOk);
}

bool writes(const Exchange& exchange) {
  return exchange.command && exchange.command->verb == Verb::kSet &&
         exchange.replies(ReplyKind::kOk);
}

// Knows whose connection has ended, until its client's next request.
class AfterReconnect : public Decorator {
 public:
  using Decorator::Decorator;
  void disconnect(std::string_view client_id) override {
    Decorator::disconnect(client_id);
    ended_.emplace(client_id);
  }

 protected:
  [[nodiscard]] bool has_reconnected(const Exchange& exchange) const {
    return ended_.contains(std::string(exchange.caller.client_id));
  }
  void settle(const Exchange& exchange) { ended_.erase(std::string(exchange.caller.client_id)); }

 private:
  std::set<std::string> ended_{};
};

// E01: as of a store that tears the old connection down late.
class LateEndRemovesRegistration final : public AfterReconnect {
  using AfterReconnect::AfterReconnect;
  void after(Exchange& exchange) override {
    if (!has_reconnected(exchange) || !registers(exchange)) return;
    AfterReconnect::disconnect(exchange.caller.client_id);
    settle(exchange);
  }
};

// E02
class RegistersTwiceAfterReconnect final : public AfterReconnect {
  using AfterReconnect::AfterReconnect;
  void after(Exchange& exchange) override {
    if (!has_reconnected(exchange) || !registers(exchange)) return;
    settle(exchange);
    exchange.store.observers(exchange.command->key).emplace_back(exchange.caller.client_id);
  }
};

// E03
class RepeatsResponseToNextConnection final : public AfterReconnect {
  using AfterReconnect::AfterReconnect;
  void after(Exchange& exchange) override {
    if (exchange.response() == nullptr) return;
    const std::string client(exchange.caller.client_id);
    const Delivery response = exchange.out.back();
    const auto last = last_.find(client);
    if (has_reconnected(exchange) && last != last_.end()) {
      settle(exchange);
      exchange.out.insert(exchange.out.begin(), last->second);
    }
    last_[client] = response;
  }

  std::map<std::string, Delivery> last_{};
};

// E04
class LosesFirstResponse final : public AfterReconnect {
  using AfterReconnect::AfterReconnect;
  void after(Exchange& exchange) override {
    if (exchange.response() == nullptr || !has_reconnected(exchange)) return;
    settle(exchange);
    exchange.out.pop_back();
  }
};

// Knows which keys each client has written last, and changes them when its connection ends.
class EndOfWriter final : public Decorator {
 public:
  struct Written {
    std::string key{};
    std::optional<std::string> before{};  // the value; nothing: there was none
    hlc::Timestamp version{};             // of that
  };
  using Change = void (*)(Tamper& store, const Written& last);

  EndOfWriter(const ServiceOptions& options, Change change) : Decorator(options), change_(change) {}

  void disconnect(std::string_view client_id) override {
    Decorator::disconnect(client_id);
    Tamper store(service());
    for (const auto& [key, written] : written_) {
      if (written.first == client_id && store.value(key) != nullptr) change_(store, written.second);
    }
    std::erase_if(written_, [&](const auto& each) { return each.second.first == client_id; });
  }

 private:
  void before(const Caller& /*caller*/, codec::Message& request, const Instant& /*now*/) override {
    before_ = {};
    const auto command = codec::parse_command(request.payload, dialect());
    if (!command) return;
    before_.key = command->key;
    Tamper store(service());
    const std::string* value = store.value(before_.key);
    if (value == nullptr) return;
    before_.before = *value;
    before_.version = *store.version(before_.key);
  }
  void after(Exchange& exchange) override {
    if (writes(exchange)) written_[before_.key] = {std::string(exchange.caller.client_id), before_};
  }

  Change change_;
  Written before_{};
  std::map<std::string, std::pair<std::string, Written>> written_{};  // by key: its last writer
};

MakeHandler at_the_end_of_writer(EndOfWriter::Change change) {
  return [change](const ServiceOptions& options, std::uint64_t /*seed*/) {
    return std::make_unique<EndOfWriter>(options, change);
  };
}

}  // namespace

std::vector<Fault> connection_faults() {
  using Written = EndOfWriter::Written;
  return {
      {.id = "E01",
       .name = "late-end-removes-new-registration",
       .text = "the end of a connection also ends the first registration of the next one",
       .requirements = {"LIFE-RECONNECT-1", "NTF-SEND-1", "NTF-REGISTER-1"},
       .make = with_decorator<LateEndRemovesRegistration>()},
      {.id = "E02",
       .name = "registration-after-a-reconnect-counts-twice",
       .text = "a client that registers again after a reconnect is notified twice",
       .requirements = {"LIFE-DISCONNECT-2", "LIFE-RECONNECT-1", "NTF-SEND-1"},
       .make = with_decorator<RegistersTwiceAfterReconnect>()},
      {.id = "E03",
       .name = "response-goes-to-the-next-connection",
       .text = "the last response on a connection is sent again on the next one of its client",
       .requirements = {"ENV-RESPONSE-1", "ENV-CORRELATION-1"},
       .make = with_decorator<RepeatsResponseToNextConnection>()},
      {.id = "E04",
       .name = "first-response-after-a-reconnect-lost",
       .text = "the first request after a reconnect is carried out, and not answered",
       .requirements = {"ENV-RESPONSE-1"},
       .make = with_decorator<LosesFirstResponse>()},
      {.id = "E05",
       .name = "keys-end-with-their-writer",
       .text = "keys are deleted when the connection of their writer ends",
       .requirements = {"LIFE-KEY-1"},
       .make =
           at_the_end_of_writer([](Tamper& store, const Written& last) { store.erase(last.key); })},
      {.id = "E06",
       .name = "expiry-ends-with-its-writer",
       .text = "keys do not expire when the connection of their writer has ended",
       .requirements = {"LIFE-KEY-1", "SET-PX-4"},
       .make = at_the_end_of_writer(
           [](Tamper& store, const Written& last) { store.set_deadline(last.key, std::nullopt); })},
      {.id = "E07",
       .name = "leases-end-with-their-writer",
       .text = "keys with an expiry are deleted when the connection of their writer ends",
       .requirements = {"LIFE-KEY-1"},
       .make = at_the_end_of_writer([](Tamper& store, const Written& last) {
         if (store.deadline(last.key)) store.erase(last.key);
       })},
      {.id = "E08",
       .name = "token-ends-with-its-writer",
       .text = "the fencing token of a key is forgotten when the connection of its writer ends",
       .requirements = {"LIFE-KEY-1", "FT-STORE-2", "FT-REQUIRED-1"},
       .make = at_the_end_of_writer(
           [](Tamper& store, const Written& last) { store.token(last.key)->reset(); })},
      {.id = "E09",
       .name = "last-set-undone-with-its-writer",
       .text = "the last SET of a key is undone when the connection of its writer ends",
       .requirements = {"LIFE-KEY-1", "SET-WRITE-1", "SET-WRITE-2"},
       .make = at_the_end_of_writer([](Tamper& store, const Written& last) {
         if (last.before) {
           store.put(last.key, *last.before, last.version);
         } else {
           store.erase(last.key);
         }
       })},
  };
}

}  // namespace fencepost::store
