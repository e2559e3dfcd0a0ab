#include "reference_store/faults/decorator.h"

namespace fencepost::store {

std::vector<Fault> notification_faults() { return {}; }

}  // namespace fencepost::store
