// What a variant sends: responses and notifications, in the forms that were decided on. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "codec/dialect.h"
#include "codec/message.h"
#include "codec/notification.h"
#include "codec/reply.h"
#include "hlc/hlc.h"
#include "reference_store/variants/choices.h"

namespace fencepost::store {

struct VariantAnswer {
  codec::Reply reply{};
  bool own_words = false;  // an error that the protocol does not list
  bool array = false;
  std::optional<hlc::Timestamp> version{};
};

// Who is notified of a change.
struct Recipient {
  std::string_view client_id;
  bool with_get = false;  // its KEYNOTIFY had the option GET
};

// Both arguments of the constructor must outlive it.
class VariantMessages {
 public:
  VariantMessages(const codec::Dialect& dialect, const Decisions& decisions)
      : dialect_(dialect), is_(decisions) {}

  // `request` has a response topic.
  [[nodiscard]] codec::Message response(const codec::Message& request,
                                        const VariantAnswer& answer) const;

  // Nothing where the client and the key make no topic of a length that MQTT allows.
  [[nodiscard]] std::optional<codec::Message> notification(const Recipient& to,
                                                           const std::string& key,
                                                           const codec::Notification& what,
                                                           const hlc::Timestamp& version) const;

 private:
  [[nodiscard]] codec::Message begun() const;
  void finish(codec::Message& message) const;
  void change_error(std::optional<codec::Verb> verb, std::string& payload) const;
  [[nodiscard]] std::string version_text(const hlc::Timestamp& version) const;

  const codec::Dialect& dialect_;
  const Decisions& is_;
};

}  // namespace fencepost::store
