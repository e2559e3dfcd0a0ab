// What is written is read again as it was; no beginning of a file is taken for the whole of it.
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "evidence/frame.h"
#include "evidence/record.h"

namespace fencepost::evidence {
namespace {

bool any_flag() { return *rc::gen::arbitrary<bool>(); }

std::string any_text() { return *rc::gen::container<std::string>(rc::gen::arbitrary<char>()); }

template <typename Number>
Number any_number() {
  constexpr Number kLeast = std::numeric_limits<Number>::min();
  constexpr Number kMax = std::numeric_limits<Number>::max();
  return *rc::gen::oneOf(rc::gen::arbitrary<Number>(), rc::gen::element<Number>(0, kLeast, kMax));
}

codec::Message any_message() {
  codec::Message out{.topic = any_text(),
                     .payload = any_text(),
                     .qos = *rc::gen::inRange(0, 3),
                     .retain = any_flag(),
                     .duplicate = any_flag()};
  if (any_flag()) out.response_topic = any_text();
  if (any_flag()) out.correlation_data = any_text();
  if (any_flag()) out.content_type = any_text();
  if (any_flag()) out.payload_format = any_number<std::uint8_t>();
  if (any_flag()) out.expiry_seconds = any_number<std::uint32_t>();
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    out.user_properties.emplace_back(any_text(), any_text());
  }
  return out;
}

Record any_record() {
  Record out{.kind = static_cast<Kind>(*rc::gen::inRange<int>(1, kLastKind + 1)),
             .session = *rc::gen::inRange<std::uint32_t>(0, 3),
             .client = any_number<std::uint32_t>(),
             .time = any_number<std::int64_t>(),
             .number = any_number<std::int64_t>()};
  if (any_flag()) return out;
  out.details = std::make_unique<Details>();
  if (any_flag()) out.details->text = any_text();
  if (any_flag()) out.details->name = any_text();
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    out.details->numbers.push_back(any_number<std::uint64_t>());
  }
  if (any_flag()) out.details->failure = {any_number<std::uint8_t>(), any_text(), {}};
  if (out.details->failure && any_flag()) {
    out.details->failure->reason_code = any_number<std::int64_t>();
  }
  if (any_flag()) out.details->message = any_message();
  return out;
}

struct Written {
  std::vector<Record> records;
  std::string file;
};

// Records in several frames.
Written any_file() {
  Written out{.records = {}, .file = std::string(kMagic)};
  for (int frame = *rc::gen::inRange(0, 4); frame > 0; --frame) {
    Encoder encoder;
    for (int i = *rc::gen::inRange(1, 5); i > 0; --i) {
      out.records.push_back(any_record());
      encoder.add(out.records.back());
    }
    out.file += make_frame(encoder.take());
  }
  return out;
}

std::vector<Record> read(Frames& frames) {
  std::vector<Record> out;
  while (const auto content = frames.next()) {
    Decoder decoder(*content);
    while (auto record = decoder.next()) out.push_back(*std::move(record));
    RC_ASSERT(!decoder.failed());
  }
  return out;
}

RC_GTEST_PROP(Evidence, IsReadAsItWasWritten, ()) {
  const Written written = any_file();
  Frames frames(written.file);
  RC_ASSERT(read(frames) == written.records);
  RC_ASSERT(frames.diagnostic().empty());
}

RC_GTEST_PROP(Evidence, OfWhichAPartIsThereIsABeginningOfIt, ()) {
  const Written written = any_file();
  const auto size = *rc::gen::inRange<std::size_t>(0, written.file.size());
  const std::string part = written.file.substr(0, size);
  Frames frames(part);
  const std::vector<Record> there = read(frames);
  RC_ASSERT(there.size() < written.records.size() || written.records.empty());
  for (std::size_t i = 0; i < there.size(); ++i) RC_ASSERT(there[i] == written.records[i]);
}

RC_GTEST_PROP(Evidence, OfAnyBytesIsReadOrRefused, ()) {
  const std::string bytes = any_text();
  Decoder decoder(bytes);
  Encoder encoder;
  std::size_t count = 0;
  for (; const auto record = decoder.next(); ++count) encoder.add(*record);
  RC_ASSERT(count <= bytes.size());
  const std::string file = std::string(kMagic) + bytes;
  Frames frames(file);
  RC_ASSERT(read(frames).empty());
}

}  // namespace
}  // namespace fencepost::evidence
