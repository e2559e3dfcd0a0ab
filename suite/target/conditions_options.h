// Options of the reference store: in the URL of an endpoint that we start
// ourselves, and on the command line of `fencepost serve`.
//
//   embedded?dialect=documented&clock-offset=-10m&response-delay=200ms&response-jitter=50ms
//   inproc:?fault=S01&seed=7   inproc:?fault=S01+D02
//   embedded?database=store.db   embedded?database=store.db&nodes=3
//   inproc:?variant=7   embedded?variant=px-zero:refused,line-end:lf
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/dialect.h"
#include "endpoint/conditions.h"
#include "endpoint/url.h"
#include "reference_store/faults/fault.h"
#include "reference_store/variants/choices.h"

namespace fencepost::target {

// Sets the condition of that name: "clock-offset", "response-delay" or "response-jitter". Returns
// what is wrong with the text, and changes nothing then. There must be a condition of that name.
[[nodiscard]] std::optional<std::string> set_condition(std::string_view name,
                                                       const std::string& text,
                                                       endpoint::Conditions& conditions);
[[nodiscard]] bool is_condition(std::string_view name);

struct ReferenceOptions {
  codec::DialectId dialect = codec::DialectId::kDeployed;
  endpoint::Conditions conditions{};
  std::vector<const store::Fault*> faults{};  // the store is wrong or unusual in all these ways
  std::uint64_t seed = 1;                     // of all that is random in it
  std::optional<store::Decisions> right{};    // the store is a right one that decides like this
  std::string database{};                     // of an embedded one: a file that keeps its keys
  std::size_t nodes = 1;                      // how many brokers share it
};

// The fault of that id or name, or those of "S01+D02". The error says what comes near and where the
// list is, or why these cannot be in one store.
[[nodiscard]] Result<std::vector<const store::Fault*>, std::string> faults_named(
    const std::string& text);

// What is wrong with such a store if it keeps its keys in no file, or with one node: it is right
// then. Nothing: nothing is.
[[nodiscard]] std::optional<std::string> missing_database(
    const std::vector<const store::Fault*>& faults, bool has_database, std::size_t nodes = 1);

// The options of an `embedded` or `inproc:` URL; the dialect is `dialect` unless it says otherwise.
// The error says which option is wrong and what was expected.
[[nodiscard]] Result<ReferenceOptions, std::string> reference_options(const endpoint::Url& url,
                                                                      codec::DialectId dialect);

}  // namespace fencepost::target
