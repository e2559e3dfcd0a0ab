#include "evidence/record.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace fencepost::evidence {
namespace {

std::unique_ptr<Details> details(Details what) {
  return std::make_unique<Details>(std::move(what));
}

std::vector<Record> samples() {
  std::vector<Record> out;
  out.push_back({.kind = Kind::kNow, .session = 3, .time = 1'000'000});
  out.push_back({.kind = Kind::kWall, .session = 3, .time = 1'767'225'600'000});
  out.push_back({.kind = Kind::kNow, .session = 3, .time = 1'000'017});
  out.push_back({.kind = Kind::kNow, .session = 4, .time = INT64_MIN});
  out.push_back({.kind = Kind::kNow, .session = 4, .time = INT64_MAX});
  out.push_back({.kind = Kind::kNothing, .session = UINT32_MAX, .client = UINT32_MAX});
  out.push_back({.kind = Kind::kPacketLimit, .session = 1, .client = 1, .number = -1});
  out.push_back({.kind = Kind::kConnect,
                 .session = 1,
                 .client = 2,
                 .details = details({.text = "id",
                                     .name = "role",
                                     .numbers = {0, 1, UINT64_MAX},
                                     .failure = Failure{3, "gone", -7}})});
  codec::Message message{.topic = "t",
                         .payload = std::string("\0\xff", 2),
                         .qos = 2,
                         .retain = true,
                         .duplicate = true,
                         .response_topic = "r",
                         .correlation_data = "",
                         .content_type = "c",
                         .payload_format = 255,
                         .expiry_seconds = UINT32_MAX,
                         .user_properties = {{"a", "b"}, {"a", ""}}};
  out.push_back({.kind = Kind::kReceived,
                 .session = 1,
                 .client = 1,
                 .time = 5,
                 .details = details({.message = std::move(message)})});
  out.push_back({.kind = Kind::kReceived, .details = details({.message = codec::Message{}})});
  return out;
}

std::string encoded() {
  Encoder encoder;
  for (const Record& each : samples()) encoder.add(each);
  return encoder.take();
}

TEST(EvidenceRecord, ComesBackAsItWas) {
  const std::string bytes = encoded();
  Decoder decoder(bytes);
  for (const Record& each : samples()) {
    const auto read = decoder.next();
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, each);
  }
  EXPECT_FALSE(decoder.next());
  EXPECT_FALSE(decoder.failed());
}

TEST(EvidenceRecord, TimesBeginAnewWhenTheBytesWereTaken) {
  Encoder encoder;
  encoder.add({.kind = Kind::kNow, .session = 1, .time = 9});
  const std::string first = encoder.take();
  encoder.add({.kind = Kind::kNow, .session = 1, .time = 9});
  EXPECT_EQ(encoder.take(), first);
}

// Whatever is cut off or changed: no crash, and no more records than there are bytes.
TEST(EvidenceRecord, TakesAnyBytes) {
  const std::string bytes = encoded();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      Decoder decoder(changed);
      std::size_t records = 0;
      while (decoder.next()) ++records;
      ASSERT_LE(records, bytes.size());
    }
    const std::string part = bytes.substr(0, at);
    Decoder decoder(part);
    std::size_t records = 0;
    while (decoder.next()) ++records;
    ASSERT_LT(records, samples().size());
  }
}

TEST(EvidenceRecord, RefusesNumbersThatDoNotFit) {
  const std::string too_long = std::string(1, '\x05') + std::string(10, '\xff') + '\x02';
  Decoder decoder(too_long);
  EXPECT_FALSE(decoder.next());
  EXPECT_TRUE(decoder.failed());
}

}  // namespace
}  // namespace fencepost::evidence
