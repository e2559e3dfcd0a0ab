#include "suite/scenario/bytes_loader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "codec/base16.h"
#include "suite/scenario/scenario_fields.h"

namespace fencepost::scenario {
namespace {

constexpr std::int64_t kMaxExcess = 1'000'000;  // bytes from the largest packet

BytesSpec literal(std::string bytes) { return {LiteralBytes{std::move(bytes)}}; }

// What stands for the same bytes in each case; nothing for what depends on the case.
std::optional<std::string> fixed_bytes(const BytesSpec& spec) {
  if (const auto* bytes = std::get_if<LiteralBytes>(&spec.what)) return bytes->bytes;
  if (const auto* bytes = std::get_if<LongBytes>(&spec.what)) return bytes_of(*bytes);
  return std::nullopt;
}

// Short ones are as good as written out.
BytesSpec long_or_literal(LongBytes bytes) {
  constexpr std::size_t kShort = 4096;
  if (bytes.size <= kShort) return literal(bytes_of(bytes));
  return {std::move(bytes)};
}

std::optional<BytesSpec> load_escaped(YamlReader& reader, YamlNode node) {
  const auto text = reader.text(node, "escaped");
  if (!text) return std::nullopt;
  std::optional<std::string> bytes = unescape(*text);
  if (!bytes) {
    reader.diagnose(
        node,
        "escaped: a backslash starts one of \\\\ \\\" \\r \\n \\t \\0 \\xNN; write the text "
        "in single quotes so that YAML leaves the backslashes alone");
    return std::nullopt;
  }
  return literal(std::move(*bytes));
}

constexpr const char* kWireHelp =
    "wire: <k> is the key k, <k-2> the key without its last two bytes, <#k> the number of its "
    "bytes, also <#k+1>; write any other < as \\x3c";

// "k", "k-2", "#k", "#k+1"; nothing for anything else.
std::optional<WireBytes::Piece> wire_key(std::string_view text) {
  WireBytes::Piece out;
  out.is_length = text.starts_with('#');
  if (out.is_length) text.remove_prefix(1);
  const std::size_t end = std::min(text.find_first_of("+-"), text.size());
  out.key = text.substr(0, end);
  const bool is_name = !out.key.empty() && std::all_of(out.key.begin(), out.key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
  if (!is_name) return std::nullopt;
  if (end == text.size()) return out;
  std::string_view number = text.substr(text[end] == '+' ? end + 1 : end);
  const auto read = std::from_chars(number.data(), number.data() + number.size(), out.change);
  const bool whole = read.ec == std::errc() && read.ptr == number.data() + number.size();
  constexpr std::int64_t kMax = 1'000;
  if (!whole || out.change < -kMax || out.change > kMax || out.change == 0) return std::nullopt;
  if (!out.is_length && out.change > 0) return std::nullopt;
  return out;
}

std::optional<BytesSpec> load_wire(YamlReader& reader, YamlNode node) {
  const auto text = reader.text(node, "wire");
  if (!text) return std::nullopt;
  WireBytes out;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::size_t begin = std::min(rest.find('<'), rest.size());
    const std::size_t end = rest.find('>', begin);
    const bool has_key = begin < rest.size();
    std::optional<std::string> bytes = unescape(std::string(rest.substr(0, begin)));
    std::optional<WireBytes::Piece> piece = WireBytes::Piece{};
    if (has_key && end == std::string_view::npos) piece.reset();
    if (has_key && piece) piece = wire_key(rest.substr(begin + 1, end - begin - 1));
    if (!bytes || !piece) {
      reader.diagnose(node, kWireHelp);
      return std::nullopt;
    }
    piece->bytes = std::move(*bytes);
    out.pieces.push_back(std::move(*piece));
    rest.remove_prefix(has_key ? end + 1 : rest.size());
  }
  return BytesSpec{std::move(out)};
}

std::optional<BytesSpec> load_hex(YamlReader& reader, YamlNode node) {
  const auto text = reader.text(node, "hex");
  if (!text) return std::nullopt;
  std::string digits;
  for (const char c : *text) {
    if (c == ' ') continue;
    digits += c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  std::optional<std::string> bytes = codec::base16_decode(digits);
  if (!bytes) {
    reader.diagnose(node,
                    "hex: \"" + *text + "\" must be pairs of hexadecimal digits, e.g. \"00 ff\"");
    return std::nullopt;
  }
  return literal(std::move(*bytes));
}

std::optional<BytesSpec> load_repeat(YamlReader& reader, YamlNode node) {
  const auto unit = load_bytes(reader, node.member("repeat"), "repeat");
  const YamlNode times_node = node.member("times");
  if (!times_node.is_defined()) {
    reader.diagnose(node, "repeat needs times, e.g. {repeat: \"x\", times: 1000}");
    return std::nullopt;
  }
  const auto times = reader.integer(times_node, "times", 0, kMaxSize);
  if (!unit || !times) return std::nullopt;
  const auto bytes = fixed_bytes(*unit);
  if (!bytes || static_cast<std::int64_t>(bytes->size()) * *times > kMaxSize) {
    reader.diagnose(node, "repeat takes text or bytes, and makes at most 16 MiB");
    return std::nullopt;
  }
  return long_or_literal({*bytes, bytes->size() * static_cast<std::size_t>(*times)});
}

std::optional<std::vector<BytesSpec>> load_list(YamlReader& reader, YamlNode node,
                                                std::string_view what) {
  if (!node.is_list()) {
    reader.diagnose(node, std::string(what) + " must be a list");
    return std::nullopt;
  }
  std::vector<BytesSpec> parts;
  for (const YamlNode item : node.items()) {
    auto part = load_bytes(reader, item, what);
    if (!part) return std::nullopt;
    parts.push_back(std::move(*part));
  }
  return parts;
}

// {key: name, append: bytes}, and the body of {name: .., append: ..}.
std::optional<BytesSpec> load_named_key(YamlReader& reader, YamlNode name_node,
                                        YamlNode append_node) {
  const auto name = reader.text(name_node, "key name");
  if (!name) return std::nullopt;
  if (name->empty()) {
    reader.diagnose(name_node,
                    "a key name is not empty, as the case's prefix goes before it; the "
                    "empty key is {exact: \"\"}");
    return std::nullopt;
  }
  KeyBytes key{*name, {}};
  if (append_node.is_defined()) {
    const auto append = load_bytes(reader, append_node, "append");
    if (!append) return std::nullopt;
    const auto bytes = fixed_bytes(*append);
    if (!bytes) {
      reader.diagnose(append_node, "append takes text or bytes");
      return std::nullopt;
    }
    key.append = *bytes;
  }
  return BytesSpec{std::move(key)};
}

// `companion` belongs to one form of bytes only.
bool check_companion(YamlReader& reader, YamlNode node, std::string_view form,
                     std::string_view companion, std::string_view its_form) {
  const YamlNode value = node.member(companion);
  if (!value.is_defined() || form == its_form || form.empty()) return true;
  reader.diagnose(value, std::string(companion) + " needs " + std::string(its_form) +
                             "; join different bytes with {join: [...]}");
  return false;
}

std::optional<BytesSpec> load_form(YamlReader& reader, YamlNode node, const std::string& form,
                                   std::string_view what) {
  const YamlNode value = node.member(form);
  if (form == "escaped") return load_escaped(reader, value);
  if (form == "wire") return load_wire(reader, value);
  if (form == "hex") return load_hex(reader, value);
  if (form == "repeat") return load_repeat(reader, node);
  if (form == "key") return load_named_key(reader, value, node.member("append"));
  if (form == "fill_packet" || form == "filled") {
    const auto excess = reader.integer(value, form, -kMaxExcess, kMaxExcess);
    if (!excess) return std::nullopt;
    return BytesSpec{FillBytes{.excess = *excess, .again = form == "filled"}};
  }
  if (form == "size") {
    const auto size = reader.integer(value, "size", 0, kMaxSize);
    if (!size) return std::nullopt;
    return long_or_literal({"", static_cast<std::size_t>(*size)});
  }
  if (form == "all_bytes") {
    const auto all = reader.boolean(value, "all_bytes");
    if (all == false) reader.diagnose(value, "all_bytes must be true; leave it out otherwise");
    if (!all.value_or(false)) return std::nullopt;
    return literal(all_bytes());
  }
  if (form == "join" || form == "command") {
    auto parts = load_list(reader, value, form);
    if (!parts) return std::nullopt;
    if (form == "join") return BytesSpec{JoinedBytes{std::move(*parts)}};
    return BytesSpec{CommandBytes{std::move(*parts)}};
  }
  reader.diagnose(node, std::string(what) +
                            " needs one of escaped, wire, hex, repeat, size, join, command, "
                            "key, all_bytes, fill_packet or filled");
  return std::nullopt;
}

// "0,1,2,3," and so on.
std::string numbers_in_a_row(std::size_t size) {
  std::string out;
  out.reserve(size + 16);
  std::array<char, 20> digits{};
  for (std::size_t i = 0; out.size() < size; ++i) {
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), i).ptr;
    out.append(digits.data(), end).push_back(',');
  }
  out.resize(size);
  return out;
}

}  // namespace

std::string all_bytes() {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  return bytes;
}

std::string patterned_bytes(std::size_t size) {
  // The built-in cases have many values of up to a megabyte, and each is the beginning of one text;
  // of the long ones none is made before it is sent.
  static const std::string few = numbers_in_a_row(std::size_t{1} << 14);
  if (size <= few.size()) return few.substr(0, size);
  static const std::string many = numbers_in_a_row((std::size_t{1} << 20) + 1);
  return size <= many.size() ? many.substr(0, size) : numbers_in_a_row(size);
}

std::string bytes_of(const LongBytes& bytes) {
  if (bytes.unit.empty()) return patterned_bytes(bytes.size);
  if (bytes.unit.size() == 1) return std::string(bytes.size, bytes.unit[0]);
  std::string out;
  out.reserve(bytes.size);
  while (out.size() < bytes.size) out += bytes.unit;
  return out;
}

std::optional<std::string> literal_of(const BytesSpec& bytes) {
  if (const auto* literal = std::get_if<LiteralBytes>(&bytes.what)) return literal->bytes;
  if (const auto* many = std::get_if<LongBytes>(&bytes.what)) return bytes_of(*many);
  const auto* joined = std::get_if<JoinedBytes>(&bytes.what);
  if (joined == nullptr) return std::nullopt;
  std::string out;
  for (const BytesSpec& part : joined->parts) {
    const auto literal = literal_of(part);
    if (!literal) return std::nullopt;
    out += *literal;
  }
  return out;
}

std::optional<BytesSpec> load_bytes(YamlReader& reader, YamlNode node, std::string_view what) {
  if (!node.is_map()) {
    auto text = reader.text(node, what);
    if (!text) return std::nullopt;
    return literal(std::move(*text));
  }
  if (!reader.check_map(node, what, fields::kBytes)) return std::nullopt;
  std::string form;
  for (const auto& entry : node.entries()) {
    const std::string name = entry.key.scalar();
    if (name == "times" || name == "append") continue;
    if (!form.empty()) {
      reader.diagnose(entry.key, std::string(what) + " has both \"" + form + "\" and \"" + name +
                                     "\"; join them with {join: [...]}");
      return std::nullopt;
    }
    form = name;
  }
  if (!check_companion(reader, node, form, "times", "repeat") ||
      !check_companion(reader, node, form, "append", "key")) {
    return std::nullopt;
  }
  return load_form(reader, node, form, what);
}

std::optional<BytesSpec> load_key(YamlReader& reader, YamlNode node, std::string_view what) {
  if (!node.is_map()) return load_named_key(reader, node, YamlNode());
  if (!reader.check_map(node, what, fields::kKey)) return std::nullopt;
  const YamlNode exact = node.member("exact");
  const YamlNode name = node.member("name");
  if (exact.is_defined() == name.is_defined()) {
    reader.diagnose(node,
                    std::string(what) + " needs either name (with the case's prefix) or exact");
    return std::nullopt;
  }
  const YamlNode append = node.member("append");
  if (exact.is_defined() && append.is_defined()) {
    reader.diagnose(append, "append needs name; join different bytes with {join: [...]}");
    return std::nullopt;
  }
  if (exact.is_defined()) return load_bytes(reader, exact, what);
  return load_named_key(reader, name, append);
}

}  // namespace fencepost::scenario
