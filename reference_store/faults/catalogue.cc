#include <algorithm>
#include <array>
#include <iterator>

#include "reference_store/faults/fault.h"

namespace fencepost::store {
namespace {

struct FormerName {
  std::string_view id;
  std::string_view name;
};

// Names of earlier versions, which scripts may still use.
constexpr auto kFormerNames = std::to_array<FormerName>({
    {"B10", "unknown-option-in-its-own-words"},
    {"C07", "dies-of-a-negative-length"},
    {"C08", "dies-of-a-huge-count"},
    {"D11", "del-only-says-so"},
    {"F17", "get-demands-the-token"},
    {"F19", "token-order-is-that-of-text"},
    {"F23", "keynotify-demands-the-token"},
    {"H17", "version-begins-anew-after-del"},
    {"H30", "read-too-soon"},
    {"L10", "overwriting-takes-a-place"},
    {"L11", "del-frees-no-place"},
    {"M03", "answers-at-the-topic-before"},
    {"N01", "set-is-not-told"},
    {"N02", "delete-is-not-told"},
    {"N03", "tells-what-did-not-happen"},
    {"N04", "tells-everybody"},
    {"N07", "tells-the-previous-value"},
    {"N08", "notifications-change-places"},
    {"N15", "told-before-the-effect"},
    {"N19", "vdel-is-not-told"},
    {"N20", "writer-is-not-told"},
    {"N25", "expiry-is-told-as-a-set"},
    {"N26", "disconnect-ends-everybodys"},
    {"N29", "long-client-ids-not-told"},
    {"N31", "same-value-told-with-the-version-before"},
    {"N32", "eight-observers"},
    {"N33", "expired-key-is-told-twice"},
    {"N34", "tells-64-observers"},
    {"N35", "deletion-is-told-twice"},
    {"T20", "token-is-not-asked-for"},
    {"U01", "everything-takes-its-time"},
    {"U03", "notifications-take-their-time"},
    {"X13", "expiry-takes-a-neighbour"},
    {"X14", "expiry-is-silent"},
});

bool is_called(std::string_view text, std::string_view id, std::string_view name) {
  const bool both = text.size() == id.size() + 1 + name.size() && text.starts_with(id) &&
                    text.ends_with(name) && text[id.size()] == '-';
  return text == id || text == name || both;
}

}  // namespace

const std::vector<Fault>& faults() {
  static const std::vector<Fault> all = [] {
    std::vector<Fault> out;
    for (const auto part :
         {codec_faults,      set_faults,         expiry_faults,       delete_faults,
          version_faults,    fencing_faults,     notification_faults, envelope_faults,
          limit_faults,      concurrency_faults, overlap_faults,      two_faced_faults,
          connection_faults, kept_faults,        replicated_faults,   benign_variants,
          overlap_variants,  kept_variants,      article_stores,      null_stores}) {
      std::vector<Fault> more = part();
      std::move(more.begin(), more.end(), std::back_inserter(out));
    }
    return out;
  }();
  return all;
}

const Fault* find_fault(std::string_view name) {
  const auto former =
      std::find_if(kFormerNames.begin(), kFormerNames.end(),
                   [name](const FormerName& row) { return is_called(name, row.id, row.name); });
  if (former != kFormerNames.end()) name = former->id;
  const std::vector<Fault>& all = faults();
  const auto found = std::find_if(all.begin(), all.end(), [name](const Fault& fault) {
    return is_called(name, fault.id, fault.name);
  });
  return found == all.end() ? nullptr : &*found;
}

std::string_view name(FaultKind kind) {
  constexpr std::array kNames = {"fault", "benign", "null"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::string_view name(RightBy right_by) {
  constexpr std::array kNames = {"all", "article", "preview"};
  return kNames.at(static_cast<std::size_t>(right_by));
}

std::string_view name(FaultNeeds needs) {
  constexpr std::array kNames = {"nothing", "transport", "direct",  "meeting",
                                 "history", "kill",      "failover"};
  return kNames.at(static_cast<std::size_t>(needs));
}

}  // namespace fencepost::store
