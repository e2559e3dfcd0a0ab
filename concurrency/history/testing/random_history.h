// Histories of one key at random: of a conforming store, and what becomes of them when something in
// them is changed. For tests, benchmarks and fuzz targets. Pure.
#pragma once

#include <cstddef>
#include <vector>

#include "concurrency/history/history.h"
#include "workload/random.h"

namespace fencepost::history {

// What is in a history. Times are in milliseconds.
struct RandomOptions {
  std::size_t operations = 10;
  std::size_t clients = 3;
  std::size_t longest = 8;  // operation, in milliseconds
  std::size_t values = 3;   // 0: each SET has one of its own
  std::size_t percent_reads = 30;
  std::size_t percent_deletes = 20;
  std::size_t percent_unknown = 0;
  bool conditions = true;  // NX, NEX, VDEL
  bool expiry = false;
  bool tokens = false;
  bool compare_and_set = false;
  enum class Deleted { kOld, kFresh, kNothing };
  Deleted deleted = Deleted::kOld;  // the version of a deletion
  bool version_of_refusals = true;
  bool versions = true;
  bool empty_replies = false;  // some of those without reply had one that says nothing
  bool twice = false;          // a few requests are sent again, and some of these carried out twice
};

// Some of everything, seldom all together.
[[nodiscard]] RandomOptions random_options(workload::Random& random);

// What a conforming store may have answered, in the order in which the replies came. Keys expire on
// time, so the bounds do not matter.
[[nodiscard]] std::vector<Operation> random_history(const RandomOptions& options,
                                                    workload::Random& random);

// Changes one operation in one respect: the history may be that of a conforming store still, or
// not.
void perturb(std::vector<Operation>& operations, workload::Random& random);

// Changes that a conforming store has nothing to fear from: intervals grow, replies are lost,
// clients swap names, time is shifted, GETs are left out.
void soften(std::vector<Operation>& operations, workload::Random& random);

}  // namespace fencepost::history
