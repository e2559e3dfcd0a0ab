// Makes a stress run smaller that has found something: fewer clients, fewer kinds of requests. What
// comes of it is luck each time, so that each size is tried several times.
//
//   const Shrunk smallest = shrink({.mix = mix, .clients = 16}, key, attempt, {.tries = 5});
//
// As thread safe as the attempts are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "concurrency/stress/script.h"
#include "concurrency/stress/traffic.h"

namespace fencepost::stress {

struct RunSize {
  const Mix* mix = nullptr;
  std::uint32_t clients = 16;
};

// A new run of that size: how many operations were over when a violation was found; nothing when
// none was. `number` differs in each call.
using Attempt = std::function<std::optional<std::size_t>(const RunSize& size, std::size_t number)>;

struct ShrinkOptions {
  std::size_t tries = 5;  // of each size
  // Called before each try; no more is tried when it says so. Empty: never.
  std::function<bool()> enough{};
};

struct Shrunk {
  RunSize size{};              // the smallest of which a run failed; the first one if none did
  std::size_t runs = 0;        // of that size
  std::size_t failed = 0;      // of these
  std::size_t operations = 0;  // at the first violation, the median of the failed ones
};

// `key`: on which something was found, which says what kind of request it takes.
[[nodiscard]] Shrunk shrink(const RunSize& first, std::string_view key, const Attempt& attempt,
                            const ShrinkOptions& options);

struct ShrunkPlan {
  Plan plan{};            // none of it can be left out, unless it was given up
  std::size_t asked = 0;  // requests of the run that it comes from
  std::size_t tries = 0;  // runs that it took
};

// Leaves out requests for as long as a run of the others still breaks a rule: halves first, then
// single ones. `fails` must always say the same of the same plan, as simulated runs do. At most
// `most_tries` runs; `enough` is called before each one.
[[nodiscard]] ShrunkPlan shrink_plan(Plan plan, const std::function<bool(const Plan&)>& fails,
                                     std::size_t most_tries,
                                     const std::function<bool()>& enough = {});

}  // namespace fencepost::stress
