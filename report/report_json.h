// The JSON report as a document, for those who write it and those who put it into something else.
#pragma once

#include <nlohmann/json.hpp>

#include "report/report.h"

namespace fencepost::report {

// The report as docs/report.schema.json describes it. Everything that a peer may have sent is
// escaped: JSON strings must be UTF-8, and payloads need not be.
[[nodiscard]] nlohmann::ordered_json report_document(const run::SuiteResult& result,
                                                     const scenario::Catalogue& catalogue,
                                                     const ReportContext& context);

}  // namespace fencepost::report
