// Keeps what a store holds in a file, an SQLite database, so that it outlives the process, also
// one that is killed, and a loss of power: docs/DATABASE.md.
//
//   auto database = Database::open("store.db", service.state(), read_clocks());
//   service.handle(...);                          // any number of requests
//   auto kept = (*database)->commit(read_clocks());   // then their replies may be sent
//
// Registrations are not kept: they end with their connection. Not thread safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "reference_store/faults/keeper.h"
#include "reference_store/served/clocks.h"
#include "reference_store/store.h"

struct sqlite3;
struct sqlite3_stmt;

namespace fencepost::broker_plugin {

// Expiry is kept by the wall clock, since the steady one begins with each start of the machine.
using served::Clocks;

class Database final : private store::Journal {
 public:
  struct CloseStatement {
    void operator()(sqlite3_stmt* statement) const;
  };

  // Opens the file, makes it if there is none, and puts what it holds into `store`, which must be
  // empty and outlive the database. Keys that have expired meanwhile are in the store, and the
  // next look at its clock removes them. Waits at most 1 s for another process to end. The error
  // says what is wrong with the file, which is unchanged then, and what to do. `keeper` changes
  // what is read and written, and must outlive the database; null: nothing does. `node`: of a
  // cluster whose nodes share the file; this one leads from now on, and no other. Empty: the file
  // is for this process alone.
  [[nodiscard]] static Result<std::unique_ptr<Database>, std::string> open(
      const std::string& path, store::Store& store, const Clocks& now,
      store::Keeper* keeper = nullptr, const std::string& node = "");
  // An end in order: what a keeper has held back is written.
  ~Database() override;

  // Puts what has changed in the store since the last call on the disk, as one transaction;
  // nothing is written when nothing has. After an error the store has what the file lacks: it must
  // not be served any more.
  [[nodiscard]] Result<void, std::string> commit(const Clocks& now);
  // Another node led before the last commit was done: what it was to write may not be there, and
  // what was read may be out of date. Nobody may learn of either.
  [[nodiscard]] bool replaced() const;

 private:
  using Statement = std::unique_ptr<sqlite3_stmt, CloseStatement>;

  Database(std::string path, store::Store& store, store::Keeper* keeper, std::string node);

  void on_held(const store::Holding& holding) override;
  void on_gone(std::string_view key) override;

  // Each returns what is wrong, or nothing.
  std::optional<std::string> connect();
  std::optional<std::string> make_or_check();
  std::optional<std::string> lead();
  std::optional<std::string> load(const Clocks& now);
  void restore(const store::KeptKeys& kept, const Clocks& now);

  void hold(const store::Holding& holding, std::optional<std::chrono::microseconds> expires);
  void forget(std::string_view key);
  void hold_clock(const hlc::Timestamp& newest);
  // What a keeper has made of the changes, as one transaction.
  void write(const store::KeptKeys& kept);
  // False: there is no transaction, as it failed, or because another node leads.
  bool begin();
  void look_who_leads();

  bool run(const char* sql);
  bool step(const Statement& statement);
  [[nodiscard]] Statement prepare(const char* sql);
  // `bytes`: its only parameter, where it has one.
  [[nodiscard]] std::optional<std::int64_t> number(const char* sql, std::string_view bytes = "");
  [[nodiscard]] std::string wrong(const std::string& text) const;
  [[nodiscard]] std::string damage(const std::string& found = "") const;
  [[nodiscard]] std::string failure(const std::string& text) const;

  std::string path_;
  store::Store& store_;
  store::Keeper* keeper_;
  std::string node_;
  std::int64_t epoch_ = 0;   // in which this node leads; 0: there is no cluster
  bool taken_over_ = false;  // from another node
  bool leads_ = true;
  store::KeptKeys changed_{};  // since the last commit, where there is a keeper
  sqlite3* connection_ = nullptr;
  Statement hold_{};
  Statement forget_{};
  Statement set_clock_{};
  std::chrono::microseconds wall_at_steady_zero_{0};
  hlc::Timestamp kept_clock_{};
  bool ok_ = true;  // so far, in this transaction
};

}  // namespace fencepost::broker_plugin
