#include "stress/shrink.h"

#include <gtest/gtest.h>

namespace fencepost::stress {
namespace {

TEST(Shrink, FindsTheSmallestRunThatFails) {
  const Attempt attempt = [](const RunSize& size, std::size_t /*number*/) {
    const bool fails = size.clients >= 3 && size.mix->name != "hot-key";
    return fails ? std::optional<std::size_t>(size.clients * 10) : std::nullopt;
  };
  const RunSize first{.mix = find_mix("everything"), .clients = 16};
  const Shrunk found = shrink(first, "x/g2/4-0-lock", attempt, {.tries = 4});
  EXPECT_EQ(found.size.mix, find_mix("lease"));
  EXPECT_EQ(found.size.clients, 3U);
  EXPECT_EQ(found.runs, 4U);
  EXPECT_EQ(found.failed, 4U);
  EXPECT_EQ(found.operations, 30U);
}

TEST(Shrink, CountsHowOftenItFails) {
  const Attempt attempt = [](const RunSize& size, std::size_t number) {
    const bool fails = size.clients == 16 && number % 2 == 1;
    return fails ? std::optional<std::size_t>(number) : std::nullopt;
  };
  const Shrunk found =
      shrink({.mix = find_mix("register"), .clients = 16}, "g1/0", attempt, {.tries = 6});
  EXPECT_EQ(found.size.clients, 16U);
  EXPECT_EQ(found.runs, 6U);
  EXPECT_EQ(found.failed, 3U);
  EXPECT_EQ(found.operations, 3U);
}

TEST(Shrink, KeepsTheFirstSizeWhereNothingFailsAgain) {
  std::size_t calls = 0;
  const Attempt attempt = [&](const RunSize&, std::size_t) -> std::optional<std::size_t> {
    ++calls;
    return std::nullopt;
  };
  const RunSize first{.mix = find_mix("register"), .clients = 16};
  EXPECT_EQ(shrink(first, "k", attempt, {.tries = 6}).failed, 0U);
  EXPECT_EQ(calls, 3U);
  EXPECT_EQ(shrink(first, "k", attempt, {.enough = [] { return true; }}).runs, 0U);
  EXPECT_EQ(calls, 3U);
}

TEST(MixOfKey, IsThatOfTheRowInItsName) {
  const Mix& everything = *find_mix("everything");
  EXPECT_EQ(mix_of_key(everything, "a/b/g1/0"), find_mix("hot-key"));
  EXPECT_EQ(mix_of_key(everything, "g12/6-1"), find_mix("observers"));
  EXPECT_EQ(mix_of_key(everything, "g12/66"), nullptr);
  EXPECT_EQ(mix_of_key(everything, "other"), nullptr);
}

}  // namespace
}  // namespace fencepost::stress
