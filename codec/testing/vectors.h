// The hostile vectors as data: what has broken parsers of this family before, and what this one
// answers. For tests, and for the seeds of fuzz targets.
//
//   for (const RequestVector& vector : all_requests()) parse_command(vector.payload, ...);
#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "codec/error_code.h"
#include "codec/reply.h"

namespace fencepost::codec::vectors {

struct RequestVector {
  int row;
  std::string name;
  std::string payload;
  std::optional<ErrorCode> error{};  // nothing: a legal request
};

struct ReplyVector {
  int row;
  std::string name;
  std::string payload;
  std::optional<DecodedReply> reply{};  // nothing: not a reply
};

// Malformed bulk strings are among both: as the key of a GET, as the value of a SET, and as a whole
// reply.
[[nodiscard]] std::vector<RequestVector> all_requests();
[[nodiscard]] std::vector<ReplyVector> all_replies();

// "Row07CountWrapsAt32Bits": unique among the requests, and among the replies.
[[nodiscard]] std::string label(const RequestVector& vector);
[[nodiscard]] std::string label(const ReplyVector& vector);

// For GoogleTest.
void PrintTo(const RequestVector& vector, std::ostream* out);
void PrintTo(const ReplyVector& vector, std::ostream* out);

// Written here a second time, so that the vectors do not depend on the encoder under test.
[[nodiscard]] std::string request(const std::vector<std::string>& arguments);

// A SET whose value, its header and its end included, is `raw_value`.
[[nodiscard]] std::string set_of(const std::string& raw_value);

}  // namespace fencepost::codec::vectors
