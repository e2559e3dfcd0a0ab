#include "suite/run/mqtt311_step.h"

#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "suite/run/request_builder.h"

namespace fencepost::run {
namespace {

template <typename Kind>
MaybeProblem seen(const scenario::RequestStep& step, const text::Phrase& what, CaseState& state) {
  for (const scenario::Outcome& outcome : step.expect.outcomes) {
    if (!std::holds_alternative<Kind>(outcome.what)) continue;
    if (step.expect.open) state.note_unspecified(step, outcome);
    return std::nullopt;
  }
  return Problem{
      .message = "the broker treats a client of MQTT 3.1.1 otherwise",
      .expected = std::holds_alternative<scenario::NoReply>(step.expect.outcomes.front().what)
                      ? "that it takes the PUBLISH"
                      : "that the connection is refused or ends",
      .actual = what,
      .attribution = {.requirement = step.expect.cites}};
}

}  // namespace

MaybeProblem run_old_request(const scenario::RequestStep& step, CaseState& state) {
  using scenario::Disconnection;
  const scenario::ClientSpec& spec = state.clients.spec_of(step.client);
  const std::string id = state.clients.client_id(spec.name);
  auto connection = state.session.connect({.client_id = id, .role = spec.role, .mqtt_3_1_1 = true});
  if (!connection) {
    if (connection.error().kind != endpoint::ErrorKind::kNotAllowed) {
      return lost(connection.error());
    }
    return seen<Disconnection>(step, connection.error().text, state);
  }
  RequestClient client(spec.name, std::move(*connection), id, state.clock,
                       Recording{state.result.transcript, state.start, state.settings.transcripts});
  client.note("connected as " + id + ", over MQTT 3.1.1");
  auto message = build_request(step, client, state);
  if (!message) return message.error();
  // What such a packet cannot hold.
  const codec::Message bare{.topic = std::move(message->topic),
                            .payload = std::move(message->payload)};
  for (const scenario::BytesSpec& key : step.written_keys) state.keys.add(state.bytes_of(key));
  if (const auto sent = client.send(bare); !sent) {
    if (sent.error().kind != endpoint::ErrorKind::kLost) return lost(sent.error());
    return seen<Disconnection>(step, sent.error().text, state);
  }
  if (const auto read = client.raw().subscribe(client.response_topic()); !read) {
    if (read.error().kind != endpoint::ErrorKind::kLost) return lost(read.error());
    client.note("the broker ended the connection");
    return seen<Disconnection>(step, read.error().text, state);
  }
  client.note("still connected");
  return seen<scenario::NoReply>(step, "the broker took the PUBLISH", state);
}

}  // namespace fencepost::run
