// The messages between a case and the store, decoded and timed.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "codec/message.h"
#include "endpoint/endpoint.h"

namespace fencepost::run {

enum class Direction { kSent, kReceived, kEvent };

struct TranscriptEntry {
  endpoint::Duration time{0};  // since the case began, on the session's clock
  std::string client;
  Direction direction = Direction::kEvent;
  std::string summary;  // e.g. `SET "k" "v" NX`, `:-1`, `NOTIFY SET "v"`, `connected`
  codec::Message
      message{};  // empty topic for events; payloads are cut to kMaxTranscriptPayload bytes
  std::size_t payload_bytes = 0;  // before the cut
};

inline constexpr std::size_t kMaxTranscriptPayload = 2048;
// Limits of the user properties that are kept: their number, bytes of a name or value, about all
// bytes.
inline constexpr std::size_t kMaxTranscriptProperties = 128;
inline constexpr std::size_t kMaxTranscriptText = 2048;
inline constexpr std::size_t kMaxTranscriptPropertyBytes = std::size_t{16} << 10U;

// What the transcripts of all cases of a run may hold together. Thread safe.
class TranscriptBudget {
 public:
  // What is kept of a packet: all that make_entry() keeps, its summary alone, or nothing.
  enum class Keep { kAll, kSummary, kNothing };
  [[nodiscard]] Keep take(const TranscriptEntry& entry);
  // What was taken, as it was kept, and is kept no more.
  void give_back(const TranscriptEntry& entry);

 private:
  std::atomic<std::size_t> used_{0};
};

// One line about a payload: a command, a reply or a notification when it is one, else its bytes.
// Escaped, and cut where it is long: for people, not to be parsed.
[[nodiscard]] std::string summarize(const codec::Message& message);

// `   12.345 ms  a  > SET "k" "v"   __ts=...`: one line for the console, without its line feed.
[[nodiscard]] std::string to_line(const TranscriptEntry& entry);

// An entry of a message, summarized; its payload is cut to kMaxTranscriptPayload bytes, and
// `payload_bytes` says how many there were. `time` is counted from the begin of the case.
[[nodiscard]] TranscriptEntry make_entry(endpoint::Duration time, const std::string& client,
                                         Direction direction, const codec::Message& message);

}  // namespace fencepost::run
