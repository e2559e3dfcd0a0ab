// A right state store that draws everything the documents leave open from a seed.
//
// Written from shared/protocol/facts.md (and audit.md) alone. "8a.n" and "8b.n" in the comments are
// the numbered points of those sections of facts.md. The store is free of transport, is not thread
// safe, and takes time and randomness as arguments only: the same seed, profile and calls give the
// same deliveries.
//
// Every decision is drawn from a generator of its own, seeded by the seed and the name of the
// decision, so that fixing one decision leaves all others as they were. The first way of a decision
// is the plainest one: a shrinker replaces ways by first ways for as long as the finding stays.
#ifndef RIGHT_STORE_H_
#define RIGHT_STORE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace conforming_store {

// What holds where the article and the deployed service differ (section 8a).
enum class Profile { kDocumented, kDeployed };

// An MQTT 5 PUBLISH.
struct Message {
  std::string topic;
  std::string payload;
  std::string response_topic;
  bool has_response_topic = false;
  std::string correlation;
  bool has_correlation = false;
  std::vector<std::pair<std::string, std::string>> user_properties;
  std::string content_type;
  bool has_content_type = false;
  int payload_format = -1;  // -1: absent
  int qos = 1;
  bool retain = false;
};

struct Delivery {
  std::string client_id;  // empty: to all subscribers of the topic
  Message message;
};

enum class Handling { kAnswered, kIgnored, kDisconnect };

struct Decision {
  std::string name;
  std::vector<std::string> ways;  // empty: an order, a comma separated permutation
  std::string way;                // the one taken
  bool fixed = false;             // given, not drawn
};

class Store {
 public:
  using Fixed = std::vector<std::pair<std::string, std::string>>;

  // Throws std::invalid_argument if `fixed` names a decision or a way that does not exist in this
  // profile.
  Store(uint64_t seed, Profile profile, const Fixed& fixed = {});
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  // "name=way" lines, one for every decision.
  std::string choices() const;
  const std::vector<Decision>& decisions() const;

  // `wall_us`: microseconds since the epoch by the machine's clock; `steady_us`: monotonic
  // microseconds. kAnswered: exactly one of `out` is the reply, on the response topic and without
  // client id; any others are notifications. kDisconnect: the registrations of the client have been
  // dropped already.
  Handling handle(const std::string& client_id, const Message& request, uint64_t wall_us,
                  int64_t steady_us, std::vector<Delivery>& out);
  // Work that has become due: expiries, delayed notifications.
  void expire(uint64_t wall_us, int64_t steady_us, std::vector<Delivery>& out);
  // When expire() has to be called next.
  std::optional<int64_t> next_due() const;
  // The connection of the client has ended, in whatever way.
  void disconnect(const std::string& client_id);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace conforming_store

#endif  // RIGHT_STORE_H_
