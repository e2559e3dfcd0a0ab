#include "reference_store/variants/variant_gate.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "codec/command.h"
#include "codec/topics.h"

namespace fencepost::store {
namespace {

using codec::Verb;

// `__protVer` is there, and not 1.x.
bool has_other_version(const codec::Message& request) {
  const std::string* version = request.property("__protVer");
  if (version == nullptr) return false;
  return !version->starts_with("1.") || version->size() == 2 ||
         version->find_first_not_of("0123456789", 2) != std::string::npos;
}

Gate gate_of_topic(std::string_view topic, const Decisions& is) {
  const Gate forbidden =
      is.is<"forbidden-topic", "executed">() ? Gate::kServeAndDisconnect : Gate::kDisconnect;
  std::string compared(topic);
  std::string prefix(codec::kStorePrefix);
  if (is.is<"prefix-case", "ignored">()) {
    for (std::string* text : {&compared, &prefix}) {
      std::transform(text->begin(), text->end(), text->begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    }
  }
  if (topic == codec::kRequestTopic) return forbidden;
  if (compared.starts_with(prefix)) {
    // It begins with itself, too.
    const bool is_below = compared.size() == prefix.size() || compared[prefix.size()] == '/';
    if (is_below || is.is<"prefix-levels", "bytes">()) return forbidden;
  }
  if (topic.starts_with('$') && !is.is<"dollar-response-topic", "disconnected">()) {
    return is.is<"dollar-response-topic", "silence">() ? Gate::kSilence : Gate::kServe;
  }
  if (codec::response_topic_fault(topic) && !topic.starts_with(codec::kStorePrefix)) {
    return is.is<"odd-response-topic", "silence">() ? Gate::kSilence : Gate::kDisconnect;
  }
  const bool empty_level =
      topic.starts_with('/') || topic.ends_with('/') || topic.find("//") != std::string_view::npos;
  if (empty_level && !is.is<"empty-topic-levels", "answered">()) {
    return is.is<"empty-topic-levels", "silence">() ? Gate::kSilence : Gate::kDisconnect;
  }
  return Gate::kServe;
}

bool objects_to_properties(const codec::Message& request, const Decisions& is) {
  const auto is_text = [](std::string_view bytes) {
    return std::all_of(bytes.begin(), bytes.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  };
  if (request.payload_format == std::uint8_t{1} && !is_text(request.payload) &&
      is.is<"payload-format", "error">()) {
    return true;
  }
  if (request.content_type && *request.content_type != codec::kContentType &&
      is.is<"content-type", "error">()) {
    return true;
  }
  if (has_other_version(request) && is.is<"protocol-version", "error">()) return true;
  const std::string* persist = request.property("aio-persistence");
  const auto verb = codec::verb_of(request.payload);
  return persist != nullptr && (*persist != "true" || (verb && *verb != Verb::kSet)) &&
         is.is<"persistence", "error">();
}

}  // namespace

Gate gate_of(const codec::Message& request, const Decisions& is) {
  Gate topic = Gate::kServe;
  if (request.response_topic) topic = gate_of_topic(*request.response_topic, is);
  if (topic == Gate::kDisconnect || topic == Gate::kSilence) return topic;
  if (!request.response_topic) {
    return is.is<"no-response-topic", "silence">() ? Gate::kSilence : Gate::kDisconnect;
  }
  if (request.qos != 1) {
    const bool none = request.qos == 0;
    if (none ? is.is<"qos-0", "silence">() : is.is<"qos-2", "silence">()) return Gate::kSilence;
    if (none ? is.is<"qos-0", "error">() : is.is<"qos-2", "error">()) return Gate::kError;
    return Gate::kDisconnect;
  }
  if (!request.correlation_data) {
    if (is.is<"no-correlation", "silence">()) return Gate::kSilence;
    return is.is<"no-correlation", "error">() ? Gate::kError : Gate::kDisconnect;
  }
  if (request.correlation_data->empty() && !is.is<"empty-correlation", "answered">()) {
    if (is.is<"empty-correlation", "silence">()) return Gate::kSilence;
    return is.is<"empty-correlation", "error">() ? Gate::kError : Gate::kDisconnect;
  }
  if (request.retain && !is.is<"retained-request", "executed">()) {
    return is.is<"retained-request", "silence">() ? Gate::kSilence : Gate::kDisconnect;
  }
  if (objects_to_properties(request, is)) return Gate::kError;
  return topic;
}

std::string_view status_of(const codec::Message& request, const Decisions& is) {
  if (!has_other_version(request)) return kExecuted;
  if (is.is<"protocol-version", "505">()) return "505";
  return is.is<"protocol-version", "400">() ? "400" : kExecuted;
}

}  // namespace fencepost::store
