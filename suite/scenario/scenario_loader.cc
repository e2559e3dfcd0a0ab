#include "suite/scenario/scenario_loader.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "suite/scenario/axes.h"
#include "suite/scenario/clients_loader.h"
#include "suite/scenario/packet_fill.h"
#include "suite/scenario/recorded.h"
#include "suite/scenario/scenario_fields.h"
#include "suite/scenario/step_loader.h"

namespace fencepost::scenario {
namespace {

// What the cases of a file have in common.
struct CaseDefaults {
  std::string area;
  const std::set<std::string>& requirements;  // that exist
  std::vector<LoadError>& errors;
};

bool is_case_id(const std::string& id) {
  return !id.empty() && id.size() <= 80 && id[0] != '.' && id[0] != '-' &&
         id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-.") == std::string::npos;
}

std::string load_title(YamlReader& reader, YamlNode node, std::string_view what) {
  auto text = reader.text(node, what);
  if (text && text->empty()) reader.diagnose(node, std::string(what) + " must not be empty");
  // It stands on terminals and pages as it is.
  if (text && std::any_of(text->begin(), text->end(), [](unsigned char c) { return c < ' '; })) {
    reader.diagnose(node, std::string(what) + " has a control character");
  }
  return text.value_or("");
}

void load_requirements(YamlReader& reader, YamlNode node, const std::set<std::string>& known,
                       Case& out) {
  if (node.is_list() && node.size() == 0) {
    reader.diagnose(node, "a case checks at least one requirement");
  }
  reader.for_each_text(node, "requirements", [&](const std::string& id, YamlNode item) {
    out.requirements.push_back(id);
    if (known.contains(id)) return;
    const std::vector<std::string_view> names(known.begin(), known.end());
    const std::string guess = nearest(id, names);
    reader.diagnose(item, "there is no requirement \"" + id + "\"" +
                              (guess.empty() ? "; see fencepost list requirements"
                                             : "; did you mean \"" + guess + "\"?"));
  });
}

void load_divergences(YamlReader& reader, YamlNode node, Case& out) {
  if (!node.is_defined()) return;
  reader.for_each_text(node, "divergence", [&](const std::string& name, YamlNode item) {
    const auto divergence = codec::divergence_named(name);
    if (divergence) {
      out.divergences.insert(*divergence);
    } else {
      reader.diagnose(item, "there is no divergence \"" + name +
                                "\"; there are set-not-applied, vdel-mismatch, delete-operation, "
                                "lower-token-text and keynotify-error");
    }
  });
}

void load_capabilities(YamlReader& reader, YamlNode node, Case& out) {
  reader.for_each_text(node, "requires", [&](const std::string& name, YamlNode item) {
    // The former name of raw-packets is still read.
    out.requires_.push_back(name == "odd-packets" ? "raw-packets" : name);
    if (std::find(fields::kCapabilities.begin(), fields::kCapabilities.end(),
                  out.requires_.back()) != fields::kCapabilities.end()) {
      return;
    }
    const std::string guess = nearest(name, fields::kCapabilities);
    reader.diagnose(item, "there is no capability \"" + name + "\"; " +
                              (guess.empty() ? std::string("see fencepost list capabilities")
                                             : "did you mean \"" + guess + "\"?"));
  });
}

// A case declares exactly the divergences that it depends on. For a family, each member takes those
// that it depends on itself.
void check_undeclared_divergences(YamlReader& reader, YamlNode node, Case& test_case) {
  const std::set<codec::Divergence> found = divergences_of(test_case);
  const YamlNode declared = node.member("divergence");
  std::string list;
  for (const codec::Divergence divergence : found) {
    list += (list.empty() ? "" : ", ") + std::string(codec::name(divergence));
  }
  for (const codec::Divergence divergence : found) {
    if (test_case.divergences.contains(divergence)) continue;
    const std::string name(codec::name(divergence));
    reader.diagnose(declared.is_defined() ? declared : node,
                    "this case depends on the divergence " + name +
                        (test_case.family.empty() ? ": write divergence: [" + list + "]"
                                                  : ": add it to the divergence of the family"));
  }
  if (!test_case.family.empty()) test_case.divergences = found;
}

// `found`: what the case, or any member of the family, depends on.
void check_unneeded_divergences(YamlReader& reader, YamlNode node,
                                const std::set<codec::Divergence>& found) {
  const YamlNode declared = node.member("divergence");
  if (!declared.is_defined()) return;
  for (const YamlNode item : declared.items()) {
    const auto divergence = codec::divergence_named(item.scalar());
    if (divergence && found.contains(*divergence)) continue;
    reader.diagnose(
        item, "nothing in this case depends on the divergence " + item.scalar() + ": remove it");
  }
}

std::optional<Case> load_case(YamlReader& reader, const FamilyMember& member,
                              const CaseDefaults& file) {
  YamlNode node = member.node;
  const std::size_t errors_before = reader.diagnostics();
  if (!reader.check_map(node, "case", fields::kCase, {"id", "title", "requirements", "steps"})) {
    return std::nullopt;
  }
  Case out;
  out.area = file.area;
  out.position = reader.position(node);
  out.family = member.family;
  out.axes = member.bindings;
  const YamlNode id_node = node.member("id");
  const auto id = reader.text(id_node, "id");
  if (id && !is_case_id(*id)) {
    reader.diagnose(id_node,
                    "id \"" + *id +
                        "\" must be at most 80 lower-case letters, digits, dots and dashes, "
                        "and begin with a letter or digit");
  }
  out.id = id.value_or("");
  out.title = load_title(reader, node.member("title"), "title");
  out.note = load_note(reader, node);
  if (const auto recorded = node.member("recorded"); recorded.is_defined()) {
    out.recorded = load_recorded(reader, recorded, file.requirements);
  }
  load_requirements(reader, node.member("requirements"), file.requirements, out);
  load_divergences(reader, node.member("divergence"), out);
  if (const auto names = node.member("requires"); names.is_defined()) {
    load_capabilities(reader, names, out);
  }
  if (const auto tags = node.member("tags"); tags.is_defined()) {
    out.tags = reader.texts(tags, "tags");
  }
  if (const auto exclusive = node.member("exclusive"); exclusive.is_defined()) {
    out.exclusive = reader.boolean(exclusive, "exclusive").value_or(false);
  }
  load_clients(reader, node.member("clients"), out);
  if (reader.diagnostics() == errors_before) {
    load_steps(reader, node.member("steps"), out);
  }
  if (reader.diagnostics() == errors_before) {
    check_undeclared_divergences(reader, node, out);
    check_limits(out, file.errors);
    if (!has_positive_check(out)) {
      reader.diagnose(node,
                      "a store that does nothing would pass this case: add a step that "
                      "expects a definite reply or a notification");
    }
  }
  if (reader.diagnostics() > errors_before) return std::nullopt;
  return out;
}

using Diagnostic = std::tuple<int, int, std::string>;

// Labels the errors from `begin` on, which are about a member: leaves out those that an earlier
// member had as well, and names in the others the member that shows it.
void label_errors(std::vector<LoadError>& errors, std::size_t begin, const std::string& member,
                  std::set<Diagnostic>& seen) {
  const auto first = errors.begin() + static_cast<std::ptrdiff_t>(begin);
  const auto repeated = [&](const LoadError& error) {
    return !seen.emplace(error.position.line, error.position.column, error.text).second;
  };
  errors.erase(std::remove_if(first, errors.end(), repeated), errors.end());
  for (std::size_t i = begin; i < errors.size(); ++i) errors[i].text += " (in " + member + ")";
}

// The cases that one entry of the file stands for.
std::vector<Case> load_cases(YamlReader& reader, YamlNode node, const CaseDefaults& file,
                             std::vector<LoadError>& errors) {
  std::vector<Case> out;
  const std::size_t errors_before = errors.size();
  std::set<codec::Divergence> found;
  std::set<Diagnostic> seen;
  const YamlNode recorded = node.member("recorded");
  if (recorded.is_defined() && node.member("axes").is_defined()) {
    reader.diagnose(recorded,
                    "recorded belongs to one case, and axes make several; write the one "
                    "that failed as a separate case");
    return out;
  }
  const std::vector<FamilyMember> members = members_of(reader, node);
  out.reserve(members.size());
  for (const FamilyMember& member : members) {
    const std::size_t errors_of_others = errors.size();
    auto loaded = load_case(reader, member, file);
    if (!member.bindings.empty()) {
      label_errors(errors, errors_of_others, describe(member.bindings), seen);
    }
    if (!loaded) continue;
    const std::set<codec::Divergence> own = divergences_of(*loaded);
    found.insert(own.begin(), own.end());
    out.push_back(std::move(*loaded));
  }
  if (errors.size() == errors_before) check_unneeded_divergences(reader, node, found);
  if (errors.size() > errors_before) out.clear();
  return out;
}

// The verb of a command whose first argument is literal.
std::optional<codec::Verb> verb_of(const BytesSpec& payload) {
  const auto* command = std::get_if<CommandBytes>(&payload.what);
  if (command == nullptr || command->arguments.empty()) return std::nullopt;
  const auto* verb = std::get_if<LiteralBytes>(&command->arguments.front().what);
  if (verb == nullptr) return std::nullopt;
  for (const codec::Verb known : codec::kVerbs) {
    if (codec::name(known) == verb->bytes) return known;
  }
  return std::nullopt;
}

void add_divergences(const RequestStep& request, std::set<codec::Divergence>& out) {
  const auto verb = verb_of(request.payload);
  for (const Outcome& outcome : request.expect.outcomes) {
    // Any outcome of an unspecified point is allowed.
    if (request.expect.open || !request.expect.by.empty()) continue;
    if (const auto* plain = std::get_if<PlainReply>(&outcome.what)) {
      if (plain->kind != codec::ReplyKind::kNotApplied) continue;
      out.insert(verb == codec::Verb::kVdel ? codec::Divergence::kVdelMismatch
                                            : codec::Divergence::kSetNotApplied);
    }
    if (const auto* error = std::get_if<ErrorReply>(&outcome.what)) {
      if (error->code == codec::ErrorCode::kTokenLower)
        out.insert(codec::Divergence::kLowerTokenText);
      if (verb == codec::Verb::kKeynotify) out.insert(codec::Divergence::kKeynotifyError);
    }
  }
}

bool is_definite(const Expectation& expect) {
  if (expect.outcomes.empty()) return false;
  return std::none_of(expect.outcomes.begin(), expect.outcomes.end(), [](const Outcome& outcome) {
    return std::holds_alternative<NoReply>(outcome.what) ||
           std::holds_alternative<Disconnection>(outcome.what);
  });
}

// Where each line of a file begins.
std::vector<std::size_t> lines_in(const std::string& content) {
  std::vector<std::size_t> out = {0};
  for (std::size_t end = content.find('\n'); end != std::string::npos;
       end = content.find('\n', end + 1)) {
    out.push_back(end + 1);
  }
  return out;
}

// From line `first` on to before line `end` (both from 1; 0: the end of the file), without blank
// lines behind them.
std::string lines_of(const std::string& content, const std::vector<std::size_t>& lines, int first,
                     int end) {
  const auto begin_of = [&](int line) {
    const auto index = static_cast<std::size_t>(line) - 1;
    return line > 0 && index < lines.size() ? lines[index] : content.size();
  };
  const std::size_t begin = begin_of(first);
  std::string out = content.substr(begin, std::max(begin_of(end), begin) - begin);
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ')) out.pop_back();
  return out;
}

}  // namespace

// Plays the steps on a clock on which only waiting takes time.
std::chrono::milliseconds Case::expected_wait() const {
  std::chrono::milliseconds now{0};
  std::map<std::string, std::chrono::milliseconds> marks;
  for (const Step& step : steps) {
    if (const auto* request = std::get_if<RequestStep>(&step.what)) {
      if (!request->mark.empty()) marks[request->mark] = now;
    }
    const auto* wait = std::get_if<WaitStep>(&step.what);
    if (wait == nullptr) continue;
    now = wait->duration ? now + *wait->duration
                         : std::max(now, marks[wait->until->mark] + wait->until->offset);
  }
  return now;
}

std::size_t Case::exchanges() const {
  constexpr std::size_t kOfSilence = 3;  // register, write the fence, stop
  constexpr std::size_t kAsOne = 4;      // how many of those in flight together take as long
  std::size_t out = 0;
  for (const Step& step : steps) {
    if (std::holds_alternative<SilenceStep>(step.what)) out += kOfSilence;
    if (const auto* many = std::get_if<WriteManyStep>(&step.what)) {
      out += (1 + many->reads) * many->keys / kAsOne + 1;
    }
    if (const auto* fan_out = std::get_if<FanOutStep>(&step.what)) {
      out += fan_out->observers / kAsOne + 3;
    }
    // The requests of a pipeline are in flight together.
    if (std::holds_alternative<RequestStep>(step.what) ||
        std::holds_alternative<PipelineStep>(step.what) ||
        std::holds_alternative<FillQuotaStep>(step.what)) {
      ++out;
    }
  }
  return out;
}

std::set<codec::Divergence> divergences_of(const Case& test_case) {
  std::set<codec::Divergence> out;
  for (const Step& step : test_case.steps) {
    if (const auto* request = std::get_if<RequestStep>(&step.what)) add_divergences(*request, out);
    if (const auto* pipeline = std::get_if<PipelineStep>(&step.what)) {
      for (const RequestStep& request : pipeline->requests) add_divergences(request, out);
    }
    if (const auto* notification = std::get_if<NotificationStep>(&step.what)) {
      if (notification->operation == codec::Operation::kDelete) {
        out.insert(codec::Divergence::kDeleteOperation);
      }
    }
  }
  return out;
}

bool has_positive_check(const Case& test_case) {
  return std::any_of(test_case.steps.begin(), test_case.steps.end(), [](const Step& step) {
    if (const auto* request = std::get_if<RequestStep>(&step.what)) {
      return is_definite(request->expect);
    }
    if (const auto* pipeline = std::get_if<PipelineStep>(&step.what)) {
      return std::any_of(pipeline->requests.begin(), pipeline->requests.end(),
                         [](const RequestStep& request) { return is_definite(request.expect); });
    }
    return std::holds_alternative<NotificationStep>(step.what) ||
           std::holds_alternative<FillQuotaStep>(step.what) ||
           std::holds_alternative<WriteManyStep>(step.what) ||
           std::holds_alternative<FanOutStep>(step.what);
  });
}

std::vector<Case> load_scenario(const SourceFile& file, const std::set<std::string>& requirements,
                                std::vector<LoadError>& errors) {
  YamlReader reader(file.name, errors);
  std::vector<Case> out;
  const auto root = reader.parse(file);
  if (!root) return out;
  // Cases for clients, which clients/client_run/ loads.
  if (root->member("certifies").is_defined()) return out;
  if (root->member("url").is_defined() && !root->member("area").is_defined() &&
      !root->member("cases").is_defined()) {
    reader.diagnose(*root,
                    "this is a descriptor, which certify --descriptor and probe read: it has no "
                    "cases");
    return out;
  }
  if (!reader.check_map(*root, "the file", fields::kFile, {"area", "cases"})) return out;
  const CaseDefaults defaults{load_title(reader, root->member("area"), "area"), requirements,
                              errors};
  const YamlNode cases = root->member("cases");
  if (!cases.is_list() || cases.size() == 0) {
    reader.diagnose(cases, "cases must be a list of at least one case");
    return out;
  }
  const std::vector<std::size_t> lines = lines_in(file.content);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const int next = i + 1 < cases.size() ? cases.items()[i + 1].place().line : 0;
    for (Case& loaded : load_cases(reader, cases.items()[i], defaults, errors)) {
      loaded.source = lines_of(file.content, lines, loaded.position.line, next);
      out.push_back(std::move(loaded));
    }
  }
  return out;
}

void check_unique_ids(const std::vector<Case>& cases, std::vector<LoadError>& errors) {
  std::map<std::string, Position> seen;
  for (const Case& test_case : cases) {
    const auto [entry, inserted] = seen.emplace(test_case.id, test_case.position);
    if (inserted) continue;
    errors.push_back({test_case.position, "the case id " + test_case.id + " is already used at " +
                                              entry->second.file + ":" +
                                              std::to_string(entry->second.line) +
                                              "; ids are unique and never reused"});
  }
}

}  // namespace fencepost::scenario
