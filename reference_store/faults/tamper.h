// Reaches into a store to break it: only for faults that no rule and no message can express.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference_store/service.h"

namespace fencepost::store {

class Tamper {
 public:
  // The store must outlive this.
  explicit Tamper(Service& service) : store_(service.store_) {}

  // What the store holds of a key, to be read or changed; null when there is no such key. Pointers
  // live until the key is deleted. It counts as changed in any case (Store::note_changes()).
  [[nodiscard]] std::string* value(std::string_view key);
  [[nodiscard]] hlc::Timestamp* version(std::string_view key);
  [[nodiscard]] std::optional<hlc::Timestamp>* token(std::string_view key);
  [[nodiscard]] std::optional<std::chrono::microseconds> deadline(std::string_view key);

  // When the key expires from now on; nothing for never. The key must exist.
  void set_deadline(std::string_view key, std::optional<std::chrono::microseconds> deadline);

  // Creates or overwrites, without looking at any rule, and without notifications.
  void put(std::string_view key, std::string_view value, hlc::Timestamp version);

  // Deletes without notifications. Nothing happens when there is no such key.
  void erase(std::string_view key);

  // All keys, in no order.
  [[nodiscard]] std::vector<std::string> keys() const;

  // Who observes a key: client ids in the order in which they are notified.
  [[nodiscard]] std::vector<std::string>& observers(std::string_view key);

  [[nodiscard]] hlc::Clock& clock();

 private:
  Store& store_;
};

}  // namespace fencepost::store
