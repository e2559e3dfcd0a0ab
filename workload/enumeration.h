// All short workloads within a stated bound, in an order: where random ones may miss what nobody
// thought of, these leave nothing out. They are sequences of requests (a small world: three keys,
// two clients, of which one looks on) and requests in which one byte, number or word is another.
//
//   const Enumeration all(2);
//   for (std::size_t i = 0; i < all.size(); ++i) run(all.trace(i));
//   say(all.bound());  // "each of 11 states, then each of 428 requests; ..."
//
// The idea is that of the W-method (Chow 1978): all sequences up to a length from each state,
// followed by requests that distinguish the states (docs/COMPLETE.md). Pure and thread safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "workload/operation.h"

namespace fencepost::workload {

inline constexpr std::size_t kMaxDepth = 3;

class Enumeration {
 public:
  // `depth`: requests in a row, 1 to kMaxDepth. Each depth has what the smaller ones have, too,
  // and those first.
  explicit Enumeration(std::size_t depth);

  [[nodiscard]] std::size_t depth() const { return depth_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  // `number` is below size(). The trace is normalized.
  [[nodiscard]] Trace trace(std::size_t number) const;
  // What is enumerated, for people: a line for each part.
  [[nodiscard]] std::vector<std::string> bound() const;

 private:
  // States, and this many requests in a row after each; or a list of requests, of which each
  // changes one key at most.
  struct Part {
    const std::vector<Trace>* states = nullptr;
    const Trace* requests = nullptr;
    std::size_t in_a_row = 0;
    std::string what{};  // is listed: "texts that ..."
    std::size_t listed = 0;
    Operation (*request_of)(std::size_t number) = nullptr;  // below `listed`
    std::size_t size = 0;                                   // in traces
  };
  void add(const std::vector<Trace>& states, const Trace& requests, std::size_t in_a_row);
  void add(std::string what, std::size_t listed, Operation (*request_of)(std::size_t number));

  std::size_t depth_;
  std::vector<Part> parts_;
  std::size_t size_ = 0;
};

// What the parts are made of, for tests. In each way in which a key may be: absent, expiring, ...
[[nodiscard]] const std::vector<Trace>& states_of_a_key();
// All requests of the small world; the usual of these; those that change most.
[[nodiscard]] const Trace& all_requests();
[[nodiscard]] const Trace& usual_requests();
[[nodiscard]] const Trace& few_requests();
// Each workload ends with these: where something expires soon, with the second, which waits for it.
// Their answers distinguish the states.
[[nodiscard]] const Trace& distinguishing_requests(bool expires);
// The trace with these at its end.
[[nodiscard]] Trace distinguished(Trace trace);
// Requests of which a byte, a number or a word is left out, replaced, or follows another, of which
// two bytes are swapped, or that end there; each once.
[[nodiscard]] const std::vector<std::string>& nearly_requests();
// Requests in which two of the bytes that are not of a word are others.
[[nodiscard]] const std::vector<std::string>& twice_wrong_requests();

}  // namespace fencepost::workload
