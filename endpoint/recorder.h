// Writes an evidence file during a run. What was added is in the file after a moment
// (kFlushInterval), so that a kill costs no more than that, and immediately after flush().
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
#include <string_view>
#include <thread>

#include "base/result.h"
#include "evidence/frame.h"
#include "evidence/record.h"

namespace fencepost::endpoint {

// Thread safe. Errors are sentences with the path.
class Recorder {
 public:
  static constexpr std::chrono::milliseconds kFlushInterval{50};

  // Replaces a file of this name. The error says that it cannot be written. What is more than
  // `most_content`, before compression, is not written.
  [[nodiscard]] static Result<std::unique_ptr<Recorder>, std::string> create(
      const std::string& path, std::size_t most_content = evidence::kMaxContent);
  // Continues after the last whole frame of what a killed run left. The error says that, or that
  // another run has the file, or that it is a link or no file of a run, which stay as they are.
  [[nodiscard]] static Result<std::unique_ptr<Recorder>, std::string> go_on(
      const std::string& path);
  // Writes what is left.
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  void add(const evidence::Record& record);
  // A number that no other session of the file has, from 1.
  [[nodiscard]] std::uint32_t next_session();
  // Writes what was added until now. The error says what is not in the file: on a full disk, it is
  // tried again with the next flush; when the file is full, what comes after that is left out.
  [[nodiscard]] Result<void, std::string> flush();

  [[nodiscard]] const std::string& path() const { return path_; }
  // Does the file have all that was flushed? Not after it or its folder was removed.
  [[nodiscard]] bool is_whole();
  // All that was flushed, also what is in no file any more.
  [[nodiscard]] std::string content();
  // Nobody needs the file any more.
  void remove();

 private:
  Recorder(std::string path, int descriptor, std::size_t most_content);
  [[nodiscard]] static Result<std::unique_ptr<Recorder>, std::string> begin(
      std::unique_ptr<Recorder> recorder, std::string_view first);
  [[nodiscard]] bool is_there() const;
  void write_frames();
  void write_pending();

  const std::string path_;
  const int descriptor_;
  const std::size_t most_content_;
  std::mutex adding_;   // of encoder_, sessions_ and ends_
  std::mutex writing_;  // of the file and what is said of it; taken before adding_
  std::condition_variable wake_;
  evidence::Encoder encoder_;
  std::uint32_t sessions_ = 0;
  bool ends_ = false;
  std::string pending_;      // bytes that are not in the file yet
  std::string error_;        // why they are not
  std::string full_;         // why nothing more is written
  std::size_t content_ = 0;  // before compression
  std::thread writer_;
};

}  // namespace fencepost::endpoint
