#include "evidence/frame.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  EXPECT_EQ(frames.complaint(), "");
  EXPECT_LT(file.size(), 1000U);
}

TEST(Frames, OfAFileThatIsCutAreThereUpToTheCut) {
  const std::string file = sample();
  std::size_t most = 0;
  for (std::size_t end = kMagic.size(); end <= file.size(); ++end) {
    const std::string part = file.substr(0, end);
    Frames frames(part);
    const std::size_t count = all(frames).size();
    ASSERT_GE(count, most);
    ASSERT_EQ(frames.cut(), !frames.complaint().empty()) << frames.complaint();
    most = count;
  }
  EXPECT_EQ(most, 3U);
}

TEST(Frames, AChangedByteIsFound) {
  const std::string file = sample();
  for (std::size_t at = 0; at < file.size(); ++at) {
    std::string changed = file;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    Frames frames(changed);
    ASSERT_LT(all(frames).size(), 3U) << at;
    ASSERT_NE(frames.complaint(), "") << at;
  }
}

TEST(Frames, SayWhatIsNoFileOfEvidence) {
  for (const char* file : {"", "fencepost evidence", "fencepost evidence 2\n"}) {
    Frames frames(file);
    EXPECT_FALSE(frames.next());
    EXPECT_EQ(frames.complaint(), "it is no file of evidence");
  }
}

// A file says that it unpacks to more than it may: nothing is unpacked.
TEST(Frames, RefuseABomb) {
  std::string file(kMagic);
  const std::string frame = make_frame(std::string(kMaxFrame, 'x'));
  for (std::size_t i = 0; i <= kMaxContent / kMaxFrame; ++i) file += frame;
  Frames frames(file);
  EXPECT_THAT(all(frames), SizeIs(kMaxContent / kMaxFrame));
  EXPECT_THAT(frames.complaint(), HasSubstr("holds more than files of evidence may"));
}

}  // namespace
}  // namespace fencepost::evidence
