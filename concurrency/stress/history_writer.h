// Writes a history while it is being made: each line is with the operating system before anything
// else is done, so that a run which is killed loses the last one at most.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/result.h"
#include "concurrency/history/history_file.h"
#include "concurrency/stress/traffic.h"

namespace fencepost::stress {

// Not thread safe.
class HistoryWriter final : public Journal {
 public:
  // Gets each line, with its end, when it has been written.
  using Copy = std::function<void(const std::string& line)>;

  // Replaces the file; without a name there is no file, only the copy. The error says why it
  // cannot be written.
  [[nodiscard]] static Result<std::unique_ptr<HistoryWriter>, std::string> open(
      const std::string& path, const history::Bounds& bounds, Copy copy = {});
  ~HistoryWriter() override;
  HistoryWriter(const HistoryWriter&) = delete;
  HistoryWriter& operator=(const HistoryWriter&) = delete;

  void called(std::uint64_t id, const history::Operation& operation) override;
  void returned(std::uint64_t id, const history::Operation& operation) override;
  void notified(const history::Notification& notification) override;
  void linked(const history::Connection& connection) override;

  void disturbed(const history::Disturbance& disturbance);

  // Why some of it could not be written; empty when all was.
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  HistoryWriter(std::string path, int descriptor, Copy copy)
      : path_(std::move(path)), descriptor_(descriptor), copy_(std::move(copy)) {}
  void write(const std::string& line);

  std::string path_;
  int descriptor_;  // negative: there is no file
  Copy copy_;
  std::string error_{};
};

}  // namespace fencepost::stress
