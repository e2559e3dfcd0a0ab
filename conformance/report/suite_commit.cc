#include "conformance/report/report.h"
#include "fencepost_commit.h"

namespace fencepost::report {

const char* suite_commit() { return FENCEPOST_COMMIT; }

}  // namespace fencepost::report
