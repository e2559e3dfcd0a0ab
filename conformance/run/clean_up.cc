#include "conformance/run/clean_up.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "codec/resp3.h"
#include "codec/topics.h"
#include "conformance/run/case_client.h"

namespace fencepost::run {

void remove_keys(endpoint::Session& session, const WrittenKeys& written) {
  if (written.empty()) return;
  auto connection = session.connect({.client_id = written.client_id});
  if (!connection) return;
  std::vector<TranscriptEntry> unrecorded;
  CaseClient client("cleaner", std::move(*connection), written.client_id, session.clock(),
                    session.clock().now(), unrecorded, std::make_shared<Received>());
  if (!client.raw().subscribe(client.response_topic())) return;
  std::vector<Pending*> requests;
  for (const std::string& key : written.keys) {
    codec::Message message;
    message.topic = codec::kRequestTopic;
    message.payload = codec::encode_command({"DEL", key});
    message.response_topic = client.response_topic();
    message.correlation_data = fmt::format("cleaner-{:08}", requests.size());
    if (written.token) message.user_properties.emplace_back(codec::kTokenProperty, *written.token);
    if (auto pending = client.send(message)) requests.push_back(*pending);
  }
  const auto all_answered = [&] {
    return std::all_of(requests.begin(), requests.end(),
                       [](const Pending* pending) { return pending->reply.has_value(); });
  };
  client.pump_until(all_answered, written.timeout);
}

}  // namespace fencepost::run
