#include "concurrency/stress/restart_expectation.h"

#include <algorithm>
#include <tuple>

namespace fencepost::stress {
namespace {

using history::Action;
using history::kNever;
using history::Operation;
using history::Outcome;

std::string way_of(const Operation& operation) {
  if (operation.action == Action::kDel) return "deleted by DEL";
  if (operation.action == Action::kVdel) return "deleted by VDEL";
  std::string out = "set";
  if (operation.condition == codec::Condition::kIfAbsent) out += " with NX";
  if (operation.condition == codec::Condition::kIfAbsentOrEqual) out += " with NEX";
  if (operation.expires_after) {
    out += " with PX " + std::to_string(operation.expires_after->count());
  }
  if (operation.token) out += " with a fencing token";
  return out;
}

std::string bytes(const std::string& value) { return std::to_string(value.size()) + " bytes"; }

std::string text_of_version(const hlc::Timestamp& version) {
  return hlc::format(version, hlc::Padding::kNone);
}

// The node is of no matter: another one of a cluster may have taken over.
bool is_greater(const hlc::Timestamp& a, const hlc::Timestamp& b) {
  return std::tie(a.wall_ms, a.counter) > std::tie(b.wall_ms, b.counter);
}

}  // namespace

void RestartExpectation::take(const Operation& operation, const history::Bounds& bounds) {
  if (operation.action == Action::kGet) {
    if (present_) how_ += ", and had expired";
    present_ = false;
    return;
  }
  how_ = way_of(operation);
  present_ = operation.action == Action::kSet;
  version_ = operation.version;
  expires_from_ = expires_by_ = kNever;
  if (!present_) return;
  value_ = operation.value;
  if (!operation.expires_after) return;
  expires_from_ = operation.called + *operation.expires_after - bounds.expiry_early;
  expires_by_ = operation.returned + *operation.expires_after + bounds.expiry_late;
}

std::string RestartExpectation::described() const { return "a key that was " + how_; }

std::optional<RestartFlaw> RestartExpectation::flaw_of(const Operation& get) const {
  const bool missing = get.outcome == Outcome::kMissing;
  if (!missing && get.outcome != Outcome::kValue) return std::nullopt;
  if (missing) {
    const bool may_be_gone = !present_ || get.returned >= expires_from_;
    if (may_be_gone) return std::nullopt;
    if (!expires()) return RestartFlaw{kKeepsWrites, described() + " is gone"};
    return RestartFlaw{kKeepsExpiry, described() + " is gone before its time"};
  }
  if (!present_) return RestartFlaw{kKeepsDeletions, described() + " is there again"};
  if (get.called > expires_by_) {
    return RestartFlaw{kKeepsExpiry, described() + " is there after its time"};
  }
  if (get.read != value_) {
    return RestartFlaw{kKeepsWrites, described() + " has another value, of " + bytes(get.read) +
                                         " in place of " + bytes(value_)};
  }
  if (version_ && get.version && *version_ != *get.version) {
    return RestartFlaw{kKeepsWrites, described() + " has the version " +
                                         text_of_version(*get.version) + " in place of " +
                                         text_of_version(*version_)};
  }
  return std::nullopt;
}

std::optional<RestartFlaw> flaw_of_token(const hlc::Timestamp& held, const Operation& set) {
  const bool done = set.outcome == Outcome::kOk;
  if (!set.token && done) {
    return RestartFlaw{kKeepsTokens,
                       "a SET without a token overwrote a key that had a fencing token"};
  }
  if (!set.token) return std::nullopt;
  if (done && is_greater(held, *set.token)) {
    return RestartFlaw{kKeepsTokens, "a SET with a lower token than the key had was carried out"};
  }
  if (set.outcome == Outcome::kTokenLower && !is_greater(held, *set.token)) {
    return RestartFlaw{kKeepsTokens, "a SET with the token that the key had was refused"};
  }
  return std::nullopt;
}

std::optional<RestartFlaw> flaw_of_version(const hlc::Timestamp& before, const Operation& set) {
  const bool known = set.outcome == Outcome::kOk && set.version;
  if (!known || is_greater(*set.version, before)) return std::nullopt;
  return RestartFlaw{kKeepsVersionsGrowing, "a SET of a key got the version " +
                                                text_of_version(*set.version) + ", and had got " +
                                                text_of_version(before) + " before"};
}

std::string_view rule_of_restarts(std::string_view requirement) {
  if (requirement == "DEL-REMOVE-1" || requirement == "VDEL-MATCH-1") return kKeepsDeletions;
  if (requirement == "VER-UPDATE-3") return kKeepsVersionsGrowing;
  if (requirement.starts_with("FT-")) return kKeepsTokens;
  if (requirement.starts_with("SET-PX-")) return kKeepsExpiry;
  return kKeepsWrites;
}

bool are_on_both_sides(const std::vector<Operation>& operations, history::Time end) {
  const auto some = [&](auto is_there) {
    return std::any_of(operations.begin(), operations.end(), is_there);
  };
  return some([end](const Operation& each) { return each.returned <= end; }) &&
         some([end](const Operation& each) { return each.called >= end; });
}

}  // namespace fencepost::stress
