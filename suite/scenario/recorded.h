// Where a case comes from and how it failed there, in its file: the member `recorded` of a case,
// which scenarios/FORMAT.md describes. Code that saves cases writes it with text_of(), so that
// `fencepost replay` can distinguish a case that is fixed from one that fails otherwise.
//
//   file += text_of({.by = "explore", .when = now, .signature = seen}, 4);
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "suite/scenario/scenario.h"
#include "suite/scenario/yaml_reader.h"

namespace fencepost::scenario {

// Reports what is wrong; then there is nothing. `requirements`: the ids that may be named.
[[nodiscard]] std::optional<Recorded> load_recorded(YamlReader& reader, YamlNode node,
                                                    const std::set<std::string>& requirements);

// The lines of the member, each with its end, the first with `indent` blanks before it. Reading
// them gives the same again, but for a password in the endpoint, which is not written.
[[nodiscard]] std::string text_of(const Recorded& recorded, std::size_t indent);

// What a failure is described with, as it may stand in a file: printable, on one line, not endless.
[[nodiscard]] std::string recorded_words(std::string_view text);

}  // namespace fencepost::scenario
