#include "reference_store/faults/two_faced.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "base/check.h"
#include "reference_store/variants/lenient_reader.h"
#include "reference_store/variants/variant_store.h"

namespace fencepost::store {
namespace {

using codec::Verb;

Decisions decided(std::string_view text) {
  auto out = parse_decisions(text);
  FENCEPOST_CHECK(out.has_value());
  return *out;
}

const Delivery* response_among(const std::vector<Delivery>& out) {
  const auto found = std::find_if(out.begin(), out.end(),
                                  [](const Delivery& each) { return each.client_id.empty(); });
  return found == out.end() ? nullptr : &*found;
}

// Runs one store by its deeds and one by its words, side by side.
class TwoFaced final : public Handler {
 public:
  TwoFaced(const ServiceOptions& options, TwoFaces faces)
      : options_(options),
        faces_(std::move(faces)),
        talker_(options, faces_.says),
        doer_(options, faces_.does) {}

  Handling handle(const Caller& caller, const codec::Message& request, const Instant& now,
                  std::vector<Delivery>& out) override {
    std::vector<Delivery> said;
    std::vector<Delivery> done;
    const bool lies = lies_about(caller, request, now);
    talker_.handle(caller, request, now, said);
    const Handling handling = doer_.handle(caller, request, now, done);
    const Delivery* words = response_among(said);
    for (Delivery& each : done) {
      if (lies && each.client_id.empty() && words != nullptr) each = *words;
      out.push_back(std::move(each));
    }
    return handling;
  }

  void expire(const Instant& now, std::vector<Delivery>& out) override {
    std::vector<Delivery> unsent;
    talker_.expire(now, unsent);
    doer_.expire(now, out);
  }
  [[nodiscard]] std::optional<std::chrono::microseconds> next_expiry() const override {
    return doer_.next_expiry();
  }
  void disconnect(std::string_view client_id) override {
    talker_.disconnect(client_id);
    doer_.disconnect(client_id);
  }

 private:
  // Would a store with nothing in it refuse the request by the one decisions, and take it by the
  // others? What the two stores hold has grown apart, and does not count.
  [[nodiscard]] bool lies_about(const Caller& caller, const codec::Message& request,
                                const Instant& now) const {
    const auto takes = [&](const Decisions& decisions) {
      VariantStore empty(options_, decisions);
      std::vector<Delivery> out;
      empty.handle(caller, request, now, out);
      const Delivery* response = response_among(out);
      return response != nullptr && !response->message.payload.starts_with('-');
    };
    const bool said = takes(faces_.says);
    return said != takes(faces_.does) && is_meant(request, said ? faces_.says : faces_.does);
  }

  [[nodiscard]] bool is_meant(const codec::Message& request, const Decisions& taken) const {
    const std::vector<Argument> arguments = read_one(request.payload, taken).arguments;
    if (arguments.empty()) return false;
    std::string verb = arguments.front().bytes;
    std::transform(verb.begin(), verb.end(), verb.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    return std::any_of(faces_.verbs.begin(), faces_.verbs.end(),
                       [&](Verb each) { return codec::name(each) == verb; });
  }

  ServiceOptions options_;
  TwoFaces faces_;
  VariantStore talker_;
  VariantStore doer_;
};

enum class Face { kRefuses, kTakes };

MakeHandler two_faced(Face says, std::vector<Verb> verbs) {
  return [says, verbs = std::move(verbs)](const ServiceOptions& options, std::uint64_t /*seed*/) {
    const bool refuses = says == Face::kRefuses;
    return make_two_faced(options, {.says = refuses ? strict_decisions() : lenient_decisions(),
                                    .does = refuses ? lenient_decisions() : strict_decisions(),
                                    .verbs = verbs});
  };
}

}  // namespace

std::unique_ptr<Handler> make_two_faced(const ServiceOptions& options, const TwoFaces& faces) {
  return std::make_unique<TwoFaced>(options, faces);
}

const Decisions& lenient_decisions() {
  static const Decisions decisions = decided(
      "line-end:lf,leading-zeros:taken,plus-sign:taken,blank-in-number:taken,"
      "trailing-bytes:ignored,two-requests:both,simple-strings:taken,integers:taken,"
      "other-scalars:taken,verbatim-strings:taken,other-containers:taken,streams:taken,"
      "inline-commands:taken,verb-case:taken,option-case:taken,stop-case:taken,"
      "px-negative:as-zero,px-plus-sign:taken,px-blank:taken,px-fraction:taken,px-exponent:taken,"
      "px-great:64-bits,px-repeated:last,most-set-arguments:any,condition-repeated:once,nx-with-"
      "nex:nx,"
      "nex-value:compared-with-value,node-empty:taken,node-with-colon:taken,"
      "counter-limit:64-bits,signs-and-fractions:taken,more-than-20-digits:taken,"
      "bad-token-on-missing-key:ignored,bad-token-on-unfenced-key:ignored");
  return decisions;
}

const Decisions& strict_decisions() {
  static const Decisions decisions = decided(
      "px-zero:refused,px-leading-zeros:refused,px-fraction:refused,px-great:31-bits,"
      "px-before-condition:syntax,most-set-arguments:any,node-long:malformed,node-not-ascii:"
      "malformed,"
      "node-of-the-store:malformed,counter-limit:31-bits,repeated-ts:refused,"
      "ts-where-none-is-needed:must-be-legal,skew-limit:59999-ms,token-on-missing-key:refused,"
      "token-on-unfenced-key:refused,long-notification-topic:refused,wildcards:refused,"
      "payload-format:error,content-type:error,protocol-version:error,persistence:error,"
      "longest-key:10000-bytes");
  return decisions;
}

std::vector<Fault> two_faced_faults() {
  return {
      {.id = "R01",
       .name = "refused-but-written",
       .text = "a SET that a store may refuse or accept is refused, but written",
       .requirements = {"ERR-STATE-1"},
       .make = two_faced(Face::kRefuses, {Verb::kSet})},
      {.id = "R02",
       .name = "ok-but-not-written",
       .text = "a SET that a store may refuse or accept is answered +OK, but not written",
       .requirements = {"SET-WRITE-1"},
       .make = two_faced(Face::kTakes, {Verb::kSet})},
      {.id = "R03",
       .name = "refused-but-deleted",
       .text = "a DEL or VDEL that a store may refuse or accept is refused, but deletes",
       .requirements = {"ERR-STATE-1", "FT-REJECT-1"},
       .make = two_faced(Face::kRefuses, {Verb::kDel, Verb::kVdel})},
      {.id = "R04",
       .name = "counted-but-not-deleted",
       .text =
           "a DEL or VDEL that a store may refuse or accept is answered :1, but deletes nothing",
       .requirements = {"DEL-REMOVE-1", "VDEL-MATCH-1"},
       .make = two_faced(Face::kTakes, {Verb::kDel, Verb::kVdel})},
      {.id = "R05",
       .name = "refused-but-registered",
       .text = "a KEYNOTIFY that a store may refuse or accept is refused, but registers",
       .requirements = {"ERR-STATE-1"},
       .make = two_faced(Face::kRefuses, {Verb::kKeynotify})},
      {.id = "R06",
       .name = "ok-but-not-registered",
       .text =
           "a KEYNOTIFY that a store may refuse or accept is answered +OK, but registers nothing",
       .requirements = {"NTF-RESPONSE-2", "NTF-STOP-1"},
       .make = two_faced(Face::kTakes, {Verb::kKeynotify})},
  };
}

}  // namespace fencepost::store
