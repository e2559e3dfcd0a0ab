// Two texts as client id and key, and as filter and topic. Base16 and notification topics read
// back; filters match as in a recursive reading of MQTT 5, section 4.7; faults of response topics
// are found.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "codec/base16.h"
#include "codec/topics.h"
#include "fuzz/input_reader.h"

namespace {

using namespace fencepost::codec;
using std::string_view;

// Each level has a slash in front. A `#` that is not the last level is no filter: anything goes.
bool matches(string_view filter, string_view topic) {
  if (filter.starts_with("/#") && (filter.size() == 2 || filter[2] == '/')) return true;
  if (filter.empty() || topic.empty()) return filter.empty() && topic.empty();
  const string_view wanted = filter.substr(0, filter.find('/', 1));
  const string_view given = topic.substr(0, topic.find('/', 1));
  return (wanted == "/+" || wanted == given) &&
         matches(filter.substr(wanted.size()), topic.substr(given.size()));
}

void check_base16(string_view bytes) {
  const std::string digits = base16_encode(bytes);
  FENCEPOST_CHECK(digits.size() == 2 * bytes.size() && base16_decode(digits) == bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    FENCEPOST_CHECK(digits[2 * i] == "0123456789ABCDEF"[static_cast<std::uint8_t>(bytes[i]) / 16]);
  }
  const auto decoded = base16_decode(bytes);
  const bool odd = bytes.size() % 2 != 0;
  const bool legal = !odd && bytes.find_first_not_of("0123456789ABCDEF") == string_view::npos;
  FENCEPOST_CHECK(decoded.has_value() == legal && (!decoded || base16_encode(*decoded) == bytes));
}

void check_notification_topic(string_view id, string_view key) {
  const std::string wanted =
      std::string(kStorePrefix) + '/' + base16_encode(id) + "/command/notify/" + base16_encode(key);
  const auto topic = notification_topic(id, key);
  FENCEPOST_CHECK(topic.has_value() == (wanted.size() <= kMaxTopicBytes));
  if (!topic) return;
  FENCEPOST_CHECK(topic == wanted && filter_matches(notification_filter(id), wanted));
  const auto target = parse_notification_topic(wanted);
  FENCEPOST_CHECK(target.has_value() == (!id.empty() && !key.empty()));
  FENCEPOST_CHECK(!target || (target->client_id == id && target->key == key));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fencepost::fuzz::InputReader in(data, size);
  const bool repeat = in.byte() == 255;  // seldom, as it is slow
  std::string one(in.text());
  const std::string other(in.text());
  const bool hidden = other.starts_with('$') && (one.starts_with('+') || one.starts_with('#'));
  FENCEPOST_CHECK(filter_matches(one, other) == (!hidden && matches('/' + one, '/' + other)));
  check_base16(one);
  if (const auto target = parse_notification_topic(one)) {
    FENCEPOST_CHECK(notification_topic(target->client_id, target->key) == one);
  }
  for (std::size_t i = repeat ? 0 : 9; i < 9 && !one.empty(); ++i) one += one;  // past the limit
  check_notification_topic(one, other);
  const bool bad = one.empty() || one.size() > kMaxTopicBytes || one == kRequestTopic ||
                   one.starts_with(kStorePrefix) || one.starts_with('$') ||
                   one.find_first_of(string_view("+#\0", 3)) != string_view::npos;
  FENCEPOST_CHECK(response_topic_fault(one).has_value() == bad);
  return 0;
}
