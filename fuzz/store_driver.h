// Runs a trace on the reference store and on the naive model, and compares them after each step.
//
//   StoreDriver driver;
//   if (std::optional<std::string> difference = driver.run(trace)) complain(*difference);
//
// The store's clocks are cranked by hand. It has a quota below the number of keys. In traces that
// begin with client 2, that client may not do everything. (That keys can be too long to be
// observed, service_fuzzer tries.)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reference_store/store.h"
#include "workload/operation.h"
#include "workload/testing/model_run.h"
#include "workload/testing/naive_model.h"

namespace fencepost::fuzz {

// Not thread safe. Keeps its memory from run to run, but no state.
class StoreDriver {
 public:
  // `rules`: those of the store; a test breaks one of them.
  explicit StoreDriver(const store::Rules& rules = {});

  // What the two say differently first, with the step; nothing when they agree on everything:
  // replies, versions, notifications in order, number of keys, next expiry, and in the end the
  // value, token and observers of each key.
  [[nodiscard]] std::optional<std::string> run(const workload::Trace& trace);

 private:
  void step(const workload::Operation& operation);
  store::Outcome request(const workload::Operation& operation);
  void compare(const workload::Operation& operation, const workload::Prediction& expected,
               const store::Outcome& outcome);
  void compare_events();
  void differ(const std::string& what);

  // How a store is set up, and the model of it.
  struct World {
    store::StoreOptions options;
    workload::NaiveModel model;
  };

  World open_;
  World restricted_;
  store::Store store_;
  workload::NaiveModel* model_ = nullptr;
  std::optional<workload::ModelRun> run_;
  store::Instant now_;
  std::string timestamp_text_;
  std::string token_text_;
  std::vector<store::Event> events_;                      // of the store, not yet compared
  std::vector<workload::ExpectedNotification> expected_;  // of the model, not yet compared
  std::optional<std::string> difference_;
};

}  // namespace fencepost::fuzz
