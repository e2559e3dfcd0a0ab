// Logs of other harnesses: single registers, several of them, and locks, as Knossos, Jepsen and
// Porcupine publish them. An operation is a process, `:invoke`, `:ok`, `:fail` or `:info`, a
// function and a value, in one of these forms:
//
//   INFO  jepsen.util - 3  :invoke  :cas  [2 4]         a line of words among others
//   {:process 3, :type :ok, :f :cas, :value [2 4]}      maps, over any number of lines
//   [3 :ok :cas [2 4]]                                  tuples
//   {"process": 3, "type": "ok", "f": "cas", "value": [2, 4]}
//
// alone or in one vector or list. Functions: :read (or :get), :write (or :put) and :cas of a value,
// or of `[key value]`, or with a `:key`; :acquire and :release of a lock that is free at first.
//
// As these harnesses mean it: the order of the file is that of time; `:ok` has happened, with the
// value that it says; `:fail` has not happened; `:info`, and what does not come to an end, may
// happen at any later time, or never. In a line of words, what follows the value is the text of an
// error and may be anything. `#_` takes away the next form. A process that is no number gets one,
// from kFirstNamed on; `:nemesis`, and what such a process does that is none of these functions, is
// passed over. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "concurrency/history/history.h"

namespace fencepost::history {

// The number of the first process that has a name: `:a`, "c1".
inline constexpr std::uint32_t kFirstNamed = 1'000'000'000;

class EdnLog {
 public:
  using Sink = std::function<void(const Event&)>;

  // `initial`: the value of each register before the first operation; nothing: there is none, and
  // `nil` is read. With one, a read of `nil` says nothing.
  explicit EdnLog(Sink sink, std::optional<std::string> initial = std::nullopt)
      : sink_(std::move(sink)), initial_(std::move(initial)) {}

  // The next line, by its number. The error says what is wrong with an operation that ends in it.
  [[nodiscard]] Result<void, std::string> line(std::uint64_t number, std::string_view text);

  // Hands on what has not returned. Returns whether the last map, tuple or list was complete.
  bool finish();

 private:
  // Something that was read: an atom, or a collection.
  struct Form {
    enum class Kind : std::uint8_t { kAtom, kString, kList, kMap };
    Kind kind = Kind::kAtom;
    std::string text{};         // kAtom, kString
    std::vector<Form> items{};  // kList; kMap: names and values in turn
    char end = 0;               // the bracket that ends it
    std::size_t discards = 0;   // forms that are still to be dropped from it

    [[nodiscard]] bool is_nil() const;
    [[nodiscard]] bool is_list_of(std::size_t size) const;
    // {:x 1 :y 2} or [[:x 1] [:y 2]]: no value of one register.
    [[nodiscard]] bool is_of_several() const;
    // As one text, for values of registers.
    [[nodiscard]] std::string value() const;
    // The name of an atom or a string, without the colon of a keyword and in lower case.
    [[nodiscard]] std::string name() const;
    // :invoke, :ok, :fail or :info
    [[nodiscard]] bool is_type() const;
    // The value of that name in a map; nil when there is none.
    [[nodiscard]] const Form& at(std::string_view wanted) const;
  };
  struct Record;

  [[nodiscard]] Result<void, std::string> read(std::string_view text);
  [[nodiscard]] Result<void, std::string> add(Form form);
  [[nodiscard]] Result<void, std::string> take(const Form& form);
  [[nodiscard]] Result<void, std::string> take_words();
  [[nodiscard]] Result<void, std::string> take_record(const Record& record);
  [[nodiscard]] std::uint32_t process_of(const std::string& text);
  [[nodiscard]] Result<Operation, std::string> operation_of(const Record& record);
  static std::string several_text(const Form& value);
  [[nodiscard]] Result<void, std::string> end(const Record& record, std::uint32_t process);
  void begin_register(const std::string& key, std::optional<std::string> initial);

  Sink sink_;
  std::optional<std::string> initial_;
  std::optional<bool> words_{};  // lines of words; else forms. Nothing: not known yet
  std::optional<bool> keyed_{};  // values are [key value]
  std::vector<Form> open_{};     // collections that have not ended, the outermost first
  std::vector<Form> line_{};     // words_: what stands in the line
  std::string string_{};         // of a string that continues in the next line
  bool in_string_ = false;
  std::size_t discards_ = 0;                   // forms that are still to be dropped, outside open_
  bool names_ = false;                         // the form before was a string
  std::optional<std::size_t> words_before_{};  // in words_: where the type of an operation stands
  Time now_{0};
  std::set<std::string, std::less<>> registers_{};             // that have begun
  std::map<std::string, std::uint32_t, std::less<>> named_{};  // processes that are no numbers
  std::map<std::uint32_t, Operation> pending_{};               // by process
};

}  // namespace fencepost::history
