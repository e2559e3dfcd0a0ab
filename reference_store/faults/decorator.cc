#include "reference_store/faults/decorator.h"

#include <utility>

#include "codec/resp3.h"

namespace fencepost::store {
namespace {

ServiceOptions with_broken_rules(ServiceOptions options, const BreakRules& change) {
  change(options.store.rules);
  return options;
}

class RulesChanger final : public Decorator {
 public:
  RulesChanger(const ServiceOptions& options, BreakRules change)
      : Decorator(with_broken_rules(options, change)), change_(std::move(change)) {}

  void break_rules(Rules& rules) const override { change_(rules); }
  // Here nothing is changed but the rules: what goes through is neither copied nor read.
  Handling handle(const Caller& caller, const codec::Message& request, const Instant& now,
                  std::vector<Delivery>& out) override {
    return next().handle(caller, request, now, out);
  }

 private:
  BreakRules change_;
};

class RequestChanger final : public Decorator {
 public:
  RequestChanger(const ServiceOptions& options, ChangeRequest change)
      : Decorator(options), change_(std::move(change)) {}

 private:
  void before(const Caller& /*caller*/, codec::Message& request, const Instant& /*now*/) override {
    change_(request);
  }

  ChangeRequest change_;
};

class ExchangeChanger final : public Decorator {
 public:
  ExchangeChanger(const ServiceOptions& options, ChangeExchange change)
      : Decorator(options), change_(std::move(change)) {}

  // A large request is not copied for nothing.
  Handling handle(const Caller& caller, const codec::Message& request, const Instant& now,
                  std::vector<Delivery>& out) override {
    return answer(caller, request, now, out);
  }

 private:
  void after(Exchange& exchange) override { change_(exchange); }

  ChangeExchange change_;
};

}  // namespace

codec::Message* Exchange::response() const {
  if (out.empty() || !out.back().client_id.empty()) return nullptr;
  return &out.back().message;
}

std::optional<codec::DecodedReply> Exchange::reply() const {
  const codec::Message* message = response();
  if (message == nullptr) return std::nullopt;
  const auto decoded = codec::decode_reply(message->payload);
  return decoded ? std::optional(*decoded) : std::nullopt;
}

bool Exchange::replies(codec::ReplyKind kind) const {
  const auto seen = reply();
  return seen && seen->kind == kind;
}

bool Exchange::replies(codec::ErrorCode code) const {
  const auto seen = reply();
  return seen && seen->kind == codec::ReplyKind::kError &&
         codec::error_with_text(seen->value) == code;
}

Decorator::Decorator(const ServiceOptions& options)
    : service_(options), dialect_(codec::dialect(options.dialect)) {}

Handler& Decorator::next() {
  if (inner_) return *inner_;
  return service_;
}

const Handler& Decorator::next() const {
  if (inner_) return *inner_;
  return service_;
}

bool Decorator::serves(std::string_view topic) const { return next().serves(topic); }

void Decorator::break_rules(Rules& /*rules*/) const {}

Handling Decorator::handle(const Caller& caller, const codec::Message& request, const Instant& now,
                           std::vector<Delivery>& out) {
  codec::Message changed = request;
  before(caller, changed, now);
  return answer(caller, changed, now, out);
}

Handling Decorator::answer(const Caller& caller, const codec::Message& request, const Instant& now,
                           std::vector<Delivery>& out) {
  std::vector<Delivery> sent;
  const Handling handling = next().handle(caller, request, now, sent);
  Exchange exchange{.caller = caller,
                    .request = request,
                    .now = now,
                    .store = Tamper(service()),
                    .dialect = dialect_,
                    .out = sent,
                    .handling = handling};
  if (auto command = codec::parse_command(request.payload, dialect_)) exchange.command = *command;
  after(exchange);
  for (Delivery& delivery : sent) out.push_back(std::move(delivery));
  return exchange.handling;
}

void Decorator::expire(const Instant& now, std::vector<Delivery>& out) {
  std::vector<Delivery> sent;
  next().expire(now, sent);
  expired(sent);
  for (Delivery& delivery : sent) out.push_back(std::move(delivery));
}

std::optional<std::chrono::microseconds> Decorator::next_expiry() const {
  return next().next_expiry();
}

void Decorator::disconnect(std::string_view client_id) { next().disconnect(client_id); }

void Decorator::before(const Caller& /*caller*/, codec::Message& /*request*/,
                       const Instant& /*now*/) {}
void Decorator::after(Exchange& /*exchange*/) {}
void Decorator::expired(std::vector<Delivery>& /*out*/) {}

MakeHandler with_rules(BreakRules change) {
  return [change = std::move(change)](const ServiceOptions& options, std::uint64_t /*seed*/) {
    return std::make_unique<RulesChanger>(options, change);
  };
}

MakeHandler with_request(ChangeRequest change) {
  return [change = std::move(change)](const ServiceOptions& options, std::uint64_t /*seed*/) {
    return std::make_unique<RequestChanger>(options, change);
  };
}

MakeHandler with_exchange(ChangeExchange change) {
  return [change = std::move(change)](const ServiceOptions& options, std::uint64_t /*seed*/) {
    return std::make_unique<ExchangeChanger>(options, change);
  };
}

std::vector<std::string> arguments_of(const codec::Message& request) {
  const auto value = codec::decode_value(request.payload);
  std::vector<std::string> out;
  if (!value || value->type != codec::ValueType::kArray) return out;
  for (const codec::Value& element : value->elements) {
    if (element.type != codec::ValueType::kBulk) return {};
    out.emplace_back(element.text);
  }
  return out;
}

void set_arguments(codec::Message& request, const std::vector<std::string>& arguments) {
  request.payload = codec::encode_command({arguments.begin(), arguments.end()});
}

void answer_error(Exchange& exchange, codec::ErrorCode code) {
  exchange.response()->payload =
      "-ERR " + std::string(codec::text(code, exchange.dialect)) + "\r\n";
}

void set_property(codec::Message& message, std::string_view name, const std::string& value) {
  remove_property(message, name);
  message.user_properties.emplace_back(name, value);
}

void remove_property(codec::Message& message, std::string_view name) {
  std::erase_if(message.user_properties,
                [name](const auto& property) { return property.first == name; });
}

}  // namespace fencepost::store
