#include "reference_store/broker_plugin/database.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>
#include <utility>

#include <unistd.h>

#include <sqlite3.h>

namespace fencepost::broker_plugin {
namespace {

using std::chrono::microseconds;

constexpr std::uint32_t kApplication = 0x46504b56;  // "FPKV"
constexpr std::int64_t kFormat = 1;

// SQLite's own waits grow, and a leader that writes all the time would be in between each time.
template <int kPatienceMs>
int wait_for_lock(void* /*nothing*/, int waits) {
  if (waits >= kPatienceMs) return 0;
  usleep(1'000);
  return 1;
}

constexpr const char* kMake =
    "CREATE TABLE keys (key BLOB PRIMARY KEY NOT NULL, value BLOB NOT NULL, version BLOB NOT NULL,"
    " token BLOB, expires_us INTEGER);"
    "CREATE TABLE clock (newest BLOB NOT NULL);"
    "INSERT INTO clock VALUES ('0:0:-');"
    "PRAGMA application_id = 1179667286;"
    "PRAGMA user_version = 1;";

constexpr const char* kMakeLeader =
    "CREATE TABLE IF NOT EXISTS leader (epoch INTEGER NOT NULL, node BLOB NOT NULL);"
    "INSERT INTO leader SELECT 0, '' WHERE NOT EXISTS (SELECT * FROM leader);";

constexpr const char* kHold =
    "INSERT INTO keys (key, value, version, token, expires_us) VALUES (?1, ?2, ?3, ?4, ?5)"
    " ON CONFLICT (key) DO UPDATE SET value = ?2, version = ?3, token = ?4, expires_us = ?5";
microseconds sum(microseconds a, microseconds b) {
  if (b.count() > 0 && a > microseconds::max() - b) return microseconds::max();
  return a + b;
}

// The bytes must live until the statement has run.
void bind_bytes(const std::unique_ptr<sqlite3_stmt, Database::CloseStatement>& statement, int index,
                std::string_view bytes) {
  // A null pointer would be NULL, not the empty value.
  const char* data = bytes.data() == nullptr ? "" : bytes.data();
  sqlite3_bind_blob64(statement.get(), index, data, bytes.size(), nullptr);
}

std::string text_of(const hlc::Timestamp& timestamp) {
  return hlc::format(timestamp, hlc::Padding::kNone);
}

std::string_view column(sqlite3_stmt* statement, int index) {
  const void* bytes = sqlite3_column_blob(statement, index);
  return {bytes == nullptr ? "" : static_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(statement, index))};
}

store::KeptKey kept_key(const store::Holding& holding, std::optional<microseconds> expires) {
  return {.key = std::string(holding.key),
          .value = std::string(holding.value),
          .version = holding.version,
          .token = holding.token,
          .expires = expires};
}

// Its views live as long as `key`; without the deadline.
store::Holding holding_of(const store::KeptKey& key) {
  return {.key = key.key, .value = key.value, .version = key.version, .token = key.token};
}

// What a file is by its first bytes, before SQLite has touched it: to open the database of somebody
// else may already change it.
std::optional<std::string> objection_to_file(const std::string& path) {
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (!std::filesystem::exists(status)) return std::nullopt;
  if (!std::filesystem::is_regular_file(status)) return "expected a file, found something else";
  std::ifstream file(path, std::ios::binary);
  std::array<char, 100> header{};
  file.read(header.data(), header.size());
  const auto size = static_cast<std::size_t>(file.gcount());
  if (size == 0) return std::nullopt;  // or it cannot be read, which SQLite says
  if (size < header.size() || std::memcmp(header.data(), "SQLite format 3", 16) != 0) {
    return "expected a database that fencepost has made, or no file, found other content";
  }
  const auto number_at = [&header](std::size_t at) {
    std::uint32_t out = 0;
    for (std::size_t i = at; i < at + 4; ++i) {
      out = out << 8U | static_cast<unsigned char>(header.at(i));
    }
    return out;
  };
  if (number_at(68) != kApplication) {
    return "expected a database that fencepost has made, found that of another program";
  }
  if (const std::uint32_t format = number_at(60); format > kFormat) {
    return "expected format " + std::to_string(kFormat) + ", found format " +
           std::to_string(format) + " of a newer version of fencepost";
  }
  return std::nullopt;
}

}  // namespace

void Database::CloseStatement::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Database::Database(std::string path, store::Store& store, store::Keeper* keeper, std::string node)
    : path_(std::move(path)), store_(store), keeper_(keeper), node_(std::move(node)) {}

Database::~Database() {
  if (keeper_ != nullptr && hold_) {
    store::KeptKeys rest;
    keeper_->end(rest);
    write(rest);
  }
  hold_.reset();
  forget_.reset();
  set_clock_.reset();
  sqlite3_close(connection_);
}

Result<std::unique_ptr<Database>, std::string> Database::open(const std::string& path,
                                                              store::Store& store,
                                                              const Clocks& now,
                                                              store::Keeper* keeper,
                                                              const std::string& node) {
  std::unique_ptr<Database> out(new Database(path, store, keeper, node));
  if (auto objection = objection_to_file(path)) {
    return fail(out->wrong(*objection + "; name another file"));
  }
  if (auto failed = out->connect()) return fail(std::move(*failed));
  if (auto failed = out->make_or_check()) return fail(std::move(*failed));
  // First, so that what the former leader commits is read, or refused.
  if (auto failed = out->lead()) return fail(std::move(*failed));
  if (auto failed = out->load(now)) return fail(std::move(*failed));
  // From here on the file may be tidied up at the end: what is beside it goes into it.
  sqlite3_db_config(out->connection_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  store.note_changes();
  return out;
}

std::optional<std::string> Database::connect() {
  const int opened = sqlite3_open_v2(path_.c_str(), &connection_,
                                     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  if (opened != SQLITE_OK) return failure("cannot be opened");
  if (sqlite3_db_readonly(connection_, "main") != 0) {
    return wrong("expected a file that can be written, found one that cannot; change its rights");
  }
  // Until all is read, and found to be well, nothing of the file is moved.
  sqlite3_db_config(connection_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  // The other nodes of a cluster write now and then; another process never ends by itself.
  sqlite3_busy_handler(connection_, node_.empty() ? wait_for_lock<1'000> : wait_for_lock<8'000>,
                       nullptr);
  // EXCLUSIVE: for one process, whose locks the kernel removes when it is killed. FULL: a reply is
  // sent when the disk has what it says, so that power may fail, not only this process.
  if (!run(node_.empty() ? "PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = FULL"
                         : "PRAGMA synchronous = FULL")) {
    return failure("cannot be used");
  }
  return std::nullopt;
}

std::optional<std::string> Database::make_or_check() {
  if (!run("BEGIN EXCLUSIVE")) return failure("cannot be locked");
  const auto tables = number("SELECT count(*) FROM sqlite_schema");
  if (!tables) return failure("cannot be read");
  // Before the write-ahead log, so that the file says from its first moment what it is.
  if (*tables == 0 && !run(kMake)) return failure("cannot be made");
  if (!run("COMMIT")) return failure("cannot be made");
  // The write-ahead log needs one write to the disk for each transaction; a journal needs three.
  if (!run("PRAGMA journal_mode = WAL")) return failure("cannot be written");
  return std::nullopt;
}

std::optional<std::string> Database::lead() {
  if (node_.empty()) return std::nullopt;
  if (!run("BEGIN IMMEDIATE") || !run(kMakeLeader)) return failure("cannot be locked");
  const auto others = number("SELECT count(*) FROM leader WHERE epoch > 0 AND node <> ?1", node_);
  const Statement update = prepare("UPDATE leader SET epoch = epoch + 1, node = ?1");
  if (!others || !update) return damage();
  bind_bytes(update, 1, node_);
  ok_ = true;
  const auto epoch = step(update) ? number("SELECT epoch FROM leader") : std::nullopt;
  if (!epoch || !run("COMMIT")) return failure("cannot be written");
  taken_over_ = *others > 0;
  epoch_ = *epoch;
  return std::nullopt;
}

std::optional<std::string> Database::load(const Clocks& now) {
  const Statement check = prepare("PRAGMA quick_check(1)");
  if (!check || sqlite3_step(check.get()) != SQLITE_ROW) return damage();
  if (const std::string_view found = column(check.get(), 0); found != "ok") {
    return damage(std::string(found));
  }
  const Statement keys = prepare("SELECT key, value, version, token, expires_us FROM keys");
  if (!keys) return damage();
  int code = SQLITE_OK;
  store::KeptKeys read{.taken_over = taken_over_, .led_before = store_.size() > 0};
  while ((code = sqlite3_step(keys.get())) == SQLITE_ROW) {
    store::Holding holding{.key = column(keys.get(), 0), .value = column(keys.get(), 1)};
    const auto version = hlc::parse(column(keys.get(), 2));
    if (!version) return damage();
    holding.version = *version;
    if (sqlite3_column_type(keys.get(), 3) != SQLITE_NULL) {
      const auto token = hlc::parse(column(keys.get(), 3));
      if (!token) return damage();
      holding.token = *token;
    }
    std::optional<microseconds> expires;
    if (sqlite3_column_type(keys.get(), 4) != SQLITE_NULL) {
      expires = microseconds{sqlite3_column_int64(keys.get(), 4)};
      holding.deadline = sum(now.steady, *expires - now.wall);
    }
    if (keeper_ != nullptr) {
      read.keys.push_back(kept_key(holding, expires));
    } else {
      store_.restore(holding);
    }
  }
  if (code != SQLITE_DONE) return failure("cannot be read");
  const Statement clock = prepare("SELECT newest FROM clock");
  if (!clock || sqlite3_step(clock.get()) != SQLITE_ROW) return damage();
  const auto newest = hlc::parse(column(clock.get(), 0));
  if (!newest) return damage();
  read.clock = *newest;
  if (keeper_ != nullptr) keeper_->load(read, now.wall);
  restore(read, now);
  kept_clock_ = store_.last_version();
  hold_ = prepare(kHold);
  forget_ = prepare("DELETE FROM keys WHERE key = ?1");
  set_clock_ = prepare("UPDATE clock SET newest = ?1");
  if (!hold_ || !forget_ || !set_clock_) return damage();
  return std::nullopt;
}

void Database::restore(const store::KeptKeys& kept, const Clocks& now) {
  for (const store::KeptKey& key : kept.keys) {
    store::Holding holding = holding_of(key);
    if (key.expires) holding.deadline = sum(now.steady, *key.expires - now.wall);
    store_.restore(holding);
  }
  if (kept.clock) store_.restore_clock(*kept.clock);
}

Result<void, std::string> Database::commit(const Clocks& now) {
  const bool clock_moved = store_.last_version() != kept_clock_;
  if (!store_.has_changes() && !clock_moved && keeper_ == nullptr) {
    look_who_leads();
    return {};
  }
  wall_at_steady_zero_ = now.wall - now.steady;
  kept_clock_ = store_.last_version();
  if (keeper_ != nullptr) {
    store_.report_changes(*this);
    if (clock_moved) changed_.clock = kept_clock_;
    keeper_->write(changed_, now.wall);
    write(std::exchange(changed_, {}));
  } else {
    ok_ = begin();
    store_.report_changes(*this);
    // With each version given out, so that a later one is greater even if the wall clock is not.
    if (clock_moved) hold_clock(kept_clock_);
    ok_ = ok_ && run("COMMIT");
  }
  look_who_leads();
  if (ok_ || !leads_) return {};
  return fail(wrong("a change cannot be written: " + std::string(sqlite3_errmsg(connection_)) +
                    "; nothing of it was answered, and the store ends; start it again when the "
                    "disk has room"));
}

void Database::write(const store::KeptKeys& kept) {
  ok_ = true;
  if (kept.empty()) return;
  ok_ = begin();
  for (const store::KeptKey& key : kept.keys) {
    if (key.gone) {
      forget(key.key);
    } else {
      hold(holding_of(key), key.expires);
    }
  }
  if (kept.clock) hold_clock(*kept.clock);
  ok_ = ok_ && run("COMMIT");
}

bool Database::begin() {
  if (!leads_ || !run(epoch_ == 0 ? "BEGIN" : "BEGIN IMMEDIATE")) return false;
  look_who_leads();
  if (leads_) return true;
  (void)run("ROLLBACK");
  return false;
}

void Database::look_who_leads() {
  if (epoch_ == 0 || !leads_) return;
  if (keeper_ != nullptr && keeper_->when_replaced() == store::WhenReplaced::kWritesOn) return;
  leads_ = number("SELECT epoch FROM leader") == epoch_;
}

bool Database::replaced() const {
  const bool knows =
      keeper_ == nullptr || keeper_->when_replaced() != store::WhenReplaced::kServesFromMemory;
  return !leads_ && knows;
}

void Database::on_held(const store::Holding& holding) {
  std::optional<microseconds> expires;
  if (holding.deadline) expires = sum(*holding.deadline, wall_at_steady_zero_);
  if (keeper_ != nullptr) {
    changed_.keys.push_back(kept_key(holding, expires));
  } else {
    hold(holding, expires);
  }
}

void Database::on_gone(std::string_view key) {
  if (keeper_ != nullptr) {
    changed_.keys.push_back({.key = std::string(key), .gone = true});
  } else {
    forget(key);
  }
}

void Database::hold(const store::Holding& holding, std::optional<microseconds> expires) {
  if (!ok_) return;
  const std::string version = text_of(holding.version);
  const std::string token = holding.token ? text_of(*holding.token) : "";
  bind_bytes(hold_, 1, holding.key);
  bind_bytes(hold_, 2, holding.value);
  bind_bytes(hold_, 3, version);
  if (holding.token) bind_bytes(hold_, 4, token);
  if (expires) sqlite3_bind_int64(hold_.get(), 5, expires->count());
  ok_ = step(hold_);
}

void Database::forget(std::string_view key) {
  if (!ok_) return;
  bind_bytes(forget_, 1, key);
  ok_ = step(forget_);
}

void Database::hold_clock(const hlc::Timestamp& newest) {
  if (!ok_) return;
  const std::string text = text_of(newest);
  bind_bytes(set_clock_, 1, text);
  ok_ = step(set_clock_);
}

bool Database::run(const char* sql) {
  return sqlite3_exec(connection_, sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

bool Database::step(const Statement& statement) {
  const bool done = sqlite3_step(statement.get()) == SQLITE_DONE;
  sqlite3_reset(statement.get());
  sqlite3_clear_bindings(statement.get());
  return done;
}

Database::Statement Database::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(connection_, sql, -1, &statement, nullptr);
  return Statement(statement);
}

std::optional<std::int64_t> Database::number(const char* sql, std::string_view bytes) {
  const Statement statement = prepare(sql);
  if (!bytes.empty()) bind_bytes(statement, 1, bytes);
  if (!statement || sqlite3_step(statement.get()) != SQLITE_ROW) return std::nullopt;
  return sqlite3_column_int64(statement.get(), 0);
}

std::string Database::wrong(const std::string& text) const {
  return "database " + path_ + ": " + text;
}

std::string Database::damage(const std::string& found) const {
  return wrong("is damaged" + (found.empty() ? found : ": " + found) +
               "; nothing in it was changed; take a copy that is whole, or name another file to "
               "begin without keys");
}

// With what SQLite has found, which decides what there is to do.
std::string Database::failure(const std::string& text) const {
  const int code = sqlite3_errcode(connection_);
  const std::string message = sqlite3_errmsg(connection_);
  if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB) return damage(message);
  if (code == SQLITE_BUSY || code == SQLITE_LOCKED) {
    return wrong(text + ": another process uses it; end that one, or name another file");
  }
  const int cause = sqlite3_system_errno(connection_);
  const bool of_system = code == SQLITE_CANTOPEN || code == SQLITE_IOERR;
  return wrong(
      text + ": " + message +
      (of_system && cause != 0 ? " (" + std::generic_category().message(cause) + ")" : "") +
      "; expected a folder and a disk that can be written");
}

}  // namespace fencepost::broker_plugin
