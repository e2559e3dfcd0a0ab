#include "suite/run/transcript.h"

#include <string>

#include <gtest/gtest.h>

namespace fencepost::run {
namespace {

using Keep = TranscriptBudget::Keep;

TEST(Transcript, KeepsSoMuchOfAPacket) {
  codec::Message message{.topic = "t", .payload = std::string(1 << 20, 'x')};
  for (int i = 0; i < 10'000; ++i) {
    message.user_properties.emplace_back(std::string(3'000, 'n'), std::string(3'000, 'v'));
  }
  const TranscriptEntry entry = make_entry({}, "a", Direction::kReceived, message);
  EXPECT_EQ(entry.message.payload.size(), kMaxTranscriptPayload);
  EXPECT_EQ(entry.payload_bytes, 1U << 20U);
  // Two texts of 2,048 bytes each: with the fifth there are more than 16 KiB.
  ASSERT_EQ(entry.message.user_properties.size(), 5U);
  EXPECT_EQ(entry.message.user_properties[0].second.size(), kMaxTranscriptText);
}

TEST(Transcript, OfAllCasesHasABudget) {
  TranscriptBudget budget;
  const codec::Message message{.topic = "t", .payload = std::string(kMaxTranscriptPayload, 'x')};
  const TranscriptEntry entry = make_entry({}, "a", Direction::kReceived, message);
  std::size_t in_full = 0;
  Keep kept = budget.take(entry);
  for (; kept == Keep::kAll; kept = budget.take(entry)) ++in_full;
  EXPECT_GT(in_full, 20'000U);  // more than a conforming store needs
  EXPECT_LE(in_full * kMaxTranscriptPayload, std::size_t{64} << 20U);
  ASSERT_EQ(kept, Keep::kSummary);
  std::size_t summaries = 0;
  for (; kept == Keep::kSummary; kept = budget.take(entry)) ++summaries;
  EXPECT_GT(summaries, 10'000U);
  EXPECT_EQ(kept, Keep::kNothing);
  // What is dropped leaves room for as much.
  for (std::size_t i = 0; i < in_full; ++i) budget.give_back(entry);
  EXPECT_EQ(budget.take(entry), Keep::kAll);
}

}  // namespace
}  // namespace fencepost::run
