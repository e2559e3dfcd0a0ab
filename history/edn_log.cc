#include "history/edn_log.h"

#include <charconv>
#include <vector>

namespace fencepost::history {
namespace {

constexpr std::string_view kRegister = "register";
constexpr std::string_view kBlank = " \t\r,{}";

// Words; what stands in brackets is one.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t at = text.find_first_not_of(kBlank); at != std::string_view::npos;) {
    std::size_t end = text.find_first_of(kBlank, at);
    if (text[at] == '[') {
      end = text.find(']', at);
      if (end != std::string_view::npos) ++end;
    }
    out.push_back(text.substr(at, end == std::string_view::npos ? end : end - at));
    at = text.find_first_not_of(kBlank, end == std::string_view::npos ? text.size() : end);
  }
  return out;
}

bool is_type(std::string_view word) {
  return word == ":invoke" || word == ":ok" || word == ":fail" || word == ":info";
}

struct Record {
  std::string_view process{};
  std::string_view type{};
  std::string_view function{};
  std::string_view value = "nil";
};

// Nothing in it when the line is of no operation.
Record record_of(std::string_view text) {
  Record out;
  const std::vector<std::string_view> words = words_of(text);
  const bool map = text.find(":type") != std::string_view::npos;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view next = i + 1 < words.size() ? words[i + 1] : "nil";
    if (map) {
      if (words[i] == ":process") out.process = next;
      if (words[i] == ":type") out.type = next;
      if (words[i] == ":f") out.function = next;
      if (words[i] == ":value") out.value = next;
    } else if (i > 0 && is_type(words[i]) && out.type.empty()) {
      out = {words[i - 1], words[i], next, i + 2 < words.size() ? words[i + 2] : "nil"};
    }
  }
  return out;
}

}  // namespace

Result<void, std::string> EdnLog::line(std::uint64_t number, std::string_view text) {
  const Record record = record_of(text);
  std::uint32_t process = 0;
  const char* end_of_process = record.process.data() + record.process.size();
  const auto [end_of_number, error] =
      std::from_chars(record.process.data(), end_of_process, process);
  const bool numbered =
      !record.process.empty() && error == std::errc() && end_of_number == end_of_process;
  if (!is_type(record.type) || !numbered) return {};  // of a nemesis, or of nobody
  const Time now(static_cast<std::int64_t>(number));
  if (record.type != ":invoke") return end(record.type, process, std::string(record.value), now);
  Operation operation{.client = process, .key = std::string(kRegister), .called = now};
  if (record.function == ":write") {
    operation.action = Action::kSet;
    operation.value = record.value;
  } else if (record.function == ":cas") {
    const std::vector<std::string_view> pair = words_of(
        record.value.size() < 2 ? record.value : record.value.substr(1, record.value.size() - 2));
    if (pair.size() != 2) return fail(std::string(":cas needs a value like [1 2]"));
    operation.action = Action::kCompareAndSet;
    operation.expected = pair[0];
    operation.value = pair[1];
  } else if (record.function != ":read") {
    return fail("unknown function " + std::string(record.function) +
                ": it must be :read, :write or :cas");
  }
  if (!pending_.try_emplace(process, std::move(operation)).second) {
    return fail("process " + std::to_string(process) + " has not returned from its last operation");
  }
  return {};
}

Result<void, std::string> EdnLog::end(std::string_view type, std::uint32_t process,
                                      const std::string& value, Time now) {
  const auto found = pending_.find(process);
  if (found == pending_.end()) {
    // A harness may note for itself what no client asks.
    if (type == ":info") return {};
    return fail("process " + std::to_string(process) + " has nothing under way");
  }
  Operation& operation = found->second;
  if (type != ":info") operation.returned = now;
  if (type == ":info") {
    operation.reason = value;
  } else if (type == ":fail") {
    operation.outcome =
        operation.action == Action::kCompareAndSet ? Outcome::kNotApplied : Outcome::kRefused;
  } else if (operation.action == Action::kGet) {
    operation.outcome = value == "nil" ? Outcome::kMissing : Outcome::kValue;
    if (operation.outcome == Outcome::kValue) operation.read = value;
  } else {
    operation.outcome = Outcome::kOk;
  }
  const Event event = std::move(operation);
  pending_.erase(found);
  sink_(event);
  return {};
}

void EdnLog::finish() {
  for (auto& [process, operation] : pending_) {
    operation.reason = "the log ends";
    sink_(std::move(operation));
  }
  pending_.clear();
}

}  // namespace fencepost::history
