#include "suite/scenario/bytes_writer.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/text/yaml_quote.h"
#include "suite/scenario/bytes_loader.h"
#include "suite/scenario/flow_text.h"

namespace fencepost::scenario {
namespace {

// The notations that make a long value short to read; empty when it is not one of them.
std::string short_text(std::string_view bytes) {
  constexpr std::size_t kMinRepeats = 16;
  constexpr std::size_t kMinPattern = 64;
  if (bytes.size() < kMinRepeats || bytes.size() > static_cast<std::size_t>(kMaxSize)) return {};
  if (bytes.find_first_not_of(bytes[0]) == std::string_view::npos) {
    return fmt::format("{{repeat: {}, times: {}}}",
                       bytes_text({LiteralBytes{std::string(bytes.substr(0, 1))}}), bytes.size());
  }
  if (bytes.size() >= kMinPattern && bytes == patterned_bytes(bytes.size())) {
    return fmt::format("{{size: {}}}", bytes.size());
  }
  return bytes == all_bytes() ? "{all_bytes: true}" : "";
}

std::string literal_text(const std::string& bytes) {
  if (std::string text = short_text(bytes); !text.empty()) return text;
  // Beyond ASCII the bytes are shown: they are what is compared.
  const bool readable =
      std::all_of(bytes.begin(), bytes.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (readable) return text::yaml_scalar(bytes);
  return "{escaped: " + text::yaml_quoted(escape(bytes, bytes.size())) + "}";
}

std::string list_text(const std::vector<BytesSpec>& parts) {
  FlowList out;
  for (const BytesSpec& part : parts) out.add(bytes_text(part));
  return out.text();
}

std::string named_key_text(std::string_view member, const KeyBytes& key) {
  FlowMap out;
  out.add(member, text::yaml_scalar(key.name));
  if (!key.append.empty()) out.add("append", literal_text(key.append));
  return out.text();
}

struct ToText {
  std::string operator()(const LiteralBytes& literal) const { return literal_text(literal.bytes); }
  std::string operator()(const LongBytes& bytes) const {
    if (bytes.unit.empty()) return fmt::format("{{size: {}}}", bytes.size);
    return fmt::format("{{repeat: {}, times: {}}}", literal_text(bytes.unit),
                       bytes.size / bytes.unit.size());
  }
  std::string operator()(const KeyBytes& key) const { return named_key_text("key", key); }
  std::string operator()(const JoinedBytes& joined) const {
    return "{join: " + list_text(joined.parts) + "}";
  }
  std::string operator()(const CommandBytes& command) const {
    return "{command: " + list_text(command.arguments) + "}";
  }
  std::string operator()(const WireBytes& wire) const {
    std::string out;
    for (const WireBytes::Piece& piece : wire.pieces) {
      for (const char c : escape(piece.bytes))
        out += c == '<' ? std::string("\\x3c") : std::string(1, c);
      if (piece.key.empty()) continue;
      out += std::string("<") + (piece.is_length ? "#" : "") + piece.key;
      if (piece.change != 0) out += fmt::format("{:+}", piece.change);
      out += ">";
    }
    return "{wire: " + text::yaml_quoted(out) + "}";
  }
  std::string operator()(const FillBytes& fill) const {
    return fmt::format("{{{}: {}}}", fill.again ? "filled" : "fill_packet", fill.excess);
  }
};

}  // namespace

std::string bytes_text(const BytesSpec& spec) { return std::visit(ToText{}, spec.what); }

std::string key_text(const BytesSpec& spec) {
  const auto* key = std::get_if<KeyBytes>(&spec.what);
  if (key == nullptr) return "{exact: " + bytes_text(spec) + "}";
  return key->append.empty() ? text::yaml_scalar(key->name) : named_key_text("name", *key);
}

}  // namespace fencepost::scenario
