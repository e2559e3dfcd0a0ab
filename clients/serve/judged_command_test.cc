#include "clients/serve/judged_command.h"

#include <filesystem>
#include <string>
#include <vector>

#include <sys/wait.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "suite/testing/temporary_folder.h"

namespace fencepost::serve {
namespace {

using testing::ElementsAre;
using testing::StartsWith;

// Waits until a child has ended, and leaves its exit status to the caller that asks for it.
void wait_for_a_child() {
  siginfo_t ended;
  ASSERT_EQ(waitid(P_ALL, 0, &ended, WEXITED | WNOWAIT), 0);
}

int exit_code_of(const std::string& script, const std::vector<std::string>& variables = {}) {
  auto command = JudgedCommand::start({"sh", "-c", script}, variables);
  EXPECT_TRUE(command);
  wait_for_a_child();
  return (*command)->exit_code().value_or(-1);
}

TEST(JudgedCommand, SaysHowItHasEnded) {
  EXPECT_EQ(exit_code_of("exit 0"), 0);
  EXPECT_EQ(exit_code_of("exit 3"), 3);
  EXPECT_EQ(exit_code_of("kill -9 $$"), 137);
}

TEST(JudgedCommand, SaysItAgain) {
  auto command = JudgedCommand::start({"sh", "-c", "exit 3"}, {});
  ASSERT_TRUE(command);
  wait_for_a_child();
  EXPECT_EQ((*command)->exit_code(), 3);
  EXPECT_EQ((*command)->exit_code(), 3);
  EXPECT_EQ((*command)->end(), 3);
}

TEST(JudgedCommand, IsEndedWhereItRuns) {
  auto command = JudgedCommand::start({"sleep", "1000"}, {});
  ASSERT_TRUE(command);
  EXPECT_FALSE((*command)->exit_code());
  EXPECT_EQ((*command)->end(), 143);
}

TEST(JudgedCommand, CannotAlwaysBeStarted) {
  const auto command = JudgedCommand::start({"/no/such command"}, {});
  ASSERT_FALSE(command);
  EXPECT_THAT(command.error(), StartsWith("cannot start '/no/such command': No such file"));
}

TEST(JudgedCommand, GetsTheAddressOfTheBroker) {
  const test::TemporaryFolder folder;
  const std::string out = (folder.path() / "out").string();
  EXPECT_EQ(
      exit_code_of(
          "echo $FENCEPOST_URL $FENCEPOST_HOST $FENCEPOST_PORT $FENCEPOST_CA_FILE > '" + out + "'",
          command_variables({.bind = "0.0.0.0",
                             .port = 1234,
                             .url = "mqtts://127.0.0.1:1234",
                             .ca_file = "/etc/ca.pem"})),
      0);
  EXPECT_EQ(folder.read("out"), "mqtts://127.0.0.1:1234 127.0.0.1 1234 /etc/ca.pem\n");
}

TEST(JudgedCommand, HasTheCaFileFromAnyFolder) {
  EXPECT_THAT(command_variables({.port = 7, .url = "mqtt://127.0.0.1:7"}),
              ElementsAre("FENCEPOST_HOST=127.0.0.1", "FENCEPOST_PORT=7",
                          "FENCEPOST_URL=mqtt://127.0.0.1:7"));
  EXPECT_EQ(command_variables({.ca_file = "ca.pem"}).back(),
            "FENCEPOST_CA_FILE=" + (std::filesystem::current_path() / "ca.pem").string());
}

}  // namespace
}  // namespace fencepost::serve
