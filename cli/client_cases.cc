#include "cli/client_cases.h"

#include <vector>

#include "clients/client_run/attribution.h"
#include "clients/client_run/client_case_loader.h"
#include "suite/scenario/library.h"

namespace fencepost::cli {

std::map<std::string, std::size_t> client_cases_by_rule(const scenario::Catalogue& catalogue) {
  std::vector<scenario::LoadError> errors;
  std::map<std::string, std::size_t> out;
  for (const client_run::ClientCase& each :
       client_run::load_client_cases(scenario::built_in_files(), catalogue.ids(), errors)) {
    for (const std::string& rule : client_run::attribution::rules_of(each)) ++out[rule];
  }
  return out;
}

}  // namespace fencepost::cli
