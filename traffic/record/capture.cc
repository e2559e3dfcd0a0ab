#include "traffic/record/capture.h"

namespace fencepost::record {

std::chrono::microseconds time_of(const CapturedEvent& event) {
  return std::visit([](const auto& what) { return what.time; }, event);
}

std::string client_of_response_topic(std::string_view topic) {
  constexpr std::string_view kClients = "clients/";
  if (topic.starts_with(kClients)) {
    const std::string_view rest = topic.substr(kClients.size());
    const std::size_t end = rest.find('/');
    if (end != 0 && end != std::string_view::npos) return std::string(rest.substr(0, end));
  }
  return std::string(topic);
}

}  // namespace fencepost::record
