#include "suite/scenario/packet_fill.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "suite/scenario/bytes_loader.h"

namespace fencepost::scenario {
namespace {

void for_each_filling(const BytesSpec& spec, const std::function<void(const FillBytes&)>& use) {
  if (const auto* fill = std::get_if<FillBytes>(&spec.what)) use(*fill);
  if (const auto* joined = std::get_if<JoinedBytes>(&spec.what)) {
    for (const BytesSpec& part : joined->parts) for_each_filling(part, use);
  }
  if (const auto* command = std::get_if<CommandBytes>(&spec.what)) {
    for (const BytesSpec& argument : command->arguments) for_each_filling(argument, use);
  }
}

// Goes through the steps of a case in their order.
class LimitChecker {
 public:
  LimitChecker(const Case& test_case, std::vector<LoadError>& errors)
      : case_(test_case), errors_(errors) {}

  void check() {
    for (const Step& step : case_.steps) {
      position_ = step.position;
      std::visit([this](const auto& what) { look_at(what); }, step.what);
    }
    position_ = case_.position;
    for (const ClientSpec& client : case_.clients) {
      odd_ = odd_ || client.old || client.extras != endpoint::MqttExtras{};
    }
    if (fills_ && !declares("packet-limit")) {
      diagnose("this case fills packets: write requires: [transport, packet-limit]");
    }
    if (odd_ && !declares("raw-packets")) {
      diagnose("this case sends raw packets: write requires: [raw-packets]");
    }
    for (const endpoint::DisturbanceKind* kind : disturbances_) {
      if (!declares(kind->name)) {
        diagnose(fmt::format("a case with the step {0} needs it: write requires: [transport, {0}]",
                             kind->name));
      }
      if (case_.exclusive) continue;
      diagnose(fmt::format("a {} {} of other cases: write exclusive: true", kind->name,
                           kind->to_others));
    }
  }

 private:
  void look_at(const RequestStep& request) {
    odd_ = odd_ || request.packet.has_value();
    check_old(request);
    std::size_t fillings = 0;
    for_each_filling(request.payload, [&](const FillBytes& fill) {
      fills_ = true;
      if (fill.again) {
        check_known(fill);
      } else if (++fillings > 1) {
        diagnose("a request is filled in one place; write fill_packet once");
      }
    });
    for_each_filling(request.payload, [&](const FillBytes& fill) {
      if (!fill.again) known_.insert(fill.excess);
    });
    for (const auto* bytes : {&request.topic, &request.response_topic, &request.correlation}) {
      if (*bytes) look_at_other(**bytes);
    }
    for (const Outcome& outcome : request.expect.outcomes) {
      if (const auto* value = std::get_if<ValueReply>(&outcome.what)) look_at_other(value->value);
      if (const auto* exact = std::get_if<ExactBytes>(&outcome.what)) look_at_other(exact->bytes);
    }
  }
  void look_at(const PipelineStep& pipeline) {
    for (const RequestStep& request : pipeline.requests) look_at(request);
  }
  void look_at(const NotificationStep& step) {
    look_at_other(step.key);
    if (step.value) look_at_other(*step.value);
  }
  void look_at(const SubscribeStep& step) { look_at_other(step.filter); }
  void look_at(const DisturbStep& step) { disturbances_.insert(step.kind); }
  template <typename Other>
  void look_at(const Other& /*step*/) {}

  // What a client of MQTT 3.1.1 sends can bring no reply.
  void check_old(const RequestStep& request) {
    const auto client =
        std::find_if(case_.clients.begin(), case_.clients.end(),
                     [&](const ClientSpec& spec) { return spec.name == request.client; });
    if (client == case_.clients.end() || !client->old) return;
    const auto& outcomes = request.expect.outcomes;
    const bool silent = std::all_of(outcomes.begin(), outcomes.end(), [](const Outcome& outcome) {
      return std::holds_alternative<NoReply>(outcome.what) ||
             std::holds_alternative<Disconnection>(outcome.what);
    });
    if (outcomes.empty() || !silent || request.packet) {
      diagnose("client " + client->name +
               " speaks MQTT 3.1.1, which has no response topic: its requests can expect none and "
               "disconnect, and have no packet");
    }
  }

  // Bytes that are not the payload of a request.
  void look_at_other(const BytesSpec& spec) {
    for_each_filling(spec, [&](const FillBytes& fill) {
      fills_ = true;
      if (fill.again) {
        check_known(fill);
      } else {
        diagnose(
            fmt::format("fill_packet fills what a request sends; to use the same bytes "
                        "again, write {{filled: {}}}",
                        fill.excess));
      }
    });
  }

  void check_known(const FillBytes& fill) {
    if (known_.contains(fill.excess)) return;
    diagnose(fmt::format("no earlier request has {{fill_packet: {}}}", fill.excess));
  }

  [[nodiscard]] bool declares(std::string_view capability) const {
    return std::find(case_.requires_.begin(), case_.requires_.end(), capability) !=
           case_.requires_.end();
  }

  void diagnose(std::string text) { errors_.push_back({position_, std::move(text)}); }

  const Case& case_;
  std::vector<LoadError>& errors_;
  Position position_;
  std::set<std::int64_t> known_;
  bool fills_ = false;
  std::set<const endpoint::DisturbanceKind*> disturbances_;
  bool odd_ = false;
};

}  // namespace

std::optional<FillBytes> filling_in(const BytesSpec& spec) {
  std::optional<FillBytes> found;
  for_each_filling(spec, [&](const FillBytes& fill) {
    if (!fill.again) found = fill;
  });
  return found;
}

Result<std::string, std::string> packet_filling(
    const PacketGoal& goal, const std::function<std::size_t(const std::string&)>& packet_size) {
  const auto target =
      static_cast<std::size_t>(std::max<std::int64_t>(0, std::int64_t{goal.limit} + goal.excess));
  const std::size_t empty = packet_size({});
  if (empty > target) {
    return fail(
        fmt::format("this request has {} bytes without any filling, more than the {} that "
                    "it should have",
                    empty, target));
  }
  // More than enough, as longer bytes have longer lengths in front of them.
  const std::string pattern = patterned_bytes(target - empty + 1);
  std::size_t count = target - empty;
  std::size_t size = packet_size(pattern.substr(0, count));
  while (size > target) {
    count -= std::min(count, size - target);
    size = packet_size(pattern.substr(0, count));
  }
  for (std::size_t next = 0; count < pattern.size(); ++count) {
    next = packet_size(pattern.substr(0, count + 1));
    if (next > target) break;
    size = next;
  }
  // The goal lies between two sizes that packets have.
  if (size < target && goal.excess > 0) ++count;
  return pattern.substr(0, count);
}

void check_limits(const Case& test_case, std::vector<LoadError>& errors) {
  LimitChecker(test_case, errors).check();
}

}  // namespace fencepost::scenario
