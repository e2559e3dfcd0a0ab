// What stands between a store and the file that keeps its keys: a faulty store of area K loses or
// changes there what has to outlive a kill. The keys in memory stay right. Pure; not thread safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hlc/hlc.h"
#include "reference_store/faults/decorator.h"

namespace fencepost::store {

// A key in the file, or that it is to go from there.
struct KeptKey {
  std::string key{};
  bool gone = false;
  std::string value{};
  hlc::Timestamp version{};
  std::optional<hlc::Timestamp> token{};
  std::optional<std::chrono::microseconds> expires{};  // by the wall clock, since the Unix epoch
};

// What is written as one transaction, or all that has been read.
struct KeptKeys {
  std::vector<KeptKey> keys{};
  std::optional<hlc::Timestamp> clock{};  // the newest version given out; nothing: unchanged
  bool taken_over = false;  // read by a node that begins to lead a cluster after another one
  bool led_before = false;  // and it still has what it held when it led last

  [[nodiscard]] bool empty() const { return keys.empty() && !clock; }
};

// What a node of a cluster does that does not lead it any more.
enum class WhenReplaced {
  kStops,             // answers nothing, and forgets what it held
  kRemembers,         // the same, but what it held is still there when it leads again
  kServesFromMemory,  // acknowledges what it cannot write
  kWritesOn,          // does not look who leads
};

class Keeper {
 public:
  Keeper() = default;
  virtual ~Keeper() = default;
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

  // Changes what has been read from the file, when the store begins.
  virtual void load(KeptKeys& kept, std::chrono::microseconds wall) = 0;
  // Changes what is about to be written: takes some out, or adds what was held back. Also called
  // now and then when nothing has changed.
  virtual void write(KeptKeys& kept, std::chrono::microseconds wall) = 0;
  // An end in order: adds all that is still held back.
  virtual void end(KeptKeys& kept) = 0;
  [[nodiscard]] virtual WhenReplaced when_replaced() const = 0;
};

// The request that has changed a key last; nothing in it for an expiry.
struct LastChange {
  std::optional<codec::Command> command{};  // its views are of no use
  bool has_token = false;
};

struct KeepingContext {
  const LastChange& last;  // of the same key
  const KeptKey* before;   // as the file has it; null: it does not
  std::size_t number;      // of this change, from 1 on, since the store began
  std::size_t in_commit;   // the same within this commit
  bool loaded;             // the store began with keys
  std::chrono::microseconds wall;
};

// How a file is kept wrong, or in an unusual way. What is not set is right.
struct Keeping {
  // Changes what is written of one key; false: it is not written.
  std::function<bool(KeptKey& key, const KeepingContext& context)> write{};
  // The same of all that is written together, after `write`.
  std::function<void(KeptKeys& kept, std::chrono::microseconds wall)> write_all{};
  // Changes all that is read, and the clock.
  std::function<void(KeptKeys& kept, std::chrono::microseconds wall)> load{};
  std::chrono::milliseconds late{0};  // what is answered is written so much later
  std::size_t behind = 0;             // or when N further changes have come
  bool at_the_end = false;            // or at an end in order
  WhenReplaced when_replaced = WhenReplaced::kStops;
  // How long some clients read what the node had when it took over.
  std::chrono::milliseconds old_reads{0};
};

// A conforming store whose file is kept like that.
[[nodiscard]] MakeHandler with_keeping(Keeping keeping);

}  // namespace fencepost::store
