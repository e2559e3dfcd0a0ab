#include "suite/run/clean_up.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

// Returns those of the keys whose DEL was refused.
std::vector<std::string> delete_keys(RequestClient& client, const std::vector<std::string>& keys,
                                     const std::optional<std::string>& token,
                                     endpoint::Duration timeout) {
  std::vector<std::pair<std::string, const judge::Exchange*>> sent;
  for (const std::string& key : keys) {
    codec::Message message = client.request({"DEL", key});
    if (token) message.user_properties.emplace_back(codec::kTokenProperty, *token);
    if (auto exchange = client.send(std::move(message))) sent.emplace_back(key, *exchange);
  }
  const auto all_answered = [&] {
    return std::all_of(sent.begin(), sent.end(),
                       [](const auto& each) { return each.second->reply.has_value(); });
  };
  client.pump_until(all_answered, timeout);
  std::vector<std::string> out;
  for (const auto& [key, exchange] : sent) {
    if (exchange->reply && !exchange->reply->is(codec::ReplyKind::kCount)) out.push_back(key);
  }
  return out;
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
  const auto refused = delete_keys(*client, written.keys, written.token, written.timeout);
  // A key without a token may be one that a DEL with a token is refused for. Req: FT-OPEN-2
  if (written.token) delete_keys(*client, refused, std::nullopt, written.timeout);
  if (pool != nullptr && client->is_clean()) pool->give({}, client->release());
}

}  // namespace fencepost::run
