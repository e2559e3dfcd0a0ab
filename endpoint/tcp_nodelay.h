// Nagle's algorithm keeps a small packet back until the one before it is acknowledged, and an
// acknowledgement is delayed for 40 ms when there is nothing to send with it: a request then takes
// 44 ms instead of 0.07 ms. Paho leaves its sockets as they are and lets nobody else at them, with
// TLS or without. This module interposes three functions of the C library for the whole program:
// connect(2), so that every TCP socket gets TCP_NODELAY before it connects, reconnects included;
// and read(2) and recv(2), so that what such a socket has received is acknowledged at once. The
// second is for brokers that leave Nagle's algorithm on: they send a PUBACK, and then the response.
#pragma once

namespace fencepost::endpoint {

// Makes the linker take the interposed connect(). Call once from whoever needs it; does nothing
// else.
void enable_tcp_nodelay();

// The last TCP descriptor that this process connected with a socket of Paho's, -1 for none. Paho
// does not tell which socket is whose; who connects alone finds its own here.
[[nodiscard]] int last_connected_descriptor();

}  // namespace fencepost::endpoint
