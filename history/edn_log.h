// Logs of tests of a single register, as harnesses for distributed systems print them: a process,
// `:invoke`, `:ok`, `:fail` or `:info`, a function, and a value, in lines of words or as maps.
//
//   INFO  jepsen.util - 3  :invoke  :cas  [2 4]
//   {:process 3, :type :ok, :f :cas, :value [2 4]}
//
// The functions are :read, :write and :cas; the number of the line is the time. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/result.h"
#include "history/history.h"

namespace fencepost::history {

class EdnLog {
 public:
  using Sink = std::function<void(const Event&)>;

  explicit EdnLog(Sink sink) : sink_(std::move(sink)) {}

  // A line that is of no operation is passed over. On an error nothing has changed.
  [[nodiscard]] Result<void, std::string> line(std::uint64_t number, std::string_view text);

  // Hands on what has not returned.
  void finish();

 private:
  [[nodiscard]] Result<void, std::string> end(std::string_view type, std::uint32_t process,
                                              const std::string& value, Time now);

  Sink sink_;
  std::map<std::uint32_t, Operation> pending_{};  // by process
};

}  // namespace fencepost::history
