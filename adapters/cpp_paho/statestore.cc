#include "adapters/cpp_paho/statestore.h"

#include <charconv>

namespace statestore {
namespace {

using Code = mqtt::property::code;

constexpr const char* kRequests =
    "statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/command/invoke";
constexpr const char* kNotifications =
    "clients/statestore/v1/FA9AE35F-2F64-47CD-9BFF-08E2B32A0FE8/";
constexpr std::uint64_t kMaxAheadMs = 60'000;

std::uint64_t wall_ms() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<Milliseconds>(std::chrono::system_clock::now().time_since_epoch())
          .count());
}

std::optional<std::uint64_t> number_of(std::string_view digits) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return out;
}

std::optional<std::string> version_of(const mqtt::message& message) {
  const mqtt::properties& properties = message.get_properties();
  std::optional<std::string> out;
  for (std::size_t i = 0; i < properties.count(Code::USER_PROPERTY); ++i) {
    auto [name, value] = mqtt::get<mqtt::string_pair>(properties, Code::USER_PROPERTY, i);
    if (name == "__ts") out = value;
  }
  return out;
}

template <typename Number>
std::size_t limit_of(const mqtt::properties& properties, Code code, std::size_t otherwise) {
  return properties.contains(code) ? mqtt::get<Number>(properties, code) : otherwise;
}

// The text of an error of the store; nothing for other replies.
std::optional<std::string> error_text(const std::string& payload) {
  for (const std::string begin : {"-ERR ", "-ERR: "}) {
    const bool is_one = payload.starts_with(begin) && payload.ends_with("\r\n");
    const std::string text =
        is_one ? payload.substr(begin.size(), payload.size() - begin.size() - 2) : "";
    if (is_one && text.find_first_of("\r\n") == std::string::npos) return text;
  }
  return std::nullopt;
}

}  // namespace

std::string HybridClock::now() {
  const std::lock_guard lock(mutex_);
  const std::uint64_t wall = wall_ms();
  last_ = wall > last_.first ? std::pair{wall, std::uint64_t{0}}
                             : std::pair{last_.first, last_.second + 1};
  return std::to_string(last_.first) + ':' + std::to_string(last_.second) + ':' + node_;
}

void HybridClock::merge(const std::string& text) {
  const std::size_t first = text.find(':');
  const std::size_t second = first == std::string::npos ? first : text.find(':', first + 1);
  const bool has_parts = second != std::string::npos && second + 1 < text.size() &&
                         text.find(':', second + 1) == std::string::npos;
  const auto wall = has_parts ? number_of(text.substr(0, first)) : std::nullopt;
  const auto counter =
      has_parts ? number_of(text.substr(first + 1, second - first - 1)) : std::nullopt;
  if (!wall || !counter) throw Failure("reply", "no timestamp: " + text);
  if (*wall > wall_ms() + kMaxAheadMs) throw Failure("reply", "a timestamp of the future: " + text);
  const std::lock_guard lock(mutex_);
  last_ = std::max(last_, std::pair{*wall, *counter});
}

std::string array_of(const std::vector<std::string>& words) {
  std::string out = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) {
    out += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  }
  return out;
}

std::optional<std::string> bulk_of(const std::string& bytes) {
  const std::size_t end = bytes.find("\r\n");
  if (!bytes.starts_with('$') || end == std::string::npos) return std::nullopt;
  const std::string digits = bytes.substr(1, end - 1);
  const auto size = number_of(digits);
  const std::size_t begin = end + 2;
  if (!size || std::to_string(*size) != digits || *size > bytes.size()) return std::nullopt;
  if (bytes.size() != begin + *size + 2 || !bytes.ends_with("\r\n")) return std::nullopt;
  return bytes.substr(begin, *size);
}

std::string hex_of(const std::string& bytes, const char* digits) {
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += {digits[byte >> 4U], digits[byte & 15U]};
  }
  return out;
}

std::string bytes_of(const std::string& hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    constexpr int kBase = 16;
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, kBase));
  }
  return out;
}

Client::Client(const std::string& uri, const std::string& name, Milliseconds timeout)
    : clock_(name),
      response_topic_("clients/" + name + "/services/statestore/_any_/command/invoke/response"),
      change_topics_(kNotifications + hex_of(name, "0123456789ABCDEF") + "/command/notify/"),
      mqtt_(uri, name, mqtt::create_options(MQTTVERSION_5), nullptr) {
  mqtt_.set_message_callback(
      [this](const mqtt::const_message_ptr& message) { on_message(*message); });
  const auto on_end = [this] {
    const std::lock_guard lock(mutex_);
    for (auto& [correlation, reply] : waiting_) reply = Reply{.lost = true};
    news_.notify_all();
  };
  mqtt_.set_connection_lost_handler([on_end](const std::string&) { on_end(); });
  mqtt_.set_disconnected_handler([on_end](const mqtt::properties&, mqtt::ReasonCode) { on_end(); });
  mqtt::connect_options options;
  options.set_keep_alive_interval(1);  // of any broker: Paho does not take a Server Keep Alive
  options.set_mqtt_version(MQTTVERSION_5);
  options.set_clean_start(true);
  try {
    const auto connected = mqtt_.connect(options);
    if (!connected->wait_for(timeout)) throw Failure("connection", "no CONNACK");
    const mqtt::properties limits = connected->get_connect_response().get_properties();
    slots_ = limit_of<std::uint16_t>(limits, Code::RECEIVE_MAXIMUM, slots_);
    largest_packet_ = limit_of<std::uint32_t>(limits, Code::MAXIMUM_PACKET_SIZE, 0);
    for (const std::string& filter : {response_topic_, change_topics_ + "+"}) {
      if (!mqtt_.subscribe(filter, 1)->wait_for(timeout)) throw Failure("connection", "no SUBACK");
    }
  } catch (const mqtt::exception& error) {
    throw Failure("connection", error.what());
  }
}

Client::~Client() {
  try {
    const std::lock_guard lock(calls_);
    if (mqtt_.is_connected()) mqtt_.disconnect()->wait_for(std::chrono::seconds(1));
  } catch (const mqtt::exception&) {  // it is gone already
  }
}

void Client::on_message(const mqtt::message& message) {
  if (message.get_topic().starts_with(change_topics_)) return on_change(message);
  const mqtt::properties& properties = message.get_properties();
  if (!properties.contains(Code::CORRELATION_DATA)) return;
  const std::lock_guard lock(mutex_);
  const auto found = waiting_.find(mqtt::get<std::string>(properties, Code::CORRELATION_DATA));
  if (found == waiting_.end() || found->second) return;
  found->second = Reply{message.get_payload_str(), version_of(message)};
  news_.notify_all();
}

void Client::on_change(const mqtt::message& message) {
  Change out{.key = bytes_of(message.get_topic().substr(change_topics_.size())),
             .version = version_of(message).value_or("")};
  const std::string& payload = message.get_payload_str();
  const std::string set = "*4\r\n$6\r\nNOTIFY\r\n$3\r\nSET\r\n$5\r\nVALUE\r\n";
  const auto value = payload.starts_with(set) ? bulk_of(payload.substr(set.size())) : std::nullopt;
  out.deleted = payload == array_of({"NOTIFY", "DELETE"}) || payload == array_of({"NOTIFY", "DEL"});
  if (!value && !out.deleted) return;
  out.value = value.value_or("");
  try {
    clock_.merge(out.version);
  } catch (const Failure&) {
    return;  // of no use to anybody
  }
  const std::lock_guard lock(mutex_);
  if (observed_.contains(out.key)) changes_.push_back(std::move(out));
  news_.notify_all();
}

mqtt::delivery_token_ptr Client::publish(const std::string& payload, const std::string& correlation,
                                         const std::string& token) {
  mqtt::properties properties;
  properties.add({Code::RESPONSE_TOPIC, response_topic_});
  properties.add({Code::CORRELATION_DATA, correlation});
  const std::lock_guard lock(calls_);
  const std::string stamp = clock_.now();
  properties.add({Code::USER_PROPERTY, "__ts", stamp});
  if (!token.empty()) properties.add({Code::USER_PROPERTY, "__ft", token});
  // Headers and lengths take less than a hundred bytes.
  constexpr std::size_t kHeaders = 100;
  const std::size_t size = kHeaders + std::string(kRequests).size() + response_topic_.size() +
                           stamp.size() + token.size() + payload.size();
  if (largest_packet_ != 0 && size > largest_packet_) {
    throw Failure("argument", "the broker takes " + std::to_string(largest_packet_) + " bytes");
  }
  const auto message = mqtt::make_message(kRequests, payload, 1, false);
  message->set_properties(properties);
  return mqtt_.publish(message);
}

Reply Client::ask(const std::vector<std::string>& words, const How& how) {
  if (words.at(1).empty()) throw Failure("argument", "a key has at least one byte");
  const auto end = std::chrono::steady_clock::now() + how.timeout;
  std::unique_lock lock(mutex_);
  if (!news_.wait_until(lock, end, [this] { return slots_ > 0; })) {
    throw Failure("timeout", "the broker acknowledges nothing");
  }
  --slots_;
  const std::string correlation = "request " + std::to_string(++last_correlation_);
  waiting_[correlation];
  lock.unlock();
  std::optional<Failure> failure;
  bool acknowledged = false;
  try {
    // A place for the next one is free as soon as the PUBACK is here.
    acknowledged = publish(array_of(words), correlation, how.token)->wait_until(end);
  } catch (const mqtt::exception& error) {
    failure = Failure("connection", error.what());
  } catch (const Failure& refused) {
    failure = refused;
  }
  lock.lock();
  if (acknowledged || failure) ++slots_;
  news_.notify_all();
  if (!failure) news_.wait_until(lock, end, [&] { return waiting_.at(correlation).has_value(); });
  const std::optional<Reply> reply = waiting_.at(correlation);
  waiting_.erase(correlation);
  lock.unlock();
  if (failure) throw Failure(*failure);
  if (!reply) throw Failure("timeout", "no reply");
  if (reply->lost) throw Failure("connection", "the connection has ended");
  if (reply->version) clock_.merge(*reply->version);
  if (const auto text = error_text(reply->payload)) throw Failure("service", *text);
  return *reply;
}

void Client::observe(const std::string& key, bool observed) {
  const std::lock_guard lock(mutex_);
  if (observed) {
    observed_.insert(key);
  } else {
    observed_.erase(key);
  }
}

std::optional<Change> Client::next_change(Milliseconds timeout) {
  std::unique_lock lock(mutex_);
  if (!news_.wait_for(lock, timeout, [this] { return !changes_.empty(); })) return std::nullopt;
  Change out = std::move(changes_.front());
  changes_.pop_front();
  return out;
}

}  // namespace statestore
