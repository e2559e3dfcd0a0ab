#include "cli/ssh_keygen.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/child_process.h"
#include "base/files.h"
#include "base/text/printable.h"
#include "cli/command_support.h"
#include "endpoint/memory_file.h"

namespace fencepost::cli {
namespace {

constexpr const char* kProgram = "ssh-keygen";
constexpr std::size_t kMaxSaid = 16'384;

struct Said {
  int code = 0;
  std::string text;  // of both outputs
};

// Runs it with `input` (a file) as its standard input. The error says that it cannot be run.
Result<Said, std::string> keygen(std::vector<std::string> arguments,
                                 const std::string& input = "/dev/null") {
  const endpoint::Socket from(::open(input.c_str(), O_RDONLY | O_CLOEXEC));
  const endpoint::MemoryFile output("fencepost-keygen", "");
  arguments.insert(arguments.begin(), kProgram);
  // An agent may hold the key, and ask its user.
  auto child = ChildProcess::start(
      {.words = std::move(arguments),
       .variables = environment_of_child(
           {"SSH_AUTH_SOCK", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "DISPLAY", "WAYLAND_DISPLAY"}),
       .input = from.descriptor(),
       .output = output.descriptor(),
       .errors = output.descriptor(),
       .own_group = false});
  if (!child && child.error() == ENOENT) {
    return fail(
        fmt::format("{} is not installed: signatures need it (Debian: openssh-client)", kProgram));
  }
  if (!child) {
    return fail(fmt::format(
        "cannot run {}: {}", kProgram,
        std::strerror(child.error())));  // NOLINT(concurrency-mt-unsafe): glibc's is safe
  }
  return Said{child->wait().value_or(ChildEnding{}).code, text::printable(output.tail(kMaxSaid))};
}

bool is_file(const std::string& path) {
  std::error_code failed;
  return std::filesystem::is_regular_file(path, failed) && ::access(path.c_str(), R_OK) == 0;
}

// Those whose key has made the signature, as the file of allowed signers names them.
std::vector<std::string> principals(const Verification& what) {
  const auto found =
      keygen({"-Y", "find-principals", "-s", what.signature, "-f", what.allowed_signers});
  std::vector<std::string> out;
  if (!found || found->code != 0) return out;
  std::istringstream lines(found->text);
  for (std::string line; std::getline(lines, line);) out.push_back(line);
  return out;
}

Verified verified(const Result<Said, std::string>& said, const std::string& file) {
  if (!said) return {SignatureState::kUnusable, said.error()};
  if (said->code == 0) return {SignatureState::kGood, said->text};
  return {SignatureState::kBad,
          fmt::format("{} is not the file that was signed: {}", file, said->text)};
}

bool is_signed(const std::string& file) { return !file.empty() && file != "-"; }

}  // namespace

Result<void, std::string> check_signing(const std::string& key) {
  if (!is_file(key)) {
    return fail(fmt::format("cannot read the key {}: ssh-keygen -t ed25519 -f {} creates one", key,
                            text::shell_word(key)));
  }
  // A key without which nothing can be signed; whether it can sign shows when it does.
  const auto there = keygen({"-l", "-f", key});
  if (!there) return fail(there.error());
  if (there->code != 0) return fail(fmt::format("{} is not a key: {}", key, there->text));
  return {};
}

std::string fingerprint_of(const std::string& key) {
  const auto said = keygen({"-l", "-f", key});
  const std::size_t begin = said ? said->text.find("SHA256:") : std::string::npos;
  if (begin == std::string::npos) return {};
  return said->text.substr(begin, said->text.find(' ', begin) - begin);
}

Result<void, std::string> sign_file(const std::string& key, const std::string& file) {
  // To its standard output: it would write a file where anything may stand.
  const auto said = keygen({"-Y", "sign", "-n", kSignatureNamespace, "-f", key}, file);
  if (!said) return fail(said.error());
  const std::size_t begin = said->text.find("-----BEGIN SSH SIGNATURE-----");
  constexpr std::string_view kEnd = "-----END SSH SIGNATURE-----";
  const std::size_t end = said->text.find(kEnd);
  if (said->code != 0 || begin == std::string::npos || end == std::string::npos) {
    return fail(fmt::format("{} is not signed: {}", file, said->text));
  }
  const std::string signature = said->text.substr(begin, end + kEnd.size() - begin) + "\n";
  if (write_new_file(file + ".sig", signature)) return {};
  return fail(fmt::format("cannot write {}.sig: {}", file,
                          std::strerror(errno)));  // NOLINT(concurrency-mt-unsafe): glibc's is safe
}

Verified verify_file(const Verification& what) {
  for (const std::string* each : {&what.file, &what.signature, &what.allowed_signers}) {
    const bool wanted = each != &what.allowed_signers || !each->empty();
    if (wanted && !is_file(*each)) {
      const bool is_signature = each == &what.signature;
      return {SignatureState::kUnusable,
              fmt::format("cannot read {}{}", *each,
                          is_signature ? ": certify --sign KEY writes it; --signature FILE names "
                                         "one that is elsewhere"
                                       : "")};
    }
  }
  if (what.allowed_signers.empty()) {
    return verified(
        keygen({"-Y", "check-novalidate", "-n", kSignatureNamespace, "-s", what.signature},
               what.file),
        what.file);
  }
  std::vector<std::string> signers{what.signer};
  if (what.signer.empty()) signers = principals(what);
  if (signers.empty()) {
    return {SignatureState::kBad, fmt::format("{} was made with a key that is not in {}",
                                              what.signature, what.allowed_signers)};
  }
  Verified out;
  for (const std::string& signer : signers) {
    out = verified(keygen({"-Y", "verify", "-n", kSignatureNamespace, "-f", what.allowed_signers,
                           "-I", signer, "-s", what.signature},
                          what.file),
                   what.file);
    if (out.state != SignatureState::kBad) break;
  }
  return out;
}

bool can_sign(const std::string& key, const std::vector<std::string>& files) {
  if (key.empty()) return true;
  const auto able = check_signing(key);
  if (!able) print_error(able.error());
  const bool something = std::any_of(files.begin(), files.end(), is_signed);
  if (!something) print_error("--sign needs --evidence, --json or another report to sign");
  return able && something;
}

bool sign_files(const std::string& key, const std::vector<std::string>& files) {
  bool done = true;
  for (const std::string& file : files) {
    if (key.empty() || !is_signed(file)) continue;
    const auto signature = sign_file(key, file);
    if (!signature) print_error(signature.error());
    done = done && signature;
  }
  return done;
}

}  // namespace fencepost::cli
