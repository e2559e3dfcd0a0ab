#include "evidence/record.h"

#include <limits>

namespace fencepost::evidence {
namespace {

// Which parts follow.
constexpr std::uint64_t kHasClient = 1;
constexpr std::uint64_t kHasTime = 2;
constexpr std::uint64_t kHasNumber = 4;
constexpr std::uint64_t kHasText = 8;
constexpr std::uint64_t kHasName = 16;
constexpr std::uint64_t kHasNumbers = 32;
constexpr std::uint64_t kHasFailure = 64;
constexpr std::uint64_t kHasMessage = 128;
constexpr std::uint64_t kAllParts = 255;

// The flags of a message.
constexpr std::uint64_t kRetain = 1;
constexpr std::uint64_t kDuplicate = 2;
constexpr std::uint64_t kResponseTopic = 4;
constexpr std::uint64_t kCorrelation = 8;
constexpr std::uint64_t kContent = 16;
constexpr std::uint64_t kFormat = 32;
constexpr std::uint64_t kExpiry = 64;
constexpr std::uint64_t kAllFlags = 127;

constexpr unsigned kBitsOfAByte = 7;  // the eighth says that another one follows
constexpr unsigned kMore = 0x80;
constexpr std::uint64_t kMaxQos = 2;

void put(std::string& out, std::uint64_t value) {
  while (value >= kMore) {
    out += static_cast<char>((value & (kMore - 1)) | kMore);
    value >>= kBitsOfAByte;
  }
  out += static_cast<char>(value);
}

// Small for numbers near 0 on either side.
void put_signed(std::string& out, std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  put(out, value < 0 ? ~(bits << 1U) : bits << 1U);
}

void put(std::string& out, std::string_view text) {
  put(out, std::uint64_t{text.size()});
  out += text;
}

void put(std::string& out, const codec::Message& message) {
  std::uint64_t flags = 0;
  if (message.retain) flags |= kRetain;
  if (message.duplicate) flags |= kDuplicate;
  if (message.response_topic) flags |= kResponseTopic;
  if (message.correlation_data) flags |= kCorrelation;
  if (message.content_type) flags |= kContent;
  if (message.payload_format) flags |= kFormat;
  if (message.expiry_seconds) flags |= kExpiry;
  put(out, flags);
  put(out, static_cast<std::uint64_t>(message.qos));
  put(out, message.topic);
  put(out, message.payload);
  if (message.response_topic) put(out, *message.response_topic);
  if (message.correlation_data) put(out, *message.correlation_data);
  if (message.content_type) put(out, *message.content_type);
  if (message.payload_format) put(out, std::uint64_t{*message.payload_format});
  if (message.expiry_seconds) put(out, std::uint64_t{*message.expiry_seconds});
  put(out, std::uint64_t{message.user_properties.size()});
  for (const auto& [name, value] : message.user_properties) {
    put(out, name);
    put(out, value);
  }
}

void put(std::string& out, const Failure& failure) {
  put(out, std::uint64_t{failure.kind});
  put(out, failure.text);
  put(out, std::uint64_t{failure.reason_code.has_value()});
  if (failure.reason_code) put_signed(out, *failure.reason_code);
}

// The two clocks of a session are far apart.
std::uint64_t clock_of(const Record& record) {
  return std::uint64_t{record.session} * 2 + (record.kind == Kind::kWall ? 1 : 0);
}

std::uint64_t parts_of(const Record& record) {
  const Details& details = record.more();
  std::uint64_t mask = 0;
  if (record.client != 0) mask |= kHasClient;
  if (record.time != 0) mask |= kHasTime;
  if (record.number != 0) mask |= kHasNumber;
  if (!details.text.empty()) mask |= kHasText;
  if (!details.name.empty()) mask |= kHasName;
  if (!details.numbers.empty()) mask |= kHasNumbers;
  if (details.failure) mask |= kHasFailure;
  if (details.message) mask |= kHasMessage;
  return mask;
}

// Without overflow, regardless of what a file says.
std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t difference(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

}  // namespace

const Details& Record::more() const {
  static const Details none;
  return details ? *details : none;
}

bool operator==(const Record& left, const Record& right) {
  return left.kind == right.kind && left.session == right.session && left.client == right.client &&
         left.time == right.time && left.number == right.number && left.more() == right.more();
}

void Encoder::add(const Record& record) {
  const std::uint64_t mask = parts_of(record);
  out_ += static_cast<char>(record.kind);
  put(out_, std::uint64_t{record.session});
  put(out_, mask);
  if ((mask & kHasClient) != 0) put(out_, std::uint64_t{record.client});
  if ((mask & kHasTime) != 0) {
    std::int64_t& last = times_[clock_of(record)];
    put_signed(out_, difference(record.time, last));
    last = record.time;
  }
  if ((mask & kHasNumber) != 0) put_signed(out_, record.number);
  const Details& details = record.more();
  if ((mask & kHasText) != 0) put(out_, details.text);
  if ((mask & kHasName) != 0) put(out_, details.name);
  if ((mask & kHasNumbers) != 0) {
    put(out_, std::uint64_t{details.numbers.size()});
    for (const std::uint64_t each : details.numbers) put(out_, each);
  }
  if ((mask & kHasFailure) != 0) put(out_, *details.failure);
  if ((mask & kHasMessage) != 0) put(out_, *details.message);
}

std::string Encoder::take() {
  times_.clear();
  return std::exchange(out_, {});
}

std::optional<Record> Decoder::next() {
  if (rest_.empty() || failed_) return std::nullopt;
  Record record;
  if (read(record)) return record;
  failed_ = true;
  return std::nullopt;
}

bool Decoder::read(Record& record) {
  const auto kind = static_cast<std::uint8_t>(rest_.front());
  if (kind < 1 || kind > kLastKind) return false;
  rest_.remove_prefix(1);
  record.kind = static_cast<Kind>(kind);
  std::uint64_t mask = 0;
  if (!number32(record.session) || !number(mask) || mask > kAllParts) return false;
  if ((mask & kHasClient) != 0 && !number32(record.client)) return false;
  if ((mask & kHasTime) != 0) {
    std::int64_t passed = 0;
    if (!signed_number(passed)) return false;
    std::int64_t& last = times_[clock_of(record)];
    last = sum(last, passed);
    record.time = last;
  }
  if ((mask & kHasNumber) != 0 && !signed_number(record.number)) return false;
  if (mask < kHasText) return true;
  record.details = std::make_unique<Details>();
  return read_details(mask, *record.details);
}

bool Decoder::read_details(std::uint64_t mask, Details& details) {
  if ((mask & kHasText) != 0 && !text(details.text)) return false;
  if ((mask & kHasName) != 0 && !text(details.name)) return false;
  if ((mask & kHasNumbers) != 0) {
    std::uint64_t count = 0;
    if (!number(count) || count > rest_.size()) return false;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t value = 0;
      if (!number(value)) return false;
      details.numbers.push_back(value);
    }
  }
  if ((mask & kHasFailure) != 0 && !read_failure(details.failure.emplace())) return false;
  return (mask & kHasMessage) == 0 || read_message(details.message.emplace());
}

bool Decoder::read_failure(Failure& failure) {
  std::uint64_t kind = 0;
  std::uint64_t has_reason = 0;
  if (!number(kind) || kind > std::numeric_limits<std::uint8_t>::max()) return false;
  failure.kind = static_cast<std::uint8_t>(kind);
  if (!text(failure.text) || !number(has_reason) || has_reason > 1) return false;
  return has_reason == 0 || signed_number(failure.reason_code.emplace());
}

bool Decoder::read_message(codec::Message& message) {
  std::uint64_t flags = 0;
  std::uint64_t qos = 0;
  if (!number(flags) || flags > kAllFlags || !number(qos) || qos > kMaxQos) return false;
  message.retain = (flags & kRetain) != 0;
  message.duplicate = (flags & kDuplicate) != 0;
  message.qos = static_cast<int>(qos);
  if (!text(message.topic) || !text(message.payload)) return false;
  if ((flags & kResponseTopic) != 0 && !text(message.response_topic.emplace())) return false;
  if ((flags & kCorrelation) != 0 && !text(message.correlation_data.emplace())) return false;
  if ((flags & kContent) != 0 && !text(message.content_type.emplace())) return false;
  if ((flags & kFormat) != 0) {
    std::uint64_t format = 0;
    if (!number(format) || format > std::numeric_limits<std::uint8_t>::max()) return false;
    message.payload_format = static_cast<std::uint8_t>(format);
  }
  if ((flags & kExpiry) != 0 && !number32(message.expiry_seconds.emplace())) return false;
  std::uint64_t count = 0;
  if (!number(count) || count > rest_.size()) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    auto& [name, value] = message.user_properties.emplace_back();
    if (!text(name) || !text(value)) return false;
  }
  return true;
}

bool Decoder::number(std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < std::numeric_limits<std::uint64_t>::digits;
       shift += kBitsOfAByte) {
    if (rest_.empty()) return false;
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    const std::uint64_t bits = byte & (kMore - 1);
    if ((bits << shift) >> shift != bits) return false;
    value |= bits << shift;
    if (byte < kMore) return true;
  }
  return false;
}

bool Decoder::number32(std::uint32_t& value) {
  std::uint64_t wide = 0;
  if (!number(wide) || wide > std::numeric_limits<std::uint32_t>::max()) return false;
  value = static_cast<std::uint32_t>(wide);
  return true;
}

bool Decoder::signed_number(std::int64_t& value) {
  std::uint64_t bits = 0;
  if (!number(bits)) return false;
  value = static_cast<std::int64_t>((bits >> 1U) ^ (0 - (bits & 1U)));
  return true;
}

bool Decoder::text(std::string& value) {
  std::uint64_t size = 0;
  if (!number(size) || size > rest_.size()) return false;
  value.assign(rest_.substr(0, size));
  rest_.remove_prefix(size);
  return true;
}

}  // namespace fencepost::evidence
