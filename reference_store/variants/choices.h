// Where the documents leave a store a choice, as data: each implementation choice ("axis") is one
// unspecified point, or one pair of checks whose order is unspecified, with the conforming
// decisions.
//
//   Decisions decisions = random_decisions(7);                    // a random conforming store
//   auto decisions = parse_decisions("px-zero:refused,line-end:lf");  // two points decided
//   otherwise if (decisions.is<"px-zero", "refused">()) ...                 // a typo does not
//   compile
//
// The first decision is that of the reference store (docs/PROTOCOL_DECISIONS.md). `text` of the
// requirement says why a point is open (scenarios/requirements.yaml). Pure; thread safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fencepost::store {

struct Axis {
  static constexpr std::size_t kMax = 6;  // decisions

  std::string_view name;
  std::string_view requirement;                    // that leaves it open
  std::array<std::string_view, kMax> decisions{};  // at least two; then empty ones
  bool article_only = false;  // right by the article; the deployed service decides it

  [[nodiscard]] constexpr std::size_t size() const {
    std::size_t count = 0;
    while (count < kMax && !decisions[count].empty()) ++count;
    return count;
  }
};

inline constexpr std::array kChoices = {
    // Bytes of a request.
    Axis{"line-end", "RESP-LF-OPEN-1", {"cr-lf", "lf", "own-error"}},
    Axis{"leading-zeros", "RESP-NUMBER-OPEN-1", {"refused", "taken"}},
    Axis{"plus-sign", "RESP-NUMBER-OPEN-1", {"refused", "taken"}},
    Axis{"blank-in-number", "RESP-NUMBER-OPEN-1", {"refused", "taken"}},
    Axis{"trailing-bytes", "RESP-TRAILING-OPEN-1", {"refused", "ignored", "own-error"}},
    Axis{"two-requests", "RESP-PIPELINE-OPEN-1", {"refused", "first", "both", "own-error"}},
    Axis{"simple-strings", "RESP-TYPE-OPEN-1", {"refused", "taken"}},
    Axis{"integers", "RESP-TYPE-OPEN-1", {"refused", "taken"}},
    Axis{"other-scalars", "RESP-TYPE-OPEN-1", {"refused", "taken", "own-error"}},
    Axis{"verbatim-strings", "RESP-TYPE-OPEN-1", {"refused", "taken"}},
    Axis{"other-containers", "RESP-TYPE-OPEN-1", {"refused", "taken"}},
    Axis{"streams", "RESP-STREAM-OPEN-1", {"refused", "taken", "own-error"}},
    Axis{"inline-commands", "RESP-INLINE-OPEN-1", {"syntax", "unknown-command", "taken"}},
    Axis{"no-elements",
         "RESP-NULL-OPEN-1",
         {"syntax", "wrong-count", "unknown-command", "own-error"}},
    Axis{"null-argument", "RESP-NULL-OPEN-1", {"syntax", "wrong-count", "empty-key", "own-error"}},
    Axis{"empty-payload",
         "RESP-EMPTY-OPEN-1",
         {"syntax", "unknown-command", "wrong-count", "own-error"}},
    // Verbs, options and their number.
    Axis{"verb-case", "CASE-VERB-OPEN-1", {"unknown-command", "syntax", "taken"}},
    Axis{"option-case", "CASE-OPTION-OPEN-1", {"syntax", "wrong-count", "taken", "own-error"}},
    Axis{"stop-case", "NTF-STOP-OPEN-1", {"syntax", "wrong-count", "taken", "own-error"}},
    Axis{"odd-verb", "ERR-COMMAND-OPEN-1", {"unknown-command", "syntax", "own-error"}},
    Axis{"newer-verb", "ERR-COMMAND-OPEN-2", {"unknown-command", "own-error", "array"}},
    Axis{"too-many-arguments", "ERR-ARITY-OPEN-1", {"wrong-count", "syntax"}},
    Axis{"missing-value", "ERR-ARITY-OPEN-1", {"wrong-count", "syntax"}},
    Axis{"keynotify-option", "ERR-ARITY-OPEN-1", {"syntax", "wrong-count"}},
    Axis{"keynotify-get", "NTF-GET-OPEN-1", {"refused", "taken"}},
    Axis{"most-set-arguments", "ERR-ARITY-OPEN-1", {"six", "any"}},
    Axis{"unknown-option", "ERR-OPTION-OPEN-1", {"syntax", "wrong-count", "own-error"}},
    Axis{"keynotify-empty-key", "KEY-EMPTY-OPEN-1", {"empty-key", "syntax", "own-error"}},
    // Options of SET.
    Axis{"px-without-number", "SET-PX-OPEN-7", {"syntax", "wrong-count"}},
    Axis{"px-zero", "SET-PX-OPEN-1", {"expires-at-once", "refused", "never-expires"}},
    Axis{"px-negative", "SET-PX-OPEN-2", {"refused", "as-zero"}},
    Axis{"px-plus-sign", "SET-PX-OPEN-3", {"refused", "taken"}},
    Axis{"px-leading-zeros", "SET-PX-OPEN-3", {"taken", "refused"}},
    Axis{"px-blank", "SET-PX-OPEN-3", {"refused", "taken"}},
    Axis{"px-fraction", "SET-PX-OPEN-4", {"as-the-dialect", "refused", "taken"}},
    Axis{"px-exponent", "SET-PX-OPEN-4", {"refused", "taken"}},
    Axis{"px-great", "SET-PX-OPEN-5", {"a-century", "64-bits", "31-bits"}},
    Axis{"px-repeated", "SET-OPTION-OPEN-1", {"syntax", "wrong-count", "first", "last"}},
    Axis{"condition-repeated", "SET-OPTION-OPEN-1", {"syntax", "wrong-count", "once"}},
    Axis{"nx-with-nex", "SET-OPTION-OPEN-2", {"syntax", "wrong-count", "nx", "nex"}},
    Axis{"px-before-condition", "SET-OPTION-OPEN-3", {"taken", "syntax", "wrong-count"}},
    Axis{"nex-value",
         "SET-NEX-OPEN-1",
         {"syntax", "wrong-count", "compared-with-it", "compared-with-value"}},
    Axis{"nex-on-an-empty-value", "SET-NEX-OPEN-3", {"compared", "taken"}},
    Axis{"nex-expiry", "SET-NEX-OPEN-2", {"removed", "kept"}},
    Axis{"set-expiry", "SET-PX-OPEN-6", {"removed", "kept"}},
    Axis{"expiry-lag", "SET-PX-OPEN-8", {"none", "100ms"}},
    // The order of checks: each may come before or after all others.
    Axis{"order-count", "ERR-ORDER-OPEN-1", {"in-turn", "early", "late"}},
    Axis{"order-options", "ERR-ORDER-OPEN-1", {"in-turn", "early", "late"}},
    Axis{"order-key", "ERR-ORDER-OPEN-1", {"in-turn", "early", "late"}},
    Axis{"order-authorization", "ERR-ORDER-OPEN-1", {"in-turn", "early", "late"}},
    Axis{"order-timestamp", "ERR-ORDER-OPEN-1", {"in-turn", "early", "late"}},
    Axis{"order-quota", "ERR-ORDER-OPEN-1", {"in-turn", "early", "late"}},
    Axis{"order-token", "FT-OPEN-3", {"in-turn", "early", "late"}},
    Axis{"order-fencing", "FT-OPEN-3", {"in-turn", "early", "late"}},
    Axis{"order-condition", "ERR-ORDER-OPEN-2", {"in-turn", "early", "late"}},
    Axis{"order-vdel-value", "FT-OPEN-3", {"fencing-first", "value-first"}},
    // Timestamps.
    Axis{"node-empty", "HLC-PARSE-OPEN-1", {"malformed", "taken"}},
    Axis{"node-with-colon", "HLC-PARSE-OPEN-1", {"malformed", "taken"}},
    Axis{"node-long", "HLC-PARSE-OPEN-1", {"taken", "malformed"}},
    Axis{"node-not-ascii", "HLC-PARSE-OPEN-1", {"taken", "malformed"}},
    Axis{"node-of-the-store", "HLC-PARSE-OPEN-1", {"taken", "malformed"}},
    Axis{"counter-limit", "HLC-PARSE-OPEN-2", {"63-bits", "31-bits", "64-bits"}},
    Axis{"signs-and-fractions", "HLC-PARSE-OPEN-3", {"malformed", "taken"}},
    Axis{"more-than-20-digits", "HLC-PARSE-OPEN-3", {"malformed", "taken"}},
    Axis{"ts-where-none-is-needed",
         "HLC-REQUIRED-OPEN-1",
         {"ignored", "must-be-legal", "must-not-be-ahead"}},
    Axis{"repeated-ts", "ENV-PROPERTY-OPEN-1", {"last", "first", "refused"}},
    Axis{"empty-ts", "ENV-PROPERTY-OPEN-2", {"malformed", "missing"}},
    Axis{"blanks-around-ts", "ENV-PROPERTY-OPEN-2", {"count", "ignored"}},
    Axis{"ts-name-case", "ENV-PROPERTY-OPEN-2", {"counts", "ignored"}},
    Axis{"skew-limit", "HLC-SKEW-OPEN-1", {"60000-ms", "59999-ms", "60-s"}},
    // Versions.
    Axis{"version-clock", "VER-OPEN-1", {"of-the-store", "of-the-key"}},
    Axis{"clock-moves", "VER-OPEN-2", {"with-sets", "with-all-requests"}},
    Axis{"version-padding", "VER-OPEN-3", {"as-the-dialect", "none", "15-5", "20-10"}},
    Axis{"version-of-del", "VER-OPEN-4", {"deleted", "fresh"}},
    Axis{"ts-of-errors", "VER-OPEN-5", {"absent", "present"}},
    Axis{"ts-of-del-miss", "VER-OPEN-5", {"absent", "present"}},
    Axis{"ts-of-vdel-mismatch", "VER-OPEN-5", {"absent", "present"}},
    Axis{"ts-of-keynotify", "VER-OPEN-5", {"absent", "present"}},
    Axis{"node-id", "VER-NODE-OPEN-1", {"as-configured", "0", "$store", "-1", "uuid", "cluster"}},
    Axis{"counter-gaps", "VER-OPEN-6", {"none", "some"}},
    // Fencing.
    Axis{"bad-token-on-get", "FT-OPEN-1", {"ignored", "refused"}},
    Axis{"bad-token-on-missing-key", "FT-OPEN-1", {"refused", "ignored"}},
    Axis{"bad-token-on-unfenced-key", "FT-OPEN-1", {"refused", "ignored"}},
    Axis{"token-on-missing-key", "FT-OPEN-2", {"taken", "refused"}},
    Axis{"token-on-unfenced-key", "FT-OPEN-2", {"taken", "refused"}},
    Axis{"token-of-set-not-applied", "FT-OPEN-4", {"dropped", "kept"}},
    Axis{"token-of-vdel-mismatch", "FT-OPEN-4", {"dropped", "kept"}},
    Axis{"token-after-expiry", "FT-OPEN-5", {"gone", "kept", "kept-for-deletions-too"}},
    Axis{"token-ties", "FT-OPEN-6", {"by-node-id", "equal"}},
    Axis{"empty-token", "FT-OPEN-7", {"malformed", "missing"}},
    // Notifications.
    Axis{"second-keynotify", "NTF-REPEAT-OPEN-1", {"ok", "zero"}},
    Axis{"registered-twice", "NTF-REPEAT-OPEN-2", {"told-once", "told-twice"}},
    Axis{"same-value", "NTF-SEND-OPEN-1", {"told", "not-told"}},
    Axis{"notification-order", "NTF-ORDER-OPEN-1", {"before-response", "after-response"}},
    Axis{"version-of-deletion", "NTF-VERSION-OPEN-1", {"deleted", "fresh"}},
    Axis{"notification-qos", "NTF-QOS-OPEN-1", {"1", "0"}},
    Axis{"notification-retain", "NTF-QOS-OPEN-1", {"0", "1"}},
    Axis{"long-notification-topic", "NTF-TOPIC-OPEN-1", {"refused", "never-told"}},
    Axis{"wildcards", "NTF-WILDCARD-OPEN-1", {"literal", "refused"}},
    Axis{"keynotify-error", "NTF-ERROR-OPEN-1", {"as-the-dialect", "plain"}},
    // The envelope.
    Axis{"qos-0", "ENV-QOS-OPEN-1", {"silence", "error", "disconnected"}},
    Axis{"qos-2", "ENV-QOS-OPEN-1", {"silence", "error", "disconnected"}},
    Axis{"no-response-topic", "ENV-RESPONSE-TOPIC-OPEN-6", {"silence", "disconnected"}},
    Axis{"no-correlation", "ENV-CORRELATION-OPEN-1", {"silence", "error", "disconnected"}},
    Axis{"empty-correlation",
         "ENV-CORRELATION-OPEN-1",
         {"answered", "silence", "error", "disconnected"}},
    Axis{"odd-response-topic", "ENV-RESPONSE-TOPIC-OPEN-1", {"disconnected", "silence"}},
    Axis{"dollar-response-topic",
         "ENV-RESPONSE-TOPIC-OPEN-1",
         {"disconnected", "silence", "answered"}},
    Axis{
        "empty-topic-levels", "ENV-RESPONSE-TOPIC-OPEN-1", {"answered", "disconnected", "silence"}},
    Axis{"prefix-levels", "ENV-RESPONSE-TOPIC-OPEN-2", {"bytes", "levels"}},
    Axis{"prefix-case", "ENV-RESPONSE-TOPIC-OPEN-2", {"counts", "ignored"}},
    Axis{"forbidden-topic", "ENV-RESPONSE-TOPIC-OPEN-4", {"not-executed", "executed"}},
    Axis{"retained-request", "ENV-RETAIN-OPEN-1", {"executed", "silence", "disconnected"}},
    Axis{"payload-format", "ENV-PFI-OPEN-1", {"ignored", "error"}},
    Axis{"content-type", "ENV-PFI-OPEN-1", {"ignored", "error"}},
    Axis{"protocol-version", "ENV-PROTVER-OPEN-1", {"ignored", "505", "400", "error"}},
    Axis{"persistence", "ENV-PERSIST-OPEN-1", {"ignored", "error"}},
    Axis{"response-qos", "ENV-RESPONSE-OPEN-1", {"1", "0"}},
    Axis{"more-properties", "ENV-RESPONSE-OPEN-1", {"none", "behind", "before"}},
    Axis{"own-content-type", "ENV-CONTENT-TYPE-1", {"octet-stream", "absent"}},
    Axis{"own-payload-format", "ENV-RESPONSE-OPEN-1", {"0", "absent", "1-for-text"}},
    // Limits.
    Axis{"overwrite-at-quota", "QUOTA-OPEN-1", {"carried-out", "refused"}},
    Axis{"quota-of-expired-keys", "QUOTA-OPEN-2", {"not-counted", "counted-for-2-s"}},
    Axis{"longest-key", "LIMIT-KEY-OPEN-1", {"any", "10000-bytes"}},
    Axis{"end-of-a-connection", "LIFE-OPEN-2", {"at-once", "50ms-later"}},
    // What only the article leaves unspecified.
    Axis{"status", "ENV-STATUS-1", {"200", "absent"}, true},
    Axis{"other-content-type", "ENV-CONTENT-TYPE-1", {"none", "text-plain"}, true},
    Axis{"error-line-end", "RESP-ERROR-FORM-1", {"cr-lf", "none"}, true},
    Axis{"error-detail", "ERR-EXACT-1", {"none", "behind-the-text"}, true},
    Axis{"ts-of-a-miss", "VER-MISS-1", {"absent", "present"}, true},
    Axis{"ts-of-set-not-applied",
         "SET-NOT-APPLIED-3",
         {"of-the-value", "absent", "time-of-day"},
         true},
    Axis{"clocks-of-deleted-keys", "LOCK-TOKEN-4", {"kept", "forgotten"}, true},
    Axis{"bytes-of-keys", "KEY-BINARY-1", {"any", "printable"}, true},
    Axis{"key-of-1000-bytes", "LIMIT-KEY-1", {"taken", "refused"}, true},
    Axis{"own-changes", "NTF-SELF-1", {"told", "not-told"}, true},
    Axis{"expiries", "NTF-EXPIRY-1", {"told", "not-told"}, true},
    Axis{"value-without-get", "NTF-VALUE-3", {"told", "not-told"}, true},
    Axis{"notification-delay", "NTF-ORDER-1", {"none", "20ms"}, true},
};

template <std::size_t N>
struct ChoiceText {
  char text[N]{};
  consteval ChoiceText(const char (&given)[N]) { std::copy_n(given, N, text); }  // NOLINT
  [[nodiscard]] constexpr std::string_view view() const { return {text, N - 1}; }
};

// What a store decides for each choice.
class Decisions {
 public:
  template <ChoiceText kChoiceCount, ChoiceText kDecision>
  [[nodiscard]] bool is() const {
    constexpr std::size_t kAt = choice_index(kChoiceCount.view());
    static_assert(kAt < kChoices.size(), "there is no such choice");
    constexpr std::size_t kDecided = decision_index(kAt, kDecision.view());
    static_assert(kDecided < Axis::kMax, "the choice has no such decision");
    return chosen_[kAt] == kDecided;
  }

  [[nodiscard]] std::size_t of(std::size_t choice) const { return chosen_.at(choice); }
  void decide(std::size_t choice, std::size_t decision) {
    chosen_.at(choice) = static_cast<std::uint8_t>(decision);
  }

  // kChoices.size() when there is none of that name; Axis::kMax likewise.
  [[nodiscard]] static constexpr std::size_t choice_index(std::string_view name) {
    std::size_t i = 0;
    while (i < kChoices.size() && kChoices[i].name != name) ++i;
    return i;
  }
  [[nodiscard]] static constexpr std::size_t decision_index(std::size_t choice,
                                                            std::string_view name) {
    for (std::size_t i = 0; i < kChoices[choice].size(); ++i) {
      if (kChoices[choice].decisions[i] == name) return i;
    }
    return Axis::kMax;
  }

  friend bool operator==(const Decisions&, const Decisions&) = default;

 private:
  std::array<std::uint8_t, kChoices.size()> chosen_{};  // the reference store's
};

// A random decision on each choice; those that only the article leaves open are as the deployed
// service decides, unless `by_the_article`.
[[nodiscard]] Decisions random_decisions(std::uint64_t seed, bool by_the_article = false);

// A number is a seed; else `axis:decision,...`, and the rest as the reference store. The error says
// what is wrong and what is known.
[[nodiscard]] Result<Decisions, std::string> parse_decisions(std::string_view text);

// The choices that differ from the reference store: what parse_decisions() reads. Empty
// for the reference store's own.
[[nodiscard]] std::string to_text(const Decisions& decisions);

// Those choices, by their number.
[[nodiscard]] std::vector<std::size_t> unusual_choices(const Decisions& decisions);

}  // namespace fencepost::store
