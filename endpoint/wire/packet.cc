#include "endpoint/wire/packet.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.h"

namespace fencepost::wire {
namespace {

constexpr std::size_t kMaxLength = 268'435'455;  // 1.5.5
constexpr std::uint8_t kVersion = 5;
constexpr std::string_view kShortest = "MQTT-1.5.5-1";  // lengths have as few bytes as they can

// The upper four bits of a packet's first byte. (2.1.2)
enum class Type : std::uint8_t {
  kConnect = 1,
  kConnack,
  kPublish,
  kPuback,
  kPubrec,
  kPubrel,
  kPubcomp,
  kSubscribe,
  kSuback,
  kUnsubscribe,
  kUnsuback,
  kPingreq,
  kPingresp,
  kDisconnect,
  kAuth,
};

// By Type. Type 0 is reserved: no packet has it, but one that is refused has to be called
// something.
constexpr std::array<std::string_view, 16> kNames = {
    "packet of type 0", "CONNECT",  "CONNACK",    "PUBLISH", "PUBACK",      "PUBREC",
    "PUBREL",           "PUBCOMP",  "SUBSCRIBE",  "SUBACK",  "UNSUBSCRIBE", "UNSUBACK",
    "PINGREQ",          "PINGRESP", "DISCONNECT", "AUTH"};

enum class Form { kByte, kTwoBytes, kFourBytes, kVariable, kText, kPair };

// Where a property may stand: bits by packet type, and of its own for the will. (2.2.2.2)
constexpr std::uint32_t in(Type type) { return 1U << static_cast<unsigned>(type); }
// They stand in the CONNECT, but in a list of their own with other members. (3.1.3.2)
constexpr std::uint32_t kInWill = 1U << 16;
constexpr std::uint32_t kInAcks =
    in(Type::kPuback) | in(Type::kPubrec) | in(Type::kPubrel) | in(Type::kPubcomp);
// Each packet that reports a result may have a Reason String, from either side.
constexpr std::uint32_t kInAnswers = in(Type::kConnack) | kInAcks | in(Type::kSuback) |
                                     in(Type::kUnsuback) | in(Type::kDisconnect) | in(Type::kAuth);
constexpr std::uint32_t kInMessages = in(Type::kPublish) | kInWill;
constexpr std::uint32_t kInHandshake = in(Type::kConnect) | in(Type::kConnack);
constexpr std::uint32_t kAnywhere = 0xffff'ffff;

struct PropertyRule {
  PropertyId id;
  Form form;
  std::uint32_t where;
};
// Binary data are written as texts are (1.5.4, 1.5.6), so kText is both; is_text() tells them
// apart.
constexpr auto kPropertyRules = std::to_array<PropertyRule>({
    {PropertyId::kPayloadFormat, Form::kByte, kInMessages},
    {PropertyId::kMessageExpiry, Form::kFourBytes, kInMessages},
    {PropertyId::kContentType, Form::kText, kInMessages},
    {PropertyId::kResponseTopic, Form::kText, kInMessages},
    {PropertyId::kCorrelationData, Form::kText, kInMessages},
    {PropertyId::kSubscriptionId, Form::kVariable, in(Type::kPublish) | in(Type::kSubscribe)},
    {PropertyId::kSessionExpiry, Form::kFourBytes, kInHandshake | in(Type::kDisconnect)},
    {PropertyId::kAssignedClientId, Form::kText, in(Type::kConnack)},
    {PropertyId::kServerKeepAlive, Form::kTwoBytes, in(Type::kConnack)},
    {PropertyId::kAuthenticationMethod, Form::kText, kInHandshake | in(Type::kAuth)},
    {PropertyId::kAuthenticationData, Form::kText, kInHandshake | in(Type::kAuth)},
    {PropertyId::kRequestProblemInformation, Form::kByte, in(Type::kConnect)},
    {PropertyId::kWillDelay, Form::kFourBytes, kInWill},
    {PropertyId::kRequestResponseInformation, Form::kByte, in(Type::kConnect)},
    {PropertyId::kResponseInformation, Form::kText, in(Type::kConnack)},
    {PropertyId::kServerReference, Form::kText, in(Type::kConnack) | in(Type::kDisconnect)},
    {PropertyId::kReasonString, Form::kText, kInAnswers},
    {PropertyId::kReceiveMaximum, Form::kTwoBytes, kInHandshake},
    {PropertyId::kTopicAliasMaximum, Form::kTwoBytes, kInHandshake},
    {PropertyId::kTopicAlias, Form::kTwoBytes, in(Type::kPublish)},
    {PropertyId::kMaximumQos, Form::kByte, in(Type::kConnack)},
    {PropertyId::kRetainAvailable, Form::kByte, in(Type::kConnack)},
    {PropertyId::kUserProperty, Form::kPair, kAnywhere},
    {PropertyId::kMaximumPacketSize, Form::kFourBytes, kInHandshake},
    {PropertyId::kWildcardAvailable, Form::kByte, in(Type::kConnack)},
    {PropertyId::kSubscriptionIdAvailable, Form::kByte, in(Type::kConnack)},
    {PropertyId::kSharedAvailable, Form::kByte, in(Type::kConnack)},
});

const PropertyRule* rule_of(std::uint32_t id) {
  const auto* found = std::find_if(
      kPropertyRules.begin(), kPropertyRules.end(),
      [id](const PropertyRule& each) { return static_cast<std::uint32_t>(each.id) == id; });
  return found == kPropertyRules.end() ? nullptr : found;
}

// Is the value one byte that says yes or no? For the payload format, 1 is UTF-8 and 0 is nothing
// special. Maximum QoS is one of them: a server that takes QoS 2 leaves it out. (3.2.2.3.4)
bool is_flag(PropertyId id) { return rule_of(static_cast<std::uint32_t>(id))->form == Form::kByte; }

// 2.2.2.2: of these, 0 is a protocol error.
// (3.8.2.1.2, 3.1.2.11.3, 3.3.2.3.4, 3.1.2.11.4)
bool may_be_zero(PropertyId id) {
  return id != PropertyId::kSubscriptionId && id != PropertyId::kReceiveMaximum &&
         id != PropertyId::kTopicAlias && id != PropertyId::kMaximumPacketSize;
}

// Seven bits a byte, the lowest first. (1.5.5)
void add_variable(std::string& out, std::size_t number) {
  do {
    const auto low = static_cast<unsigned char>(number & 0x7fU);
    number >>= 7U;
    out += static_cast<char>(number > 0 ? low | 0x80U : low);
  } while (number > 0);
}

class Writer {
 public:
  void byte(std::uint32_t number) { out_ += static_cast<char>(number & 0xffU); }
  void two_bytes(std::uint32_t number) {
    byte(number >> 8U);
    byte(number);
  }
  void four_bytes(std::uint32_t number) {
    two_bytes(number >> 16U);
    two_bytes(number);
  }
  void text(std::string_view text) {
    // Its length would be cut to two bytes, and the rest read as something else. The first such
    // text is named; nothing of the packet goes out.
    if (text.size() > kMaxText && error_.empty()) {
      error_ = "a text of " + std::to_string(text.size()) + " bytes, where " +
               std::to_string(kMaxText) + " is the most";
    }
    two_bytes(static_cast<std::uint32_t>(text.size()));
    out_ += text;
  }
  void rest(std::string_view bytes) { out_ += bytes; }
  void properties(const Properties& all) {
    // Their length stands before them, in as many bytes as it needs: it is known when they are
    // written.
    Writer inside;
    for (const Property& each : all.all()) inside.property(each);
    if (error_.empty()) error_ = inside.error_;
    add_variable(out_, inside.out_.size());
    out_ += inside.out_;
  }
  // What 3.4.2.1 and its like leave out when there is nothing to say.
  void reason_and_properties(std::uint8_t reason, const Properties& all) {
    if (reason == 0 && all.all().empty()) return;
    byte(reason);
    // The reason must stand before properties even where it is 0: they are distinguished by place
    // alone.
    if (!all.all().empty()) properties(all);
  }

  [[nodiscard]] Result<std::string, std::string> packet(Type type, std::uint32_t flags) const {
    if (!error_.empty()) return fail(error_);
    if (out_.size() > kMaxLength) {
      return fail("a packet of " + std::to_string(out_.size()) + " bytes, where " +
                  std::to_string(kMaxLength) + " is the most");
    }
    std::string bytes(1, static_cast<char>(static_cast<unsigned>(type) << 4U | flags));
    add_variable(bytes, out_.size());
    return bytes + out_;
  }

 private:
  void property(const Property& each) {
    byte(static_cast<std::uint8_t>(each.id));
    switch (rule_of(static_cast<std::uint32_t>(each.id))->form) {
      case Form::kByte:
        return byte(each.number);
      case Form::kTwoBytes:
        return two_bytes(each.number);
      case Form::kFourBytes:
        return four_bytes(each.number);
      case Form::kVariable:
        return add_variable(out_, each.number);
      case Form::kText:
        return text(each.text);
      case Form::kPair:
        text(each.text);
        return text(each.value);
    }
  }

  std::string out_;
  std::string error_;
};

using Encoded = Result<std::string, std::string>;

Encoded encode_packet(const Connect& packet) {
  constexpr std::uint32_t kCleanStart = 0x02;
  constexpr std::uint32_t kWill = 0x04;
  constexpr std::uint32_t kWillRetain = 0x20;
  constexpr std::uint32_t kPassword = 0x40;
  constexpr std::uint32_t kUser = 0x80;
  std::uint32_t flags = packet.clean_start ? kCleanStart : 0;
  if (packet.will) {
    flags |= kWill | static_cast<std::uint32_t>(packet.will->qos) << 3U;
    if (packet.will->retain) flags |= kWillRetain;
  }
  // MQTT 5 allows a password without a user name, which MQTT 3.1.1 did not. (3.1.2.9)
  if (packet.user) flags |= kUser;
  if (packet.password) flags |= kPassword;
  Writer out;
  out.text("MQTT");
  out.byte(kVersion);
  out.byte(flags);
  out.two_bytes(packet.keep_alive_s);
  out.properties(packet.properties);
  out.text(packet.client_id);
  // 3.1.3: in this order, and each only where its flag is set.
  if (packet.will) {
    out.properties(packet.will->properties);
    out.text(packet.will->topic);
    out.text(packet.will->payload);
  }
  if (packet.user) out.text(*packet.user);
  if (packet.password) out.text(*packet.password);
  return out.packet(Type::kConnect, 0);
}

Encoded encode_packet(const Connack& packet) {
  Writer out;
  out.byte(packet.session_present ? 1 : 0);
  out.byte(packet.reason);
  out.properties(packet.properties);
  return out.packet(Type::kConnack, 0);
}

Encoded encode_packet(const Publish& packet) {
  Writer out;
  out.text(packet.topic);
  // 2.2.1: of QoS 0 there is none, and what comes next would be read for it.
  if (packet.qos > 0) out.two_bytes(packet.packet_id);
  out.properties(packet.properties);
  out.rest(packet.payload);
  const std::uint32_t flags = (packet.duplicate ? 8U : 0U) |
                              static_cast<std::uint32_t>(packet.qos) << 1U |
                              (packet.retain ? 1U : 0U);
  return out.packet(Type::kPublish, flags);
}

Encoded encode_packet(const Ack& packet) {
  Writer out;
  out.two_bytes(packet.packet_id);
  out.reason_and_properties(packet.reason, packet.properties);
  // 2.1.3: reserved bits, which are not 0 in a PUBREL, a SUBSCRIBE and an UNSUBSCRIBE.
  return out.packet(static_cast<Type>(packet.kind), packet.kind == AckKind::kPubrel ? 2 : 0);
}

Encoded encode_packet(const Subscribe& packet) {
  Writer out;
  out.two_bytes(packet.packet_id);
  out.properties(packet.properties);
  for (const Subscription& each : packet.subscriptions) {
    out.text(each.filter);
    out.byte(each.options);
  }
  return out.packet(Type::kSubscribe, 2);
}

Encoded encode_packet(const Unsubscribe& packet) {
  Writer out;
  out.two_bytes(packet.packet_id);
  out.properties(packet.properties);
  for (const std::string& filter : packet.filters) out.text(filter);
  return out.packet(Type::kUnsubscribe, 2);
}

Encoded reasons_packet(Type type, std::uint16_t packet_id, const Properties& properties,
                       const std::vector<std::uint8_t>& reasons) {
  Writer out;
  out.two_bytes(packet_id);
  out.properties(properties);
  for (const std::uint8_t reason : reasons) out.byte(reason);
  return out.packet(type, 0);
}
Encoded encode_packet(const Suback& packet) {
  return reasons_packet(Type::kSuback, packet.packet_id, packet.properties, packet.reasons);
}
Encoded encode_packet(const Unsuback& packet) {
  return reasons_packet(Type::kUnsuback, packet.packet_id, packet.properties, packet.reasons);
}

Encoded encode_packet(const Pingreq& /*packet*/) { return Writer().packet(Type::kPingreq, 0); }
Encoded encode_packet(const Pingresp& /*packet*/) { return Writer().packet(Type::kPingresp, 0); }

Encoded encode_packet(const Disconnect& packet) {
  Writer out;
  out.reason_and_properties(packet.reason, packet.properties);
  return out.packet(Type::kDisconnect, 0);
}
Encoded encode_packet(const Auth& packet) {
  Writer out;
  out.reason_and_properties(packet.reason, packet.properties);
  return out.packet(Type::kAuth, 0);
}

// Reads the inside of one packet. The first thing that is wrong is kept; after it, anything that is
// read is empty or 0.
class Reader {
 public:
  Reader(Type type, std::string_view bytes) : type_(type), bytes_(bytes) {}

  // "a PUBLISH"
  [[nodiscard]] std::string name() const {
    return with_article(kNames.at(static_cast<std::size_t>(type_)));
  }
  // Also after a failure, so that no loop over the rest continues.
  [[nodiscard]] bool at_end() const { return bytes_.empty() || failed(); }
  [[nodiscard]] bool failed() const { return error_.has_value(); }
  [[nodiscard]] const DecodeError& error() const { return *error_; }

  void refuse(std::uint8_t reason, const std::string& text, std::string_view statement = {}) {
    // What is wrong later is often but what follows from the first.
    if (!failed()) error_ = DecodeError{reason, text, statement};
  }
  void refuse(const std::string& text, std::string_view statement = {}) {
    refuse(kMalformed, text, statement);
  }

  std::uint32_t number(std::size_t size) {
    std::uint32_t out = 0;
    // 1.5.2, 1.5.3: the highest byte first.
    for (const char byte : take(size)) out = out << 8U | static_cast<unsigned char>(byte);
    return out;
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(number(1)); }
  std::uint16_t two_bytes() { return static_cast<std::uint16_t>(number(2)); }
  std::string text() { return std::string(take(two_bytes())); }
  // 3.3.3: a payload has no length of its own.
  std::string rest() { return std::string(take(bytes_.size())); }

  // 2.2.1: packet identifiers are never 0.
  std::uint16_t packet_id() {
    const std::uint16_t id = two_bytes();
    const bool answers = type_ >= Type::kPuback && type_ <= Type::kPubcomp;
    if (id == 0) {
      // The standard says that an acknowledgement repeats the identifier of the PUBLISH, which is
      // not 0.
      refuse(kProtocolError, name() + " with packet identifier 0",
             answers ? "MQTT-2.2.1-5" : "MQTT-2.2.1-3");
    }
    return id;
  }

  Properties properties(std::uint32_t where) {
    const std::uint32_t size = variable();
    // A reader of their own: no property reaches beyond their length into what stands behind.
    Reader inside(type_, take(size));
    Properties out;
    while (!failed() && !inside.at_end()) {
      inside.property(out, where);
      if (inside.failed()) error_ = inside.error();
    }
    return out;
  }
  Properties properties() { return properties(in(type_)); }

 private:
  std::string_view take(std::size_t size) {
    if (failed()) return {};
    // The packet is whole by its header, so more bytes would not help.
    if (size > bytes_.size()) {
      refuse(name() + " that ends within its content");
      return {};
    }
    const std::string_view out = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return out;
  }

  std::uint32_t variable() {
    std::uint32_t out = 0;
    // 1.5.5: four bytes at most. A last byte of 0 says nothing, so that the number has a byte too
    // many.
    for (unsigned shift = 0; shift < 28; shift += 7) {
      const std::uint32_t next = byte();
      out |= (next & 0x7fU) << shift;
      if (next == 0 && shift > 0) refuse(name() + " with a number of too many bytes", kShortest);
      if ((next & 0x80U) == 0) return out;
    }
    refuse(name() + " with a length of more than four bytes");
    return 0;
  }

  void property(Properties& out, std::uint32_t where) {
    const std::uint32_t id = variable();
    // Its type is a number of variable length, though all that there are have one byte. (2.2.2.2)
    const PropertyRule* rule = rule_of(id);
    if (rule == nullptr) return refuse(name() + " with a property of type " + hex(id));
    // Malformed, as a property of an unknown type is. (2.2.2.2)
    if ((rule->where & where) == 0) {
      return refuse(name() + " with property " + hex(id) + ", which is not for it");
    }
    // A limit of our own: each takes a hundred times the five bytes that it costs to send.
    if (out.all().size() >= kMaxProperties) {
      return refuse(kTooLarge,
                    name() + " with more than " + std::to_string(kMaxProperties) + " properties");
    }
    // A message that matches several subscriptions has an identifier of each. (3.3.2.3.8)
    // User properties may come any number of times, with the same name, too. (3.3.2.3.7)
    const bool repeats = rule->form == Form::kPair ||
                         (rule->id == PropertyId::kSubscriptionId && type_ == Type::kPublish);
    if (!repeats && out.find(rule->id) != nullptr) {
      return refuse(kProtocolError, name() + " with property " + hex(id) + " twice");
    }
    add(out, *rule);
  }

  void add(Properties& out, const PropertyRule& rule) {
    switch (rule.form) {
      case Form::kByte:
        return add_number(out, rule.id, byte());
      case Form::kTwoBytes:
        return add_number(out, rule.id, two_bytes());
      case Form::kFourBytes:
        return add_number(out, rule.id, number(4));
      case Form::kVariable:
        return add_number(out, rule.id, variable());
      case Form::kText:
        return out.add(rule.id, text());
      case Form::kPair: {
        // Read by itself: C++ leaves open which argument of a call is evaluated first.
        std::string key = text();
        return out.add_user(std::move(key), text());
      }
    }
  }

  void add_number(Properties& out, PropertyId id, std::uint32_t number) {
    // Where the bytes had ended, the 0 that was read is not in the packet.
    const bool legal = (number != 0 || may_be_zero(id)) && (number <= 1 || !is_flag(id));
    if (!legal && !failed()) {
      return refuse(
          kProtocolError,
          name() + " with property " + hex(static_cast<std::uint32_t>(id)) + " of " +
              std::to_string(number),
          id == PropertyId::kTopicAlias ? std::string_view("MQTT-3.3.2-8") : std::string_view());
    }
    out.add(id, number);
  }

  static std::string hex(std::uint32_t number) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out;
    do {
      out.insert(out.begin(), kDigits[number % 16]);
      number /= 16;
    } while (number > 0);
    return (out.size() < 2 ? "0x0" : "0x") + out;
  }

  Type type_;
  std::string_view bytes_;
  std::optional<DecodeError> error_;
};

Connect read_connect(Reader& in) {
  Connect out;
  // These two stand first in each version of MQTT, so that a server can tell which one it is. A
  // client of an older one breaks no rule of MQTT 5; PacketReader continues with its packets
  // unread.
  const std::string protocol = in.text();
  const unsigned version = in.byte();
  if (protocol != "MQTT" || version != kVersion) {
    // MQTT 3.1 and 3.1.1 have no statement here.
    const bool older =
        (protocol == "MQIsdp" && version == 3) || (protocol == "MQTT" && version == 4);
    const std::string_view statement = protocol == "MQTT" ? "MQTT-3.1.2-2" : "MQTT-3.1.2-1";
    in.refuse(0x84, "a CONNECT of another protocol or version",
              older ? std::string_view() : statement);
  }
  const unsigned flags = in.byte();
  if ((flags & 1U) != 0) in.refuse("a CONNECT with its reserved flag set", "MQTT-3.1.2-3");
  out.clean_start = (flags & 2U) != 0;
  out.keep_alive_s = in.two_bytes();
  out.properties = in.properties();
  out.client_id = in.text();
  const auto qos = static_cast<std::uint8_t>(flags >> 3U & 3U);
  const bool retain = (flags & 0x20U) != 0;
  if ((flags & 4U) != 0) {
    Will will{.qos = qos, .retain = retain};
    will.properties = in.properties(kInWill);
    will.topic = in.text();
    // Binary data, which have the form of a text. (3.1.3.4)
    will.payload = in.text();
    out.will = std::move(will);
  }
  // 3.1.2.6, 3.1.2.7
  const bool will_only = (flags & 4U) == 0 && (qos != 0 || retain);
  if (qos == 3 || will_only) {
    in.refuse("a CONNECT with flags of a will that cannot be", qos == 3   ? "MQTT-3.1.2-12"
                                                               : qos != 0 ? "MQTT-3.1.2-11"
                                                                          : "MQTT-3.1.2-13");
  }
  // Each by its own flag: a password may come without a user name. (3.1.2.9)
  if ((flags & 0x80U) != 0) out.user = in.text();
  if ((flags & 0x40U) != 0) out.password = in.text();
  return out;
}

Connack read_connack(Reader& in) {
  Connack out;
  const std::uint8_t flags = in.byte();
  // 3.2.2.1: bits 7 to 1 must be 0.
  if (flags > 1) in.refuse("a CONNACK with reserved flags set");
  out.session_present = flags == 1;
  out.reason = in.byte();
  out.properties = in.properties();
  return out;
}

Publish read_publish(Reader& in, std::uint32_t flags) {
  Publish out;
  out.duplicate = (flags & 8U) != 0;
  out.qos = static_cast<std::uint8_t>(flags >> 1U & 3U);
  out.retain = (flags & 1U) != 0;
  if (out.qos == 3) in.refuse("a PUBLISH with QoS 3", "MQTT-3.3.1-4");
  if (out.qos == 0 && out.duplicate) in.refuse("a PUBLISH with DUP and QoS 0", "MQTT-3.3.1-2");
  // It may be empty where there is an alias; who receives it knows whether it stands for one.
  // (3.3.2.1)
  out.topic = in.text();
  if (out.qos > 0) out.packet_id = in.packet_id();
  out.properties = in.properties();
  out.payload = in.rest();
  return out;
}

// 3.4.2.1: a reason code of 0, and then no properties, may be left out.
Ack read_ack(Reader& in, AckKind kind) {
  Ack out{.kind = kind, .packet_id = in.packet_id()};
  if (!in.at_end()) out.reason = in.byte();
  if (!in.at_end()) out.properties = in.properties();
  return out;
}

Subscribe read_subscribe(Reader& in) {
  Subscribe out{.packet_id = in.packet_id(), .properties = in.properties()};
  while (!in.at_end()) {
    Subscription each{.filter = in.text()};
    each.options = in.byte();
    const bool reserved = (each.options & 0xc0U) != 0;
    // 3.8.3.1: QoS and Retain Handling have two bits each, of which 3 is no value.
    const bool legal = !reserved && (each.options & 3U) != 3 && (each.options & 0x30U) != 0x30;
    if (!legal) {
      in.refuse("a SUBSCRIBE with options that cannot be",
                reserved ? "MQTT-3.8.3-5" : "MQTT-3.8.3.1");
    }
    out.subscriptions.push_back(std::move(each));
  }
  if (out.subscriptions.empty())
    in.refuse(kProtocolError, "a SUBSCRIBE without a filter", "MQTT-3.8.3-2");
  return out;
}

Unsubscribe read_unsubscribe(Reader& in) {
  Unsubscribe out{.packet_id = in.packet_id(), .properties = in.properties()};
  while (!in.at_end()) out.filters.push_back(in.text());
  if (out.filters.empty())
    in.refuse(kProtocolError, "an UNSUBSCRIBE without a filter", "MQTT-3.10.3-2");
  return out;
}

template <typename Answer>
Answer read_reasons(Reader& in) {
  Answer out{.packet_id = in.packet_id(), .properties = in.properties()};
  for (const char reason : in.rest()) out.reasons.push_back(static_cast<std::uint8_t>(reason));
  // One for each filter (3.9.3, 3.11.3), and there is no request without a filter. How many there
  // were only its client knows.
  if (out.reasons.empty()) in.refuse(in.name() + " without a reason code");
  return out;
}

// 3.14.2.1, 3.15.2.1
// A reason code of 0 may be left out, and so may properties behind it.
template <typename Last>
Last read_last(Reader& in) {
  Last out;
  if (!in.at_end()) out.reason = in.byte();
  if (!in.at_end()) out.properties = in.properties();
  return out;
}

Packet read_packet(Reader& in, Type type, std::uint32_t flags) {
  switch (type) {
    case Type::kConnect:
      return read_connect(in);
    case Type::kConnack:
      return read_connack(in);
    case Type::kPublish:
      return read_publish(in, flags);
    case Type::kPuback:
    case Type::kPubrec:
    case Type::kPubrel:
    case Type::kPubcomp:
      return read_ack(in, static_cast<AckKind>(type));
    case Type::kSubscribe:
      return read_subscribe(in);
    case Type::kSuback:
      return read_reasons<Suback>(in);
    case Type::kUnsubscribe:
      return read_unsubscribe(in);
    case Type::kUnsuback:
      return read_reasons<Unsuback>(in);
    case Type::kPingreq:
      // 3.12, 3.13: neither has anything behind its header. decode() refuses what has.
      return Pingreq{};
    case Type::kPingresp:
      return Pingresp{};
    case Type::kDisconnect:
      return read_last<Disconnect>(in);
    case Type::kAuth:
      return read_last<Auth>(in);
  }
  // Not reached: type 0 was refused, and four bits have no more than fifteen others.
  return Pingreq{};
}

struct Header {
  std::size_t size = 0;    // of itself
  std::size_t length = 0;  // of what follows
};

// 2.1.4; nothing while the length is not complete.
Result<std::optional<Header>, DecodeError> read_header(std::string_view bytes) {
  std::size_t length = 0;
  for (std::size_t i = 1; i <= 4; ++i) {
    // What is wrong with the bytes that are there is said before the rest has come.
    if (i >= bytes.size()) return std::nullopt;
    const auto next = static_cast<unsigned char>(bytes[i]);
    length |= static_cast<std::size_t>(next & 0x7fU) << (7 * (i - 1));
    // 1.5.5 wants as few bytes as can be; else one length had several forms.
    if (next == 0 && i > 1) {
      return fail(DecodeError{kMalformed, "a packet with a length of too many bytes", kShortest});
    }
    if ((next & 0x80U) == 0) return Header{.size = i + 1, .length = length};
  }
  return fail(DecodeError{kMalformed, "a packet with a length of more than four bytes"});
}

}  // namespace

const Property* Properties::find(PropertyId id) const {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [id](const Property& each) { return each.id == id; });
  return found == all_.end() ? nullptr : &*found;
}

void Properties::remove(PropertyId id) {
  std::erase_if(all_, [id](const Property& each) { return each.id == id; });
}

std::optional<std::uint32_t> Properties::number(PropertyId id) const {
  const Property* found = find(id);
  return found == nullptr ? std::nullopt : std::optional(found->number);
}

std::string_view name(const Packet& packet) {
  // One alternative with four names, which therefore has none below.
  if (const auto* ack = std::get_if<Ack>(&packet)) {
    return kNames.at(static_cast<std::size_t>(ack->kind));
  }
  constexpr std::array<std::string_view, std::variant_size_v<Packet>> kOfAlternatives = {
      "CONNECT",     "CONNACK",  "PUBLISH", "",         "SUBSCRIBE",  "SUBACK",
      "UNSUBSCRIBE", "UNSUBACK", "PINGREQ", "PINGRESP", "DISCONNECT", "AUTH"};
  return kOfAlternatives.at(packet.index());
}

std::string with_article(std::string_view name) {
  // No packet begins with another vowel.
  const bool vowel = !name.empty() && (name[0] == 'A' || name[0] == 'U');
  return (vowel ? "an " : "a ") + std::string(name);
}

Result<std::string, std::string> encode(const Packet& packet) {
  return std::visit([](const auto& each) { return encode_packet(each); }, packet);
}

std::size_t size_of_first(std::string_view bytes) {
  // 0 also where the length is malformed: what is wrong with it is for decode() to say.
  const auto header = read_header(bytes);
  return header && *header ? (*header)->size + (*header)->length : 0;
}

Result<std::optional<Decoded>, DecodeError> decode(std::string_view bytes, std::size_t limit) {
  if (bytes.empty()) return std::nullopt;
  const auto first = static_cast<unsigned char>(bytes[0]);
  const std::uint32_t flags = first & 0xfU;
  // By the first byte alone, as far as it goes: a peer that speaks something else, such as HTTP,
  // gets an error before its bytes are taken for a length that never comes.
  if (first < 0x10) return fail(DecodeError{kMalformed, "a packet of type 0"});
  const auto type = static_cast<Type>(first >> 4U);
  const std::string name = with_article(kNames.at(static_cast<std::size_t>(type)));
  // 2.1.3
  const bool has_two =
      type == Type::kPubrel || type == Type::kSubscribe || type == Type::kUnsubscribe;
  if (type != Type::kPublish && flags != (has_two ? 2U : 0U)) {
    return fail(DecodeError{kMalformed, name + " with flags that cannot be", "MQTT-2.1.3-1"});
  }
  const auto header = read_header(bytes);
  if (!header) return fail(header.error());
  if (!*header) return std::nullopt;
  const auto [head, length] = **header;
  // Before it has come: nothing that is too large is kept.
  if (head + length > limit) {
    return fail(DecodeError{kTooLarge, name + " of " + std::to_string(head + length) +
                                           " bytes, where " + std::to_string(limit) +
                                           " is the most"});
  }
  if (bytes.size() < head + length) return std::nullopt;
  // Read only when all of it is there: what ends too early then is wrong, and not just late.
  Reader in(type, bytes.substr(head, length));
  Packet packet = read_packet(in, type, flags);
  // A PUBLISH cannot have any: its payload is all that is left.
  if (!in.at_end()) in.refuse(name + " with bytes behind its end");
  if (in.failed()) return fail(in.error());
  return Decoded{.packet = std::move(packet), .size = head + length};
}

Result<Properties, DecodeError> decode_properties(std::string_view bytes, PropertiesOf packet) {
  std::string with_length;
  // As they would stand in the packet, so that one reader has the rules of both.
  add_variable(with_length, bytes.size());
  with_length += bytes;
  Reader in(packet == PropertiesOf::kConnect ? Type::kConnect : Type::kSubscribe, with_length);
  Properties out = in.properties();
  if (in.failed()) return fail(in.error());
  return out;
}

namespace {

std::optional<DecodeError> error_of_text(std::string_view text) {
  if (!is_utf8(text)) return DecodeError{kMalformed, "that is not UTF-8", "MQTT-1.5.4-1"};
  // U+0000 is UTF-8, and forbidden all the same. (1.5.4)
  if (text.find('\0') != std::string_view::npos) {
    return DecodeError{kMalformed, "with U+0000", "MQTT-1.5.4-2"};
  }
  return std::nullopt;
}

// Binary data stand beside texts. (2.2.2.2)
bool is_text(PropertyId id) {
  return id != PropertyId::kCorrelationData && id != PropertyId::kAuthenticationData;
}

// PINGREQ and PINGRESP have none.
const Properties* properties_of(const Packet& packet) {
  return std::visit(
      [](const auto& each) -> const Properties* {
        if constexpr (requires { each.properties; }) return &each.properties;
        return nullptr;
      },
      packet);
}

// Each text of a packet with what it is, until one is wrong.
class TextCheck {
 public:
  void text(std::string_view what, std::string_view text) {
    if (error) return;
    error = error_of_text(text);
    if (error) error->text = " with " + std::string(what) + " " + error->text;
  }
  void properties(const Properties& properties) {
    for (const Property& each : properties.all()) {
      if (!is_text(each.id)) continue;
      // For all but user properties, the value is empty, and correct.
      const bool user = each.id == PropertyId::kUserProperty;
      const std::string_view what = user ? "a user property" : "a property";
      text(what, each.text);
      text(what, each.value);
    }
  }
  void connect(const Connect& connect) {
    text("a client identifier", connect.client_id);
    if (connect.will) {
      properties(connect.will->properties);
      text("a will topic", connect.will->topic);
    }
    // Will payload and password are binary data. (3.1.3.4, 3.1.3.6)
    text("a user name", connect.user.value_or(""));
  }

  std::optional<DecodeError> error{};
};

}  // namespace

std::optional<DecodeError> error_of_texts(const Packet& packet) {
  TextCheck check;
  if (const auto* publish = std::get_if<Publish>(&packet)) {
    // Not its payload, even where the Payload Format Indicator calls it UTF-8: who receives it may
    // check that, and need not. (3.3.2.3.2)
    check.text("a topic", publish->topic);
  } else if (const auto* connect = std::get_if<Connect>(&packet)) {
    check.connect(*connect);
  } else if (const auto* subscribe = std::get_if<Subscribe>(&packet)) {
    for (const Subscription& each : subscribe->subscriptions) check.text("a filter", each.filter);
  } else if (const auto* unsubscribe = std::get_if<Unsubscribe>(&packet)) {
    for (const std::string& each : unsubscribe->filters) check.text("a filter", each);
  }
  if (const Properties* properties = properties_of(packet)) check.properties(*properties);
  if (check.error) check.error->text.insert(0, with_article(name(packet)));
  return check.error;
}

}  // namespace fencepost::wire
