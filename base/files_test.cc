#include "base/files.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace fencepost {
namespace {

class Files : public testing::Test {
 protected:
  Files() {
    std::string name = (std::filesystem::temp_directory_path() / "fencepost-files-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~Files() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ / name; }

  std::filesystem::path folder_;
};

TEST_F(Files, AreReadWhole) {
  const std::string content = std::string(200'000, 'a') + '\0' + "\xff\n";
  std::ofstream(path("f"), std::ios::binary) << content;
  EXPECT_EQ(*read_whole_file(path("f")), content);
  std::ofstream(path("empty"));
  EXPECT_EQ(*read_whole_file(path("empty")), "");
}

TEST_F(Files, HaveALimit) {
  std::ofstream(path("f")) << std::string(1U << 20U, 'a');
  EXPECT_TRUE(read_whole_file(path("f"), 1U << 20U).has_value());
  std::ofstream(path("f"), std::ios::app) << "a";
  EXPECT_EQ(read_whole_file(path("f"), 1U << 20U).error(),
            "cannot read " + path("f") + ": it has more than 1 MiB");
  EXPECT_EQ(read_whole_file("/dev/zero", 1U << 20U).error(),
            "cannot read /dev/zero: it has more than 1 MiB");
}

TEST_F(Files, ThatAreNoneAreRefused) {
  EXPECT_EQ(read_whole_file(folder_).error(),
            "cannot read " + folder_.string() + ": it is a folder");
  EXPECT_EQ(read_whole_file(path("missing")).error(),
            "cannot read " + path("missing") + ": No such file or directory");
  std::filesystem::create_symlink("loop", path("loop"));
  EXPECT_EQ(read_whole_file(path("loop")).error(),
            "cannot read " + path("loop") + ": Too many levels of symbolic links");
}

TEST_F(Files, AreReadLineByLine) {
  std::ofstream(path("f")) << "a\n\n" + std::string(200'000, 'b') + "\nc";
  LineReader file(path("f"));
  std::string line;
  for (const std::string& expected : {std::string("a"), std::string(), std::string(200'000, 'b')}) {
    ASSERT_TRUE(file.next(line));
    EXPECT_EQ(line, expected);
    EXPECT_FALSE(file.is_cut());
  }
  ASSERT_TRUE(file.next(line));
  EXPECT_EQ(line, "c");
  EXPECT_TRUE(file.is_cut());
  EXPECT_FALSE(file.next(line));
  EXPECT_EQ(file.error(), "");
}

TEST_F(Files, LinesHaveALimit) {
  std::ofstream(path("f")) << std::string(1U << 20U, 'a') + "\n" +
                                  std::string((1U << 20U) + 1, 'b');
  LineReader file(path("f"), 1U << 20U);
  std::string line;
  EXPECT_TRUE(file.next(line));
  EXPECT_FALSE(file.next(line));
  EXPECT_EQ(file.error(), "cannot read " + path("f") + ": a line has more than 1 MiB");
  LineReader endless("/dev/zero", 1U << 20U);
  EXPECT_FALSE(endless.next(line));
  EXPECT_EQ(endless.error(), "cannot read /dev/zero: a line has more than 1 MiB");
  LineReader missing(path("missing"));
  EXPECT_FALSE(missing.next(line));
  EXPECT_EQ(missing.error(), "cannot read " + path("missing") + ": No such file or directory");
}

TEST_F(Files, MayBePipes) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::thread writer([this] { std::ofstream(path("pipe")) << "through a pipe"; });
  EXPECT_EQ(*read_whole_file(path("pipe")), "through a pipe");
  writer.join();
}

TEST_F(Files, NobodyWaitsForAPipeThatNobodyWritesTo) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(read_whole_file(path("pipe")).error(),
            "cannot read " + path("pipe") + ": no data for 4 s");
}

std::string content_of(const std::string& path) { return *read_whole_file(path); }

std::size_t entries(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST_F(Files, AreReplacedByNewOnes) {
  EXPECT_TRUE(can_write_new_file(path("f")));
  EXPECT_EQ(entries(folder_), 0U);
  EXPECT_TRUE(write_new_file(path("f"), "one"));
  EXPECT_TRUE(write_new_file(path("f"), "two"));
  EXPECT_EQ(content_of(path("f")), "two");
  const int opened = open_new_file(path("f"));
  ASSERT_GE(opened, 0);
  EXPECT_EQ(content_of(path("f")), "");
  EXPECT_EQ(write(opened, "three", 5), 5);
  close(opened);
  EXPECT_EQ(content_of(path("f")), "three");
  EXPECT_EQ(entries(folder_), 1U);
}

// Otherwise, a user who may write into the folder could choose what we overwrite.
TEST_F(Files, LinksAreReplacedAndNotFollowed) {
  for (const bool streamed : {false, true}) {
    std::ofstream(path("theirs")) << "precious";
    std::filesystem::remove(path("f"));
    std::filesystem::create_symlink(path("theirs"), path("f"));
    EXPECT_TRUE(can_write_new_file(path("f")));
    if (streamed) {
      const int opened = open_new_file(path("f"));
      EXPECT_GE(opened, 0);
      close(opened);
    } else {
      EXPECT_TRUE(write_new_file(path("f"), "ours"));
    }
    EXPECT_EQ(content_of(path("theirs")), "precious");
    EXPECT_FALSE(std::filesystem::is_symlink(path("f")));
  }
}

TEST_F(Files, ThatStandBesideStay) {
  std::ofstream(path("f.partial")) << "precious";
  EXPECT_TRUE(can_write_new_file(path("f")));
  EXPECT_TRUE(write_new_file(path("f"), "ours"));
  EXPECT_EQ(content_of(path("f.partial")), "precious");
}

TEST_F(Files, ThatCannotBeWrittenLeaveWhatWasThere) {
  EXPECT_FALSE(write_new_file(folder_.string(), "a"));
  EXPECT_EQ(errno, EISDIR);
  EXPECT_FALSE(can_write_new_file(folder_.string()));
  EXPECT_FALSE(write_new_file(path("missing/f"), "a"));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_EQ(open_new_file(path("missing/f")), -1);
  EXPECT_TRUE(write_new_file("/dev/null", "a"));
  EXPECT_FALSE(write_new_file("/dev/full", "a"));
  EXPECT_EQ(errno, ENOSPC);
}

}  // namespace
}  // namespace fencepost
