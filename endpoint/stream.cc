#include "endpoint/stream.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <openssl/bio.h>
#include <openssl/err.h>

#include "endpoint/cancellation.h"
#include "endpoint/connector.h"

namespace fencepost::endpoint {
namespace {

// Does not wait, regardless of the socket's own mode. A write to a broker that has gone would end
// this process by SIGPIPE.
ssize_t send_bytes(int descriptor, const char* bytes, std::size_t size) {
  while (true) {
    const ssize_t count = send(descriptor, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count >= 0 || errno != EINTR) return count;
  }
}

// A broker with Nagle's algorithm holds back a packet until the one before is acknowledged, which
// costs 44 ms a request (docs/decisions/0003-paho.md). Linux forgets the option with the next
// packet that is sent.
void acknowledge_now(int descriptor) {
  const int on = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof(on));
}

ssize_t receive_bytes(int descriptor, char* into, std::size_t size) {
  while (true) {
    const ssize_t count = recv(descriptor, into, size, MSG_DONTWAIT);
    if (count >= 0 || errno != EINTR) return count;
  }
}

// POSIX lets these two differ.
bool would_wait() { return errno == EAGAIN || errno == EWOULDBLOCK; }

std::string words_of(int code) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's is safe
  return std::strerror(code);
}

// OpenSSL's own BIO for sockets writes in a way that raises SIGPIPE.
int bio_write(BIO* bio, const char* bytes, std::size_t size, std::size_t* written) {
  BIO_clear_retry_flags(bio);
  const ssize_t count = send_bytes(*static_cast<int*>(BIO_get_data(bio)), bytes, size);
  if (count < 0) {
    if (would_wait()) BIO_set_retry_write(bio);
    return 0;
  }
  *written = static_cast<std::size_t>(count);
  return 1;
}

int bio_read(BIO* bio, char* into, std::size_t size, std::size_t* read) {
  BIO_clear_retry_flags(bio);
  const ssize_t count = receive_bytes(*static_cast<int*>(BIO_get_data(bio)), into, size);
  if (count <= 0) {
    if (count < 0 && would_wait()) BIO_set_retry_read(bio);
    return 0;
  }
  *read = static_cast<std::size_t>(count);
  acknowledge_now(*static_cast<int*>(BIO_get_data(bio)));
  return 1;
}

long bio_control(BIO* /*bio*/, int command, long /*number*/, void* /*pointer*/) {
  // OpenSSL flushes behind each part of the handshake, and takes 0 for a failure. Nothing is held
  // back here.
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD* bio_method() {
  static BIO_METHOD* method = [] {
    // Once in a process: OpenSSL has numbers for little more than a hundred kinds.
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    BIO_meth_set_write_ex(made, bio_write);
    BIO_meth_set_read_ex(made, bio_read);
    BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  return method;
}

Moved moved_by_socket(ssize_t count, bool reading) {
  if (count > 0) return {.bytes = static_cast<std::size_t>(count)};
  // recv() says 0 at the end of what comes; send() does only where there was nothing to send.
  if (count == 0) return {.ended = reading};
  if (would_wait()) return {};
  return {.ended = true, .error = words_of(errno)};
}

}  // namespace

Stream::Stream(Socket socket, const MqttOptions* broker, SSL_CTX* context)
    : broker_(broker),
      socket_(std::move(socket)),
      descriptor_(socket_.descriptor()),
      tls_(context == nullptr ? nullptr : SSL_new(context), SSL_free) {
  const int on = 1;
  // Else a PUBLISH behind a PUBACK waits until the broker has acknowledged that, 44 ms
  // (docs/decisions/0003-paho.md).
  setsockopt(descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

Stream::~Stream() = default;

Result<std::unique_ptr<Stream>, std::string> Stream::connect(const MqttOptions& broker,
                                                             SSL_CTX* context, Duration timeout) {
  const Duration deadline = steady_now() + timeout;
  const std::string begin =
      "cannot connect to " + broker.host + ":" + std::to_string(broker.port) + ": ";
  const bool direct = broker.proxy_port == 0;
  auto socket =
      connect_tcp(direct ? broker.host : "127.0.0.1", direct ? broker.port : broker.proxy_port,
                  std::chrono::duration_cast<std::chrono::milliseconds>(timeout));
  if (!socket) return fail(begin + socket.error());
  std::unique_ptr<Stream> out(new Stream(std::move(*socket), &broker, context));
  if (out->tls_ == nullptr) return out;
  // The time that TCP took is taken from the handshake: `timeout` is for both.
  if (std::string error = out->handshake(deadline); !error.empty()) {
    return fail(begin + "TLS: " + error);
  }
  return out;
}

std::unique_ptr<Stream> Stream::accepted(Socket socket, SSL_CTX* context) {
  std::unique_ptr<Stream> out(new Stream(std::move(socket), nullptr, context));
  if (out->tls_ != nullptr) {
    out->use_socket();
    SSL_set_accept_state(out->tls_.get());
  }
  return out;
}

bool Stream::is_in_handshake() const {
  return tls_ != nullptr && SSL_is_init_finished(tls_.get()) == 0;
}

std::string Stream::failure() {
  return broker_ == nullptr ? last_tls_reason() : tls_failure(tls_.get(), *broker_);
}

void Stream::use_socket() {
  BIO* bio = BIO_new(bio_method());
  BIO_set_data(bio, &descriptor_);
  // A BIO that is not said to be ready refuses to read and to write. One for both directions:
  // SSL_set_bio() takes one reference then.
  BIO_set_init(bio, 1);
  SSL_set_bio(tls_.get(), bio, bio);
}

std::string Stream::handshake(Duration deadline) {
  use_socket();
  expect_host(tls_.get(), broker_->host);
  while (true) {
    // SSL_get_error() looks at all errors of this thread, also at those that another connection has
    // left. (SSL_get_error(3))
    ERR_clear_error();
    const int result = SSL_connect(tls_.get());
    if (result == 1) return {};
    const int error = SSL_get_error(tls_.get(), result);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE) {
      return failure();
    }
    const bool to_write = error == SSL_ERROR_WANT_WRITE;
    if (!wait_for_descriptor(descriptor(), !to_write, to_write, deadline)) {
      return "the broker did not answer the handshake in time";
    }
  }
}

Moved Stream::moved_by_tls(int result, std::size_t bytes) {
  waits_to_write_ = false;
  if (result == 1) return {.bytes = bytes};
  switch (SSL_get_error(tls_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return {};
    case SSL_ERROR_WANT_WRITE:
      waits_to_write_ = true;
      return {};
    case SSL_ERROR_ZERO_RETURN:
      return {.ended = true};
    case SSL_ERROR_SYSCALL:
      // No errno: the peer has closed the connection without a farewell.
      return {.ended = true, .error = errno == 0 ? std::string() : words_of(errno)};
    default:
      break;
  }
  // Brokers end connections without TLS's own farewell.
  const bool just_ended =
      ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
  if (just_ended) {
    ERR_clear_error();
    return {.ended = true};
  }
  return {.ended = true, .error = "TLS: " + failure()};
}

Moved Stream::read(char* into, std::size_t size) {
  Moved out = read_before_answer(into, size);
  acknowledge();
  return out;
}

Moved Stream::read_before_answer(char* into, std::size_t size) {
  if (tls_ == nullptr) {
    Moved out = moved_by_socket(receive_bytes(descriptor(), into, size), true);
    unacknowledged_ = unacknowledged_ || out.bytes > 0;
    return out;
  }
  ERR_clear_error();
  // An errno of earlier must not be taken for that of this read.
  errno = 0;
  std::size_t bytes = 0;
  const int result = SSL_read_ex(tls_.get(), into, size, &bytes);
  return moved_by_tls(result, bytes);
}

Moved Stream::write(std::string_view bytes) {
  if (tls_ == nullptr) {
    Moved out = moved_by_socket(send_bytes(descriptor(), bytes.data(), bytes.size()), false);
    waits_to_write_ = out.bytes == 0 && !out.ended;
    if (out.bytes > 0) unacknowledged_ = false;  // the packet says so
    return out;
  }
  ERR_clear_error();
  errno = 0;
  std::size_t written = 0;
  const int result = SSL_write_ex(tls_.get(), bytes.data(), bytes.size(), &written);
  return moved_by_tls(result, written);
}

void Stream::acknowledge() {
  if (std::exchange(unacknowledged_, false)) acknowledge_now(descriptor());
}

void Stream::end_writing() {
  // TLS's own farewell, so that the peer can tell this end from a cut. Within the handshake it
  // would be an error.
  if (tls_ != nullptr && SSL_is_init_finished(tls_.get()) == 1) {
    ERR_clear_error();
    SSL_shutdown(tls_.get());
  }
  shutdown(descriptor(), SHUT_WR);
}

void Stream::reset() {
  const linger none{.l_onoff = 1, .l_linger = 0};
  setsockopt(descriptor(), SOL_SOCKET, SO_LINGER, &none, sizeof(none));
}

// Not close(): who waits for the descriptor is woken, and its number stays ours.
void Stream::cut() { shutdown(descriptor(), SHUT_RDWR); }

}  // namespace fencepost::endpoint
