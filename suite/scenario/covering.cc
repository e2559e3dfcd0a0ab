#include "suite/scenario/covering.h"

#include <algorithm>
#include <array>
#include <optional>

namespace fencepost::scenario {
namespace {

using Row = std::vector<std::size_t>;

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

// The pairs and triples that stand in no row yet, and the rows that take one after the other away.
// The values of all axes are numbered one after the other. It is made at each start of the program,
// so pairs and triples are numbers, too: those of their values, ascending, as the digits of a
// number to the base of how many values there are; triples behind pairs.
class Cover {
 public:
  Cover(const std::vector<std::size_t>& sizes, const std::vector<std::size_t>& triples)
      : in_triples_(sizes.size()) {
    for (const std::size_t axis : triples) in_triples_[axis] = true;
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      first_.push_back(axis_of_.size());
      axis_of_.insert(axis_of_.end(), sizes[axis], axis);
    }
    first_.push_back(axis_of_.size());
    const std::size_t count = axis_of_.size();
    open_.resize(count * count * (triples.empty() ? 1 : 1 + count));
    for (std::size_t c = 0; c < count; ++c) add_all_that_end_with(c);
    last_ = open_.size() - 1;
  }

  [[nodiscard]] bool done() const { return left_ == 0; }

  // Takes away what stands in it. Returns the value of each axis.
  Row add(const Row& row) {
    for (const std::size_t value : row) {
      for_each(row, value, [this](std::size_t number) {
        left_ -= open_[number] ? 1 : 0;
        open_[number] = false;
      });
    }
    Row out = row;
    for (std::size_t axis = 0; axis < out.size(); ++axis) out[axis] -= first_[axis];
    return out;
  }

  [[nodiscard]] Row first() const { return {first_.begin(), std::prev(first_.end())}; }

  // A row with a triple or pair that is open, and with those values that bring most others.
  [[nodiscard]] Row next() {
    Row row(first_.size() - 1, kNone);
    // The last: triples first, of which each brings three pairs.
    while (!open_[last_]) --last_;
    for (const std::size_t value : values_of(last_)) row[axis_of_[value]] = value;
    for (std::size_t axis = 0; axis < row.size(); ++axis) {
      if (row[axis] == kNone) row[axis] = best_of(row, axis);
    }
    return row;
  }

 private:
  // Among the values that bring most, it takes the first behind that of the axis before: the first
  // of each axis would otherwise be in most rows.
  [[nodiscard]] std::size_t best_of(const Row& row, std::size_t axis) const {
    const std::size_t size = first_[axis + 1] - first_[axis];
    const std::size_t shift = axis == 0 ? 0 : row[axis - 1] - first_[axis - 1];
    std::size_t best = 0;
    std::optional<std::size_t> most;
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t value = first_[axis] + (i + shift) % size;
      std::size_t count = 0;
      for_each(row, value, [&](std::size_t number) { count += open_[number] ? 1 : 0; });
      if (!most || count > *most) {
        best = value;
        most = count;
      }
    }
    return best;
  }

  // The pairs and triples of this value with those of the row, as far as there are any.
  template <typename Use>
  void for_each(const Row& row, std::size_t with, const Use& use) const {
    const std::size_t own = axis_of_[with];
    for (std::size_t a = 0; a < row.size(); ++a) {
      if (a == own || row[a] == kNone) continue;
      use(pair(std::min(row[a], with), std::max(row[a], with)));
      if (!in_triples_[a] || !in_triples_[own]) continue;
      for (std::size_t b = a + 1; b < row.size(); ++b) {
        if (b == own || row[b] == kNone || !in_triples_[b]) continue;
        std::array<std::size_t, 3> values = {row[a], row[b], with};
        std::sort(values.begin(), values.end());
        use(triple(values[0], values[1], values[2]));
      }
    }
  }

  void add_all_that_end_with(std::size_t c) {
    const auto add = [this](std::size_t number) {
      open_[number] = true;
      ++left_;
    };
    for (std::size_t b = 0; b < first_[axis_of_[c]]; ++b) {
      add(pair(b, c));
      if (!in_triples_[axis_of_[b]] || !in_triples_[axis_of_[c]]) continue;
      for (std::size_t a = 0; a < first_[axis_of_[b]]; ++a) {
        if (in_triples_[axis_of_[a]]) add(triple(a, b, c));
      }
    }
  }

  [[nodiscard]] std::size_t pair(std::size_t a, std::size_t b) const {
    return a * axis_of_.size() + b;
  }
  [[nodiscard]] std::size_t triple(std::size_t a, std::size_t b, std::size_t c) const {
    const std::size_t count = axis_of_.size();
    return count * count + pair(a, b) * count + c;
  }
  [[nodiscard]] Row values_of(std::size_t number) const {
    const std::size_t count = axis_of_.size();
    if (number < count * count) return {number / count, number % count};
    number -= count * count;
    return {number / count / count, number / count % count, number % count};
  }

  std::vector<std::size_t> axis_of_{};  // by value
  std::vector<std::size_t> first_{};    // value, by axis; and how many there are
  std::vector<bool> in_triples_;
  std::vector<bool> open_{};
  std::size_t left_ = 0;
  std::size_t last_ = 0;  // none behind it is open
};

}  // namespace

std::vector<std::vector<std::size_t>> covering_rows(const std::vector<std::size_t>& sizes,
                                                    const std::vector<std::size_t>& triples) {
  Cover cover(sizes, triples);
  std::vector<Row> out{cover.add(cover.first())};
  while (!cover.done()) out.push_back(cover.add(cover.next()));
  return out;
}

}  // namespace fencepost::scenario
