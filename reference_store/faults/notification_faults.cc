// Faults of key notifications and of registrations.

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <set>

#include "codec/notification.h"
#include "codec/topics.h"
#include "reference_store/faults/decorator.h"

namespace fencepost::store {
namespace {

using codec::Verb;

// Notifications have a receiver, responses have none.
bool is_notification(const Delivery& delivery) { return !delivery.client_id.empty(); }

bool notifies_of(const Delivery& delivery, codec::Operation operation) {
  if (!is_notification(delivery)) return false;
  const auto notification = codec::decode_notification(delivery.message.payload);
  return notification && notification->operation == operation;
}

// A fault that changes each notification, also those of expired keys.
using ChangeNotification = std::function<void(Delivery& delivery)>;

class NotificationChanger final : public Decorator {
 public:
  NotificationChanger(const ServiceOptions& options, ChangeNotification change)
      : Decorator(options), change_(std::move(change)) {}

 private:
  void after(Exchange& exchange) override { expired(exchange.out); }
  void expired(std::vector<Delivery>& out) override {
    for (Delivery& delivery : out) {
      if (is_notification(delivery)) change_(delivery);
    }
  }

  ChangeNotification change_;
};

// N33: after the deletion an expired key is notified once more, as set to an empty value.
class ExpiryIsNotifiedTwice final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  void expired(std::vector<Delivery>& out) override {
    std::vector<Delivery> more;
    for (const Delivery& delivery : out) {
      if (!notifies_of(delivery, codec::Operation::kDelete)) continue;
      more.push_back(delivery);
      more.back().message.payload.clear();
      codec::append_notification(more.back().message.payload,
                                 {.operation = codec::Operation::kSet, .value = ""}, dialect());
    }
    std::move(more.begin(), more.end(), std::back_inserter(out));
  }
};

MakeHandler with_notification(ChangeNotification change) {
  return [change = std::move(change)](const ServiceOptions& options, std::uint64_t /*seed*/) {
    return std::make_unique<NotificationChanger>(options, change);
  };
}

void set_is_not_notified(Exchange& exchange) {
  std::erase_if(exchange.out,
                [](const Delivery& d) { return notifies_of(d, codec::Operation::kSet); });
}

void delete_is_not_notified(Exchange& exchange) {
  const bool removal = exchange.command && (exchange.command->verb == Verb::kDel ||
                                            exchange.command->verb == Verb::kVdel);
  if (!removal) return;
  std::erase_if(exchange.out,
                [](const Delivery& d) { return notifies_of(d, codec::Operation::kDelete); });
}

void vdel_is_not_notified(Exchange& exchange) {
  if (!exchange.command || exchange.command->verb != Verb::kVdel) return;
  std::erase_if(exchange.out,
                [](const Delivery& d) { return notifies_of(d, codec::Operation::kDelete); });
}

// A notification as the store would send it, in front of the response.
void tell(Exchange& exchange, const std::string& client_id, std::string_view key,
          codec::Operation operation, std::string_view value, codec::DialectId dialect) {
  const auto topic = codec::notification_topic(client_id, key);
  if (!topic) return;
  Delivery delivery{.client_id = client_id, .message = {}};
  delivery.message.topic = *topic;
  codec::append_notification(delivery.message.payload, {.operation = operation, .value = value},
                             codec::dialect(dialect));
  const hlc::Timestamp* version = exchange.store.version(key);
  delivery.message.user_properties.emplace_back(
      codec::kTimestampProperty,
      hlc::format(version != nullptr ? *version : exchange.store.clock().last()));
  exchange.out.insert(exchange.out.begin(), std::move(delivery));
}

// N03: a SET that is not applied and a DEL that finds nothing are notified, too.
void notifies_without_a_change(Exchange& exchange) {
  if (!exchange.command || exchange.response() == nullptr) return;
  const std::string key(exchange.command->key);
  const bool refused = exchange.replies(codec::ReplyKind::kNotApplied);
  const bool nothing =
      exchange.response()->payload == ":0\r\n" && exchange.command->verb != Verb::kKeynotify;
  if (!refused && !nothing) return;
  const std::vector<std::string> observers = exchange.store.observers(key);
  const auto operation =
      exchange.command->verb == Verb::kSet ? codec::Operation::kSet : codec::Operation::kDelete;
  for (const std::string& client : observers) {
    tell(exchange, client, key, operation, exchange.command->value, exchange.dialect.id);
  }
}

// N04: every client that ever sent a request is notified of everything.
class NotifiesEveryClient {
 public:
  void operator()(Exchange& exchange) {
    clients_.insert(std::string(exchange.caller.client_id));
    const bool written = exchange.command && exchange.command->verb == Verb::kSet &&
                         exchange.replies(codec::ReplyKind::kOk);
    if (!written) return;
    const std::string key(exchange.command->key);
    const std::vector<std::string> observers = exchange.store.observers(key);
    if (observers.empty()) return;
    for (const std::string& client : clients_) {
      if (std::find(observers.begin(), observers.end(), client) != observers.end()) continue;
      tell(exchange, client, key, codec::Operation::kSet, exchange.command->value,
           exchange.dialect.id);
    }
  }

 private:
  std::set<std::string> clients_;
};

// The writer is not notified, although it observes the key.
void writer_is_not_notified(Exchange& exchange) {
  std::erase_if(exchange.out,
                [&](const Delivery& d) { return d.client_id == exchange.caller.client_id; });
}

void topic_in_lower_case(Delivery& delivery) {
  std::string& topic = delivery.message.topic;
  for (std::size_t i = codec::kStorePrefix.size(); i < topic.size(); ++i) {
    topic[i] = static_cast<char>(std::tolower(static_cast<unsigned char>(topic[i])));
  }
}

void topic_with_the_raw_key(Delivery& delivery) {
  const auto target = codec::parse_notification_topic(delivery.message.topic);
  if (!target) return;
  std::string& topic = delivery.message.topic;
  topic = topic.substr(0, topic.rfind('/') + 1);
  for (const char c : target->key) topic += c == '/' || c == '#' || c == '+' || c < ' ' ? '_' : c;
}

void without_version(Delivery& delivery) {
  remove_property(delivery.message, codec::kTimestampProperty);
}

void with_a_later_version(Delivery& delivery) {
  const std::string* text = delivery.message.property(codec::kTimestampProperty);
  auto version = hlc::parse(text == nullptr ? std::string_view() : std::string_view(*text));
  if (!version) return;
  ++version->counter;
  set_property(delivery.message, codec::kTimestampProperty, hlc::format(*version));
}

// N07: a notification carries the value that was overwritten.
class NotifiesWithThePreviousValue final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  void before(const Caller& /*caller*/, codec::Message& request, const Instant& /*now*/) override {
    previous_.clear();
    const auto command = codec::parse_command(request.payload, dialect());
    if (!command) return;
    const std::string* value = Tamper(service()).value(command->key);
    if (value != nullptr) previous_ = *value;
  }
  void after(Exchange& exchange) override {
    for (Delivery& delivery : exchange.out) {
      if (!notifies_of(delivery, codec::Operation::kSet)) continue;
      delivery.message.payload.clear();
      codec::append_notification(delivery.message.payload,
                                 {.operation = codec::Operation::kSet, .value = previous_},
                                 dialect());
    }
  }

  std::string previous_;
};

void delete_carries_a_value(Delivery& delivery) {
  if (!notifies_of(delivery, codec::Operation::kDelete)) return;
  std::string& payload = delivery.message.payload;
  payload = "*4" + payload.substr(2) + "$5\r\nVALUE\r\n$0\r\n\r\n";
}

void without_value(Delivery& delivery) {
  if (!notifies_of(delivery, codec::Operation::kSet)) return;
  delivery.message.payload = "*2\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n";
}

void value_without_its_word(Delivery& delivery) {
  if (!notifies_of(delivery, codec::Operation::kSet)) return;
  const auto notification = codec::decode_notification(delivery.message.payload);
  if (notification)
    delivery.message.payload = codec::encode_command({"NOTIFY", "SET", notification->value});
}

// Expiry is notified as a SET of nothing.
class ExpiryIsNotifiedAsASet final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  void expired(std::vector<Delivery>& out) override {
    for (Delivery& delivery : out) {
      delivery.message.payload.clear();
      codec::append_notification(delivery.message.payload,
                                 {.operation = codec::Operation::kSet, .value = {}}, dialect());
    }
  }
};

// N09: each further KEYNOTIFY brings one more copy of every notification.
class RegistrationsAddUp final : public Decorator {
 public:
  using Decorator::Decorator;

  void disconnect(std::string_view client_id) override {
    Decorator::disconnect(client_id);
    std::erase_if(counts_, [&](const auto& entry) { return entry.first.first == client_id; });
  }

 private:
  void after(Exchange& exchange) override {
    if (exchange.command && exchange.command->verb == Verb::kKeynotify &&
        exchange.replies(codec::ReplyKind::kOk)) {
      int& count =
          counts_[{std::string(exchange.caller.client_id), std::string(exchange.command->key)}];
      count = exchange.command->stop ? 0 : count + 1;
    }
    std::vector<Delivery> all;
    for (const Delivery& delivery : exchange.out) {
      const auto target = codec::parse_notification_topic(delivery.message.topic);
      const auto count = target ? counts_.find({target->client_id, target->key}) : counts_.end();
      const int copies =
          is_notification(delivery) && count != counts_.end() ? std::max(count->second, 1) : 1;
      for (int i = 0; i < copies; ++i) all.push_back(delivery);
    }
    exchange.out = std::move(all);
  }

  std::map<std::pair<std::string, std::string>, int> counts_;
};

// N10: STOP answers as it should, and the registration stays.
void stop_ignored(Exchange& exchange) {
  const bool stopped = exchange.command && exchange.command->verb == Verb::kKeynotify &&
                       exchange.command->stop && exchange.replies(codec::ReplyKind::kOk);
  if (!stopped) return;
  exchange.store.observers(exchange.command->key).emplace_back(exchange.caller.client_id);
}

void stop_of_unknown_says_ok(Exchange& exchange) {
  const bool stop = exchange.command && exchange.command->verb == Verb::kKeynotify &&
                    exchange.command->stop && exchange.response() != nullptr;
  if (stop && exchange.response()->payload == ":0\r\n") exchange.response()->payload = "+OK\r\n";
}

void stop_removes_all_registrations(Exchange& exchange) {
  const bool stopped = exchange.command && exchange.command->verb == Verb::kKeynotify &&
                       exchange.command->stop && exchange.replies(codec::ReplyKind::kOk);
  if (stopped) exchange.store.observers(exchange.command->key).clear();
}

// N13: registrations outlive the connection.
class RegistrationSurvivesDisconnect final : public Decorator {
 public:
  using Decorator::Decorator;
  void disconnect(std::string_view /*client_id*/) override {}
};

// The end of one connection ends everybody's registrations.
class DisconnectEndsAllRegistrations final : public Decorator {
 public:
  using Decorator::Decorator;
  void disconnect(std::string_view client_id) override {
    Decorator::disconnect(client_id);
    Tamper store(service());
    for (const std::string& key : observed_) store.observers(key).clear();
  }

 private:
  void after(Exchange& exchange) override {
    if (exchange.command && exchange.command->verb == Verb::kKeynotify) {
      observed_.insert(std::string(exchange.command->key));
    }
  }

  std::set<std::string> observed_;
};

// N14: who observes `a` is notified of `ab`.
class ObservesAPrefix {
 public:
  void operator()(Exchange& exchange) {
    if (!exchange.command) return;
    const std::string key(exchange.command->key);
    if (exchange.command->verb == Verb::kKeynotify) observed_.insert(key);
    const bool written =
        exchange.command->verb == Verb::kSet && exchange.replies(codec::ReplyKind::kOk);
    if (!written) return;
    for (const std::string& prefix : observed_) {
      if (prefix == key || !key.starts_with(prefix)) continue;
      const std::vector<std::string> observers = exchange.store.observers(prefix);
      for (const std::string& client : observers) {
        tell(exchange, client, key, codec::Operation::kSet, exchange.command->value,
             exchange.dialect.id);
      }
    }
  }

 private:
  std::set<std::string> observed_;
};

// N15: a notification is sent one request before its value can be read.
class NotifiedBeforeTheEffect final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  void before(const Caller& /*caller*/, codec::Message& /*request*/,
              const Instant& /*now*/) override {
    if (!late_ || ++seen_ < 2) return;
    if (std::string* value = Tamper(service()).value(late_->first)) *value = late_->second;
    late_.reset();
  }
  void after(Exchange& exchange) override {
    const bool notifies = std::any_of(exchange.out.begin(), exchange.out.end(), is_notification);
    if (late_ || !notifies || !exchange.command || exchange.command->verb != Verb::kSet) return;
    late_ = {std::string(exchange.command->key), std::string(exchange.command->value)};
    seen_ = 0;
    *exchange.store.value(exchange.command->key) = "not yet";
  }

  std::optional<std::pair<std::string, std::string>> late_;
  int seen_ = 0;
};

// N17: KEYNOTIFY of a missing key is refused.
void needs_the_key(Exchange& exchange) {
  const bool registered = exchange.command && exchange.command->verb == Verb::kKeynotify &&
                          !exchange.command->stop && exchange.replies(codec::ReplyKind::kOk);
  if (!registered || exchange.store.value(exchange.command->key) != nullptr) return;
  exchange.store.observers(exchange.command->key).clear();
  exchange.response()->payload = ":0\r\n";
}

// N18: of notifications close together only one gets through.
class LostInABurst {
 public:
  void operator()(Exchange& exchange) {
    constexpr std::chrono::microseconds kBurst{100};
    std::erase_if(exchange.out, [&](const Delivery& delivery) {
      if (!is_notification(delivery)) return false;
      const bool close = last_ && exchange.now.steady - *last_ < kBurst;
      last_ = exchange.now.steady;
      return close;
    });
  }

 private:
  std::optional<std::chrono::microseconds> last_;
};

// N34: only the first observers of a key are notified.
void tells_the_first_observers(Exchange& exchange) {
  constexpr std::size_t kMaxNotified = 64;
  std::size_t notified = 0;
  std::erase_if(exchange.out, [&](const Delivery& delivery) {
    return is_notification(delivery) && ++notified > kMaxNotified;
  });
}

// N35
void deletion_is_notified_twice(Exchange& exchange) {
  std::vector<Delivery> all;
  for (Delivery& delivery : exchange.out) {
    const bool twice = notifies_of(delivery, codec::Operation::kDelete);
    all.push_back(delivery);
    if (twice) all.push_back(std::move(delivery));
  }
  exchange.out = std::move(all);
}

void client_ids_in_any_case(Exchange& exchange) {
  if (!exchange.command || exchange.command->verb != codec::Verb::kKeynotify ||
      exchange.command->stop || !exchange.replies(codec::ReplyKind::kOk)) {
    return;
  }
  const std::string id(exchange.caller.client_id);
  const auto folded = [](std::string text) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return text;
  };
  std::vector<std::string>& observers = exchange.store.observers(exchange.command->key);
  const bool another =
      std::any_of(observers.begin(), observers.end(), [&](const std::string& observer) {
        return observer != id && folded(observer) == folded(id);
      });
  if (another) std::erase(observers, id);
}

void long_client_ids_are_not_notified(Exchange& exchange) {
  constexpr std::size_t kMax = 200;
  std::erase_if(exchange.out,
                [](const Delivery& delivery) { return delivery.client_id.size() > kMax; });
}

// N30
class SecondKeynotifyEndsTheFirst final : public Decorator {
 public:
  using Decorator::Decorator;

 private:
  void before(const Caller& caller, codec::Message& request, const Instant& /*now*/) override {
    const std::vector<std::string> arguments = arguments_of(request);
    again_ = arguments.size() == 2 && arguments[0] == "KEYNOTIFY" &&
             observes(arguments[1], caller.client_id);
  }
  void after(Exchange& exchange) override {
    if (!again_ || !exchange.command) return;
    std::erase(exchange.store.observers(exchange.command->key), exchange.caller.client_id);
  }
  [[nodiscard]] bool observes(std::string_view key, std::string_view client) {
    const std::vector<std::string>& observers = Tamper(service()).observers(key);
    return std::find(observers.begin(), observers.end(), client) != observers.end();
  }

  bool again_ = false;
};

// N31
class SameValueNotifiedWithTheOldVersion {
 public:
  void operator()(Exchange& exchange) {
    if (!exchange.command || exchange.command->verb != Verb::kSet ||
        !exchange.replies(codec::ReplyKind::kOk)) {
      return;
    }
    const hlc::Timestamp* version = exchange.store.version(exchange.command->key);
    if (version == nullptr) return;
    Last& last = last_[std::string(exchange.command->key)];
    const bool same = last.value == exchange.command->value;
    for (Delivery& delivery : exchange.out) {
      if (same && is_notification(delivery)) {
        set_property(delivery.message, codec::kTimestampProperty, last.version);
      }
    }
    last = {.value = std::string(exchange.command->value), .version = hlc::format(*version)};
  }

 private:
  struct Last {
    std::optional<std::string> value{};
    std::string version{};
  };
  std::map<std::string, Last> last_;
};

// N32
void notifies_eight_observers(Exchange& exchange) {
  constexpr std::size_t kMax = 8;
  std::size_t notified = 0;
  std::erase_if(exchange.out,
                [&](const Delivery& each) { return is_notification(each) && ++notified > kMax; });
}

}  // namespace

// A table. NOLINTNEXTLINE(readability-function-size)
std::vector<Fault> notification_faults() {
  return {
      {.id = "N01",
       .name = "set-is-not-notified",
       .text = "observers are not notified of a SET",
       .requirements = {"NTF-SEND-1"},
       .make = with_exchange(set_is_not_notified)},
      {.id = "N02",
       .name = "delete-is-not-notified",
       .text = "observers are not notified of a DEL or VDEL",
       .requirements = {"NTF-SEND-2"},
       .make = with_exchange(delete_is_not_notified)},
      {.id = "N19",
       .name = "vdel-is-not-notified",
       .text = "observers are not notified of a VDEL",
       .requirements = {"NTF-SEND-2", "NTF-DEL-2"},
       .make = with_exchange(vdel_is_not_notified)},
      {.id = "N03",
       .name = "notifies-without-a-change",
       .text = "a SET that is not applied and a DEL of a missing key are notified",
       .requirements = {"NTF-SEND-4"},
       .make = with_exchange(notifies_without_a_change)},
      {.id = "N04",
       .name = "notifies-every-client",
       .text = "every client is notified of a key that any client observes",
       .requirements = {"NTF-SEND-3"},
       .make = with_state<NotifiesEveryClient>()},
      {.id = "N20",
       .name = "writer-is-not-notified",
       .text = "a client is not notified of its own changes",
       .requirements = {"NTF-SELF-1"},
       .make = with_exchange(writer_is_not_notified)},
      {.id = "N05",
       .name = "topic-in-lower-case",
       .text = "client id and key in the topic are in lower-case hex",
       .requirements = {"NTF-TOPIC-1", "NTF-TOPIC-3"},
       .make = with_notification(topic_in_lower_case)},
      {.id = "N21",
       .name = "topic-with-the-raw-key",
       .text = "the topic contains the key as raw bytes",
       .requirements = {"NTF-TOPIC-1", "NTF-TOPIC-3"},
       .make = with_notification(topic_with_the_raw_key)},
      {.id = "N06",
       .name = "notification-without-version",
       .text = "notifications carry no __ts",
       .requirements = {"NTF-VERSION-1", "NTF-VERSION-2"},
       .make = with_notification(without_version)},
      {.id = "N22",
       .name = "notification-with-a-later-version",
       .text = "the __ts of a notification is not the version that the SET returned",
       .requirements = {"NTF-VERSION-3"},
       .make = with_notification(with_a_later_version)},
      {.id = "N07",
       .name = "notifies-with-the-previous-value",
       .text = "notifications carry the previous value",
       .requirements = {"NTF-VALUE-1"},
       .make = with_decorator<NotifiesWithThePreviousValue>()},
      {.id = "N23",
       .name = "delete-carries-a-value",
       .text = "the notification of a deletion carries VALUE",
       .requirements = {"NTF-DEL-1", "NTF-VALUE-2"},
       .make = with_notification(delete_carries_a_value)},
      {.id = "N24",
       .name = "set-without-value",
       .text = "the notification of a SET carries no VALUE",
       .requirements = {"NTF-VALUE-3"},
       .make = with_notification(without_value)},
      {.id = "N27",
       .name = "value-without-its-word",
       .text = "the notification of a SET carries the value without the word VALUE before it",
       .requirements = {"NTF-SET-1"},
       .make = with_notification(value_without_its_word)},
      {.id = "N25",
       .name = "expiry-is-notified-as-a-set",
       .text = "an expiry is notified as a SET with an empty value",
       .requirements = {"NTF-EXPIRY-1", "NTF-SET-2"},
       .make = with_decorator<ExpiryIsNotifiedAsASet>()},
      {.id = "N10",
       .name = "stop-ignored",
       .text = "STOP answers +OK, but the notifications continue",
       .requirements = {"NTF-STOP-1"},
       .make = with_exchange(stop_ignored)},
      {.id = "N11",
       .name = "stop-of-unknown-says-ok",
       .text = "STOP of a key that is not monitored answers +OK",
       .requirements = {"NTF-STOP-3"},
       .make = with_exchange(stop_of_unknown_says_ok)},
      {.id = "N12",
       .name = "stop-removes-all-registrations",
       .text = "STOP of one client ends the registrations of all clients",
       .requirements = {"NTF-STOP-2"},
       .make = with_exchange(stop_removes_all_registrations)},
      {.id = "N13",
       .name = "registration-survives-disconnect",
       .text = "registrations outlive the connection",
       .requirements = {"LIFE-DISCONNECT-1", "LIFE-DISCONNECT-2"},
       .make = with_decorator<RegistrationSurvivesDisconnect>()},
      {.id = "N26",
       .name = "disconnect-ends-all-registrations",
       .text = "the end of one connection ends the registrations of all clients",
       .requirements = {"LIFE-DISCONNECT-3"},
       .make = with_decorator<DisconnectEndsAllRegistrations>()},
      {.id = "N28",
       .name = "client-ids-in-any-case",
       .text = "of clients whose ids differ only in letter case, one can observe a key",
       .requirements = {"NTF-REGISTER-1", "NTF-SEND-1"},
       .make = with_exchange(client_ids_in_any_case)},
      {.id = "N29",
       .name = "long-client-ids-are-not-notified",
       .text = "a client whose id has more than 200 bytes is not notified of changes",
       .requirements = {"NTF-REGISTER-1", "NTF-SEND-1"},
       .make = with_exchange(long_client_ids_are_not_notified)},
      {.id = "N30",
       .name = "second-keynotify-ends-the-first",
       .text = "a KEYNOTIFY of a key that is already monitored answers +OK and ends the monitoring",
       .requirements = {"NTF-SEND-1", "NTF-SEND-2"},
       .make = with_decorator<SecondKeynotifyEndsTheFirst>()},
      {.id = "N31",
       .name = "same-value-notified-with-the-old-version",
       .text = "a SET of the value that the key has is notified with the previous version",
       .requirements = {"NTF-VERSION-3"},
       .make = with_state<SameValueNotifiedWithTheOldVersion>()},
      {.id = "N32",
       .name = "notifies-eight-observers",
       .text = "only the first eight observers of a key are notified",
       .requirements = {"NTF-SEND-1", "NTF-SEND-2"},
       .make = with_exchange(notifies_eight_observers)},
      {.id = "N14",
       .name = "observes-a-prefix",
       .text = "an observer of a key is also notified of every key that begins like it",
       .requirements = {"NTF-REQUEST-3", "NTF-SEND-3"},
       .make = with_state<ObservesAPrefix>()},
      {.id = "N15",
       .name = "notified-before-the-effect",
       .text = "a notification arrives before its value can be read",
       .requirements = {"SET-WRITE-1", "GET-HIT-3", "NTF-SEND-1"},
       .needs = FaultNeeds::kOverlap,
       .make = with_decorator<NotifiedBeforeTheEffect>()},
      {.id = "N17",
       .name = "keynotify-needs-the-key",
       .text = "KEYNOTIFY of a missing key registers nothing and answers :0",
       .requirements = {"NTF-ABSENT-1"},
       .make = with_exchange(needs_the_key)},
      {.id = "N18",
       .name = "lost-in-a-burst",
       .text = "of the notifications within a tenth of a millisecond, only the first arrives",
       .requirements = {"NTF-SEND-1", "NTF-SEND-2"},
       .make = with_state<LostInABurst>()},
      {.id = "N33",
       .name = "expiry-is-notified-twice",
       .text = "the expiry of a key is notified as a deletion, and then as a SET of an empty value",
       .requirements = {"NTF-SET-2", "NTF-SEND-4"},
       .make = with_decorator<ExpiryIsNotifiedTwice>()},
      {.id = "N34",
       .name = "notifies-64-observers",
       .text = "only the first 64 observers of a key are notified of a change",
       .requirements = {"NTF-SEND-1"},
       .make = with_exchange(tells_the_first_observers)},
      {.id = "N35",
       .name = "deletion-is-notified-twice",
       .text = "observers are notified twice of a deletion",
       .requirements = {"NTF-SEND-2", "NTF-SEND-4"},
       .make = with_exchange(deletion_is_notified_twice)},
      // The article leaves these open.
      {.id = "N09",
       .name = "registrations-add-up",
       .text = "two KEYNOTIFY of one key cause every notification twice",
       .kind = FaultKind::kBenign,
       .make = with_decorator<RegistrationsAddUp>()},
      {.id = "N16",
       .name = "notifications-of-qos-0",
       .text = "notifications are sent with QoS 0",
       .kind = FaultKind::kBenign,
       .make = with_notification([](Delivery& delivery) { delivery.message.qos = 0; })},
  };
}

}  // namespace fencepost::store
