// Two texts as client id and key, and as filter and topic. What is encoded reads back; filters
// match as in a recursive reading of MQTT 5, section 4.7; bad response topics are found.
#include <array>
#include <string>
#include <string_view>

#include "base/check.h"
#include "codec/base16.h"
#include "codec/topics.h"
#include "fuzz/input_reader.h"

namespace {
using namespace fencepost::codec;
using std::string_view;
// With a key of four bytes: just short enough for a topic, too long, and longer than any string.
constexpr std::array kLongIds = {32'726UL, 32'727UL, 65'535UL, 65'536UL};
// Each level has a slash in front. What is behind a `#` means nothing, so it matches.
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
  FENCEPOST_CHECK((bytes >= "\xa0") == (digits >= "A0") && digits.size() == 2 * bytes.size());
  const auto decoded = base16_decode(bytes);
  FENCEPOST_CHECK(base16_decode(digits) == bytes);
  const bool bad = bytes.find_first_not_of("0123456789ABCDEF") != string_view::npos;
  FENCEPOST_CHECK(decoded.has_value() != (bad || bytes.size() % 2 != 0));
  FENCEPOST_CHECK(!decoded || base16_encode(*decoded) == bytes);
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fencepost::fuzz::InputReader in(data, size);
  std::string one(in.text());
  const std::string two(in.text());
  const bool hidden = two.starts_with('$') && (one.starts_with('+') || one.starts_with('#'));
  FENCEPOST_CHECK(filter_matches(one, two) == (!hidden && matches('/' + one, '/' + two)));
  check_base16(one);
  const auto parsed = parse_notification_topic(one);
  FENCEPOST_CHECK(!parsed || notification_topic(parsed->client_id, parsed->key) == one);
  if (two == "long" && size == 7) one.assign(kLongIds[data[1] % kLongIds.size()], 'x');
  const auto topic = notification_topic(one, two);
  FENCEPOST_CHECK(has_notification_topic(two, one) == topic.has_value());
  FENCEPOST_CHECK(topic.has_value() == (75 + 2 * (one.size() + two.size()) <= kMaxTopicBytes));
  FENCEPOST_CHECK(!topic || filter_matches(notification_filter(one), *topic));
  const auto target = topic ? parse_notification_topic(*topic) : std::nullopt;
  const bool legal = topic && !one.empty() && !two.empty();
  FENCEPOST_CHECK(target == (legal ? std::optional(NotificationTarget{one, two}) : std::nullopt));
  FENCEPOST_CHECK(response_topic_fault(one).has_value() ==
                  (one.empty() || one.size() > kMaxTopicBytes || one == kRequestTopic ||
                   one.starts_with(kStorePrefix) || one.starts_with('$') ||
                   one.find_first_of(string_view("+#\0", 3)) != string_view::npos));
  return 0;
}
