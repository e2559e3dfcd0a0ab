// Topic aliases: numbers that stand for topics on one connection, in one direction. (MQTT
// 5, 3.3.2.3.4)
//
//   wire::Publish publish{.qos = 1, .packet_id = 7, .topic = "t"};
//   wire::TopicAliases aliases(10);  // the Topic Alias Maximum of who receives it
//   aliases.use(publish);
//
// Pure; of one thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "endpoint/wire/packet.h"

namespace fencepost::wire {

class TopicAliases {
 public:
  // `most`: the Topic Alias Maximum of the one who receives; 0: it takes none.
  explicit TopicAliases(std::uint16_t most = 0) : most_(most) {}

  // On receiving: gives the PUBLISH the topic that its alias stands for. Says what is wrong with
  // the alias, and then changes nothing.
  [[nodiscard]] std::optional<std::string> resolve(Publish& publish);

  // On sending: gives the PUBLISH an alias, new or instead of its topic. Nothing changes when
  // no alias is left.
  void use(Publish& publish);

 private:
  std::uint16_t most_;
  std::vector<std::string> topics_{};  // of the aliases 1, 2, ...; empty: of none
};

}  // namespace fencepost::wire
