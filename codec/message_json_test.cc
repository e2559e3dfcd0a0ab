#include "codec/message_json.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/json_reader.h"

namespace fencepost::codec {
namespace {

using nlohmann::json;

// The message that was read, or what is wrong with it.
struct Read {
  Message message;
  std::string diagnostic;
};
Read read(const json& document) {
  JsonDiagnostic diagnostic;
  Message message = message_of(JsonMembers(document, "", diagnostic));
  return {std::move(message), diagnostic.text()};
}

Message with_everything() {
  Message out;
  out.topic = "t/\xff\"\\";
  out.payload = std::string("\0\xfe\r\n", 4);
  out.qos = 2;
  out.retain = true;
  out.duplicate = true;
  out.response_topic = std::string(5000, 'r');
  out.correlation_data = std::string("\0\x9f", 2);
  out.content_type = "\xc3";
  out.payload_format = std::uint8_t{1};
  out.expiry_seconds = 4'294'967'295U;
  out.user_properties = {{"k\xff", "one"}, {"k\xff", ""}, {"", "two"}};
  return out;
}

TEST(MessageJson, GivesEveryMessageBack) {
  Message empty_members;
  empty_members.response_topic = empty_members.correlation_data = empty_members.content_type = "";
  empty_members.payload_format = std::uint8_t{0};
  empty_members.expiry_seconds = 0U;
  for (const Message& message : {Message{}, empty_members, with_everything()}) {
    const std::string text = to_json(message).dump();  // throws where a string is no UTF-8
    const Read back = read(json::parse(text));
    EXPECT_EQ(back.diagnostic, "") << text;
    EXPECT_EQ(back.message, message) << text;
  }
}

TEST(MessageJson, LeavesOutWhatAMessageHasNot) {
  Message message;
  message.topic = "t";
  message.payload = "+OK\r\n";
  message.qos = 1;
  EXPECT_EQ(to_json(message).dump(),
            R"({"topic":"t","payload":"+OK\\r\\n","qos":1,"retain":false,"user_properties":[]})");
}

TEST(MessageJson, NamesThePlaceOfWhatIsWrong) {
  struct Row {
    const char* member;
    json value;  // null: taken away
    std::string diagnostic;
  };
  const Row rows[] = {
      {"topic", nullptr, R"(/: has no member "topic")"},
      {"topic", 7, "/topic: must be a string, not 7"},
      {"payload", "\\x0", "/payload: has an escape that is not one of \\\\ \\\" \\r \\n \\t \\xNN"},
      {"qos", 3, "/qos: must be 0, 1 or 2, not 3"},
      {"qos", -1, "/qos: must be a whole number, 0 or greater, not -1"},
      {"retain", "yes", R"(/retain: must be true or false, not "yes")"},
      {"correlation_data", "0a", R"(/correlation_data: must be upper-case Base16, not "0a")"},
      {"payload_format", 256, "/payload_format: must be a whole number up to 255, not 256"},
      {"user_properties", json::array({json::array({"a"})}),
       "/user_properties: must be a list of [name, value]"},
      {"user_properties", json::array({json::array({"a", "\\q"})}),
       "/user_properties/0: has an escape that is not one of \\\\ \\\" \\r \\n \\t \\xNN"}};
  for (const Row& row : rows) {
    json document = json::parse(to_json(with_everything()).dump());
    if (row.value.is_null()) {
      document.erase(row.member);
    } else {
      document[row.member] = row.value;
    }
    EXPECT_EQ(read(document).diagnostic, row.diagnostic) << row.member;
  }
  EXPECT_EQ(read(json::array()).diagnostic, "/: must be an object, not an array");
}

}  // namespace
}  // namespace fencepost::codec
