// A conforming variant: it keeps every rule of the protocol and decides every unspecified point as
// it is configured, where the reference store decides each once. Written on its own, so that a
// suite which takes observed behaviour of the reference store for rules is found. Decisions:
// choices.h.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference_store/service.h"
#include "reference_store/variants/choices.h"
#include "reference_store/variants/variant_command.h"
#include "reference_store/variants/variant_messages.h"

namespace fencepost::store {

// It uses the dialect, node id, quota and authorization of `options`. Not thread safe.
class VariantStore final : public Handler {
 public:
  VariantStore(const ServiceOptions& options, const Decisions& decisions);

  Handling handle(const Caller& caller, const codec::Message& request, const Instant& now,
                  std::vector<Delivery>& out) override;
  void expire(const Instant& now, std::vector<Delivery>& out) override;
  [[nodiscard]] std::optional<std::chrono::microseconds> next_expiry() const override;
  void disconnect(std::string_view client_id) override;

 private:
  struct Entry {
    std::string value;
    hlc::Timestamp version;
    std::optional<hlc::Timestamp> token;
    std::optional<std::chrono::microseconds> deadline;
  };
  struct Observer {
    std::string client_id;
    std::size_t registrations = 1;
    bool get = false;  // requested values
  };
  // A property of a request: `__ts` or `__ft`.
  struct Stamp {
    std::optional<VariantError> error{};
    std::optional<hlc::Timestamp> value{};  // nothing: there is none, or it is in error
  };
  // What one request is handled with.
  struct Context {
    const Caller& caller;
    const codec::Message& request;
    const Instant& now;
    const VariantCommand& command;
  };

  VariantAnswer serve(const Caller& caller, const codec::Message& request, const Instant& now);
  VariantAnswer apply(const Context& context);
  VariantAnswer set(const Context& context, std::vector<Objection> objections);
  VariantAnswer get(const Context& context, std::vector<Objection> objections);
  VariantAnswer remove(const Context& context, std::vector<Objection> objections);
  VariantAnswer keynotify(const Context& context, std::vector<Objection> objections);
  VariantAnswer write(const Context& context, const hlc::Timestamp& timestamp,
                      const std::optional<hlc::Timestamp>& offered);

  [[nodiscard]] bool objects_to_key(std::string_view key) const;
  [[nodiscard]] Stamp read_property(const codec::Message& request, std::string_view name,
                                    const Instant& now) const;
  [[nodiscard]] std::optional<VariantError> objection_to_timestamp(const Context& context) const;
  // That of the key, or that an expired one has left.
  [[nodiscard]] std::optional<hlc::Timestamp> token_of(const std::string& key) const;
  [[nodiscard]] std::optional<codec::ErrorCode> fencing_error(
      const std::optional<hlc::Timestamp>& held,
      const std::optional<hlc::Timestamp>& offered) const;
  [[nodiscard]] VariantAnswer refuse(const std::vector<Objection>& objections,
                                     const Instant& now) const;
  [[nodiscard]] VariantAnswer error(const VariantError& error, const Instant& now) const;

  [[nodiscard]] hlc::Timestamp fresh_version(const std::string& key, const hlc::Timestamp& floor,
                                             const Instant& now);
  [[nodiscard]] hlc::Timestamp time_of(const Instant& now) const;
  [[nodiscard]] std::string node_of(std::uint64_t wall_ms, std::uint64_t counter) const;
  void move_clock(const Context& context);
  void erase(const std::string& key);
  void notify(const std::string& key, codec::Operation operation, std::string_view value,
              const hlc::Timestamp& version);
  void send_notifications(const Instant& now, std::vector<Delivery>& out);
  void end_registrations(std::string_view client_id);
  [[nodiscard]] std::optional<std::chrono::microseconds> next_deadline() const;

  const codec::Dialect& dialect_;
  StoreOptions options_;
  Decisions is_;
  VariantMessages messages_;  // with the two above
  std::map<std::string, Entry, std::less<>> entries_;
  std::set<std::pair<std::chrono::microseconds, std::string>> deadlines_;
  std::map<std::string, std::vector<Observer>, std::less<>> observers_;
  std::map<std::string, hlc::Timestamp, std::less<>> left_tokens_;  // of keys that have expired
  std::map<std::string, hlc::Timestamp, std::less<>> key_clocks_;   // of deleted keys, too
  std::map<std::string, std::chrono::microseconds, std::less<>>
      expired_;  // until they count no more
  hlc::Timestamp store_clock_;
  std::vector<Delivery> notifications_;                                 // and not yet sent
  std::deque<std::pair<std::chrono::microseconds, Delivery>> waiting_;  // until then
  // Clients that have gone, and when the store will have noticed.
  std::map<std::string, std::chrono::microseconds> leaving_;
  std::chrono::microseconds now_{0};  // when the store last looked
  std::string writer_;                // whose request is carried out
};

// Makes the store of a session, for endpoints that do so themselves.
using MakeVariant = std::function<std::unique_ptr<Handler>(const ServiceOptions& options)>;
[[nodiscard]] MakeVariant make_variant(const Decisions& decisions);

}  // namespace fencepost::store
