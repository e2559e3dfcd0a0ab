// The file of evidence: a first line, then frames, each self-contained, compressed and with a
// checksum. A file that ends in the middle of a frame is good up to there.
//
//   std::string file(kMagic);
//   file += make_frame("what an Encoder has made");
//   Frames frames(file);
//   while (const auto records = frames.next()) use(*records);
//   if (!frames.diagnostic().empty()) complain(frames.diagnostic());
//
// Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace fencepost::evidence {

inline constexpr std::string_view kMagic = "fencepost evidence 1\n";
// Bytes of a frame before compression, and of all frames of a file.
inline constexpr std::size_t kMaxFrame = std::size_t{32} << 20U;
inline constexpr std::size_t kMaxContent = std::size_t{256} << 20U;

// `records` are at most kMaxFrame bytes.
[[nodiscard]] std::string make_frame(std::string_view records);

// Does it begin as such a file does?
[[nodiscard]] bool is_evidence(std::string_view file);

class Frames {
 public:
  // The file must outlive it.
  explicit Frames(std::string_view file, std::size_t most_content = kMaxContent);

  // The records of the next frame; nothing at the end, and where nothing more can be read.
  [[nodiscard]] std::optional<std::string> next();
  // The bytes of the file up to the end of the frame that was read last.
  [[nodiscard]] std::size_t read_bytes() const { return at_; }
  // Why the file could not be read to its end, with the place; empty when it could.
  [[nodiscard]] const std::string& diagnostic() const { return diagnostic_; }
  // Is what is missing the last moment only: does the file end within a frame?
  [[nodiscard]] bool cut() const { return cut_; }

 private:
  std::string_view file_;
  std::size_t most_content_;
  std::size_t at_;
  std::size_t content_ = 0;
  std::string diagnostic_;
  bool cut_ = false;
};

}  // namespace fencepost::evidence
