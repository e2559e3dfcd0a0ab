#include "concurrency/history/history.h"

namespace fencepost::history {

std::string_view name(Action action) {
  if (action == Action::kCompareAndSet) return "CAS";
  if (action == Action::kStop) return "STOP";
  return codec::name(verb_of(action));
}

codec::Verb verb_of(Action action) {
  constexpr std::array<codec::Verb, kActions.size()> kAsked = {
      codec::Verb::kSet, codec::Verb::kGet,       codec::Verb::kDel,      codec::Verb::kVdel,
      codec::Verb::kSet, codec::Verb::kKeynotify, codec::Verb::kKeynotify};
  return kAsked.at(static_cast<std::size_t>(action));
}

std::string_view name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kOk:
      return "ok";
    case Outcome::kNotApplied:
      return "not applied";
    case Outcome::kValue:
      return "value";
    case Outcome::kMissing:
      return "missing";
    case Outcome::kDeleted:
      return "deleted";
    case Outcome::kTokenRequired:
      return "token required";
    case Outcome::kTokenLower:
      return "token lower";
    case Outcome::kRefused:
      return "refused";
    case Outcome::kUnknown:
      return "unknown";
  }
  return "?";
}

std::string_view name(Link link) {
  switch (link) {
    case Link::kConnected:
      return "connected";
    case Link::kLost:
      return "lost";
    case Link::kResumed:
      return "resumed";
  }
  return "?";
}

bool fits(Action action, Outcome outcome) {
  if (outcome == Outcome::kRefused || outcome == Outcome::kUnknown) return true;
  const bool fencing = outcome == Outcome::kTokenRequired || outcome == Outcome::kTokenLower;
  switch (action) {
    case Action::kSet:
      return outcome == Outcome::kOk || outcome == Outcome::kNotApplied || fencing;
    case Action::kGet:
      return outcome == Outcome::kValue || outcome == Outcome::kMissing;
    case Action::kDel:
      return outcome == Outcome::kDeleted || outcome == Outcome::kMissing || fencing;
    case Action::kVdel:
      return outcome == Outcome::kDeleted || outcome == Outcome::kMissing ||
             outcome == Outcome::kNotApplied || fencing;
    case Action::kCompareAndSet:
      return outcome == Outcome::kOk || outcome == Outcome::kNotApplied;
    case Action::kObserve:
    case Action::kStop:
      return outcome == Outcome::kOk || outcome == Outcome::kMissing;
  }
  return false;
}

}  // namespace fencepost::history
