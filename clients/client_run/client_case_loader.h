// Loads the cases for clients: files that begin with `certifies: clients`.
// scenarios/clients/FORMAT.md describes them; values, families and errors are those of
// scenarios/FORMAT.md.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "clients/client_run/client_case.h"
#include "suite/scenario/source_file.h"

namespace fencepost::client_run {

// Capabilities that a case may need, and an adapter may have.
[[nodiscard]] const std::vector<std::string_view>& known_capabilities();

// The cases of those of `files` that are for clients; ids stand once in all of them. Errors are
// appended to `errors`, and cases with errors are left out. `requirements`: ids that cases may
// cite.
[[nodiscard]] std::vector<ClientCase> load_client_cases(
    const std::vector<scenario::SourceFile>& files, const std::set<std::string>& requirements,
    std::vector<scenario::LoadError>& errors);

}  // namespace fencepost::client_run
