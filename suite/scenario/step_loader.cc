#include "suite/scenario/step_loader.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "suite/scenario/bytes_loader.h"
#include "suite/scenario/clients_loader.h"
#include "suite/scenario/expectation_loader.h"
#include "suite/scenario/request_loader.h"
#include "suite/scenario/scenario_fields.h"

namespace fencepost::scenario {
namespace {

// Loads the steps of one case.
class StepLoader {
 public:
  StepLoader(YamlReader& reader, Case& test_case) : reader_(reader), case_(test_case) {
    known_.requirements.insert(case_.requirements.begin(), case_.requirements.end());
  }

  void load_steps(YamlNode node) {
    if (!node.is_list() || node.size() == 0) {
      reader_.diagnose(node, "steps must be a list of at least one step");
      return;
    }
    case_.steps.reserve(node.size());
    for (const YamlNode step : node.items()) {
      if (auto loaded = load_step(step)) {
        case_.steps.push_back(std::move(*loaded));
      } else {
        know_names_of_failed(step);
      }
    }
  }

 private:
  // The names that a step gives stand, regardless of what else is wrong with it: one mistake, one
  // error.
  void know_names_of_failed(YamlNode node) {
    if (node.is_list()) {
      for (const YamlNode item : node.items()) know_names_of_failed(item);
    }
    if (!node.is_map()) return;
    for (const auto& entry : node.entries()) {
      const bool named = entry.value.is_scalar();
      if (named && entry.key.scalar() == "save") known_.timestamps.insert(entry.value.scalar());
      if (named && entry.key.scalar() == "mark") {
        known_.marks.insert(entry.value.scalar());
        known_.marks_of_failed_steps.insert(entry.value.scalar());
      }
      know_names_of_failed(entry.value);
    }
  }

  // The key of the step that says what is done.
  std::optional<std::string> action_of(YamlNode node) {
    std::optional<std::string> action;
    for (const auto& entry : node.entries()) {
      const std::string key = entry.key.scalar();
      if (key == "expect" || key == "note") continue;
      if (action) {
        reader_.diagnose(entry.key, "a step has one action, and this one has both \"" + *action +
                                        "\" and \"" + key + "\"; make two steps");
        return std::nullopt;
      }
      action = key;
    }
    if (!action)
      reader_.diagnose(node, "this step does nothing; give it an action such as set or get");
    return action;
  }

  std::optional<Step> load_step(YamlNode node) {
    if (!reader_.check_map(node, "step", fields::kStep)) return std::nullopt;
    const auto action = action_of(node);
    if (!action) return std::nullopt;
    Step step{.position = reader_.position(node),
              .title = *action,
              .what = {},
              .note = load_note(reader_, node)};
    const YamlNode body = node.member(*action);
    const YamlNode expect = node.member("expect");
    if (is_request(*action)) {
      auto request = requests_.load(*action, body, expect);
      if (!request) return std::nullopt;
      step.what = std::move(*request);
      return step;
    }
    if (expect.is_defined()) {
      reader_.diagnose(expect, "\"" + *action + "\" is not a request: remove expect");
    }
    if (!load_other(*action, body, step)) return std::nullopt;
    return step;
  }

  bool load_other(const std::string& action, YamlNode body, Step& step) {
    if (action == "pipeline") return load_pipeline(body, step);
    if (action == "notification") return load_notification(body, step);
    if (action == "silence") return load_silence(body, step);
    if (action == "wait") return load_wait(body, step);
    if (action == "subscribe") return load_subscribe(body, step);
    if (action == "fill_quota") return load_fill_quota(body, step);
    if (action == "write_many") return load_write_many(body, step);
    if (action == "fan_out") return load_fan_out(body, step);
    if (const auto* kind = endpoint::disturbance_named(action)) {
      return load_disturbance(*kind, body, step);
    }
    const std::string client = load_client_name(reader_, body, case_);
    if (action == "connect") {
      step.what = ConnectStep{client};
    } else if (action == "unsubscribe") {
      make_observer(case_, client);
      step.what = UnsubscribeStep{client};
    } else {
      step.what = DisconnectStep{client, action == "drop"};
      if (action == "drop") make_dropping(case_, client);
    }
    return true;
  }

  bool load_pipeline(YamlNode body, Step& step) {
    if (!body.is_list() || body.size() < 2) {
      reader_.diagnose(body, "pipeline must be a list of at least two requests");
      return false;
    }
    PipelineStep pipeline;
    const std::set<std::string> answered = known_.timestamps;
    for (const YamlNode item : body.items()) {
      std::set_difference(known_.timestamps.begin(), known_.timestamps.end(), answered.begin(),
                          answered.end(),
                          std::inserter(known_.unanswered, known_.unanswered.end()));
      auto loaded = load_step(item);
      if (!loaded) return false;
      auto* request = std::get_if<RequestStep>(&loaded->what);
      if (request == nullptr) {
        reader_.diagnose(item, "a pipeline can only have requests");
        return false;
      }
      pipeline.requests.push_back(std::move(*request));
    }
    known_.unanswered.clear();
    step.what = std::move(pipeline);
    return true;
  }

  bool load_notification(YamlNode body, Step& step) {
    if (!reader_.check_map(body, "notification", fields::kNotification, {"key", "operation"})) {
      return false;
    }
    NotificationStep out;
    out.client = load_client_name(reader_, body.member("client"), case_);
    auto key = load_key(reader_, body.member("key"), "key");
    if (!key) return false;
    out.key = std::move(*key);
    const YamlNode operation = body.member("operation");
    const auto word = reader_.text(operation, "operation");
    if (!word) return false;
    out.operation = *word == "delete" ? codec::Operation::kDelete : codec::Operation::kSet;
    if (*word != "set" && *word != "delete") {
      reader_.diagnose(operation, "operation must be set or delete, not \"" + *word + "\"");
      return false;
    }
    make_observer(case_, out.client);
    if (const auto value = body.member("value"); value.is_defined()) {
      out.value = load_bytes(reader_, value, "value");
    }
    if (const auto ts = body.member("ts"); ts.is_defined()) {
      out.timestamp = load_timestamp_check(reader_, ts, known_);
      refuse_sent(reader_, out.timestamp, body);
    }
    if (const auto within = body.member("within"); within.is_defined()) {
      out.within = reader_.duration(within, "within").value_or(out.within);
    }
    if (const auto type = body.member("content_type"); type.is_defined()) {
      out.content_type = reader_.text(type, "content_type");
    }
    if (const auto qos = body.member("qos"); qos.is_defined()) {
      out.qos = static_cast<int>(reader_.integer(qos, "qos", 0, 2).value_or(1));
    }
    out.when = load_when(body);
    if (const auto optional = body.member("optional"); optional.is_defined()) {
      if (!load_optional(optional, out)) return false;
    }
    if (const auto cites = body.member("cites"); cites.is_defined()) {
      out.cites = load_citation(reader_, cites, known_);
    }
    step.what = std::move(out);
    return true;
  }

  std::optional<OutcomeSeen> load_when(YamlNode body) {
    const auto when = body.member("when");
    return when.is_defined() ? load_outcome_seen(reader_, when, known_) : std::nullopt;
  }

  bool load_optional(YamlNode node, NotificationStep& step) {
    if (!reader_.check_map(node, "optional", fields::kOptional,
                           {"writer", "point", "came", "missing"})) {
      return false;
    }
    Optional out{.writer = load_client_name(reader_, node.member("writer"), case_),
                 .point = load_citation(reader_, node.member("point"), known_),
                 .came = reader_.text(node.member("came"), "came").value_or(""),
                 .missing = reader_.text(node.member("missing"), "missing").value_or("")};
    // A client need not be notified of its own changes. Req: NTF-SELF-1
    if (out.writer == step.client) {
      reader_.diagnose(node, "writer must be another client than the one that is notified");
    }
    step.optional = std::move(out);
    return true;
  }

  bool load_silence(YamlNode body, Step& step) {
    SilenceStep out;
    if (body.is_scalar()) {
      out.client = out.writer = load_client_name(reader_, body, case_);
    } else {
      if (!reader_.check_map(body, "silence", fields::kSilence, {"client"})) return false;
      out.client = load_client_name(reader_, body.member("client"), case_);
      const YamlNode writer = body.member("writer");
      out.writer = writer.is_defined() ? load_client_name(reader_, writer, case_) : out.client;
      if (const auto cites = body.member("cites"); cites.is_defined()) {
        out.cites = load_citation(reader_, cites, known_);
      }
      if (const auto shows = body.member("shows"); shows.is_defined()) {
        if (!load_shows(shows, out)) return false;
      }
      out.when = load_when(body);
    }
    make_observer(case_, out.client);
    step.what = std::move(out);
    return true;
  }

  bool load_shows(YamlNode node, SilenceStep& step) {
    if (!node.is_map() || node.size() == 0) {
      reader_.diagnose(node, "shows must map open requirements to their outcomes");
      return false;
    }
    for (const auto& [point, outcome] : node.entries()) {
      const std::string id = load_citation(reader_, point, known_);
      step.shows[id] = reader_.text(outcome, id).value_or("");
    }
    return true;
  }

  bool load_wait(YamlNode body, Step& step) {
    WaitStep out;
    if (body.is_map()) {
      if (!reader_.check_map(body, "wait", fields::kWait, {"until"})) return false;
      out.until = load_time_point(reader_, body.member("until"), known_, "until");
    } else {
      out.duration = reader_.duration(body, "wait");
    }
    step.what = out;
    return out.until || out.duration;
  }

  bool load_subscribe(YamlNode body, Step& step) {
    if (!reader_.check_map(body, "subscribe", fields::kSubscribe, {"filter"})) return false;
    auto filter = load_bytes(reader_, body.member("filter"), "filter");
    if (!filter) return false;
    step.what =
        SubscribeStep{load_client_name(reader_, body.member("client"), case_), std::move(*filter)};
    return true;
  }

  bool load_fill_quota(YamlNode body, Step& step) {
    if (!reader_.check_map(body, "fill_quota", fields::kFillQuota, {"key"})) return false;
    FillQuotaStep out;
    out.client = load_client_name(reader_, body.member("client"), case_);
    out.key = reader_.text(body.member("key"), "key").value_or("");
    if (const auto cites = body.member("cites"); cites.is_defined()) {
      out.cites = load_citation(reader_, cites, known_);
    }
    step.what = std::move(out);
    return true;
  }

  bool load_write_many(YamlNode body, Step& step) {
    constexpr std::int64_t kMaxKeys = 100'000;
    if (!reader_.check_map(body, "write_many", fields::kWriteMany, {"key", "keys"})) return false;
    WriteManyStep out;
    out.client = load_client_name(reader_, body.member("client"), case_);
    out.key = reader_.text(body.member("key"), "key").value_or("");
    const auto keys = reader_.integer(body.member("keys"), "keys", 1, kMaxKeys);
    if (!keys) return false;
    out.keys = static_cast<std::size_t>(*keys);
    if (const auto reads = body.member("reads"); reads.is_defined()) {
      const auto times = reader_.integer(reads, "reads", 1, kMaxKeys / *keys);
      out.reads = static_cast<std::size_t>(times.value_or(1));
    }
    if (const auto cites = body.member("cites"); cites.is_defined()) {
      out.cites = load_citation(reader_, cites, known_);
    }
    step.what = std::move(out);
    return true;
  }

  bool load_fan_out(YamlNode body, Step& step) {
    constexpr std::int64_t kMaxObservers = 200;
    if (!reader_.check_map(body, "fan_out", fields::kFanOut, {"key", "observers"})) return false;
    FanOutStep out;
    out.client = load_client_name(reader_, body.member("client"), case_);
    out.key = reader_.text(body.member("key"), "key").value_or("");
    const auto observers = reader_.integer(body.member("observers"), "observers", 1, kMaxObservers);
    if (!observers) return false;
    out.observers = static_cast<std::size_t>(*observers);
    if (const auto cites = body.member("cites"); cites.is_defined()) {
      out.cites = load_citation(reader_, cites, known_);
    }
    step.what = std::move(out);
    return true;
  }

  bool load_disturbance(const endpoint::DisturbanceKind& kind, YamlNode body, Step& step) {
    const auto word = reader_.text(body, kind.name);
    if (word && *word != kind.object) {
      reader_.diagnose(body, fmt::format("{}: only {} can be {}, not \"{}\"", kind.name,
                                         kind.object, kind.done, *word));
    }
    step.what = DisturbStep{&kind};
    return word == kind.object;
  }

  YamlReader& reader_;
  Case& case_;
  KnownNames known_;
  RequestLoader requests_{reader_, case_, known_};
};

}  // namespace

std::string load_note(YamlReader& reader, YamlNode map) {
  const YamlNode note = map.member("note");
  return note.is_defined() ? reader.text(note, "note").value_or("") : "";
}

void load_steps(YamlReader& reader, YamlNode node, Case& test_case) {
  StepLoader(reader, test_case).load_steps(node);
}

}  // namespace fencepost::scenario
