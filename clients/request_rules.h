// What one request shows, regardless of what came before it: topics, properties, payload. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clients/rules.h"
#include "codec/command.h"
#include "endpoint/wire/packet.h"

namespace fencepost::clients {

struct Diagnostic {
  const Rule* rule;
  std::string because{};
  bool certain = true;  // else there is a right explanation, too
};

// The first 60 bytes in quotes, escaped.
[[nodiscard]] std::string shown(std::string_view bytes);

// The value of the last user property of that name, as stores read repeats; null: none.
[[nodiscard]] const std::string* user_property(const wire::Publish& publish, std::string_view name);

// Response topic, correlation data and QoS. Returns whether the store can answer it.
bool check_envelope(const wire::Publish& publish, std::vector<Diagnostic>& out);

// A request that was sent to nearly the request topic, where no store answers it.
void check_topic(std::string_view topic, const wire::Publish& publish,
                 std::vector<Diagnostic>& out);

// The bytes of the request. What the article leaves unspecified is not a mistake.
void check_payload(std::string_view payload, std::vector<Diagnostic>& out);

// What is unusual about a request that breaks no rule for certain: the documents leave open whether
// a store takes it, so it is the client's mistake where this one does not. Nothing for a request as
// the documents print them.
[[nodiscard]] std::optional<Diagnostic> what_is_malformed(const wire::Publish& publish);

// __ts of a SET, and __ft of what changes keys. `verb` is that of the payload.
void check_stamps(const wire::Publish& publish, codec::Verb verb, std::vector<Diagnostic>& out);

}  // namespace fencepost::clients
