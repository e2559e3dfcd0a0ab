// An anonymous file in memory: what a child process has to read, or to write, and nobody is to find
// on a disk. It is gone with the process that made it.
//
//   MemoryFile key("key", pem);
//   if (key.ok()) use(key.path_for_others());
#pragma once

#include <cstddef>
#include <string>

#include "endpoint/socket.h"

namespace fencepost::endpoint {

class MemoryFile {
 public:
  MemoryFile(const char* name, const std::string& content);
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] int descriptor() const { return socket_.descriptor(); }

  // For a child that has this descriptor, too.
  [[nodiscard]] std::string path() const;
  // For any process of this user, as long as this one lives.
  [[nodiscard]] std::string path_for_others() const;

  [[nodiscard]] std::string content() const { return content_from(0); }
  // What is there from this byte on.
  [[nodiscard]] std::string content_from(std::size_t offset) const;
  // The last bytes, without line ends behind them; "..." before them when there are more.
  [[nodiscard]] std::string tail(std::size_t most) const;
  // Gives the memory of all bytes before this one back: they read as zeros then.
  void forget_until(std::size_t offset) const;

 private:
  Socket socket_;  // closes any descriptor
  bool ok_ = false;
};

}  // namespace fencepost::endpoint
