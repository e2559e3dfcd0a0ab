// fencepost verify: is the signature of a file valid?

#include <fmt/format.h>

#include "base/text/output.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "cli/ssh_keygen.h"

namespace fencepost::cli {

run::ExitCode verify(const VerifyOptions& options) {
  const Verified found = verify_file(
      {.file = options.file,
       .signature = options.signature.empty() ? options.file + ".sig" : options.signature,
       .allowed_signers = options.allowed_signers,
       .signer = options.signer});
  if (found.state != SignatureState::kGood) {
    print_error(found.text);
    return found.state == SignatureState::kBad ? run::ExitCode::kFailed : run::ExitCode::kUsage;
  }
  text::print("{}: {}\n", options.file, found.text);
  if (options.allowed_signers.empty()) {
    text::print("the owner of the key is checked only with --allowed-signers\n");
  }
  return run::ExitCode::kConformant;
}

}  // namespace fencepost::cli
