// A YAML document as plain data: what yaml_parser.h makes of text, what the loaders read and what
// the expansion of families builds. It knows nothing of the library that parses.
//
//   YamlTree tree;
//   const YamlNode list = tree.add_list({tree.add_text("a", place)}, place);
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace fencepost::scenario {

// Line and column, from 1.
struct YamlPlace {
  int line = 1;
  int column = 1;
};

enum class YamlKind : std::uint8_t { kNull, kScalar, kList, kMap };

// A node of a tree, which has to live as long: a pointer, cheap to copy. A default one is
// undefined, as is a member that a mapping does not have: it has neither items nor entries, and
// stands at the beginning of the file.
class YamlNode {
 public:
  struct Entry;
  struct Data;
  class Entries;

  YamlNode() = default;
  explicit YamlNode(const Data* data) : data_(data) {}

  [[nodiscard]] bool is_defined() const { return data_ != nullptr; }
  [[nodiscard]] bool is_null() const;  // an empty value, ~ or null
  [[nodiscard]] bool is_scalar() const;
  [[nodiscard]] bool is_list() const;
  [[nodiscard]] bool is_map() const;
  // A scalar in quotes, or in a block.
  [[nodiscard]] bool is_quoted() const;
  // A list in brackets, a mapping in braces.
  [[nodiscard]] bool is_flow() const;
  // A plain scalar that begins with a dollar, or a list or mapping that has one at any depth.
  [[nodiscard]] bool has_placeholder() const;
  [[nodiscard]] YamlPlace place() const;

  // Empty of what is no scalar.
  [[nodiscard]] const std::string& scalar() const;
  // Empty of what is no list.
  [[nodiscard]] std::span<const YamlNode> items() const;
  // Empty of what is no mapping.
  [[nodiscard]] Entries entries() const;
  // How many items or entries.
  [[nodiscard]] std::size_t size() const;
  // The first entry of a mapping with this key; undefined when there is none.
  [[nodiscard]] YamlNode member(std::string_view key) const;

  // The same node, not an equal one.
  friend bool operator==(const YamlNode&, const YamlNode&) = default;

 private:
  const Data* data_ = nullptr;
};

struct YamlNode::Entry {
  YamlNode key;
  YamlNode value;
};

struct YamlNode::Data {
  YamlKind kind = YamlKind::kNull;
  bool quoted = false;
  bool flow = false;
  bool placeholder = false;  // has_placeholder(); YamlTree::add() finds it
  YamlPlace place{};
  std::string scalar{};
  std::vector<YamlNode> children{};  // items; of a mapping keys and values by turns
};

// The entries of a mapping in the order of the file.
class YamlNode::Entries {
 public:
  class Iterator {
   public:
    explicit Iterator(const YamlNode* at) : at_(at) {}
    Entry operator*() const { return {at_[0], at_[1]}; }
    Iterator& operator++() {
      at_ += 2;
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const YamlNode* at_;
  };

  explicit Entries(std::span<const YamlNode> nodes) : nodes_(nodes) {}
  [[nodiscard]] Iterator begin() const { return Iterator(nodes_.data()); }
  [[nodiscard]] Iterator end() const { return Iterator(nodes_.data() + nodes_.size()); }

 private:
  std::span<const YamlNode> nodes_;
};

// Owns nodes. They never move and never change, and may be children of any number of others.
class YamlTree {
 public:
  YamlTree() = default;
  YamlTree(YamlTree&&) = default;
  YamlTree& operator=(YamlTree&&) = default;
  YamlTree(const YamlTree&) = delete;
  YamlTree& operator=(const YamlTree&) = delete;
  ~YamlTree() = default;

  YamlNode add(YamlNode::Data data);
  // A plain scalar.
  YamlNode add_text(std::string text, YamlPlace place);
  YamlNode add_list(std::vector<YamlNode> items, YamlPlace place);
  // `nodes`: keys and values by turns.
  YamlNode add_map(std::vector<YamlNode> nodes, YamlPlace place);

  // Adds what encode() has written. Nothing for other bytes; nodes that were added by then stay.
  [[nodiscard]] std::optional<YamlNode> decode(std::string_view bytes);

 private:
  std::vector<std::vector<YamlNode::Data>> blocks_;  // of reserved size, so that nothing moves
};

// A document in a form that is loaded without parsing text: the same nodes at the same places.
[[nodiscard]] std::string encode(YamlNode root);

}  // namespace fencepost::scenario
