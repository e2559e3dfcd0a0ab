#include "concurrency/history/edn_log.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

namespace fencepost::history {
namespace {

constexpr std::string_view kRegister = "register";
constexpr std::string_view kFree = "free";
constexpr std::string_view kHeld = "held";
constexpr std::size_t kDeepest = 64;
constexpr std::string_view kBlank = " \t\r\n,\f\v";
// What ends an atom.
constexpr std::string_view kDelimiters = " \t\r\n,\f\v()[]{}\";";

char closing(char opening) {
  if (opening == '(') return ')';
  return opening == '[' ? ']' : '}';
}

bool is_type(std::string_view name) {
  return name == "invoke" || name == "ok" || name == "fail" || name == "info";
}

bool is_lock(std::string_view function) { return function == "acquire" || function == "release"; }
bool is_read(std::string_view function) { return function == "read" || function == "get"; }
bool is_write(std::string_view function) { return function == "write" || function == "put"; }

bool is_function(std::string_view function) {
  return is_lock(function) || is_read(function) || is_write(function) || function == "cas";
}

std::optional<std::uint32_t> number_of(std::string_view text) {
  std::uint32_t out = 0;
  const char* end = text.data() + text.size();
  const auto [end_of_number, error] = std::from_chars(text.data(), end, out);
  if (text.empty() || error != std::errc() || end_of_number != end) return std::nullopt;
  return out;
}

}  // namespace

struct EdnLog::Record {
  std::string process{};
  std::string type{};
  std::string function{};
  Form key{.text = "nil"};
  Form value{.text = "nil"};
};

bool EdnLog::Form::is_nil() const {
  return kind == Kind::kAtom && (text == "nil" || text == "null");
}

bool EdnLog::Form::is_list_of(std::size_t size) const {
  return kind == Kind::kList && items.size() == size;
}

bool EdnLog::Form::is_of_several() const {
  const auto is_collection = [](const Form& form) {
    return form.kind == Kind::kList || form.kind == Kind::kMap;
  };
  return kind == Kind::kMap || (kind == Kind::kList && !items.empty() && is_collection(items[0]));
}

std::string EdnLog::Form::value() const {
  if (kind == Kind::kAtom || kind == Kind::kString) return text;
  std::string out(1, kind == Kind::kMap ? '{' : '[');
  for (const Form& item : items) out += (out.size() > 1 ? " " : "") + item.value();
  return out + (kind == Kind::kMap ? '}' : ']');
}

std::string EdnLog::Form::name() const {
  std::string out = text.substr(text.starts_with(':') ? 1 : 0);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char letter) { return std::tolower(letter); });
  return out;
}

bool EdnLog::Form::is_type() const {
  return kind == Kind::kAtom && text.starts_with(':') && history::is_type(name());
}

const EdnLog::Form& EdnLog::Form::at(std::string_view wanted) const {
  static const Form kNil{.text = "nil"};
  for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].name() == wanted) return items[i + 1];
  }
  return kNil;
}

Result<void, std::string> EdnLog::line(std::uint64_t number, std::string_view text) {
  // Events of one line are one after the other, too.
  now_ = std::max(now_, Time(static_cast<std::int64_t>(number) - 1));
  if (!words_) {
    const std::size_t first = text.find_first_not_of(kBlank);
    if (first == std::string_view::npos || text[first] == ';') return {};
    words_ = std::string_view("{[(#").find(text[first]) == std::string_view::npos;
  }
  const Result<void, std::string> done = read(text);
  if (!*words_) return done;
  if (done && open_.empty() && !in_string_) return take_words();
  // Lines of all kinds stand between those of operations; the values of the latter end.
  const bool operation = std::any_of(line_.begin(), line_.end(), [](const Form& word) {
    return word.text.starts_with(':') && is_type(word.name());
  });
  line_.clear();
  open_.clear();
  in_string_ = false;
  if (!operation) return {};
  return fail(std::string("the value of this operation does not end"));
}

Result<void, std::string> EdnLog::read(std::string_view text) {
  for (std::size_t at = 0; at < text.size() || in_string_;) {
    // After the value, Jepsen writes the error as it is, with any brackets and quotes.
    const bool has_value = line_.size() > 3 && line_[line_.size() - 3].is_type();
    if (has_value && open_.empty() && !in_string_) return {};
    if (in_string_) {
      while (at < text.size() && text[at] != '"') {
        if (text[at] == '\\' && at + 1 < text.size()) ++at;
        string_ += text[at++];
      }
      if (at >= text.size()) {
        string_ += '\n';
        return {};  // it continues in the next line
      }
      ++at;
      in_string_ = false;
      auto added = add({.kind = Form::Kind::kString, .text = std::exchange(string_, {})});
      if (!added) return added;
      continue;
    }
    const char next = text[at];
    if (next == ';') return {};
    if (next == ':' && names_ && !open_.empty()) {
      ++at;  // JSON's, between a name and its value
      names_ = false;
    } else if (kBlank.find(next) != std::string_view::npos) {
      ++at;
    } else if (next == '"') {
      in_string_ = true;
      ++at;
    } else if (next == '(' || next == '[' || next == '{') {
      if (open_.size() == kDeepest) return fail(std::string("the value is nested too deeply"));
      const bool set = next == '{' && at > 0 && text[at - 1] == '#';
      const bool map = next == '{' && !set;
      open_.push_back({.kind = map ? Form::Kind::kMap : Form::Kind::kList, .end = closing(next)});
      ++at;
    } else if (next == ')' || next == ']' || next == '}') {
      if (open_.empty() || open_.back().end != next) {
        return fail(std::string("unmatched '") + next + "'");
      }
      Form form = std::move(open_.back());
      open_.pop_back();
      if (auto added = add(std::move(form)); !added) return added;
      ++at;
    } else {
      const std::size_t end = std::min(text.find_first_of(kDelimiters, at), text.size());
      const std::string_view atom = text.substr(at, end - at);
      if (!*words_ && atom.starts_with("#_")) {
        ++(open_.empty() ? discards_ : open_.back().discards);
        at += 2;
        continue;
      }
      at = end;
      if (atom.front() == '#') continue;  // a tag: of what type the next form is
      if (auto added = add({.text = std::string(atom)}); !added) return added;
    }
  }
  return {};
}

// A form has ended.
Result<void, std::string> EdnLog::add(Form form) {
  names_ = form.kind == Form::Kind::kString;
  std::size_t& discards = open_.empty() ? discards_ : open_.back().discards;
  if (discards > 0) {
    --discards;
    return {};
  }
  const bool collection = form.kind == Form::Kind::kList || form.kind == Form::Kind::kMap;
  if (*words_) {
    (open_.empty() ? line_ : open_.back().items).push_back(std::move(form));
    return {};
  }
  if (open_.empty()) return collection ? take(form) : Result<void, std::string>();
  // All operations may stand in one vector or list.
  const bool in_the_whole = open_.size() == 1 && open_.front().kind == Form::Kind::kList &&
                            open_.front().items.empty() && discards_ == 0;
  if (in_the_whole && collection) return take(form);
  open_.back().items.push_back(std::move(form));
  return {};
}

Result<void, std::string> EdnLog::take(const Form& form) {
  if (form.kind == Form::Kind::kMap) {
    const Form& process = form.at("process");
    Record record{.process = process.is_nil() ? "" : process.text,
                  .type = form.at("type").name(),
                  .function = form.at("f").name(),
                  .key = form.at("key"),
                  .value = form.at("value")};
    if (is_type(record.type)) return take_record(record);
    return fail(
        std::string("this map is not an operation: its :type must be :invoke, :ok, :fail or "
                    ":info"));
  }
  if (form.items.empty()) return {};  // the end of the whole
  if (form.items.size() < 3 || !is_type(form.items[1].name())) {
    return fail(std::string("this is not an operation: it must be [process type function value]"));
  }
  return take_record({.process = form.items[0].text,
                      .type = form.items[1].name(),
                      .function = form.items[2].name(),
                      .value = form.items.size() > 3 ? form.items[3] : Form{.text = "nil"}});
}

Result<void, std::string> EdnLog::take_words() {
  const std::vector<Form> words = std::exchange(line_, {});
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (!words[i].is_type()) continue;
    const Form& process = words[i - 1];
    const Form function = i + 1 < words.size() ? words[i + 1] : Form{};
    // In text, no keyword of a function follows such a word.
    const bool named = function.text.starts_with(':') && is_function(function.name());
    // Words before the process are the same in all operations. What stands elsewhere is quoted, by
    // a report at the end, say.
    if (!number_of(process.text) && !named) return {};
    if (!words_before_) words_before_ = i;
    if (*words_before_ != i) return {};
    return take_record({.process = process.text,
                        .type = words[i].name(),
                        .function = function.name(),
                        .value = i + 2 < words.size() ? words[i + 2] : Form{.text = "nil"}});
  }
  return {};
}

Result<void, std::string> EdnLog::take_record(const Record& record) {
  if (record.process.empty()) {
    if (record.type == "info") return {};
    return fail(std::string("this operation has no :process"));
  }
  if (record.process == ":nemesis" || record.process == "nemesis") return {};
  const std::uint32_t process = process_of(record.process);
  // Other than a client, what has a name may do anything.
  const bool named = !number_of(record.process);
  if (named && !is_function(record.function) && !pending_.contains(process)) return {};
  now_ += Time(1);
  if (record.type != "invoke") return end(record, process);
  auto operation = operation_of(record);
  if (!operation) return fail(operation.error());
  operation->client = process;
  operation->called = now_;
  if (!pending_.try_emplace(process, std::move(*operation)).second) {
    return fail("process " + record.process + " has not returned from its last operation");
  }
  return {};
}

std::uint32_t EdnLog::process_of(const std::string& text) {
  const auto number = number_of(text);
  if (number && *number < kFirstNamed) return *number;
  const auto next = kFirstNamed + static_cast<std::uint32_t>(named_.size());
  return named_.try_emplace(text, next).first->second;
}

std::string EdnLog::several_text(const Form& value) {
  return value.value() + " is of several registers: such operations are not supported";
}

Result<Operation, std::string> EdnLog::operation_of(const Record& record) {
  Operation out{.key = std::string(kRegister)};
  const std::string& function = record.function;
  const bool read = is_read(function);
  const bool write = is_write(function);
  const bool cas = function == "cas";
  if (!is_function(function)) {
    return fail("unknown function :" + function +
                ": it must be :read, :write or :cas of a register, or :acquire or :release of a "
                "lock; appends, sets and transactions are not supported");
  }
  if (is_lock(function)) {
    const bool acquire = function == "acquire";
    out.key = "lock";
    out.action = Action::kCompareAndSet;
    out.expected = acquire ? kFree : kHeld;
    out.value = acquire ? kHeld : kFree;
    begin_register(out.key, std::string(kFree));
    return out;
  }
  Form value = record.value;
  if (value.is_of_several()) return fail(several_text(value));
  const bool pair = value.is_list_of(2);
  const bool keyed = pair && (!cas || value.items[1].is_list_of(2));
  if (!keyed_) keyed_ = keyed;
  if (*keyed_ != keyed) {
    return fail(std::string("earlier values are ") + (*keyed_ ? "" : "not ") +
                "[key value], but this one is " + value.value());
  }
  if (keyed) {
    out.key = value.items[0].value();
    Form inner = std::move(value.items[1]);
    value = std::move(inner);
  } else if (!record.key.is_nil()) {
    out.key = record.key.value();
  }
  if (cas && !value.is_list_of(2)) return fail(std::string(":cas needs a value like [1 2]"));
  if (write) out.action = Action::kSet;
  if (cas) {
    out.action = Action::kCompareAndSet;
    out.expected = value.items[0].value();
    out.value = value.items[1].value();
  } else {
    out.value = read ? "" : value.value();
  }
  begin_register(out.key, initial_);
  return out;
}

void EdnLog::begin_register(const std::string& key, std::optional<std::string> initial) {
  if (!registers_.insert(key).second || !initial) return;
  sink_(Operation{.client = kNobody,
                  .action = Action::kSet,
                  .key = key,
                  .value = std::move(*initial),
                  .called = Time(0),
                  .returned = Time(0),
                  .outcome = Outcome::kOk,
                  .reason = "the initial value"});
}

Result<void, std::string> EdnLog::end(const Record& record, std::uint32_t process) {
  const auto found = pending_.find(process);
  if (found == pending_.end()) {
    // A harness may log what is not an operation of a client.
    if (record.type == "info") return {};
    return fail("process " + record.process + " has no operation in flight");
  }
  // The process sends no more, and its last operation may take effect until the end.
  if (record.type == "info") {
    found->second.reason = record.value.value();
    const Event event = std::move(found->second);
    pending_.erase(found);
    sink_(event);
    return {};
  }
  Operation operation = std::move(found->second);
  pending_.erase(found);
  if (record.type == "fail") return {};
  if (record.value.is_of_several()) return fail(several_text(record.value));
  operation.returned = now_;
  operation.outcome = Outcome::kOk;
  const bool keyed = keyed_.value_or(false) && record.value.is_list_of(2);
  const Form& value = keyed ? record.value.items[1] : record.value;
  if (operation.action == Action::kGet) {
    if (value.is_nil() && initial_) return {};
    operation.outcome = value.is_nil() ? Outcome::kMissing : Outcome::kValue;
    if (operation.outcome == Outcome::kValue) operation.read = value.value();
  } else if (operation.action == Action::kSet && !value.is_nil()) {
    operation.value = value.value();
  }
  sink_(std::move(operation));
  return {};
}

bool EdnLog::finish() {
  for (auto& [process, operation] : pending_) {
    operation.reason = "the log ends";
    sink_(std::move(operation));
  }
  pending_.clear();
  return open_.empty() && !in_string_;
}

}  // namespace fencepost::history
