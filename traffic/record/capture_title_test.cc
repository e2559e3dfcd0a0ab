#include "traffic/record/capture_title.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "traffic/record/capture_clients.h"
#include "traffic/record/capture_sample.h"

namespace fencepost::record {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

CaptureTitle title_of(const Traffic& traffic) {
  const Timeline timeline = timeline_of(traffic.capture);
  return title_of(pointers_to(timeline));
}

// The title of one exchange with the key k, without ": one key, one client".
std::pair<std::string, std::string> title_of(const std::vector<std::string_view>& arguments,
                                             const std::string& reply) {
  Traffic traffic;
  traffic.request("c", arguments);
  if (!reply.empty()) traffic.reply("c", reply);
  const CaptureTitle title = title_of(traffic);
  return {title.text.substr(0, title.text.find(": ")), title.slug};
}

TEST(CaptureTitle, SaysWhatBecameOfEachRequest) {
  using Row = std::pair<std::string, std::string>;
  EXPECT_EQ(title_of({"SET", "k", "v"}, "+OK\r\n"), Row("SET", "set"));
  EXPECT_EQ(title_of({"SET", "k", "v", "NEX", "PX", "5"}, ":-1\r\n"),
            Row("SET NEX PX (not applied)", "set-nex-px"));
  EXPECT_EQ(title_of({"SET", "k", "v"}, "-ERR missing timestamp\r\n"), Row("SET (refused)", "set"));
  EXPECT_EQ(title_of({"GET", "k"}, "$1\r\nv\r\n"), Row("GET", "get"));
  EXPECT_EQ(title_of({"GET", "k"}, "$-1\r\n"), Row("GET (no such key)", "get"));
  EXPECT_EQ(title_of({"GET", "k"}, ""), Row("GET (no response)", "get"));
  EXPECT_EQ(title_of({"GET", "k"}, "?"), Row("GET (malformed response)", "get"));
  EXPECT_EQ(title_of({"DEL", "k"}, ":1\r\n"), Row("DEL", "del"));
  EXPECT_EQ(title_of({"VDEL", "k", "v"}, ":0\r\n"), Row("VDEL (no such key)", "vdel"));
  EXPECT_EQ(title_of({"KEYNOTIFY", "k", "STOP"}, ":0\r\n"),
            Row("KEYNOTIFY STOP (was not observed)", "keynotify-stop"));
  EXPECT_EQ(title_of({"GET", "k", "v"}, "-ERR wrong number of arguments\r\n"),
            Row("malformed GET (refused)", "malformed-get"));
  EXPECT_EQ(title_of({"FROB", "k"}, "-ERR unknown command\r\n"),
            Row("no command (refused)", "no-command"));
}

TEST(CaptureTitle, NamesTokensAndWhatNobodyHasAskedFor) {
  Traffic traffic;
  traffic.request("c", {"DEL", "k"}).user_properties.emplace_back("__ft", "1:0:c");
  traffic.reply("c", ":1\r\n");
  traffic.notification("c", "k", "*2\r\n$6\r\nNOTIFY\r\n$6\r\nDELETE\r\n", stamp(kBegin));
  traffic.notification("c", "k", "?", stamp(kBegin));
  traffic.capture.events.emplace_back(CapturedConnection{.client_id = "c"});
  const CaptureTitle title = title_of(traffic);
  EXPECT_EQ(title.text,
            "DEL with a token, a notification of a deletion, a notification of a SET and a "
            "disconnect: one key, one client");
  EXPECT_EQ(title.slug, "del");
}

TEST(CaptureTitle, IsNoLongerThanItsLimit) {
  Traffic traffic;
  traffic.set("c", {"SET", "k", "v"});
  traffic.set("c", {"SET", "k", "v"});  // the same again is not said again
  traffic.get("c", "k", "$1\r\nv\r\n");
  traffic.get("c", "other", "$-1\r\n");
  for (const char* verb : {"DEL", "KEYNOTIFY"}) {
    traffic.request("d", {verb, "k"});
    traffic.reply("d", ":1\r\n");
  }
  EXPECT_EQ(title_of(traffic).text,
            "SET, GET, GET (no such key), DEL and KEYNOTIFY: 2 keys, 2 clients");
  EXPECT_EQ(title_of(traffic).slug, "set.get.del");
  traffic.set("d", {"SET", "k", "v", "NX"});
  traffic.set("d", {"SET", "k", "v", "NEX"});
  EXPECT_EQ(title_of(traffic).text,
            "SET, GET, GET (no such key), DEL, KEYNOTIFY and 2 more: 2 keys, 2 clients");
}

TEST(CaptureTitle, SaysOfWhatKindAKeyIs) {
  const auto about = [](const std::string& key) {
    Traffic traffic;
    traffic.get("c", key, "$-1\r\n");
    const std::string text = title_of(traffic).text;
    return text.substr(text.find(": ") + 2);
  };
  EXPECT_EQ(about(std::string(100, 'x')), "one key, one client");
  EXPECT_EQ(about(std::string(101, 'x')), "a long key, one client");
  EXPECT_EQ(about("\n"), "a key that is not plain text, one client");
  EXPECT_EQ(about(""), "no key, one client");
}

TEST(CaptureTitle, OfNothingAskedSaysSo) {
  Traffic traffic;
  traffic.notification("c", "k", "?", stamp(kBegin));
  EXPECT_EQ(title_of(traffic).slug, "nothing-asked");
}

// --- clients

TEST(CaptureClients, AreNamedInTheOrderInWhichTheyCome) {
  Traffic traffic;
  traffic.request("second", {"GET", "k"});
  traffic.notification("first", "k", "?", stamp(kBegin));
  traffic.request("second", {"GET", "k"});
  traffic.request("", {"GET", "k"}).response_topic = "clients/\xff/r";
  traffic.capture.events.emplace_back(CapturedConnection{.client_id = "never asks"});
  const Timeline timeline = timeline_of(traffic.capture);
  CaptureClients clients(pointers_to(timeline));
  EXPECT_EQ(clients.name_of("second"), "a");
  EXPECT_EQ(clients.name_of("first"), "b");
  EXPECT_FALSE(clients.has("never asks"));
  EXPECT_THAT(clients.comments(), ElementsAre("client a: second", "client b: first",
                                              "client c: \\xff (derived from its response topic)"));
  EXPECT_EQ(clients.ids(), "second, first, \\xff");
  clients.observes("first");
  const auto specs = clients.specs();
  ASSERT_THAT(specs, SizeIs(3));
  EXPECT_EQ(specs[0].name, "a");
  EXPECT_FALSE(specs[0].observes);
  EXPECT_TRUE(specs[1].observes);
}

// YAML takes n and y for something else than names.
TEST(CaptureClients, HaveNamesThatYamlTakesForNames) {
  Traffic traffic;
  for (int i = 0; i < 26; ++i) traffic.request("client " + std::to_string(i), {"GET", "k"});
  const Timeline timeline = timeline_of(traffic.capture);
  const CaptureClients clients(pointers_to(timeline));
  std::set<std::string> names;
  for (const auto& spec : clients.specs()) names.insert(spec.name);
  EXPECT_THAT(names, SizeIs(26));
  EXPECT_FALSE(names.contains("n"));
  EXPECT_FALSE(names.contains("y"));
  EXPECT_EQ(clients.name_of("client 23"), "z");
  EXPECT_EQ(clients.name_of("client 24"), "c25");
  EXPECT_THAT(CaptureClients({}).specs(), IsEmpty());
}

}  // namespace
}  // namespace fencepost::record
