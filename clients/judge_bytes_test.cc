#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "clients/judge.h"
#include "endpoint/wire/packet.h"

namespace fencepost::clients {
namespace {

using ::testing::IsEmpty;

TEST(Judge, SaysNothingOfPacketsWhosePublishWasBeforeTheCapture) {
  Judge judge({.store_node = {}, .from_start = false});
  judge.opened(1, Time{0});
  judge.sent(1, *wire::encode(wire::Connect{.client_id = "me"}), Time{0});
  judge.delivered(1, *wire::encode(wire::Connack{.session_present = true}), Time{0});
  using enum wire::AckKind;
  for (const wire::AckKind kind : {kPubrel, kPubrec, kPubcomp}) {
    judge.sent(1, *wire::encode(wire::Ack{.kind = kind, .packet_id = 9}), Time{0});
  }
  EXPECT_THAT(judge.take_findings(), IsEmpty());
}

TEST(Judge, GivesUpAConnectionWhosePacketsAreTooLarge) {
  Judge judge({.store_node = {}, .most_packet_bytes = 100});
  judge.opened(1, Time{0});
  judge.sent(1, *wire::encode(wire::Connect{.client_id = std::string(200, 'x')}), Time{0});
  judge.sent(1, "no packet", Time{0});
  judge.closed(1, Time{0});
  EXPECT_THAT(judge.take_findings(), IsEmpty());
  EXPECT_EQ(judge.tally().not_judged, 1U);
}

TEST(Judge, TakesAnyBytes) {
  for (unsigned first = 0; first < 256; ++first) {
    Judge judge({});
    judge.opened(1, Time{0});
    const std::string bytes = {static_cast<char>(first), '\2', '\0', '\0'};
    judge.sent(1, bytes, Time{0});
    judge.delivered(1, bytes, Time{0});
    judge.closed(1, Time{0});
    EXPECT_EQ(judge.tally().connections, 1U);
  }
}

}  // namespace
}  // namespace fencepost::clients
