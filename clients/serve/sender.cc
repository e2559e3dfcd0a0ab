#include "clients/serve/sender.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "codec/base16.h"

namespace fencepost::serve {
namespace {

constexpr std::string_view kClients = "clients/";
constexpr std::string_view kSourceProperty = "__srcId";
// Behind the client id: of the article and the Rust SDK, of the others.
constexpr std::array<std::string_view, 2> kEndings = {"/services/statestore/", "/statestore/v1/"};

// "" where the topic is not of this form.
std::string_view client_of_topic(std::string_view topic) {
  if (!topic.starts_with(kClients)) return {};
  topic.remove_prefix(kClients.size());
  std::size_t end = std::string_view::npos;
  for (const std::string_view ending : kEndings) end = std::min(end, topic.find(ending));
  if (end == std::string_view::npos) end = topic.find('/');
  return end == std::string_view::npos ? std::string_view() : topic.substr(0, end);
}

}  // namespace

std::string sender_of(const codec::Message& request) {
  const std::string_view named =
      request.response_topic ? client_of_topic(*request.response_topic) : std::string_view();
  const std::string* source = request.property(kSourceProperty);
  if (source == nullptr) return std::string(named);
  return named.empty() || named == codec::base16_encode(*source) ? *source : std::string(named);
}

}  // namespace fencepost::serve
