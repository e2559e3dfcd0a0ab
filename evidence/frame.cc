#include "evidence/frame.h"

#include <cstdint>

#include <zlib.h>

#include "base/check.h"

namespace fencepost::evidence {
namespace {

// Compressed bytes, bytes before that, CRC-32 of these two numbers and the compressed bytes; each
// 32 bits, the low byte first.
constexpr std::size_t kHead = 12;
constexpr std::size_t kSizes = 8;
constexpr unsigned kByte = 8;
// Of certifications, 6 takes 2.3 times as long and makes a twelfth more, 1 gains a quarter of the
// time and makes a tenth more.
constexpr int kLevel = 2;

void put_number(std::string& out, std::size_t value) {
  for (unsigned shift = 0; shift < 4 * kByte; shift += kByte) {
    out += static_cast<char>((value >> shift) & 0xffU);
  }
}

std::size_t number_at(std::string_view bytes, std::size_t at) {
  std::size_t out = 0;
  for (unsigned i = 0; i < 4; ++i) {
    out |= std::size_t{static_cast<unsigned char>(bytes[at + i])} << (i * kByte);
  }
  return out;
}

const Bytef* as_bytes(std::string_view text) { return reinterpret_cast<const Bytef*>(text.data()); }

std::size_t checksum(std::string_view sizes, std::string_view compressed) {
  const uLong first = crc32(0, as_bytes(sizes), static_cast<uInt>(sizes.size()));
  return crc32(first, as_bytes(compressed), static_cast<uInt>(compressed.size()));
}

}  // namespace

std::string make_frame(std::string_view records) {
  FENCEPOST_CHECK(records.size() <= kMaxFrame);
  std::string compressed(compressBound(records.size()), '\0');
  uLongf size = compressed.size();
  const int code = compress2(reinterpret_cast<Bytef*>(compressed.data()), &size, as_bytes(records),
                             records.size(), kLevel);
  FENCEPOST_CHECK(code == Z_OK);  // there is room enough
  compressed.resize(size);
  std::string out;
  put_number(out, compressed.size());
  put_number(out, records.size());
  put_number(out, checksum(out, compressed));
  return out + compressed;
}

bool is_evidence(std::string_view file) { return file.starts_with(kMagic); }

Frames::Frames(std::string_view file, std::size_t most_content)
    : file_(file), most_content_(most_content), at_(kMagic.size()) {
  if (!is_evidence(file)) {
    diagnostic_ = "it is not an evidence file";
    at_ = file.size();
  }
}

std::optional<std::string> Frames::next() {
  if (at_ >= file_.size() || !diagnostic_.empty()) return std::nullopt;
  const std::string place = "the frame at byte " + std::to_string(at_);
  const std::string_view rest = file_.substr(at_);
  if (rest.size() < kHead || rest.size() - kHead < number_at(rest, 0)) {
    cut_ = true;
    diagnostic_ = place + " is incomplete";
    return std::nullopt;
  }
  const std::string_view compressed = rest.substr(kHead, number_at(rest, 0));
  if (checksum(rest.substr(0, kSizes), compressed) != number_at(rest, kSizes)) {
    diagnostic_ = place + " was changed: its checksum does not match";
    return std::nullopt;
  }
  const std::size_t size = number_at(rest, 4);
  content_ += size;
  if (size > kMaxFrame || content_ > most_content_) {
    diagnostic_ = place + " exceeds the size limit of evidence files";
    return std::nullopt;
  }
  std::string out(size, '\0');
  uLongf done = size;
  uLong used = compressed.size();
  const int code =
      uncompress2(reinterpret_cast<Bytef*>(out.data()), &done, as_bytes(compressed), &used);
  // Bytes after the compressed data would be content that is never read.
  if (code != Z_OK || done != size || used != compressed.size()) {
    diagnostic_ = place + " cannot be decompressed";
    return std::nullopt;
  }
  at_ += kHead + compressed.size();
  return out;
}

}  // namespace fencepost::evidence
