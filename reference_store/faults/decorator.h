// What stands between a store and the network: most faults are a few lines in one of these.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/command.h"
#include "codec/dialect.h"
#include "codec/error_code.h"
#include "codec/reply.h"
#include "reference_store/faults/fault.h"
#include "reference_store/faults/tamper.h"
#include "reference_store/service.h"

namespace fencepost::store {

// A request on its way, and what the store says to it.
struct Exchange {
  const Caller& caller;
  const codec::Message& request;            // as the store saw it
  std::optional<codec::Command> command{};  // when the request is one
  const Instant& now;
  Tamper store;  // the state, to read or to spoil
  const codec::Dialect& dialect;

  // Messages that the store sends because of this request: notifications, then the response.
  std::vector<Delivery>& out;
  Handling handling = Handling::kAnswered;

  // The response among them; null when there is none.
  [[nodiscard]] codec::Message* response() const;

  // What the response says; nothing when there is none, or none that can be read. The views live as
  // long as its payload is not changed.
  [[nodiscard]] std::optional<codec::DecodedReply> reply() const;

  // Is there a response, and does it say this?
  [[nodiscard]] bool replies(codec::ReplyKind kind) const;
  [[nodiscard]] bool replies(codec::ErrorCode code) const;
};

// Passes everything on to a correct store. Derived classes change what they name.
class Decorator : public Handler {
 public:
  explicit Decorator(const ServiceOptions& options);

  // Changes rules of the store that it is made with.
  virtual void break_rules(Rules& rules) const;
  // Lets `inner` stand between this and the store: this one's own store serves no longer.
  void put_before(std::unique_ptr<Decorator> inner) { inner_ = std::move(inner); }

  [[nodiscard]] bool serves(std::string_view topic) const override;
  // Calls before(), the store, and after().
  Handling handle(const Caller& caller, const codec::Message& request, const Instant& now,
                  std::vector<Delivery>& out) override;
  void expire(const Instant& now, std::vector<Delivery>& out) override;
  [[nodiscard]] std::optional<std::chrono::microseconds> next_expiry() const override;
  void disconnect(std::string_view client_id) override;
  [[nodiscard]] Service* service_within() override { return &service(); }
  [[nodiscard]] Keeper* keeper() override { return next().keeper(); }

 protected:
  // What handle() does after before().
  Handling answer(const Caller& caller, const codec::Message& request, const Instant& now,
                  std::vector<Delivery>& out);

  // Changes a request before the store sees it.
  virtual void before(const Caller& caller, codec::Message& request, const Instant& now);
  // Changes what the store has done: its messages in `exchange.out`, its state, the handling.
  virtual void after(Exchange& exchange);
  // Changes the notifications of expired keys.
  virtual void expired(std::vector<Delivery>& out);

  [[nodiscard]] Service& service() { return inner_ ? inner_->service() : service_; }
  [[nodiscard]] const codec::Dialect& dialect() const { return dialect_; }
  // The store behind this one.
  [[nodiscard]] Handler& next();
  [[nodiscard]] const Handler& next() const;

 private:
  Service service_;
  std::unique_ptr<Decorator> inner_;
  const codec::Dialect& dialect_;
};

// Each makes a fault of one function.
using BreakRules = std::function<void(Rules& rules)>;
[[nodiscard]] MakeHandler with_rules(BreakRules change);

using ChangeRequest = std::function<void(codec::Message& request)>;
[[nodiscard]] MakeHandler with_request(ChangeRequest change);

using ChangeExchange = std::function<void(Exchange& exchange)>;
[[nodiscard]] MakeHandler with_exchange(ChangeExchange change);

// The same of a function that remembers: an object of a type with `void operator()(Exchange&)`, a
// new one for each store.
template <typename Change>
[[nodiscard]] MakeHandler with_state() {
  return [](const ServiceOptions& options, std::uint64_t seed) {
    return with_exchange(Change())(options, seed);
  };
}

// A decorator class of its own: Type(const ServiceOptions&) or Type(const ServiceOptions&, seed).
template <typename Type>
[[nodiscard]] MakeHandler with_decorator() {
  return [](const ServiceOptions& options, std::uint64_t seed) -> std::unique_ptr<Handler> {
    if constexpr (std::is_constructible_v<Type, const ServiceOptions&, std::uint64_t>) {
      return std::make_unique<Type>(options, seed);
    } else {
      return std::make_unique<Type>(options);
    }
  };
}

// The arguments of a payload that decodes as a command; empty when it does not.
[[nodiscard]] std::vector<std::string> arguments_of(const codec::Message& request);

// Puts a command into a request.
void set_arguments(codec::Message& request, const std::vector<std::string>& arguments);

// Makes the response an error. There must be a response.
void answer_error(Exchange& exchange, codec::ErrorCode code);

// Sets a user property, replacing all of that name; removes it.
void set_property(codec::Message& message, std::string_view name, const std::string& value);
void remove_property(codec::Message& message, std::string_view name);

}  // namespace fencepost::store
