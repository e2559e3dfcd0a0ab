// The messages to and from the store, line by line, for `fencepost serve --record`. Each line is
// one JSON object, written immediately, so that a broker that is killed loses nothing:
//
//   {"event":"start","version":2,"time_us":1767225600000000,"clock_offset_ms":0}
//   {"event":"request","time_us":...,"client":"a","message":{"topic":"...","payload":"*1...",...}}
//   {"event":"delivery","time_us":...,"client":"","message":{...}}
//   {"event":"disconnect","time_us":...,"client":"a","by_store":false}
//   {"event":"elsewhere","time_us":...,"client":"a","topic":"statestore/v1"}
//   {"event":"control","time_us":...,"client":"a","text":"fault S01"}
//
// `start` has "holds_keys":true where the store begins with those of its database.
// `elsewhere` is a message to a topic that looks like the request topic and is not; `control` is
// what a message to the control topic has changed. codec/message_json.h describes messages. User
// names are not written. Read by traffic/record/capture_log.h. Not thread safe.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"
#include "codec/message.h"

namespace fencepost::served {

class TrafficLog {
 public:
  // Appends to the file, which is made when it is not there. The error says why it cannot.
  [[nodiscard]] static Result<TrafficLog, std::string> open(const std::string& path);
  ~TrafficLog();
  TrafficLog(TrafficLog&& other) noexcept : descriptor_(other.descriptor_) {
    other.descriptor_ = -1;
  }
  TrafficLog& operator=(TrafficLog&&) = delete;
  TrafficLog(const TrafficLog&) = delete;
  TrafficLog& operator=(const TrafficLog&) = delete;

  // Each returns false when the line could not be written.
  [[nodiscard]] bool started(std::chrono::microseconds time, std::chrono::milliseconds offset,
                             bool holds_keys);
  [[nodiscard]] bool request(std::chrono::microseconds time, const std::string& client_id,
                             const codec::Message& message);
  [[nodiscard]] bool delivery(std::chrono::microseconds time, const std::string& client_id,
                              const codec::Message& message);
  [[nodiscard]] bool disconnected(std::chrono::microseconds time, const std::string& client_id,
                                  bool by_store);
  [[nodiscard]] bool elsewhere(std::chrono::microseconds time, const std::string& client_id,
                               std::string_view topic);
  [[nodiscard]] bool control(std::chrono::microseconds time, const std::string& client_id,
                             std::string_view text);

 private:
  explicit TrafficLog(int descriptor) : descriptor_(descriptor) {}
  [[nodiscard]] bool write_line(std::string_view line) const;

  int descriptor_;
};

}  // namespace fencepost::served
