// Any text as a file of a history: each line is taken, or refused with its number; what was taken
// is the same when it is written and read again. The checker takes all of it.
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/check.h"
#include "concurrency/history/checker.h"
#include "concurrency/history/history_file.h"
#include "fuzz/input_reader.h"

using namespace fencepost::history;

namespace {

std::string written(const Event& event) {
  if (const auto* bounds = std::get_if<Bounds>(&event)) return bounds_line(*bounds);
  if (const auto* notified = std::get_if<Notification>(&event)) return notification_line(*notified);
  if (const auto* link = std::get_if<Connection>(&event)) return connection_line(*link);
  if (const auto* restart = std::get_if<Restart>(&event)) return restart_line(*restart);
  if (const auto* done = std::get_if<Disturbance>(&event)) return disturbance_line(*done);
  const auto& operation = std::get<Operation>(event);
  const std::string again = operation.resent ? resent_line(1, operation.called) : "";
  return call_line(1, operation) + again + return_line(1, operation);
}

// False when a line is refused.
bool read(std::string_view text, std::vector<Event>& events) {
  HistoryReader reader([&](const Event& event) { events.push_back(event); });
  std::size_t number = 0;
  bool all = true;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const auto taken = reader.line(text.substr(0, end));
    ++number;
    all = all && taken;
    FENCEPOST_CHECK(taken || taken.error().find("line " + std::to_string(number) + ": ") == 0);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  reader.finish();
  return all;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<Event> events;
  (void)read(fencepost::fuzz::as_text(data, size), events);
  Checker checker({.search = {.steps = 1'000}});
  for (const Event& event : events) {
    std::vector<Event> again;
    FENCEPOST_CHECK(read(header_line() + written(event), again));
    FENCEPOST_CHECK(again == std::vector<Event>{event});
    checker.add(event);
  }
  for (const KeyVerdict& key : checker.finish()) {
    FENCEPOST_CHECK(key.verdict.answer == Answer::kOk || !key.verdict.text.empty());
  }
  return 0;
}
