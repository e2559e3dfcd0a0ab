#include "evidence/record.h"

#include <algorithm>
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

// Files that were written once have to be read for good.
TEST(EvidenceRecord, HasTheBytesThatItAlwaysHad) {
  Encoder encoder;
  encoder.add({.kind = Kind::kNow, .session = 3, .time = 1'000});
  encoder.add({.kind = Kind::kWall, .session = 3, .time = 500'000});
  encoder.add({.kind = Kind::kNow, .session = 3, .time = 990});
  encoder.add({.kind = Kind::kEnded,
               .session = 300,
               .client = 2,
               .number = -1,
               .details = details({.text = "gone"})});
  encoder.add({.kind = Kind::kPublish,
               .session = 3,
               .details = details({.failure = Failure{3, "", 5},
                                   .message = codec::Message{.topic = "t",
                                                             .payload = "p",
                                                             .qos = 1,
                                                             .correlation_data = "c",
                                                             .user_properties = {{"a", "b"}}}})});
  const std::string none(1, '\0');
  EXPECT_EQ(encoder.take(),
            "\x05\x03\x02\xd0\x0f"
            "\x06\x03\x02\xc0\x84\x3d"
            "\x05\x03\x02\x13"
            "\x10\xac\x02\x0d\x02\x01\x04gone" +
                ("\x0c\x03\xc0\x01\x03" + none) +
                "\x01\x0a"
                "\x08\x01\x01t\x01p\x01"
                "c\x01\x01"
                "a\x01"
                "b");
}

std::vector<Record> all(std::string_view bytes, bool& failed) {
  Decoder decoder(bytes);
  std::vector<Record> out;
  while (auto record = decoder.next()) out.push_back(*std::move(record));
  EXPECT_FALSE(decoder.next());
  failed = decoder.failed();
  return out;
}

TEST(EvidenceRecord, OfEachKindComesBackWithAllItsParts) {
  Encoder encoder;
  std::vector<Record> written;
  for (std::uint8_t kind = 1; kind <= kLastKind; ++kind) {
    written.push_back({.kind = static_cast<Kind>(kind),
                       .session = 1U + kind % 3U,
                       .client = kind,
                       .time = 1000 - 7 * kind,
                       .number = -kind,
                       .details = details({.text = "text",
                                           .name = "name",
                                           .numbers = {kind},
                                           .failure = Failure{kind, "", {}},
                                           .message = codec::Message{.topic = "t"}})});
    encoder.add(written.back());
  }
  bool failed = true;
  EXPECT_EQ(all(encoder.take(), failed), written);
  EXPECT_FALSE(failed);
}

// What is whole before the cut is read, and that something is missing shows.
TEST(EvidenceRecord, IsReadUpToACut) {
  std::string bytes;
  std::vector<std::size_t> ends;  // of each record
  Encoder encoder;
  for (const Record& each : samples()) {
    encoder.add(each);
    ends.push_back(encoder.size());
  }
  bytes = encoder.take();
  const std::vector<Record> written = samples();
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    bool failed = false;
    const std::vector<Record> read = all(std::string_view(bytes).substr(0, cut), failed);
    const auto whole =
        static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), cut) - ends.begin());
    ASSERT_EQ(read.size(), whole) << cut;
    for (std::size_t i = 0; i < whole; ++i) ASSERT_EQ(read[i], written[i]) << cut;
    ASSERT_EQ(failed, cut != 0 && (whole == 0 || ends[whole - 1] != cut)) << cut;
  }
}

struct WrongRecord {
  const char* what;
  std::string bytes;  // behind a good record
};

// kind, session, mask, and what the mask says that follows.
std::vector<WrongRecord> wrong_records() {
  const std::string big = "\xff\xff\xff\xff\x7f";  // 35 bits
  const std::string wide = "\x80\x02";             // 256
  const std::string none(1, '\0');
  const std::string message = "\x0d" + none + "\x80\x01";
  return {
      {"kind 0", none + "\x01" + none},
      {"the kind after the last", static_cast<char>(kLastKind + 1) + none + none},
      {"only a kind", "\x05"},
      {"a session of more than 32 bits", "\x05" + big + none},
      {"a part that nobody knows", "\x05" + none + wide},
      {"a client of more than 32 bits", "\x05" + none + "\x01" + big},
      {"a time without an end", "\x05" + none + "\x02\x80"},
      {"a number without an end", "\x05" + none + "\x04\x80"},
      {"a text longer than the rest", "\x0a" + none + "\x08\x03" + "ab"},
      {"a name longer than the rest", "\x0a" + none + "\x10\x02" + "a"},
      {"more numbers than bytes", "\x09" + none + "\x20\x03\x01\x01"},
      {"a failure of no kind", "\x0a" + none + "\x40" + wide + none + none},
      {"two reason codes", "\x0a" + none + "\x40\x01" + none + "\x02\x02\x02"},
      {"no flag of a message", message + wide + none + none + none + none},
      {"QoS 3", message + none + "\x03" + none + none + none},
      {"a payload format of more than a byte", message + "\x20" + none + none + none + wide + none},
      {"an expiry of more than 32 bits", message + "\x40" + none + none + none + big + none},
      {"more properties than bytes", message + none + none + none + none + "\x02\x01"},
      {"a property without a value", message + none + none + none + none + "\x01\x01k"}};
}

TEST(EvidenceRecord, RefusesWhatNoVersionWritesAndKeepsWhatCameBefore) {
  Encoder encoder;
  const Record good{.kind = Kind::kNow, .session = 1, .time = 9};
  encoder.add(good);
  const std::string begin = encoder.take();
  for (const WrongRecord& wrong : wrong_records()) {
    bool failed = false;
    const std::vector<Record> read = all(begin + wrong.bytes, failed);
    EXPECT_TRUE(failed) << wrong.what;
    ASSERT_EQ(read.size(), 1U) << wrong.what;
    EXPECT_EQ(read.front(), good) << wrong.what;
  }
}

// One past each limit is refused above; these are at it.
TEST(EvidenceRecord, TakesTheGreatestNumbers) {
  const std::string most = "\xff\xff\xff\xff\x0f";  // 32 bits
  const std::string none(1, '\0');
  bool failed = true;
  const std::vector<Record> clients = all("\x05" + most + "\x01" + most, failed);
  EXPECT_FALSE(failed);
  ASSERT_EQ(clients.size(), 1U);
  EXPECT_EQ(clients[0].session, UINT32_MAX);
  EXPECT_EQ(clients[0].client, UINT32_MAX);
  const std::vector<Record> messages =
      all("\x0d" + none + "\x80\x01" + "\x60\x02" + none + none + "\xff\x01" + most + none, failed);
  EXPECT_FALSE(failed);
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_EQ(messages[0].more().message->qos, 2);
  EXPECT_EQ(messages[0].more().message->payload_format, 255);
  EXPECT_EQ(messages[0].more().message->expiry_seconds, UINT32_MAX);
}

TEST(EvidenceRecord, IsEqualOnlyWhereAllOfItIs) {
  const auto base = [] {
    return Record{.kind = Kind::kNow,
                  .session = 1,
                  .client = 1,
                  .time = 1,
                  .number = 1,
                  .details = details({.text = "t"})};
  };
  using Change = void (*)(Record&);
  for (const Change change :
       {Change{[](Record& r) { r.kind = Kind::kWall; }}, Change{[](Record& r) { r.session = 2; }},
        Change{[](Record& r) { r.client = 2; }}, Change{[](Record& r) { r.time = 2; }},
        Change{[](Record& r) { r.number = 2; }}, Change{[](Record& r) { r.details->text = "u"; }},
        Change{[](Record& r) { r.details.reset(); }}}) {
    Record other = base();
    EXPECT_EQ(other, base());
    change(other);
    EXPECT_FALSE(other == base());
  }
  // No details are empty details.
  EXPECT_EQ((Record{.details = details({})}), Record{});
}

// After any change: no crash, and no more records than there are bytes.
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
