#include "cli/ssh_keygen.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>
#include <spawn.h>

#include "base/child_environment.h"
#include "base/files.h"
#include "cli/command_support.h"
#include "conformance/text/printable.h"

namespace fencepost::cli {
namespace {

constexpr const char* kProgram = "ssh-keygen";
constexpr std::size_t kMostSaid = 16'384;

struct Said {
  int code = 0;
  std::string text;  // of both outputs
};

// Runs it with `input` (a file) as its standard input. The error says that it cannot be run.
Result<Said, std::string> keygen(std::vector<std::string> arguments,
                                 const std::string& input = "/dev/null") {
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0) return fail(std::string("cannot make a pipe"));
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe[1], STDERR_FILENO);
  arguments.insert(arguments.begin(), kProgram);
  // An agent may hold the key, and ask somebody.
  std::vector<std::string> variables = environment_of_child(
      {"SSH_AUTH_SOCK", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "DISPLAY", "WAYLAND_DISPLAY"});
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, kProgram, &actions, nullptr,
                                    pointers_to(arguments).data(), pointers_to(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe[1]);
  Said out;
  std::array<char, 4096> block{};
  for (;;) {
    const ssize_t count = failed != 0 ? 0 : ::read(pipe[0], block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    const auto more = static_cast<std::size_t>(count);
    if (out.text.size() + more <= kMostSaid) out.text.append(block.data(), more);
  }
  ::close(pipe[0]);
  if (failed == ENOENT) {
    return fail(
        fmt::format("{} is not here: signatures need it (Debian: openssh-client)", kProgram));
  }
  if (failed != 0) {
    return fail(
        fmt::format("cannot run {}: {}", kProgram,
                    std::strerror(failed)));  // NOLINT(concurrency-mt-unsafe): glibc's is safe
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  out.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  while (out.text.ends_with('\n') || out.text.ends_with('\r')) out.text.pop_back();
  out.text = text::printable(out.text);
  return out;
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
  return {SignatureState::kBad, fmt::format("{} is not what was signed: {}", file, said->text)};
}

bool is_signed(const std::string& file) { return !file.empty() && file != "-"; }

}  // namespace

Result<void, std::string> check_signing(const std::string& key) {
  if (!is_file(key)) {
    return fail(fmt::format("cannot read the key {}: ssh-keygen -t ed25519 -f {} makes one", key,
                            text::shell_word(key)));
  }
  // A key without which nothing can be signed; whether it can sign shows when it does.
  const auto there = keygen({"-l", "-f", key});
  if (!there) return fail(there.error());
  if (there->code != 0) return fail(fmt::format("{} is no key: {}", key, there->text));
  return {};
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
      return {SignatureState::kUnusable, fmt::format("cannot read {}", *each)};
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
    return {SignatureState::kBad,
            fmt::format("{} is of a key that is not in {}", what.signature, what.allowed_signers)};
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
  if (!able) complain(able.error());
  const bool something = std::any_of(files.begin(), files.end(), is_signed);
  if (!something) complain("--sign needs a file to sign: --evidence, --json or another report");
  return able && something;
}

bool sign_files(const std::string& key, const std::vector<std::string>& files) {
  bool done = true;
  for (const std::string& file : files) {
    if (key.empty() || !is_signed(file)) continue;
    const auto signature = sign_file(key, file);
    if (!signature) complain(signature.error());
    done = done && signature;
  }
  return done;
}

}  // namespace fencepost::cli
