// Paho sets neither TCP_NODELAY on its sockets nor lets anybody else: PUBACK and the next PUBLISH
// then meet Nagle's algorithm and delayed acknowledgements, and a request takes 44 ms instead of
// 0.07 ms. This module interposes connect(2) for the whole program: every TCP socket gets
// TCP_NODELAY before it connects, reconnects included.
#pragma once

namespace fencepost::endpoint {

// Makes the linker take the interposed connect(). Call once from whoever needs it; does nothing
// else.
void enable_tcp_nodelay();

// The last TCP descriptor that this process connected with a socket of Paho's, -1 for none. Paho
// does not tell which socket is whose; who connects alone finds its own here.
[[nodiscard]] int last_connected_descriptor();

}  // namespace fencepost::endpoint
