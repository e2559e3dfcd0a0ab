// A client that passes everything on to another one: what stands before a client overrides what it
// changes, and no request to a client is lost in transit. Private to endpoint/.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "endpoint/endpoint.h"

namespace fencepost::endpoint {

class ForwardingClient : public Client {
 public:
  explicit ForwardingClient(std::unique_ptr<Client> client) : client_(std::move(client)) {}

  Result<void, Error> subscribe(const std::string& filter) override {
    return client_->subscribe(filter);
  }
  Result<void, Error> unsubscribe(const std::string& filter) override {
    return client_->unsubscribe(filter);
  }
  Result<void, Error> publish(const codec::Message& message) override {
    return client_->publish(message);
  }
  Result<void, Error> publish_raw(const codec::Message& message, const RawPacket& raw) override {
    return client_->publish_raw(message, raw);
  }
  std::optional<Event> receive(Duration timeout) override { return client_->receive(timeout); }
  std::optional<Event> take() override { return client_->take(); }
  [[nodiscard]] bool has_resumed() const override { return client_->has_resumed(); }
  [[nodiscard]] std::optional<std::uint32_t> packet_limit() const override {
    return client_->packet_limit();
  }
  void await_acknowledgements(Duration timeout) override {
    client_->await_acknowledgements(timeout);
  }
  void gather(bool on) override { client_->gather(on); }
  [[nodiscard]] bool serves_in_place() const override { return client_->serves_in_place(); }
  void disconnect() override { client_->disconnect(); }
  void drop() override { client_->drop(); }

 private:
  std::unique_ptr<Client> client_;
};

}  // namespace fencepost::endpoint
