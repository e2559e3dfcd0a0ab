#include "endpoint/recorder.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::endpoint {
namespace {

using evidence::Kind;
using evidence::Record;
using testing::HasSubstr;
using testing::SizeIs;

Record history(std::size_t size) {
  Record out{.kind = Kind::kHistory};
  out.details = std::make_unique<evidence::Details>();
  out.details->text.assign(size, 'x');
  return out;
}

class RecorderTest : public testing::Test {
 protected:
  RecorderTest()
      : path_((std::filesystem::temp_directory_path() /
               ("recorder_test-" + std::to_string(::getpid()) + ".fpe"))
                  .string()) {}
  ~RecorderTest() override { std::filesystem::remove(path_); }

  [[nodiscard]] std::string content() const {
    std::ostringstream out;
    out << std::ifstream(path_, std::ios::binary).rdbuf();
    return out.str();
  }
  // What the file has, which must be whole up to its end.
  [[nodiscard]] std::vector<Record> records(const std::string& diagnostic = {}) const {
    const std::string file = content();
    evidence::Frames frames(file);
    std::vector<Record> out;
    while (const auto frame = frames.next()) {
      evidence::Decoder decoder(*frame);
      while (auto record = decoder.next()) out.push_back(*std::move(record));
      EXPECT_FALSE(decoder.failed());
    }
    EXPECT_THAT(frames.diagnostic(), HasSubstr(diagnostic));
    EXPECT_EQ(frames.diagnostic().empty(), diagnostic.empty());
    return out;
  }

  std::string path_;
};

TEST_F(RecorderTest, ReplacesAFileOfThatName) {
  std::ofstream(path_) << "an older file that is longer than the beginning of evidence";
  EXPECT_TRUE(Recorder::create(path_).has_value());
  EXPECT_EQ(content(), evidence::kMagic);
}

TEST_F(RecorderTest, HasWrittenAllThatWasAddedBeforeFlush) {
  const auto recorder = Recorder::create(path_);
  (*recorder)->add({.kind = Kind::kNow, .session = 1, .time = 7});
  ASSERT_TRUE((*recorder)->flush());
  (*recorder)->add({.kind = Kind::kNow, .session = 1, .time = 8});
  ASSERT_TRUE((*recorder)->flush());
  ASSERT_TRUE((*recorder)->flush());  // of nothing
  const std::vector<Record> all = records();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].time, 7);
  EXPECT_EQ(all[1].time, 8);
}

TEST_F(RecorderTest, KeepsTheRecordsAndNumbersOfManyThreadsApart) {
  constexpr std::uint32_t kEach = 500;
  constexpr std::uint32_t kThreads = 4;
  {
    const auto recorder = Recorder::create(path_);
    std::vector<std::jthread> threads;
    for (std::uint32_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&recorder] {
        for (std::uint32_t k = 0; k < kEach; ++k) {
          (*recorder)->add({.kind = Kind::kNow, .session = (*recorder)->next_session()});
          if (k % 100 == 0) (void)(*recorder)->flush();
        }
      });
    }
  }
  std::set<std::uint32_t> sessions;
  for (const Record& each : records()) sessions.insert(each.session);
  EXPECT_THAT(sessions, SizeIs(kEach * kThreads));
  EXPECT_EQ(*sessions.begin(), 1U);
  EXPECT_EQ(*sessions.rbegin(), kEach * kThreads);
}

// A kill between two moments of the writer costs at most one large frame.
TEST_F(RecorderTest, WritesALargeFrameAtOnce) {
  constexpr std::size_t kLarge = (std::size_t{1} << 20U) + 100;
  const auto recorder = Recorder::create(path_);
  (*recorder)->add(history(kLarge));
  EXPECT_THAT(records(), SizeIs(1));
}

TEST_F(RecorderTest, SaysOnceAndForAllThatTheFileIsFull) {
  constexpr std::size_t kMebibyte = std::size_t{1} << 20U;
  const auto recorder = Recorder::create(path_, kMebibyte);
  (*recorder)->add(history(kMebibyte - 6));  // with its kind, session, parts and length
  ASSERT_TRUE((*recorder)->flush());
  (*recorder)->add(history(10));
  const auto full = (*recorder)->flush();
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error(),
            "the evidence " + path_ +
                " is full: the limit is 1 MiB before compression; later messages are not in it");
  (*recorder)->add({.kind = Kind::kEnd});
  EXPECT_EQ((*recorder)->flush().error(), full.error());
  EXPECT_THAT(records(), SizeIs(1));
}

TEST_F(RecorderTest, SaysThatARecordIsTooLargeAndWritesNothingBehindIt) {
  const auto recorder = Recorder::create(path_);
  (*recorder)->add({.kind = Kind::kNow, .time = 1});
  ASSERT_TRUE((*recorder)->flush());
  (*recorder)->add(history(evidence::kMaxFrame));
  const auto wrong = (*recorder)->flush();
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error(), "cannot write " + path_ + ": a message is too large");
  (*recorder)->add({.kind = Kind::kEnd});
  EXPECT_FALSE((*recorder)->flush());
  EXPECT_THAT(records(), SizeIs(1));
}

// What a process may write at most, until the end of the scope.
class FileLimit {
 public:
  explicit FileLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    (void)std::signal(SIGXFSZ, handler_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(RecorderTest, SaysWhyTheDiskTakesNoMoreAndLeavesWhatFitted) {
  const auto recorder = Recorder::create(path_);
  (*recorder)->add({.kind = Kind::kNow, .time = 1});
  ASSERT_TRUE((*recorder)->flush());
  {
    const FileLimit limit(std::filesystem::file_size(path_) + 5);
    (*recorder)->add({.kind = Kind::kNow, .time = 2});
    const auto wrong = (*recorder)->flush();
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error(), "cannot write " + path_ + ": File too large");
    EXPECT_FALSE((*recorder)->is_whole());
    EXPECT_THAT(records("is incomplete"), SizeIs(1));
  }
  // There is room again: the rest of the frame follows.
  (*recorder)->add({.kind = Kind::kNow, .time = 3});
  EXPECT_TRUE((*recorder)->flush());
  EXPECT_TRUE((*recorder)->is_whole());
  EXPECT_THAT(records(), SizeIs(3));
}

TEST_F(RecorderTest, GoesOnBehindTheLastWholeFrame) {
  {
    const auto recorder = Recorder::create(path_);
    (*recorder)->add({.kind = Kind::kNow, .time = 1});
  }
  std::ofstream(path_, std::ios::app) << "half a frame";
  {
    const auto recorder = Recorder::go_on(path_);
    ASSERT_TRUE(recorder) << recorder.error();
    (*recorder)->add({.kind = Kind::kNow, .time = 2});
  }
  EXPECT_THAT(records(), SizeIs(2));
  std::ofstream(path_) << "anything";
  EXPECT_THAT(Recorder::go_on(path_).error(), HasSubstr("is not evidence of this version"));
  EXPECT_EQ(content(), "anything");
}

TEST_F(RecorderTest, GoesOnWithNothingThatAnotherRunIsWritingOrThatIsNotOurs) {
  const auto first = Recorder::create(path_);
  ASSERT_TRUE(first) << first.error();
  EXPECT_THAT(Recorder::go_on(path_).error(), HasSubstr("another run is writing it"));
  (*first)->remove();
  EXPECT_THAT(Recorder::go_on(path_).error(), HasSubstr("No such file or directory"));
  std::filesystem::create_symlink("/dev/null", path_);
  EXPECT_THAT(Recorder::go_on(path_).error(),
              HasSubstr("it is a symbolic link; name the file itself"));
  EXPECT_THAT(Recorder::go_on("/dev/full").error(), HasSubstr("it is not a regular file"));
}

TEST_F(RecorderTest, KnowsThatItsFileIsGone) {
  const auto recorder = Recorder::create(path_);
  (*recorder)->add({.kind = Kind::kNow, .time = 1});
  ASSERT_TRUE((*recorder)->flush());
  EXPECT_TRUE((*recorder)->is_whole());
  const std::string before = content();
  std::filesystem::remove(path_);
  EXPECT_FALSE((*recorder)->is_whole());
  EXPECT_EQ((*recorder)->content(), before);
}

TEST_F(RecorderTest, SaysWhereItCannotWrite) {
  const auto folder = std::filesystem::temp_directory_path().string();
  EXPECT_EQ(Recorder::create(folder).error(), "cannot write " + folder + ": Is a directory");
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(Recorder::create(path_).error(),
            "cannot write " + path_ + ": No such device or address");
}

}  // namespace
}  // namespace fencepost::endpoint
