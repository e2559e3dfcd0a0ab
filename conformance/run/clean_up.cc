#include "conformance/run/clean_up.h"

#include <algorithm>
#include <utility>

#include "codec/message.h"
#include "conformance/run/request_client.h"

namespace fencepost::run {

void remove_keys(endpoint::Session& session, const WrittenKeys& written) {
  if (written.empty()) return;
  auto connection = session.connect({.client_id = written.client_id});
  if (!connection) return;
  RequestClient client("cleaner", std::move(*connection), written.client_id, session.clock());
  if (!client.raw().subscribe(client.response_topic())) return;
  std::vector<const judge::Exchange*> exchanges;
  for (const std::string& key : written.keys) {
    codec::Message message = client.request({"DEL", key});
    if (written.token) message.user_properties.emplace_back(codec::kTokenProperty, *written.token);
    if (auto exchange = client.send(std::move(message))) exchanges.push_back(*exchange);
  }
  const auto all_answered = [&] {
    return std::all_of(exchanges.begin(), exchanges.end(),
                       [](const judge::Exchange* exchange) { return exchange->reply.has_value(); });
  };
  client.pump_until(all_answered, written.timeout);
}

}  // namespace fencepost::run
