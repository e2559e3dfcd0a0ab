#include "reference_store/faults/keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codec/topics.h"

namespace fencepost::store {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

codec::Message request_of(const std::vector<std::string>& arguments) {
  codec::Message request;
  request.topic = codec::kRequestTopic;
  request.response_topic = "clients/a/r";
  request.correlation_data = "c";
  request.qos = 1;
  request.user_properties.emplace_back(codec::kTimestampProperty, "1000:00000:a");
  set_arguments(request, arguments);
  return request;
}

// A store that keeps its file like that, and what was asked of it.
class Kept {
 public:
  explicit Kept(Keeping keeping) : store_(with_keeping(std::move(keeping))({}, 1)) {}

  void ask(const std::vector<std::string>& arguments) {
    const codec::Message request = request_of(arguments);
    std::vector<Delivery> out;
    store_->handle({.client_id = "a"}, request, {.wall_ms = 1000}, out);
  }
  // The keys that are written when these have changed; a "-" before one that is gone.
  std::vector<std::string> write(std::vector<KeptKey> keys, std::chrono::microseconds wall = 1s) {
    KeptKeys kept{.keys = std::move(keys)};
    store_->keeper()->write(kept, wall);
    return names(kept);
  }
  std::vector<std::string> end() {
    KeptKeys kept;
    store_->keeper()->end(kept);
    return names(kept);
  }

 private:
  static std::vector<std::string> names(const KeptKeys& kept) {
    std::vector<std::string> out;
    for (const KeptKey& key : kept.keys) out.push_back((key.gone ? "-" : "") + key.key);
    return out;
  }
  std::unique_ptr<Handler> store_;
};

TEST(Keeper, WritesAllWhenNothingIsSet) {
  Kept kept({});
  EXPECT_THAT(kept.write({{.key = "a"}, {.key = "b", .gone = true}}), ElementsAre("a", "-b"));
  EXPECT_THAT(kept.write({}), IsEmpty());
  EXPECT_THAT(kept.end(), IsEmpty());
}

TEST(Keeper, WritesAfterATime) {
  Kept kept({.late = 50ms});
  EXPECT_THAT(kept.write({{.key = "a"}}, 1'000ms), IsEmpty());
  EXPECT_THAT(kept.write({{.key = "b"}}, 1'049ms), IsEmpty());
  EXPECT_THAT(kept.write({}, 1'050ms), ElementsAre("a"));
  EXPECT_THAT(kept.end(), ElementsAre("b"));
}

TEST(Keeper, WritesSomeChangesLater) {
  Kept kept({.behind = 2});
  EXPECT_THAT(kept.write({{.key = "a"}, {.key = "b"}, {.key = "c"}}), ElementsAre("a"));
  EXPECT_THAT(kept.write({}), IsEmpty());
  EXPECT_THAT(kept.write({{.key = "d"}}), ElementsAre("b"));
  EXPECT_THAT(kept.end(), ElementsAre("c", "d"));
}

TEST(Keeper, WritesAtTheEndAlone) {
  Kept kept({.at_the_end = true});
  EXPECT_THAT(kept.write({{.key = "a"}}), IsEmpty());
  EXPECT_THAT(kept.end(), ElementsAre("a"));
}

TEST(Keeper, KnowsTheRequestAndWhatTheFileHas) {
  std::vector<std::string> seen;
  Kept kept({.write = [&](KeptKey& key, const KeepingContext& context) {
    seen.push_back(key.key + (context.before == nullptr ? " new" : " " + context.before->value) +
                   (context.last.command ? "" : " expired") + " " + std::to_string(context.number) +
                   "/" + std::to_string(context.in_commit));
    return key.key != "lost";
  }});
  kept.ask({"SET", "k", "one"});
  kept.write({{.key = "k", .value = "one"}, {.key = "lost"}});
  kept.ask({"DEL", "k"});
  kept.write({{.key = "k", .gone = true}});
  kept.ask({"GET", "k"});
  kept.write({{.key = "k", .gone = true}, {.key = "lost"}});
  EXPECT_THAT(seen, ElementsAre("k new 1/1", "lost new expired 2/2", "k one 3/1",
                                "k new expired 4/1", "lost new expired 5/2"));
}

TEST(Keeper, LetsSomeClientsReadWhatTheNodeHadWhenItTookOver) {
  const auto store = with_keeping({.old_reads = 3s})({}, 1);
  KeptKeys kept{.keys = {{.key = "k", .value = "old"}}, .taken_over = true};
  store->keeper()->load(kept, 1s);
  const auto ask = [&](const std::string& client, const std::vector<std::string>& arguments,
                       std::chrono::microseconds at) {
    const codec::Message request = request_of(arguments);
    std::vector<Delivery> out;
    store->handle({.client_id = client}, request, {.wall_ms = 1000, .steady = at}, out);
    return out.back().message.payload;
  };
  ask("a", {"SET", "k", "new"}, 1s);
  std::size_t old = 0;
  for (char client = 'a'; client <= 'z'; ++client) {
    old += ask(std::string(1, client), {"GET", "k"}, 2s) == "$3\r\nold\r\n" ? 1U : 0U;
    EXPECT_EQ(ask(std::string(1, client), {"GET", "other"}, 2s).find("old"), std::string::npos);
  }
  EXPECT_GT(old, 3U);
  EXPECT_LT(old, 23U);
  for (char client = 'a'; client <= 'z'; ++client) {
    EXPECT_EQ(ask(std::string(1, client), {"GET", "k"}, 5s), "$3\r\nnew\r\n");
  }
}

TEST(Keeper, OfTheCatalogueAreAllThatNeedKills) {
  for (const Fault& fault : faults()) {
    const bool keeps = fault.make({}, 1)->keeper() != nullptr;
    EXPECT_EQ(keeps, fault.needs >= FaultNeeds::kKill) << fault.id;
  }
}

}  // namespace
}  // namespace fencepost::store
