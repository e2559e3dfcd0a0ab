// What one request shows by itself, whatever came before it: topics, properties, payload. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clients/rules.h"
#include "codec/command.h"
#include "wire/packet.h"

namespace fencepost::clients {

struct Complaint {
  const Rule* rule;
  std::string because{};
};

// The value of the last user property of that name, as stores read repeats; null: none.
[[nodiscard]] const std::string* user_property(const wire::Publish& publish, std::string_view name);

// Response topic, correlation data and QoS.
void check_envelope(const wire::Publish& publish, std::vector<Complaint>& out);

// The bytes of the request. What the article leaves open is nobody's mistake.
void check_payload(std::string_view payload, std::vector<Complaint>& out);

// __ts of a SET, and __ft of what changes keys. `verb` is that of the payload.
void check_stamps(const wire::Publish& publish, codec::Verb verb, std::vector<Complaint>& out);

}  // namespace fencepost::clients
