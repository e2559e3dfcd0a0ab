#include "clients/token_watch.h"

#include <algorithm>

namespace fencepost::clients {
namespace {

using codec::ReplyKind;
using codec::Verb;

constexpr std::size_t kMaxKeys = 20'000;
constexpr std::size_t kMaxOfAKey = 32;  // versions

}  // namespace

void TokenWatch::set(Key& key, const Request& request, const std::optional<hlc::Timestamp>& version,
                     Time at) {
  // With its expiry the token goes, too; and where none was asked for, there was none.
  if (!request.has_token || request.expires_after) {
    key.protected_by.clear();
  } else {
    key.protected_by.emplace(request.client_id, at);
  }
  if (!version) return;
  Version& its = key.versions[*version] = {.owner = request.client_id, .value = request.value};
  if (request.expires_after) its.ends = at + *request.expires_after;
  // A store may have a clock for each key: what is of two keys is not known by its version.
  const auto [of, is_new] = key_of_.emplace(*version, request.key);
  if (!is_new && of->second != request.key) of->second.clear();
  if (key.versions.size() <= kMaxOfAKey) return;
  key_of_.erase(key.versions.begin()->first);
  key.versions.erase(key.versions.begin());
}

void TokenWatch::answered(const Request& request, const codec::DecodedReply& reply,
                          const std::optional<hlc::Timestamp>& version, Time at) {
  if (!request.verb || request.key.empty()) return;
  if (keys_.size() >= kMaxKeys && !keys_.contains(request.key)) return;
  Key& key = keys_[request.key];
  const std::string& client = request.client_id;
  const bool is_set = *request.verb == Verb::kSet;
  if (is_set && reply.kind == ReplyKind::kOk) return set(key, request, version, at);
  const bool deletes = codec::removes(*request.verb);
  if (deletes && reply.kind == ReplyKind::kCount && reply.count > 0) {
    key.protected_by.clear();
    if (!key.versions.empty()) key.versions.rbegin()->second.given_back.insert(client);
    return;
  }
  // What it holds now, where that is another client's.
  const bool tells = (*request.verb == Verb::kGet && reply.kind == ReplyKind::kValue) ||
                     (is_set && reply.kind == ReplyKind::kNotApplied);
  if (!tells || !version) return;
  const auto now = key.versions.find(*version);
  if (now == key.versions.end() || now->second.owner == client) return;
  if (is_set && now->second.value != request.value) now->second.refused.insert(client);
  for (auto each = key.versions.begin(); each != now; ++each) {
    const bool overtaken = each->second.owner == client && each->second.value != now->second.value;
    if (overtaken) each->second.lost.insert(client);
  }
}

void TokenWatch::sent(std::string_view client, const hlc::Timestamp& token, Time at,
                      std::vector<Diagnostic>& out) const {
  const auto key = key_of_.find(token);
  if (key == key_of_.end() || key->second.empty()) return;
  const auto& versions = keys_.at(key->second).versions;
  const Version& version = versions.at(token);
  const auto diagnose = [&](std::string_view why) {
    out.push_back({&rule("FT-CLIENT-1"), "the token " + hlc::format(token, hlc::Padding::kNone) +
                                             " belongs to the lock " + shown(key->second) +
                                             ", which " + std::string(why)});
  };
  if (version.given_back.contains(client)) return diagnose("the client has since deleted");
  if (version.lost.contains(client)) {
    return diagnose("another client now holds, as the client was notified");
  }
  // A renewal keeps using the previous token.
  constexpr Time kMargin = std::chrono::milliseconds(200);
  const bool over = std::all_of(versions.begin(), versions.end(), [&](const auto& each) {
    return each.second.owner != client || (each.second.ends && *each.second.ends + kMargin < at);
  });
  if (version.owner == client && over) return diagnose("has expired, as the client knows");
  if (version.owner != client && version.refused.contains(client)) {
    diagnose("the store has refused to the client because another client holds it");
  }
}

void TokenWatch::refused(const Request& request, std::vector<Diagnostic>& out) const {
  const auto key = keys_.find(request.key);
  if (key == keys_.end()) return;
  const auto since = key->second.protected_by.find(request.client_id);
  // Before the response arrived, the client could not know.
  if (since == key->second.protected_by.end() || request.at <= since->second) return;
  out.push_back({&rule("FT-REQUIRED-1"),
                 "no __ft, but the client itself has set a token on " + shown(request.key)});
}

}  // namespace fencepost::clients
