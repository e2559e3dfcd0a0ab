// A text for people that knows which of its parts are the same always, which are of one run (ids,
// times, versions) and which are of one case (names, keys, values). So a failure can be known again
// in another run, and put beside those of other cases, without parsing the text.
//
//   const Phrase actual = Phrase("nothing within ").milliseconds(2'000);
//   use(actual.text());                         // nothing within 2000 ms
//   use(actual.steady({"fencepost", "1a2b"}));  // nothing within * ms
//   use(actual.general());                      // nothing within # ms
//
// Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fencepost::text {

// What one run has in its keys and client ids. Keys begin with `<key_prefix>/<run_id>/` and eight
// hexadecimal digits of the case; client ids with `fp-<run_id>-` and such.
struct RunNames {
  std::string key_prefix{};
  std::string run_id{};
};

class Phrase {
 public:
  Phrase() = default;
  // Words that are the same in all runs and cases, but for numbers and what is in quotes.
  Phrase(std::string words);                                 // NOLINT(google-explicit-constructor)
  Phrase(const char* words) : Phrase(std::string(words)) {}  // NOLINT(google-explicit-constructor)

  // Each adds a part, and returns this phrase.
  Phrase& words(std::string_view words);
  // What a case calls something: a client, a saved version.
  Phrase& name(std::string_view name);
  // Untrusted bytes: escaped, with at most `shown` bytes of it.
  Phrase& bytes(std::string_view bytes, std::size_t shown);
  Phrase& quoted(std::string_view bytes, std::size_t shown);
  Phrase& correlation_data(std::string_view bytes, std::size_t shown);
  Phrase& version(std::string_view escaped);
  Phrase& milliseconds(std::int64_t count);
  Phrase& add(Phrase other);
  // The general form of the whole, returned by general().
  Phrase& means(std::string general);

  // Each of them once, with "  or  " between them.
  [[nodiscard]] static Phrase any_of(std::vector<Phrase> phrases);

  [[nodiscard]] bool empty() const { return parts_.empty(); }
  [[nodiscard]] std::string text() const;
  // Printable ASCII without what another run has otherwise. A long one ends in a hash of the whole.
  [[nodiscard]] std::string steady(const RunNames& run) const;
  // Printable ASCII without what another case has otherwise, cut.
  [[nodiscard]] std::string general() const;

 private:
  enum class Kind { kWords, kName, kBytes, kQuote, kVersion, kTime };
  struct Part {
    Kind kind = Kind::kWords;
    std::string text;
    std::string cut{};  // what stands for bytes that are not shown
  };

  std::vector<Part> parts_;
  std::string general_;
};

}  // namespace fencepost::text
