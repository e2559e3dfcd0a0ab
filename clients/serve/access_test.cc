#include "clients/serve/access.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "endpoint/throw_away_certificate.h"
#include "suite/testing/temporary_folder.h"

namespace fencepost::serve {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

class AccessTest : public testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& content) {
    return folder_.write(name, content).string();
  }
  // What prepare() says against it; empty: nothing.
  static std::string diagnostic(const AccessOptions& options) {
    const auto access = Access::prepare(options);
    return access ? "" : access.error();
  }
  static endpoint::BrokerOptions options_of(const Access& access) {
    endpoint::BrokerOptions out;
    access.add_to(out);
    return out;
  }

  test::TemporaryFolder folder_;
};

// --- where it listens ----------------------------------------------------------------------------

TEST_F(AccessTest, IsForThisMachineUnlessItIsOpened) {
  const auto access = Access::prepare({});
  ASSERT_TRUE(access);
  EXPECT_EQ(access->url(1883), "mqtt://127.0.0.1:1883");
  EXPECT_THAT(access->notes(), IsEmpty());
  const endpoint::BrokerOptions broker = options_of(*access);
  EXPECT_EQ(broker.bind, "127.0.0.1");
  EXPECT_FALSE(broker.tls);
  EXPECT_FALSE(broker.passwords);
  const auto beside = Access::prepare({.bind = "127.0.0.2"});
  ASSERT_TRUE(beside);
  EXPECT_THAT(beside->notes(), IsEmpty());
  EXPECT_EQ(beside->url(7), "mqtt://127.0.0.2:7");
}

TEST_F(AccessTest, SaysWhoCanReachIt) {
  const auto access = Access::prepare({.bind = "0.0.0.0"});
  ASSERT_TRUE(access);
  EXPECT_EQ(access->url(1883), "mqtt://127.0.0.1:1883");
  EXPECT_THAT(access->notes(),
              ElementsAre("OPEN TO OTHERS: every host that reaches any address of this machine may "
                          "use this store, without a password (--user requires one)"));
  const auto with_password = Access::prepare(
      {.bind = "0.0.0.0", .users = {"me"}, .password_files = {write("one", "xyzzy\n")}});
  ASSERT_TRUE(with_password);
  EXPECT_THAT(with_password->notes(),
              ElementsAre("OPEN TO OTHERS: every host that reaches any address of this machine may "
                          "use this store, with a password",
                          "passwords cross the network unencrypted; use --tls", "users: me"));
}

TEST_F(AccessTest, RefusesWhatIsNoAddressOfThisMachine) {
  EXPECT_THAT(diagnostic({.bind = "nowhere"}),
              StartsWith("--bind nowhere: it is not an IP address; expected an IP address of this "
                         "machine, e.g. 127.0.0.1"));
  EXPECT_THAT(diagnostic({.bind = "192.0.2.1"}),
              StartsWith("--bind 192.0.2.1: Cannot assign requested address; expected"));
  EXPECT_NE(diagnostic({.bind = "127.0.0.1\nallow_anonymous true"}), "");
}

// --- passwords -----------------------------------------------------------------------------------

TEST_F(AccessTest, TakesTheFirstLineOfEachPasswordFile) {
  const auto access = Access::prepare(
      {.users = {"me", "sensor"},
       .password_files = {write("one", "xyzzy-49\r\nnot this"), write("two", "plugh 50")}});
  ASSERT_TRUE(access);
  EXPECT_THAT(access->notes(), ElementsAre("users: me, sensor"));
  const endpoint::BrokerOptions broker = options_of(*access);
  ASSERT_TRUE(broker.passwords);
  EXPECT_EQ(broker.passwords->user, "me");
  EXPECT_EQ(broker.passwords->password, "xyzzy-49");
  const auto lines = read_whole_file(broker.passwords->path.string());
  ASSERT_TRUE(lines) << lines.error();
  EXPECT_THAT(*lines, AllOf(StartsWith("me:$7$"), HasSubstr("\nsensor:$7$"),
                            Not(HasSubstr("xyzzy")), Not(HasSubstr("plugh"))));
  EXPECT_EQ(std::count(lines->begin(), lines->end(), '\n'), 2);
}

TEST_F(AccessTest, RefusesUsersThatNoPasswordFileHolds) {
  const std::string password = write("pw", "x\n");
  for (const char* user : {"", "a:b", "a\nroot", "a\r"}) {
    EXPECT_EQ(diagnostic({.users = {user}, .password_files = {password}}),
              "--user: a user name must not be empty, and must have no colons or line ends");
  }
  EXPECT_EQ(diagnostic({.users = {"me"}}),
            "--user is given 1 time and --password-file 0 times; expected one file for each user");
}

TEST_F(AccessTest, RefusesPasswordsThatNoClientCanSend) {
  const auto with = [](const std::string& file) {
    return diagnostic({.users = {"me"}, .password_files = {file}});
  };
  EXPECT_THAT(with("/no/such"), StartsWith("--password-file: cannot read /no/such"));
  const std::string empty = write("empty", "\nsecret");
  EXPECT_EQ(with(empty),
            "--password-file: the first line of " + empty + " is empty; expected a password");
  const std::string nul = write("nul", std::string("sec\0ret", 7));
  EXPECT_EQ(with(nul), "--password-file: the first line of " + nul +
                           " has a NUL, which brokers do not compare");
  EXPECT_EQ(with(write("most", std::string(65'535, 'x'))), "");
  const std::string longer = write("longer", std::string(65'536, 'x'));
  EXPECT_EQ(with(longer),
            "--password-file: the first line of " + longer + " has more than 65535 bytes");
}

// --- TLS -----------------------------------------------------------------------------------------

TEST_F(AccessTest, MakesAThrowAwayCertificate) {
  const std::string ca = (folder_.path() / "ca.pem").string();
  const auto access =
      Access::prepare({.bind = "0.0.0.0", .tls = ca, .tls_hosts = {"store.example"}});
  ASSERT_TRUE(access) << access.error();
  EXPECT_EQ(access->url(8883), "mqtts://127.0.0.1:8883");
  EXPECT_THAT(folder_.read("ca.pem"), StartsWith("-----BEGIN CERTIFICATE-----"));
  ASSERT_THAT(access->notes(), SizeIs(2));
  EXPECT_THAT(access->notes()[1],
              AllOf(StartsWith("the certificate is for localhost, 127.0.0.1, ::1, "),
                    HasSubstr("store.example; clients must trust the CA in " + ca),
                    Not(HasSubstr("0.0.0.0"))));
  const endpoint::BrokerOptions broker = options_of(*access);
  ASSERT_TRUE(broker.tls);
  EXPECT_TRUE(broker.tls->alone);
  EXPECT_FALSE(broker.tls->require_certificate);
  EXPECT_THAT(read_whole_file(broker.tls->certificate.string()).value_or(""),
              StartsWith("-----BEGIN CERTIFICATE-----"));
  EXPECT_THAT(read_whole_file(broker.tls->key.string()).value_or(""), HasSubstr("PRIVATE KEY"));
}

TEST_F(AccessTest, NamesTheAddressInTheCertificate) {
  const auto access =
      Access::prepare({.bind = "127.0.0.9", .tls = (folder_.path() / "ca.pem").string()});
  ASSERT_TRUE(access);
  EXPECT_THAT(access->notes(), ElementsAre(Not(HasSubstr("127.0.0.9"))));  // loopback is in it
}

TEST_F(AccessTest, TakesOnesOwnCertificateAndAsksForTheClients) {
  const auto made = endpoint::throw_away_certificate({"localhost"});
  ASSERT_TRUE(made);
  const std::string certificate = write("my.pem", made->certificate);
  const std::string key = write("my.key", made->key);
  const std::string ca = write("ca.pem", made->authority);
  const auto access =
      Access::prepare({.bind = "0.0.0.0", .certificate = certificate, .key = key, .client_ca = ca});
  ASSERT_TRUE(access) << access.error();
  const endpoint::BrokerOptions broker = options_of(*access);
  EXPECT_EQ(broker.tls->certificate, certificate);
  EXPECT_EQ(broker.tls->ca, ca);
  EXPECT_TRUE(broker.tls->require_certificate);
  EXPECT_THAT(access->notes(),
              ElementsAre(testing::EndsWith("may use this store, with a certificate")));
}

TEST_F(AccessTest, RefusesFilesThatTlsCannotUse) {
  const std::string empty = write("empty", "");
  EXPECT_EQ(diagnostic({.client_ca = empty}),
            "--client-ca needs TLS: add --tls FILE, or --certificate and --key");
  EXPECT_THAT(diagnostic({.certificate = empty, .key = empty}),
              StartsWith("cannot use the certificate " + empty + ": "));
  EXPECT_THAT(diagnostic({.certificate = "/no/such", .key = empty}), HasSubstr("/no/such"));
  EXPECT_THAT(diagnostic({.tls = "/no/such/folder/ca.pem"}),
              AllOf(StartsWith("--tls: "), HasSubstr("/no/such/folder/ca.pem")));
  EXPECT_THAT(diagnostic({.tls = (folder_.path() / "ca.pem").string(), .tls_hosts = {"a,b c"}}),
              StartsWith("cannot make a certificate for localhost,"));
}

}  // namespace
}  // namespace fencepost::serve
