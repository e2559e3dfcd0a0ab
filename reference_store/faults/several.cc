// Several faults in one store.
#include <utility>

#include "base/check.h"
#include "reference_store/faults/decorator.h"
#include "reference_store/faults/fault.h"

namespace fencepost::store {
namespace {

// Null for a fault that is a store of its own.
std::unique_ptr<Decorator> decorator_of(const Fault& fault, const ServiceOptions& options,
                                        std::uint64_t seed) {
  std::unique_ptr<Handler> made = fault.make(options, seed);
  auto* decorator = dynamic_cast<Decorator*>(made.get());
  if (decorator == nullptr) return nullptr;
  static_cast<void>(made.release());
  return std::unique_ptr<Decorator>(decorator);
}

// Which rules of a conforming store does this one break?
std::vector<bool> broken_rules(const Decorator& store) {
  const Rules right;
  Rules rules;
  store.break_rules(rules);
  return {rules.check_timestamp != right.check_timestamp,
          rules.check_token != right.check_token,
          rules.fencing_error != right.fencing_error,
          rules.condition_holds != right.condition_holds,
          rules.access_needed != right.access_needed,
          rules.has_room != right.has_room,
          rules.token_after != right.token_after,
          rules.version_of_set != right.version_of_set,
          rules.deadline_of_set != right.deadline_of_set,
          rules.removal_time != right.removal_time,
          rules.value_matches != right.value_matches};
}

}  // namespace

Result<std::vector<const Fault*>, std::string> find_faults(std::string_view names) {
  std::vector<const Fault*> out;
  while (true) {
    const std::size_t end = names.find('+');
    const std::string_view name = names.substr(0, end);
    const Fault* fault = find_fault(name);
    if (fault == nullptr) return fail(std::string(name));
    out.push_back(fault);
    if (end == std::string_view::npos) return out;
    names.remove_prefix(end + 1);
  }
}

std::string ids_of(const std::vector<const Fault*>& faults) {
  std::string out;
  for (const Fault* fault : faults) {
    if (!out.empty()) out += '+';
    out += fault->id;
  }
  return out;
}

bool leaves_room(const Fault& fault) { return decorator_of(fault, {}, 1) != nullptr; }

std::optional<std::string> cannot_meet(const std::vector<const Fault*>& faults) {
  if (faults.size() < 2) return std::nullopt;
  std::vector<bool> broken;
  for (const Fault* fault : faults) {
    const auto store = decorator_of(*fault, {}, 1);
    if (!store) return std::string(fault->id) + " is a complete store and cannot be combined";
    const std::vector<bool> more = broken_rules(*store);
    broken.resize(more.size());
    for (std::size_t i = 0; i < more.size(); ++i) {
      if (more[i] && broken[i])
        return std::string(fault->id) + " changes the same rule as another fault";
      broken[i] = broken[i] || more[i];
    }
  }
  return std::nullopt;
}

std::unique_ptr<Handler> make_store(const std::vector<const Fault*>& faults,
                                    const ServiceOptions& options, std::uint64_t seed) {
  FENCEPOST_CHECK(!faults.empty());
  if (faults.size() == 1) return faults.front()->make(options, seed);
  ServiceOptions broken = options;
  for (const Fault* fault : faults) {
    decorator_of(*fault, options, seed)->break_rules(broken.store.rules);
  }
  std::unique_ptr<Decorator> out;
  for (auto fault = faults.rbegin(); fault != faults.rend(); ++fault) {
    auto outer = decorator_of(**fault, broken, seed);
    if (out) outer->put_before(std::move(out));
    out = std::move(outer);
  }
  return out;
}

}  // namespace fencepost::store
