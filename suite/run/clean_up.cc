#include "suite/run/clean_up.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "codec/message.h"
#include "suite/run/request_client.h"

namespace fencepost::run {

namespace {

// Subscribed to its responses; nothing when the broker does not let it.
std::unique_ptr<RequestClient> connect_cleaner(endpoint::Session& session, const std::string& id) {
  auto connection = session.connect({.client_id = id});
  if (!connection) return nullptr;
  auto out =
      std::make_unique<RequestClient>("cleaner", std::move(*connection), id, session.clock());
  if (!out->raw().subscribe(out->response_topic())) return nullptr;
  return out;
}

void delete_keys(RequestClient& client, const WrittenKeys& written) {
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

}  // namespace

void remove_keys(endpoint::Session& session, const WrittenKeys& written, ClientPool* pool) {
  if (written.empty()) return;
  std::unique_ptr<RequestClient> client;
  if (auto spare = pool == nullptr ? std::nullopt : pool->take({})) {
    client = std::make_unique<RequestClient>("cleaner", *std::move(spare), session.clock());
  } else {
    client = connect_cleaner(session, pool == nullptr ? written.client_id : pool->next_id());
  }
  if (!client) return;
  delete_keys(*client, written);
  if (pool != nullptr && client->is_clean()) pool->give({}, client->release());
}

}  // namespace fencepost::run
