#include "clients/serve/access.h"

#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/files.h"
#include "base/text/text_wrap.h"
#include "endpoint/password_line.h"
#include "endpoint/socket.h"
#include "endpoint/throw_away_certificate.h"
#include "endpoint/tls_error.h"
#include "report/report_files.h"
#include "suite/scenario/library.h"

namespace fencepost::serve {
namespace {

constexpr std::size_t kMaxPassword = 65'535;  // what a CONNECT can hold (MQTT 5, 1.5.6)

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1";
}

Result<void, std::string> check_address(const std::string& address) {
  const auto port = endpoint::reserve_port(address);
  if (port) return {};
  return fail(
      fmt::format("--bind {}: {}; expected an IP address of this machine, e.g. 127.0.0.1, or "
                  "0.0.0.0 for all of them",
                  address, port.error()));
}

// The first line of the file. The error does not show its content.
Result<std::string, std::string> read_password(const std::string& path) {
  const auto file = scenario::read_file(path);
  if (!file) return fail("--password-file: " + file.error());
  std::string password = file->content.substr(0, file->content.find_first_of("\r\n"));
  if (password.size() > kMaxPassword) {
    return fail(fmt::format("--password-file: the first line of {} has more than {} bytes", path,
                            kMaxPassword));
  }
  if (password.find('\0') != std::string::npos) {
    return fail("--password-file: the first line of " + path +
                " has a NUL, which brokers do not compare");
  }
  if (!password.empty()) return password;
  return fail("--password-file: the first line of " + path + " is empty; expected a password");
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace

Result<Access, std::string> Access::prepare(const AccessOptions& options) {
  Access out;
  out.bind_ = options.bind;
  auto done = check_address(options.bind)
                  .and_then([&] { return out.prepare_passwords(options); })
                  .and_then([&] { return out.prepare_tls(options); });
  if (!done) return fail(std::move(done.error()));
  return out;
}

Access::Done Access::prepare_tls(const AccessOptions& options) {
  const bool wanted = !options.tls.empty() || !options.certificate.empty();
  if (!wanted && options.client_ca.empty()) return {};
  if (!wanted) {
    return fail(std::string("--client-ca needs TLS: add --tls FILE, or --certificate and --key"));
  }
  tls_ = endpoint::TlsListener{.certificate = options.certificate,
                               .key = options.key,
                               .ca = options.client_ca,
                               .require_certificate = !options.client_ca.empty(),
                               .alone = true};
  if (!options.tls.empty()) {
    if (auto made = prepare_throw_away(options); !made) return made;
  }
  // OpenSSL would wait for a pipe, and read a device without end.
  for (const std::filesystem::path& file : {tls_->certificate, tls_->key, tls_->ca}) {
    if (file.empty()) continue;
    if (const auto content = read_whole_file(file.string()); !content) {
      return fail(content.error());
    }
  }
  std::string wrong = endpoint::server_files_error(tls_->certificate, tls_->key, tls_->ca);
  if (!wrong.empty()) return fail(std::move(wrong));
  return {};
}

Access::Done Access::prepare_throw_away(const AccessOptions& options) {
  std::vector<std::string> hosts = {"localhost", "127.0.0.1", "::1"};
  const std::string name = host_name();
  if (!name.empty() && name != "localhost") hosts.push_back(name);
  const bool any = options.bind == "0.0.0.0" || options.bind == "::";
  if (!any && !is_loopback(options.bind)) hosts.push_back(options.bind);
  hosts.insert(hosts.end(), options.tls_hosts.begin(), options.tls_hosts.end());
  const auto made = endpoint::throw_away_certificate(hosts);
  if (!made) {
    return fail(
        fmt::format("cannot make a certificate for {}: {}", fmt::join(hosts, ", "), made.error()));
  }
  if (const auto written = report::write_file(options.tls, made->authority); !written) {
    return fail("--tls: " + written.error());
  }
  for (const auto& [path, content] :
       {std::pair{&tls_->certificate, &made->certificate}, std::pair{&tls_->key, &made->key}}) {
    files_.push_back(std::make_unique<endpoint::MemoryFile>("fencepost-tls", *content));
    *path = files_.back()->path_for_others();
  }
  certified_ = fmt::format("the certificate is for {}; clients must trust the CA in {}",
                           fmt::join(hosts, ", "), options.tls);
  return {};
}

Access::Done Access::prepare_passwords(const AccessOptions& options) {
  if (options.users.size() != options.password_files.size()) {
    return fail(
        fmt::format("--user is given {} and --password-file {}; expected one file for each user",
                    text::counted(options.users.size(), "time"),
                    text::counted(options.password_files.size(), "time")));
  }
  std::string lines;
  for (std::size_t i = 0; i < options.users.size(); ++i) {
    auto password = read_password(options.password_files[i]);
    if (!password) return fail(std::move(password.error()));
    const auto line = endpoint::password_line(options.users[i], *password);
    if (!line) {
      return fail(std::string(
          "--user: a user name must not be empty, and must have no colons or line ends"));
    }
    lines += *line;
    if (i == 0) passwords_ = {.path = {}, .user = options.users[i], .password = *password};
  }
  if (!passwords_) return {};
  users_ = options.users;
  files_.push_back(std::make_unique<endpoint::MemoryFile>("fencepost-passwords", lines));
  passwords_->path = files_.back()->path_for_others();
  return {};
}

void Access::add_to(endpoint::BrokerOptions& options) const {
  options.bind = bind_;
  options.tls = tls_;
  options.passwords = passwords_;
}

std::string Access::url(std::uint16_t port) const {
  const std::string host = endpoint::address_to_reach(bind_);
  return fmt::format("{}://{}:{}", tls_ ? "mqtts" : "mqtt",
                     host.find(':') == std::string::npos ? host : "[" + host + "]", port);
}

std::vector<std::string> Access::notes() const {
  std::vector<std::string> out;
  if (!is_loopback(bind_)) {
    out.push_back(fmt::format(
        "OPEN TO OTHERS: every host that reaches {} may use this store{}",
        bind_ == "0.0.0.0" || bind_ == "::" ? "any address of this machine" : bind_,
        passwords_                          ? ", with a password"
        : tls_ && tls_->require_certificate ? ", with a certificate"
                                            : ", without a password (--user requires one)"));
    if (passwords_ && !tls_) out.emplace_back("passwords cross the network unencrypted; use --tls");
  }
  if (!users_.empty()) out.push_back(fmt::format("users: {}", fmt::join(users_, ", ")));
  if (!certified_.empty()) out.push_back(certified_);
  return out;
}

}  // namespace fencepost::serve
