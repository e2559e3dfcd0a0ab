#include "report/vectors.h"

#include <algorithm>
#include <map>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/bytes.h"
#include "codec/base16.h"
#include "codec/command.h"
#include "report/report.h"
#include "suite/judge/judge.h"
#include "suite/scenario/expectation_writer.h"

namespace fencepost::report {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kWhole = 1UL << 30U;  // nothing is cut

// Does it have as many bytes as a broker's limit wants?
bool depends_on_limit(const scenario::BytesSpec& spec) {
  if (std::holds_alternative<scenario::FillBytes>(spec.what)) return true;
  if (const auto* joined = std::get_if<scenario::JoinedBytes>(&spec.what)) {
    return std::any_of(joined->parts.begin(), joined->parts.end(), depends_on_limit);
  }
  if (const auto* command = std::get_if<scenario::CommandBytes>(&spec.what)) {
    return std::any_of(command->arguments.begin(), command->arguments.end(), depends_on_limit);
  }
  return false;
}

ordered_json bytes_json(const std::string& bytes) {
  return {{"text", escape(bytes, kWhole)}, {"hex", codec::base16_encode(bytes)}};
}

// One that is not sent says nothing.
void add_timestamp(ordered_json& out, const char* name, const scenario::TimestampSpec& timestamp) {
  if (std::holds_alternative<scenario::NoTimestamp>(timestamp)) return;
  const auto* literal = std::get_if<scenario::LiteralTimestamp>(&timestamp);
  out[name] =
      literal != nullptr ? escape(literal->text, kWhole) : scenario::timestamp_text(timestamp);
}

// What is no bytes: "any-error", "no-reply", "disconnection"; empty for the others.
std::string kind_of_outcome(const scenario::Outcome& outcome) {
  if (std::holds_alternative<scenario::AnyError>(outcome.what)) return "any-error";
  if (std::holds_alternative<scenario::NoReply>(outcome.what)) return "no-reply";
  if (std::holds_alternative<scenario::Disconnection>(outcome.what)) return "disconnection";
  return {};
}

// Payload -> the dialects that it is right in.
using Forms = std::vector<std::pair<std::string, ordered_json>>;

Forms forms_of(const scenario::Outcome& outcome, const judge::ReplyContext& context) {
  Forms out;
  for (const codec::DialectId id : codec::dialects_of(context.profile)) {
    for (const std::string& payload : judge::right_payloads(outcome, context, id)) {
      const auto known = std::find_if(out.begin(), out.end(),
                                      [&](const auto& form) { return form.first == payload; });
      const std::string_view dialect = codec::dialect(id).name;
      if (known == out.end()) {
        out.emplace_back(payload, ordered_json::array({dialect}));
      } else {
        known->second.push_back(dialect);
      }
    }
  }
  return out;
}

ordered_json replies_json(const scenario::Expectation& expect, const judge::ReplyContext& context) {
  ordered_json out = ordered_json::array();
  for (const scenario::Outcome& outcome : expect.outcomes) {
    Forms forms = forms_of(outcome, context);
    const std::string kind = kind_of_outcome(outcome);
    if (!kind.empty()) forms.emplace_back("", ordered_json::array());
    for (auto& [payload, dialects] : forms) {
      ordered_json reply = {{"kind", kind.empty() ? "bytes" : kind}};
      if (kind.empty()) {
        reply.update(bytes_json(payload));
        reply["dialects"] = std::move(dialects);
      }
      if (!outcome.name.empty()) reply["outcome"] = outcome.name;
      if (!outcome.after.empty()) reply["after"] = outcome.after;
      out.push_back(std::move(reply));
    }
  }
  return out;
}

ordered_json request_json(const scenario::RequestStep& step, const std::string& action,
                          codec::Profile profile) {
  ordered_json out = {{"action", action}, {"client", step.client}};
  if (depends_on_limit(step.payload)) {
    out["depends_on_packet_limit"] = true;
    return out;
  }
  const std::string payload = judge::resolve(step.payload, kVectorKeyPrefix);
  ordered_json request = bytes_json(payload);
  add_timestamp(request, "__ts", step.timestamp);
  add_timestamp(request, "__ft", step.token);
  request["qos"] = step.qos;
  out["request"] = std::move(request);
  const judge::ReplyContext context{.verb = codec::verb_of(payload),
                                    .profile = profile,
                                    .key_prefix = kVectorKeyPrefix,
                                    .fillings = nullptr};
  out["replies"] = replies_json(step.expect, context);
  if (step.expect.open) out["open"] = true;
  return out;
}

ordered_json vector_json(const scenario::Case& test_case, codec::Profile profile) {
  ordered_json steps = ordered_json::array();
  for (const scenario::Step& step : test_case.steps) {
    if (const auto* request = std::get_if<scenario::RequestStep>(&step.what)) {
      steps.push_back(request_json(*request, step.title, profile));
    } else if (const auto* pipeline = std::get_if<scenario::PipelineStep>(&step.what)) {
      for (const scenario::RequestStep& each : pipeline->requests) {
        steps.push_back(request_json(each, step.title, profile));
      }
    } else {
      steps.push_back({{"action", step.title}});
    }
  }
  return {{"id", test_case.id},
          {"title", test_case.title},
          {"requirements", test_case.requirements},
          {"steps", std::move(steps)}};
}

}  // namespace

std::size_t longest_payload(const scenario::Case& test_case) {
  std::size_t out = 0;
  const auto look_at = [&](const scenario::RequestStep& step) {
    if (depends_on_limit(step.payload)) return;
    out = std::max(out, judge::resolve(step.payload, kVectorKeyPrefix).size());
  };
  for (const scenario::Step& step : test_case.steps) {
    if (const auto* request = std::get_if<scenario::RequestStep>(&step.what)) look_at(*request);
    const auto* pipeline = std::get_if<scenario::PipelineStep>(&step.what);
    if (pipeline == nullptr) continue;
    for (const scenario::RequestStep& each : pipeline->requests) look_at(each);
  }
  return out;
}

std::string vectors_json(const std::vector<const scenario::Case*>& cases, codec::Profile profile) {
  ordered_json out = {{"suite_version", suite_version()},
                      {"profile", name(profile)},
                      {"key_prefix", kVectorKeyPrefix},
                      {"cases", ordered_json::array()}};
  for (const scenario::Case* each : cases) out["cases"].push_back(vector_json(*each, profile));
  return out.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace fencepost::report
