#include "base/files.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include <sys/stat.h>

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
  EXPECT_EQ(file.trouble(), "");
}

TEST_F(Files, LinesHaveALimit) {
  std::ofstream(path("f")) << std::string(1U << 20U, 'a') + "\n" +
                                  std::string((1U << 20U) + 1, 'b');
  LineReader file(path("f"), 1U << 20U);
  std::string line;
  EXPECT_TRUE(file.next(line));
  EXPECT_FALSE(file.next(line));
  EXPECT_EQ(file.trouble(), "cannot read " + path("f") + ": a line has more than 1 MiB");
  LineReader endless("/dev/zero", 1U << 20U);
  EXPECT_FALSE(endless.next(line));
  EXPECT_EQ(endless.trouble(), "cannot read /dev/zero: a line has more than 1 MiB");
  LineReader missing(path("missing"));
  EXPECT_FALSE(missing.next(line));
  EXPECT_EQ(missing.trouble(), "cannot read " + path("missing") + ": No such file or directory");
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
            "cannot read " + path("pipe") + ": nothing has come from it for 4 s");
}

}  // namespace
}  // namespace fencepost
