// Writes a file of evidence while a run goes on. What was added is in the file after a moment
// (kFlushInterval), so that a kill costs no more than that.
//
//   auto recorder = Recorder::create("run.fpe");
//   (*recorder)->add({.kind = evidence::Kind::kClosed, .session = 3});
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"
#include "evidence/frame.h"
#include "evidence/record.h"

namespace fencepost::endpoint {

// Thread safe.
class Recorder {
 public:
  static constexpr std::chrono::milliseconds kFlushInterval{50};

  // Replaces a file of this name. The error says that it cannot be written. What is more than
  // `most_content`, before compression, is not written.
  [[nodiscard]] static Result<std::unique_ptr<Recorder>, std::string> create(
      const std::string& path, std::size_t most_content = evidence::kMaxContent);
  // Writes what is left.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void add(const evidence::Record& record);
  // A number that no other session of the file has, from 1.
  [[nodiscard]] std::uint32_t next_session();
  // Writes what was added until now. The error says what could not be written, now or before; what
  // comes after it is not written, either.
  [[nodiscard]] Result<void, std::string> flush();

 private:
  Recorder(std::string path, int descriptor, std::size_t most_content);
  void write_frames();
  void write(const std::string& bytes);

  const std::string path_;
  const int descriptor_;
  const std::size_t most_content_;
  std::mutex adding_;   // of encoder_, sessions_ and ends_
  std::mutex writing_;  // of the file and what is said of it; taken before adding_
  std::condition_variable wake_;
  evidence::Encoder encoder_;
  std::uint32_t sessions_ = 0;
  bool ends_ = false;
  std::string trouble_;
  std::size_t content_ = 0;  // before compression
  std::thread writer_;
};

}  // namespace fencepost::endpoint
