#include "suite/target/probe_report.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/durations.h"
#include "base/text/yaml_quote.h"
#include "endpoint/url.h"
#include "suite/run/capability.h"
#include "suite/target/target.h"

namespace fencepost::target {
namespace {

constexpr const char* kRestricted = "restricted";

// --- what was found, in words that both texts share

std::string round_trip(const Findings& findings) {
  return fmt::format("{:.3f} ms (p50), {:.3f} ms (p99)",
                     in_milliseconds(findings.preflight.round_trip_p50),
                     in_milliseconds(findings.preflight.round_trip_p99));
}

std::string clock_offset(const Findings& findings) {
  const std::int64_t offset = findings.preflight.clock_offset_ms;
  if (offset == 0) return "no offset from this machine's measured";
  return fmt::format("{} ms {} this machine's", offset < 0 ? -offset : offset,
                     offset < 0 ? "behind" : "ahead of");
}

std::string dialect(const Findings& findings) {
  const std::string forms = describe_forms(findings.cases);
  return observed_dialect(findings.cases) + (forms.empty() ? "" : " (" + forms + ")");
}

std::string packet_limit(const Findings& findings, const Descriptor& given) {
  const auto& limit = findings.offered.max_packet_size;
  if (!limit) return "the broker announces none";
  const bool announced = findings.preflight.packet_limit == limit;
  const bool stated = given.mqtt.capabilities.max_packet_size == limit;
  return fmt::format("{} bytes, {}", *limit,
                     stated      ? "as the descriptor says"
                     : announced ? "announced by the broker"
                                 : "of the broker that runs the cases at the limit");
}

std::string quota(const Findings& findings) {
  if (!findings.quota) {
    return findings.offered.quota
               ? fmt::format(
                     "{} keys, not measured; --quota-up-to N measures it and fills the store",
                     *findings.offered.quota)
               : "not measured; --quota-up-to N measures it and fills the store";
  }
  const QuotaFinding& found = *findings.quota;
  std::string text;
  if (found.refused) {
    text = fmt::format("{} keys were stored, and the next one was refused", found.stored);
  } else if (found.problem.empty()) {
    text = fmt::format("more than {} keys", found.stored);
  } else {
    text = fmt::format("not found: after {} keys {}", found.stored, found.problem);
  }
  if (found.left_behind > 0) {
    text += fmt::format("; {} keys may be left behind", found.left_behind);
  }
  return text;
}

struct Tally {
  std::size_t passed = 0;
  std::size_t run = 0;
  std::string first_failure{};  // id and message
};

template <typename Filter>
Tally tally(const run::SuiteResult& result, const Filter& counts) {
  Tally out;
  for (const run::CaseResult& entry : result.cases) {
    if (!counts(*entry.test_case) || entry.verdict == run::Verdict::kSkipped) continue;
    ++out.run;
    if (entry.verdict == run::Verdict::kPassed) {
      ++out.passed;
    } else if (out.first_failure.empty()) {
      out.first_failure = entry.test_case->id + ": " + entry.failure.message;
    }
  }
  return out;
}

std::string role_text(const Findings& findings, const RoleFinding& role) {
  if (!role.problem.empty()) return "does not log in: " + role.problem;
  if (role.name != kRestricted) return "logs in";
  const Tally rights = tally(findings.cases, [](const scenario::Case& test_case) {
    const auto& names = test_case.requires_;
    return std::find(names.begin(), names.end(), "restricted-client") != names.end();
  });
  std::string text =
      fmt::format("logs in; {} of {} cases of its rights passed", rights.passed, rights.run);
  if (!rights.first_failure.empty()) text += "; first failure: " + rights.first_failure;
  return text;
}

std::vector<const scenario::Requirement*> unspecified_points(const scenario::Catalogue& catalogue) {
  std::vector<const scenario::Requirement*> out;
  for (const scenario::Requirement& requirement : catalogue.all()) {
    if (requirement.open) out.push_back(&requirement);
  }
  return out;
}

// --- the descriptor

std::string comment(const std::string& text) {
  std::string out = "# ";
  for (const char c : text) out += c == '\n' ? std::string("\n# ") : std::string(1, c);
  return out + "\n";
}

std::string path_scalar(const std::filesystem::path& path) {
  return text::yaml_scalar(std::filesystem::absolute(path).lexically_normal().string());
}

class DescriptorWriter {
 public:
  DescriptorWriter(const Findings& findings, const ProbeContext& context)
      : findings_(findings), context_(context), given_(context.given) {
    const auto url = endpoint::parse_url(given_.url);
    if (url) url_ = *url;
    ours_ =
        url_.scheme == endpoint::Scheme::kEmbedded || url_.scheme == endpoint::Scheme::kInProcess;
  }

  std::string write() {
    out_ =
        comment(fmt::format("What fencepost probe {} found at {} on {}.\n"
                            "docs/DESCRIPTORS.md explains each line.",
                            context_.suite, context_.endpoint, context_.when));
    out_ += fmt::format("url: {}\n", text::yaml_scalar(address()));
    write_profile();
    out_ += "\n" + comment("Round trip of a GET: " + round_trip(findings_));
    if (given_.mqtt.timeout != endpoint::MqttOptions{}.timeout) {
      out_ += duration("timeout", given_.mqtt.timeout);
    }
    out_ += comment("The store's clock: " + clock_offset(findings_));
    if (given_.clock_tolerance) {
      out_ += duration("clock_tolerance", *given_.clock_tolerance);
    } else {
      out_ += "# clock_tolerance: 1s\n";
    }
    write_tls();
    write_roles();
    if (const std::string& prefix = findings_.offered.key_prefix;
        prefix != endpoint::Capabilities{}.key_prefix) {
      out_ += "\nkey_prefix: " + text::yaml_scalar(prefix) + "\n";
    }
    write_capabilities();
    write_hooks();
    write_unspecified();
    return std::move(out_);
  }

 private:
  // The URL without user and password: these go to the roles.
  [[nodiscard]] std::string address() const {
    if (ours_) return given_.url;
    endpoint::Url bare = url_;
    bare.user.clear();
    bare.password.clear();
    return bare.display();
  }

  static std::string duration(std::string_view key, std::chrono::microseconds time) {
    return fmt::format("{}: {}ms\n", key,
                       std::chrono::duration_cast<std::chrono::milliseconds>(time).count());
  }

  void write_profile() {
    out_ += "\n" + comment("The dialect of its replies: " + dialect(findings_));
    const std::string seen = observed_dialect(findings_.cases);
    const bool judged = seen == "deployed" || seen == "documented";
    out_ += std::string(judged ? "" : "# ") + "profile: " + (judged ? seen : "auto") + "\n";
  }

  void write_tls() {
    if (ours_ || url_.scheme != endpoint::Scheme::kMqtts) return;
    const endpoint::MqttOptions& mqtt = given_.mqtt;
    out_ += "\n";
    if (mqtt.ca.empty() && mqtt.certificate.empty()) {
      out_ += comment(
          "Its certificate is signed by a CA of this system.\n"
          "tls: {ca: FILE, certificate: FILE, key: FILE}");
      return;
    }
    out_ += "tls:\n";
    if (!mqtt.ca.empty()) out_ += "  ca: " + path_scalar(mqtt.ca) + "\n";
    write_certificate("  ", mqtt.certificate, mqtt.key);
  }

  void write_certificate(const std::string& indent, const std::filesystem::path& certificate,
                         const std::filesystem::path& key) {
    if (!certificate.empty()) out_ += indent + "certificate: " + path_scalar(certificate) + "\n";
    if (!key.empty()) out_ += indent + "key: " + path_scalar(key) + "\n";
  }

  void write_roles() {
    out_ += "\n";
    if (ours_) {
      out_ += comment(address() + " has its own roles, limits and hooks.");
      return;
    }
    endpoint::Credentials own = given_.mqtt.credentials;
    if (!url_.user.empty()) {
      own.user = url_.user;
      own.password = url_.password;
    }
    const bool any = !own.user.empty() || !own.certificate.empty() || !given_.mqtt.roles.empty();
    if (any) out_ += "roles:\n";
    write_role(kDefaultRole, own);
    for (const auto& [name, credentials] : given_.mqtt.roles) {
      for (const RoleFinding& role : findings_.roles) {
        if (role.name == name) out_ += "  " + comment(name + " " + role_text(findings_, role));
      }
      write_role(name, credentials);
    }
    if (!given_.mqtt.roles.contains(kRestricted)) explain_restricted(any);
  }

  void write_role(const std::string& name, const endpoint::Credentials& credentials) {
    const auto& client_ids = given_.mqtt.capabilities.client_ids;
    const auto client_id = client_ids.find(name);
    const bool has_id = client_id != client_ids.end();
    if (credentials.user.empty() && credentials.certificate.empty() && !has_id) return;
    out_ += "  " + text::yaml_scalar(name) + ":\n";
    if (has_id) out_ += "    client_id: " + text::yaml_scalar(client_id->second) + "\n";
    if (!credentials.user.empty())
      out_ += "    user: " + text::yaml_scalar(credentials.user) + "\n";
    if (!credentials.password.empty()) {
      out_ +=
          "    password_env: " + text::yaml_scalar(variable_of(name)) + "  # holds the password\n";
    }
    write_certificate("    ", credentials.certificate, credentials.key);
  }

  [[nodiscard]] std::string variable_of(const std::string& role) const {
    const auto given = given_.password_variables.find(role);
    if (given != given_.password_variables.end()) return given->second;
    if (role == kDefaultRole) return "FENCEPOST_PASSWORD";
    std::string name = "FENCEPOST_" + role + "_PASSWORD";
    for (char& c : name) {
      if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
      if ((c < 'A' || c > 'Z') && (c < '0' || c > '9')) c = '_';
    }
    return name;
  }

  void explain_restricted(bool any_roles) {
    out_ += comment(
        std::string("To fill in, for cases that need a client which may not access all keys:\n") +
        (any_roles ? "" : "roles:\n") +
        "  restricted: {user: NAME, password_env: VARIABLE}\n"
        "The rules that it needs, for a user of that name (with {client_id: ID} in the role they\n"
        "may be for that client id instead, \"clientIds\"):\n" +
        authorization_below(findings_.offered.key_prefix));
  }

  void write_capabilities() {
    if (ours_) {
      out_ += comment("Quota: " + quota(findings_));
      out_ += comment("Maximum Packet Size: " + packet_limit(findings_, given_));
      return;
    }
    const auto& stated = given_.mqtt.capabilities.max_packet_size;
    const auto& keys = findings_.offered.quota;
    out_ += "\n" + comment("Quota: " + quota(findings_));
    out_ += comment("Maximum Packet Size: " + packet_limit(findings_, given_));
    const bool client = !given_.mqtt.capabilities.store_in_broker;
    if (!stated && !keys && !client) {
      const bool known = findings_.offered.max_packet_size.has_value();
      out_ += std::string("# capabilities: {quota: KEYS") +
              (known ? "" : ", max_packet_size: BYTES") + "}\n";
      return;
    }
    out_ += "capabilities:\n";
    out_ += keys ? fmt::format("  quota: {}\n", *keys) : "  # quota: KEYS\n";
    if (stated) out_ += fmt::format("  max_packet_size: {}\n", *stated);
    if (client) out_ += "  store_in_broker: false\n";
  }

  void write_hooks() {
    if (ours_) return;
    out_ += "\n";
    if (given_.hooks.empty()) {
      for (const endpoint::DisturbanceKind& kind : endpoint::kDisturbances) {
        out_ += comment(fmt::format(
            "To fill in, for cases that {0} the {1}:\nhooks: {{{0}: COMMAND, timeout: 60s}}",
            kind.name, kind.object));
      }
      return;
    }
    out_ += "hooks:\n";
    for (const auto& [name, hook] : given_.hooks) {
      out_ += "  " + name + ": " + text::yaml_scalar(hook.command) + "\n";
    }
    const Hook& any = given_.hooks.begin()->second;  // the rest is of all of them
    if (!any.environment.empty()) {
      out_ += "  environment:\n";
      for (const std::string& name : any.environment) {
        out_ += "    - " + text::yaml_scalar(name) + "\n";
      }
    }
    out_ += "  " + duration("timeout", any.timeout);
  }

  void write_unspecified() {
    const auto points = unspecified_points(context_.catalogue);
    const auto& seen = findings_.cases.unspecified_points;
    out_ += "\n" + comment(fmt::format("Its choices where the documents are silent: {} of {} "
                                       "unspecified points were observed.",
                                       seen.size(), points.size()));
    for (const scenario::Requirement* point : points) {
      if (seen.contains(point->id)) write_unspecified_point(point->id);
    }
  }

  // Each outcome with a case that shows it, as one point may have several sides.
  void write_unspecified_point(const std::string& id) {
    out_ += comment("  " + id);
    struct Seen {
      std::string_view first_case;
      std::size_t cases = 0;
    };
    std::map<std::string_view, Seen> outcomes;
    for (const run::CaseResult& entry : findings_.cases.cases) {
      for (const auto& [point, outcome] : entry.unspecified_points) {
        if (point != id) continue;
        Seen& seen = outcomes[outcome];
        if (seen.cases++ == 0) seen.first_case = entry.test_case->id;
      }
    }
    for (const auto& [outcome, seen] : outcomes) {
      out_ +=
          comment(fmt::format("    {:<28} {}{}", outcome, seen.first_case,
                              seen.cases == 1 ? "" : fmt::format(" and {} more", seen.cases - 1)));
    }
  }

  const Findings& findings_;
  const ProbeContext& context_;
  const Descriptor& given_;
  endpoint::Url url_;
  bool ours_ = false;
  std::string out_;
};

}  // namespace

std::string to_descriptor(const Findings& findings, const ProbeContext& context) {
  return DescriptorWriter(findings, context).write();
}

std::string to_summary(const Findings& findings, const ProbeContext& context, bool in_full) {
  std::string out;
  const auto add = [&](std::string_view what, const std::string& text) {
    out += fmt::format("{:<14} {}\n", what, text);
  };
  add("endpoint", context.endpoint + ": a broker with a state store");
  add("round trip", round_trip(findings));
  add("clock", clock_offset(findings));
  add("dialect", dialect(findings));
  add("packet limit", packet_limit(findings, context.given));
  add("quota", quota(findings));
  for (const RoleFinding& role : findings.roles) {
    add("role", role.name + " " + role_text(findings, role));
  }
  const Tally all = tally(findings.cases, [](const scenario::Case&) { return true; });
  add("cases run",
      fmt::format("{} of {} passed{}", all.passed, all.run,
                  all.first_failure.empty() ? "" : "; first failure: " + all.first_failure));
  // What provides several of them has one line.
  std::vector<std::pair<std::string, std::string_view>> missing;
  for (const run::Capability& capability : run::all_capabilities()) {
    if (capability.is_offered(findings.offered)) continue;
    if (!missing.empty() && missing.back().second == capability.provide) {
      missing.back().first += ", " + std::string(capability.name);
    } else {
      missing.emplace_back(capability.name, capability.provide);
    }
  }
  for (const auto& [names, provide] : missing) {
    add("missing", fmt::format("{}: {}", names, provide));
  }
  const auto points = unspecified_points(context.catalogue);
  add("unspecified",
      fmt::format("{} of {} points observed{}", findings.cases.unspecified_points.size(),
                  points.size(), in_full ? "" : "; see the descriptor, or -v"));
  if (!in_full) return out;
  for (const scenario::Requirement* point : points) {
    const auto found = findings.cases.unspecified_points.find(point->id);
    if (found == findings.cases.unspecified_points.end()) continue;
    out += fmt::format("  {:<26} {}\n", point->id, fmt::join(found->second, ", "));
  }
  return out;
}

}  // namespace fencepost::target
