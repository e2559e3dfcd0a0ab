#include "endpoint/wire/topic_alias.h"

#include <algorithm>

namespace fencepost::wire {

std::optional<std::string> TopicAliases::resolve(Publish& publish) {
  const auto alias = publish.properties.number(PropertyId::kTopicAlias);
  if (!alias) return std::nullopt;
  if (most_ == 0) return "a PUBLISH with a topic alias, of which we take none";
  if (*alias == 0 || *alias > most_) {
    return "a PUBLISH with topic alias " + std::to_string(*alias) + ", where our maximum is " +
           std::to_string(most_);
  }
  if (!publish.topic.empty()) {
    if (topics_.size() < *alias) topics_.resize(*alias);
    topics_[*alias - 1] = publish.topic;
    return std::nullopt;
  }
  if (*alias > topics_.size() || topics_[*alias - 1].empty()) {
    return "a PUBLISH with topic alias " + std::to_string(*alias) + ", which stands for no topic";
  }
  publish.topic = topics_[*alias - 1];
  return std::nullopt;
}

void TopicAliases::use(Publish& publish) {
  const auto known = std::find(topics_.begin(), topics_.end(), publish.topic);
  const bool is_new = known == topics_.end();
  if (publish.topic.empty() || (is_new && topics_.size() >= most_)) return;
  publish.properties.add(PropertyId::kTopicAlias,
                         static_cast<std::uint32_t>(known - topics_.begin() + 1));
  if (is_new) {
    topics_.push_back(publish.topic);
  } else {
    publish.topic.clear();
  }
}

}  // namespace fencepost::wire
