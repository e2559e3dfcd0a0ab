#include "suite/scenario/yaml_tree.h"

#include <algorithm>
#include <utility>

namespace fencepost::scenario {
namespace {

// One byte a node: its kind and what else is yes or no.
constexpr unsigned kKindBits = 0x03;
constexpr unsigned kQuotedBit = 0x04;
constexpr unsigned kFlowBit = 0x08;

// The parser refuses what is nested deeper.
constexpr int kMaxDepth = 100;

// Seven bits a byte, the lowest first, the eighth says that more follow.
void put_number(std::size_t number, std::string& out) {
  for (; number >= 0x80; number >>= 7) out += static_cast<char>((number & 0x7f) | 0x80);
  out += static_cast<char>(number);
}

void put(YamlNode node, std::string& out) {
  YamlKind kind = YamlKind::kNull;
  if (node.is_scalar()) kind = YamlKind::kScalar;
  if (node.is_list()) kind = YamlKind::kList;
  if (node.is_map()) kind = YamlKind::kMap;
  out += static_cast<char>(static_cast<unsigned>(kind) | (node.is_quoted() ? kQuotedBit : 0) |
                           (node.is_flow() ? kFlowBit : 0));
  put_number(static_cast<std::size_t>(node.place().line), out);
  put_number(static_cast<std::size_t>(node.place().column), out);
  if (kind == YamlKind::kNull) return;
  if (kind == YamlKind::kScalar) {
    put_number(node.scalar().size(), out);
    out += node.scalar();
    return;
  }
  put_number(node.size(), out);
  for (const YamlNode item : node.items()) put(item, out);
  for (const auto& [key, value] : node.entries()) {
    put(key, out);
    put(value, out);
  }
}

class Decoder {
 public:
  Decoder(std::string_view bytes, YamlTree& tree) : rest_(bytes), tree_(tree) {}

  std::optional<YamlNode> node(int depth = 0) {
    if (rest_.empty() || depth > kMaxDepth) return std::nullopt;
    const unsigned head = static_cast<unsigned char>(rest_[0]);
    rest_.remove_prefix(1);
    YamlNode::Data data{.kind = static_cast<YamlKind>(head & kKindBits),
                        .quoted = (head & kQuotedBit) != 0,
                        .flow = (head & kFlowBit) != 0};
    const auto line = number();
    const auto column = number();
    if (!line || !column) return std::nullopt;
    data.place = {static_cast<int>(*line), static_cast<int>(*column)};
    if (data.kind != YamlKind::kNull && !fill(data, depth)) return std::nullopt;
    return tree_.add(std::move(data));
  }

  [[nodiscard]] bool is_at_end() const { return rest_.empty(); }

 private:
  bool fill(YamlNode::Data& data, int depth) {
    const auto size = number();
    if (!size || *size > rest_.size()) return false;  // each child has a byte at least
    if (data.kind == YamlKind::kScalar) {
      data.scalar = rest_.substr(0, *size);
      rest_.remove_prefix(*size);
      return true;
    }
    const std::size_t children = data.kind == YamlKind::kMap ? 2 * *size : *size;
    data.children.reserve(children);
    for (std::size_t i = 0; i < children; ++i) {
      const auto child = node(depth + 1);
      if (!child) return false;
      data.children.push_back(*child);
    }
    return true;
  }

  std::optional<std::size_t> number() {
    std::size_t out = 0;
    for (unsigned shift = 0; shift < 28 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_[0]);
      rest_.remove_prefix(1);
      out |= static_cast<std::size_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return out;
    }
    return std::nullopt;
  }

  std::string_view rest_;
  YamlTree& tree_;
};

}  // namespace

bool YamlNode::is_null() const { return data_ != nullptr && data_->kind == YamlKind::kNull; }
bool YamlNode::is_scalar() const { return data_ != nullptr && data_->kind == YamlKind::kScalar; }
bool YamlNode::is_list() const { return data_ != nullptr && data_->kind == YamlKind::kList; }
bool YamlNode::is_map() const { return data_ != nullptr && data_->kind == YamlKind::kMap; }
bool YamlNode::is_quoted() const { return data_ != nullptr && data_->quoted; }
bool YamlNode::is_flow() const { return data_ != nullptr && data_->flow; }
bool YamlNode::has_placeholder() const { return data_ != nullptr && data_->placeholder; }

YamlPlace YamlNode::place() const { return data_ == nullptr ? YamlPlace{} : data_->place; }

const std::string& YamlNode::scalar() const {
  static const std::string none;
  return data_ == nullptr ? none : data_->scalar;
}

std::span<const YamlNode> YamlNode::items() const {
  return is_list() ? std::span(data_->children) : std::span<const YamlNode>();
}

YamlNode::Entries YamlNode::entries() const {
  return Entries(is_map() ? std::span(data_->children) : std::span<const YamlNode>());
}

std::size_t YamlNode::size() const {
  if (data_ == nullptr) return 0;
  return data_->kind == YamlKind::kMap ? data_->children.size() / 2 : data_->children.size();
}

YamlNode YamlNode::member(std::string_view key) const {
  for (const Entry entry : entries()) {
    if (entry.key.is_scalar() && entry.key.scalar() == key) return entry.value;
  }
  return {};
}

YamlNode YamlTree::add(YamlNode::Data data) {
  constexpr std::size_t kBlock = 512;
  data.placeholder = data.kind == YamlKind::kScalar
                         ? !data.quoted && data.scalar.starts_with('$')
                         : std::any_of(data.children.begin(), data.children.end(),
                                       [](YamlNode child) { return child.has_placeholder(); });
  if (blocks_.empty() || blocks_.back().size() == kBlock) blocks_.emplace_back().reserve(kBlock);
  return YamlNode(&blocks_.back().emplace_back(std::move(data)));
}

YamlNode YamlTree::add_text(std::string text, YamlPlace place) {
  return add({.kind = YamlKind::kScalar, .place = place, .scalar = std::move(text)});
}

YamlNode YamlTree::add_list(std::vector<YamlNode> items, YamlPlace place) {
  return add({.kind = YamlKind::kList, .place = place, .children = std::move(items)});
}

YamlNode YamlTree::add_map(std::vector<YamlNode> nodes, YamlPlace place) {
  return add({.kind = YamlKind::kMap, .place = place, .children = std::move(nodes)});
}

std::optional<YamlNode> YamlTree::decode(std::string_view bytes) {
  Decoder decoder(bytes, *this);
  const auto root = decoder.node();
  return decoder.is_at_end() ? root : std::nullopt;
}

std::string encode(YamlNode root) {
  std::string out;
  put(root, out);
  return out;
}

}  // namespace fencepost::scenario
