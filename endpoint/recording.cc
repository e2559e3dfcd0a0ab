#include "endpoint/recording.h"

#include <utility>

#include "endpoint/cancellation.h"

namespace fencepost::endpoint {
namespace {

using evidence::Details;
using evidence::Kind;
using evidence::Record;

evidence::Failure failure_of(const Error& error) {
  evidence::Failure out{.kind = static_cast<std::uint8_t>(error.kind), .text = error.text};
  if (error.reason_code) out.reason_code = *error.reason_code;
  return out;
}

std::unique_ptr<Details> details_of(std::string text, const Result<void, Error>& result = {}) {
  auto out = std::make_unique<Details>();
  out->text = std::move(text);
  if (!result) out->failure = failure_of(result.error());
  return out;
}

// Who writes, and in which session.
struct StepWriter {
  Recorder& recorder;
  std::uint32_t session;

  void write(Record record) const {
    record.session = session;
    recorder.add(record);
  }
};

class RecordingClock final : public Clock {
 public:
  RecordingClock(Clock& clock, StepWriter writer) : clock_(clock), writer_(writer) {}

  [[nodiscard]] std::uint64_t wall_ms() const override {
    const std::uint64_t now = clock_.wall_ms();
    writer_.write({.kind = Kind::kWall, .time = static_cast<std::int64_t>(now)});
    return now;
  }
  [[nodiscard]] Duration now() const override {
    const Duration now = clock_.now();
    writer_.write({.kind = Kind::kNow, .time = now.count()});
    return now;
  }
  void wait_until(Duration time) override {
    clock_.wait_until(time);
    writer_.write({.kind = Kind::kWaited, .time = time.count()});
  }

 private:
  Clock& clock_;
  StepWriter writer_;
};

Record record_of(const Event& event) {
  Record out{.time = event.time.count()};
  out.details = std::make_unique<Details>();
  if (const auto* received = std::get_if<MessageReceived>(&event.what)) {
    out.kind = Kind::kReceived;
    out.details->message = received->message;
  } else if (const auto* refused = std::get_if<PublishRefused>(&event.what)) {
    out.kind = Kind::kRefused;
    out.number = refused->reason_code;
    out.details->text = refused->correlation_data;
  } else {
    const auto& ended = std::get<Disconnected>(event.what);
    out.kind = Kind::kEnded;
    out.number = ended.reason_code.value_or(-1);
    out.details->text = ended.text;
    out.details->name = ended.section;
  }
  return out;
}

class RecordingClient final : public Client {
 public:
  RecordingClient(std::unique_ptr<Client> client, Clock& clock, StepWriter writer,
                  std::uint32_t number)
      : client_(std::move(client)), clock_(clock), writer_(writer), number_(number) {}

  Result<void, Error> subscribe(const std::string& filter) override {
    auto done = client_->subscribe(filter);
    write({.kind = Kind::kSubscribe, .details = details_of(filter, done)});
    return done;
  }
  Result<void, Error> unsubscribe(const std::string& filter) override {
    auto done = client_->unsubscribe(filter);
    write({.kind = Kind::kUnsubscribe, .details = details_of(filter, done)});
    return done;
  }
  Result<void, Error> publish(const codec::Message& message) override {
    const Duration time = clock_.now();
    auto done = client_->publish(message);
    auto details = details_of({}, done);
    details->message = message;
    write({.kind = Kind::kPublish, .time = time.count(), .details = std::move(details)});
    return done;
  }
  Result<void, Error> publish_raw(const codec::Message& message, const RawPacket& odd) override {
    const Duration time = clock_.now();
    auto done = client_->publish_raw(message, odd);
    auto details = details_of({}, done);
    details->message = message;
    write({.kind = Kind::kPublish, .time = time.count(), .details = std::move(details)});
    return done;
  }
  std::optional<Event> receive(Duration timeout) override {
    auto event = client_->receive(timeout);
    write(event ? record_of(*event) : Record{.kind = Kind::kNothing});
    return event;
  }
  // What comes of it comes through receive().
  void await_acknowledgements(Duration timeout) override {
    client_->await_acknowledgements(timeout);
  }
  void gather(bool on) override { client_->gather(on); }
  // It is in the record of the connection.
  [[nodiscard]] bool has_resumed() const override { return client_->has_resumed(); }
  [[nodiscard]] std::optional<std::uint32_t> packet_limit() const override {
    const auto limit = client_->packet_limit();
    write({.kind = Kind::kPacketLimit, .number = limit ? std::int64_t{*limit} : -1});
    return limit;
  }
  void disconnect() override {
    client_->disconnect();
    write({.kind = Kind::kDisconnect});
  }
  void drop() override {
    client_->drop();
    write({.kind = Kind::kDrop});
  }

 private:
  void write(Record record) const {
    record.client = number_;
    writer_.write(std::move(record));
  }

  std::unique_ptr<Client> client_;
  Clock& clock_;  // that of the endpoint: reading it is no answer to the case
  StepWriter writer_;
  std::uint32_t number_;
};

class RecordingSession final : public Session {
 public:
  RecordingSession(std::unique_ptr<Session> session, StepWriter writer)
      : session_(std::move(session)), writer_(writer), clock_(session_->clock(), writer) {}
  // A session that was cut short cannot be judged: it stays open in the file.
  ~RecordingSession() override {
    if (!waits_have_ended()) writer_.write({.kind = Kind::kClosed});
  }
  RecordingSession(const RecordingSession&) = delete;
  RecordingSession& operator=(const RecordingSession&) = delete;

  Clock& clock() override { return clock_; }

  Result<std::unique_ptr<Client>, Error> connect(const ClientOptions& options) override {
    auto client = session_->connect(options);
    auto details = details_of(options.client_id);
    details->name = options.role;
    details->numbers = {std::uint64_t{options.clean_start}, options.session_expiry_seconds,
                        options.receive_maximum, options.max_packet_size,
                        std::uint64_t{options.droppable}};
    if (options.will) {
      details->message =
          codec::Message{.topic = options.will->topic, .payload = options.will->payload};
    }
    if (!client) details->failure = failure_of(client.error());
    writer_.write({.kind = Kind::kConnect,
                   .client = ++clients_,
                   .number = client && (*client)->has_resumed() ? 1 : 0,
                   .details = std::move(details)});
    if (!client) return fail(client.error());
    return std::make_unique<RecordingClient>(std::move(*client), session_->clock(), writer_,
                                             clients_);
  }

  Duration measured(Duration time) override {
    const Duration out = session_->measured(time);
    writer_.write({.kind = Kind::kMeasured, .number = out.count()});
    return out;
  }

  Result<void, Error> disturb(const Disturbance& disturbance) override {
    auto done = session_->disturb(disturbance);
    auto details = details_of(disturbance.client_id, done);
    details->name = disturbance.kind.name;
    writer_.write({.kind = Kind::kDisturbance, .details = std::move(details)});
    return done;
  }

 private:
  std::unique_ptr<Session> session_;
  StepWriter writer_;
  RecordingClock clock_;
  std::uint32_t clients_ = 0;
};

class RecordingEndpoint final : public Endpoint {
 public:
  RecordingEndpoint(Endpoint& endpoint, Recorder& recorder)
      : endpoint_(endpoint), recorder_(recorder) {}

  [[nodiscard]] const std::string& url() const override { return endpoint_.url(); }
  [[nodiscard]] const Capabilities& capabilities() const override {
    return endpoint_.capabilities();
  }
  Result<std::unique_ptr<Session>, Error> open_session(const SessionRequest& request) override {
    auto session = endpoint_.open_session(request);
    const StepWriter writer{recorder_, recorder_.next_session()};
    auto details = details_of(request.caller);
    if (!session) details->failure = failure_of(session.error());
    writer.write(
        {.kind = Kind::kOpened, .number = request.isolated ? 1 : 0, .details = std::move(details)});
    if (session) return std::make_unique<RecordingSession>(std::move(*session), writer);
    writer.write({.kind = Kind::kClosed});
    return session;
  }
  Result<void, Error> check_reachable(Duration timeout, const std::string& caller) override {
    auto done = endpoint_.check_reachable(timeout, caller);
    recorder_.add({.kind = Kind::kReachable, .details = details_of(caller, done)});
    return done;
  }

 private:
  Endpoint& endpoint_;
  Recorder& recorder_;
};

}  // namespace

std::unique_ptr<Endpoint> record(Endpoint& endpoint, Recorder& recorder) {
  return std::make_unique<RecordingEndpoint>(endpoint, recorder);
}

}  // namespace fencepost::endpoint
