// Stores that do what the article prints and no more: what the deployed service does in addition,
// they do not. Right by the article; wrong by the deployed service in every rule that only it
// shows.

#include <algorithm>
#include <string>

#include "codec/notification.h"
#include "codec/resp3.h"
#include "reference_store/faults/decorator.h"

namespace fencepost::store {
namespace {

constexpr std::size_t kMaxKey = 1'000;  // bytes; the article names no limit

class ArticleStore final : public Decorator {
 public:
  ArticleStore(const ServiceOptions& options, bool versions_in_notifications)
      : Decorator(options), versions_in_notifications_(versions_in_notifications) {}

  Handling handle(const Caller& caller, const codec::Message& request, const Instant& now,
                  std::vector<Delivery>& out) override {
    // "DEL because of a DEL or VDEL command": of an expiry the article knows no notification.
    // Req: NTF-EXPIRY-1
    std::vector<Delivery> unsent;
    Decorator::expire(now, unsent);
    return Decorator::handle(caller, request, now, out);
  }

 private:
  // Only values are "arbitrary binary data". Req: KEY-BINARY-1, LIMIT-KEY-1
  void before(const Caller& /*caller*/, codec::Message& request, const Instant& /*now*/) override {
    const std::vector<std::string> arguments = arguments_of(request);
    if (arguments.size() < 2) return;
    const std::string& key = arguments[1];
    const bool text = std::all_of(key.begin(), key.end(), [](char c) {
      return c >= ' ' && static_cast<unsigned char>(c) < 0x7f;
    });
    if (!text || key.size() > kMaxKey) request.payload = codec::encode_command({});
  }

  void after(Exchange& exchange) override {
    // Req: NTF-SELF-1
    std::erase_if(exchange.out, [&](const Delivery& delivery) {
      return delivery.client_id == exchange.caller.client_id;
    });
    for (Delivery& delivery : exchange.out) {
      if (!delivery.client_id.empty()) change_notification(delivery.message);
    }
    codec::Message* response = exchange.response();
    if (response == nullptr) return;
    // Req: ENV-STATUS-1, ENV-CONTENT-TYPE-1
    remove_property(*response, codec::kStatusProperty);
    response->content_type = "text/plain";
    if (!exchange.command) return;
    // Req: VER-MISS-1
    if (exchange.replies(codec::ReplyKind::kMissing)) {
      set_property(*response, codec::kTimestampProperty,
                   hlc::format({exchange.now.wall_ms, 0, "StateStore"}));
    }
    // Req: SET-NOT-APPLIED-3
    if (exchange.command->verb == codec::Verb::kSet &&
        exchange.replies(codec::ReplyKind::kNotApplied)) {
      remove_property(*response, codec::kTimestampProperty);
    }
  }
  void expired(std::vector<Delivery>& out) override { out.clear(); }

  void change_notification(codec::Message& message) const {
    const auto notification = codec::decode_notification(message.payload);
    // "with the VALUE included because the initial request specified the GET option", which here
    // none can. Req: NTF-VALUE-3
    if (notification && notification->operation == codec::Operation::kSet) {
      message.payload = codec::encode_command({"NOTIFY", "SET"});
    }
    if (!versions_in_notifications_) remove_property(message, codec::kTimestampProperty);
  }

  bool versions_in_notifications_;
};

MakeHandler article_store(bool versions_in_notifications) {
  return [versions_in_notifications](const ServiceOptions& options, std::uint64_t /*seed*/) {
    return std::make_unique<ArticleStore>(options, versions_in_notifications);
  };
}

}  // namespace

std::vector<Fault> article_stores() {
  return {{.id = "B19",
           .name = "what-the-article-prints",
           .text = "behaves as the article prints, without what only the deployed service does",
           .kind = FaultKind::kBenign,
           .right_by = RightBy::kArticle,
           .make = article_store(true)},
          {.id = "B20",
           .name = "what-the-preview-prints",
           .text = "behaves as the preview of the article prints: notifications carry no __ts",
           .kind = FaultKind::kBenign,
           .right_by = RightBy::kPreview,
           .make = article_store(false)}};
}

}  // namespace fencepost::store
