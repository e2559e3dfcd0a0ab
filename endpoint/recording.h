// An endpoint that records all requests and answers: see recorded.h for the way
// back.
//
//   auto recorder = Recorder::create("run.fpe");
//   auto recording = record(*store, **recorder);
#pragma once

#include <memory>
#include <string>

#include "endpoint/endpoint.h"
#include "endpoint/recorder.h"

namespace fencepost::endpoint {

// Both must outlive the result, which is as thread safe as `endpoint`. Nothing that it writes has a
// password: those are below this seam.
[[nodiscard]] std::unique_ptr<Endpoint> record(Endpoint& endpoint, Recorder& recorder);

}  // namespace fencepost::endpoint
