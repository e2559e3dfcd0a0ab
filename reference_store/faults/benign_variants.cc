#include "reference_store/faults/decorator.h"

namespace fencepost::store {

std::vector<Fault> benign_variants() { return {}; }

}  // namespace fencepost::store
