// The calls of a run to an endpoint and their results, as bytes: docs/EVIDENCE.md. Everything
// that a case can find out goes through endpoint/endpoint.h, so the answers given there, in their
// order, are all that it takes to judge the case again.
//
//   Encoder encoder;
//   encoder.add({.kind = Kind::kNow, .session = 3, .time = 17});
//   Decoder decoder(encoder.take());
//   while (auto record = decoder.next()) use(*record);
//   if (decoder.failed()) complain();
//
// Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "codec/message.h"

namespace fencepost::evidence {

enum class Kind : std::uint8_t {
  kHead = 1,       // text: JSON, what run this is
  kOpened = 2,     // text: what the session is for; number: 1 on the isolated broker; failure
  kClosed = 3,     // nothing more of what kOpened has begun
  kReachable = 4,  // of session 0; text: the caller; failure
  kNow = 5,        // time
  kWall = 6,       // time: milliseconds since 1970
  kMeasured = 7,   // number: a time that was measured in other sessions, in microseconds
  kWaited = 8,     // time: until when
  // text: client id; name: role; number: 1 where a session is resumed; numbers: see
  // docs/EVIDENCE.md; message: the will
  kConnect = 9,
  kSubscribe = 10,    // text: the filter; failure
  kUnsubscribe = 11,  // the same
  kPublish = 12,      // time; message; failure
  kNothing = 13,      // no event came in time
  kReceived = 14,     // time; message
  kRefused = 15,      // time; number: reason code; text: correlation data
  // time; number: reason code, or -1; text: what the broker did; name: the section of MQTT 5
  kEnded = 16,
  kPacketLimit = 17,  // number: bytes, or -1 when none is known
  kDisconnect = 18,
  kDrop = 19,
  kDisturbance = 20,  // text: client id; name: what kind, empty: "restart"; failure
  kCase = 21,         // text: JSON, what was found of a case
  kEnd = 22,          // text: JSON, the verdicts of the whole
  kHistory = 23,      // text: lines of a history of concurrent clients, docs/HISTORY.md
};
inline constexpr std::uint8_t kLastKind = 23;

// What a call was answered with instead of success: endpoint::Error.
struct Failure {
  std::uint8_t kind = 0;
  std::string text{};
  std::optional<std::int64_t> reason_code{};
  friend bool operator==(const Failure&, const Failure&) = default;
};

// What few records have.
struct Details {
  std::string text{};
  std::string name{};
  std::vector<std::uint64_t> numbers{};
  std::optional<Failure> failure{};
  std::optional<codec::Message> message{};
  friend bool operator==(const Details&, const Details&) = default;
};

struct Record {
  Kind kind = Kind::kNow;
  std::uint32_t session = 0;  // from 1; 0: no session
  std::uint32_t client = 0;   // of the session, from 1, in the order of connects; 0: no client
  std::int64_t time = 0;      // microseconds on the session's clock, unless the kind says otherwise
  std::int64_t number = 0;
  std::unique_ptr<Details> details{};  // null: they are all empty

  [[nodiscard]] const Details& more() const;
};

[[nodiscard]] bool operator==(const Record& left, const Record& right);

// Writes records one after the other. Times are differences to the record before of the same
// session and clock, so what one encoder has written, one decoder must read from the begin.
class Encoder {
 public:
  void add(const Record& record);
  [[nodiscard]] std::size_t size() const { return out_.size(); }
  // What was written since the last call; the next record starts again.
  [[nodiscard]] std::string take();

 private:
  std::string out_;
  std::map<std::uint64_t, std::int64_t> times_;
};

class Decoder {
 public:
  // The bytes must outlive it.
  explicit Decoder(std::string_view bytes) : rest_(bytes) {}

  // Nothing at the end, and where the bytes are not from an encoder.
  [[nodiscard]] std::optional<Record> next();
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  [[nodiscard]] bool read(Record& record);
  [[nodiscard]] bool read_details(std::uint64_t mask, Details& details);
  [[nodiscard]] bool read_message(codec::Message& message);
  [[nodiscard]] bool read_failure(Failure& failure);
  [[nodiscard]] bool number(std::uint64_t& value);
  [[nodiscard]] bool number32(std::uint32_t& value);
  [[nodiscard]] bool signed_number(std::int64_t& value);
  [[nodiscard]] bool text(std::string& value);

  std::string_view rest_;
  std::map<std::uint64_t, std::int64_t> times_;
  bool failed_ = false;
};

}  // namespace fencepost::evidence
