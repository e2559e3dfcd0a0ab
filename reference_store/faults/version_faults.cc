#include "reference_store/faults/decorator.h"

namespace fencepost::store {

std::vector<Fault> version_faults() { return {}; }

}  // namespace fencepost::store
