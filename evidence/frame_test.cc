#include "evidence/frame.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

namespace fencepost::evidence {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::vector<std::string> all(Frames& frames) {
  std::vector<std::string> out;
  while (auto each = frames.next()) out.push_back(std::move(*each));
  return out;
}

std::string sample() {
  return std::string(kMagic) + make_frame("one") + make_frame("") +
         make_frame(std::string(100'000, 'x'));
}

TEST(Frames, ComeBackAsTheyWere) {
  const std::string file = sample();
  Frames frames(file);
  EXPECT_THAT(all(frames), ElementsAre("one", "", std::string(100'000, 'x')));
  EXPECT_EQ(frames.diagnostic(), "");
  EXPECT_LT(file.size(), 1000U);
}

std::string place(std::size_t at) { return "the frame at byte " + std::to_string(at); }

// Frames of these contents, and where each begins; the last is the end of the file.
struct Sample {
  std::vector<std::string> contents{"one", "", std::string(300, 'x') + "end"};
  std::vector<std::size_t> begins{};
  std::string file{kMagic};

  Sample() {
    for (const std::string& each : contents) {
      begins.push_back(file.size());
      file += make_frame(each);
    }
    begins.push_back(file.size());
  }
  // The frame in which this byte lies.
  [[nodiscard]] std::size_t frame_of(std::size_t at) const {
    std::size_t out = 0;
    while (begins[out + 1] <= at) ++out;
    return out;
  }
  [[nodiscard]] std::vector<std::string> first(std::size_t count) const {
    return {contents.begin(), contents.begin() + static_cast<std::ptrdiff_t>(count)};
  }
};

TEST(Frames, OfAFileThatIsCutAreThereUpToTheCut) {
  const Sample sample;
  for (std::size_t end = kMagic.size(); end < sample.file.size(); ++end) {
    const std::size_t cut = sample.frame_of(end);
    const bool between = end == sample.begins[cut];
    const std::string part = sample.file.substr(0, end);
    Frames frames(part);
    ASSERT_EQ(all(frames), sample.first(cut)) << end;
    ASSERT_EQ(frames.cut(), !between) << end;
    ASSERT_EQ(frames.diagnostic(), between ? "" : place(sample.begins[cut]) + " is incomplete");
  }
}

TEST(Frames, AChangedByteIsFoundInItsFrame) {
  const Sample sample;
  for (std::size_t at = kMagic.size(); at < sample.file.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string changed = sample.file;
      changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ (1U << bit));
      Frames frames(changed);
      const std::size_t frame = sample.frame_of(at);
      ASSERT_EQ(all(frames), sample.first(frame)) << at;
      // A greater size may reach beyond the end of the file.
      const std::string where = place(sample.begins[frame]);
      ASSERT_THAT(frames.diagnostic(),
                  testing::AnyOf(where + " is incomplete",
                                 where + " was changed: its checksum does not match"));
      ASSERT_FALSE(frames.next());
    }
  }
}

TEST(Frames, BytesBehindTheLastOneAreAFrameThatIsNotWhole) {
  const Sample sample;
  const std::string longer = sample.file + std::string(11, '\0');
  Frames frames(longer);
  EXPECT_EQ(all(frames), sample.contents);
  EXPECT_TRUE(frames.cut());
  EXPECT_EQ(frames.diagnostic(), place(sample.file.size()) + " is incomplete");
}

std::string number(std::size_t value) {
  std::string out;
  for (unsigned shift = 0; shift < 32; shift += 8) {
    out += static_cast<char>((value >> shift) & 0xffU);
  }
  return out;
}

// A frame with a right checksum, regardless of what is in it.
std::string forged(const std::string& compressed, std::size_t size) {
  const std::string sizes = number(compressed.size()) + number(size);
  const std::string summed = sizes + compressed;
  return sizes +
         number(crc32(0, reinterpret_cast<const Bytef*>(summed.data()),
                      static_cast<uInt>(summed.size()))) +
         compressed;
}

TEST(Frames, RefuseWhatDoesNotUnpackToItsSize) {
  const std::string good = make_frame("content").substr(12);
  const std::string begin = std::string(kMagic) + make_frame("before");
  const std::string whole = begin + forged(good, 7);
  Frames right(whole);
  EXPECT_THAT(all(right), ElementsAre("before", "content"));
  for (const std::string& frame :
       {forged(good, 6), forged(good, 8), forged(good.substr(0, good.size() - 1), 7),
        forged(good + "x", 7), forged("no zlib", 7), forged("", 0), forged("", 1)}) {
    const std::string file = begin + frame;
    Frames frames(file);
    EXPECT_THAT(all(frames), ElementsAre("before"));
    EXPECT_EQ(frames.diagnostic(), place(begin.size()) + " cannot be decompressed");
    EXPECT_FALSE(frames.cut());
  }
}

TEST(Frames, RefuseOneThatIsTooLargeBeforeTheyUnpackIt) {
  const std::string file = std::string(kMagic) + forged("", kMaxFrame + 1);
  Frames frames(file, 2 * kMaxFrame);
  EXPECT_THAT(all(frames), SizeIs(0));
  EXPECT_EQ(frames.diagnostic(),
            place(kMagic.size()) + " exceeds the size limit of evidence files");
}

TEST(Frames, AreReadUpToTheContentThatIsAllowed) {
  const Sample sample;
  const std::size_t content = 3 + 303;
  Frames enough(sample.file, content);
  EXPECT_EQ(all(enough), sample.contents);
  Frames less(sample.file, content - 1);
  EXPECT_EQ(all(less), sample.first(2));
  EXPECT_EQ(less.diagnostic(),
            place(sample.begins[2]) + " exceeds the size limit of evidence files");
}

TEST(Frames, SayWhatIsNoFileOfEvidence) {
  for (const char* file : {"", "fencepost evidence", "fencepost evidence 2\n"}) {
    Frames frames(file);
    EXPECT_FALSE(frames.next());
    EXPECT_EQ(frames.diagnostic(), "it is not an evidence file");
  }
}

// A file says that it unpacks to more than it may: nothing is unpacked.
TEST(Frames, RefuseABomb) {
  std::string file(kMagic);
  const std::string frame = make_frame(std::string(kMaxFrame, 'x'));
  for (std::size_t i = 0; i <= kMaxContent / kMaxFrame; ++i) file += frame;
  Frames frames(file);
  EXPECT_THAT(all(frames), SizeIs(kMaxContent / kMaxFrame));
  EXPECT_THAT(frames.diagnostic(), HasSubstr("exceeds the size limit of evidence files"));
}

}  // namespace
}  // namespace fencepost::evidence
