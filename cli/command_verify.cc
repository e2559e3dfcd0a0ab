// fencepost verify: is the signature of a file valid, and what is a certificate worth?

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/files.h"
#include "base/sha256.h"
#include "base/text/output.h"
#include "base/text/printable.h"
#include "cli/command_support.h"
#include "cli/commands.h"
#include "cli/ssh_keygen.h"
#include "report/certificate.h"

namespace fencepost::cli {
namespace {

// Prints what is found; kConformant where it is as it must be.
run::ExitCode check_signature(const Verification& what, const std::string& key) {
  const Verified found = verify_file(what);
  if (found.state != SignatureState::kGood) {
    print_error(found.text);
    return found.state == SignatureState::kBad ? run::ExitCode::kFailed : run::ExitCode::kUsage;
  }
  if (found.text.find(key) == std::string::npos) {
    print_error(
        fmt::format("{} says that the key {} signs it, but: {}", what.file, key, found.text));
    return run::ExitCode::kFailed;
  }
  text::print("{}: {}\n", what.file, found.text);
  if (what.allowed_signers.empty()) {
    text::print("the owner of the key is checked only with --allowed-signers\n");
  }
  return run::ExitCode::kConformant;
}

// Is what stands beside the certificate the evidence of its run?
run::ExitCode check_evidence(const std::string& file, const report::CertificateSubject& subject) {
  if (subject.evidence.empty()) return run::ExitCode::kConformant;
  const std::string place = (std::filesystem::path(file).parent_path() / subject.evidence).string();
  std::error_code failed;
  if (!std::filesystem::exists(place, failed)) {
    text::print("{} is not here: its SHA-256 was not checked\n", place);
    return run::ExitCode::kConformant;
  }
  const auto content = read_whole_file(place, kMaxEvidenceBytes);
  if (!content) {
    print_error(content.error());
    return run::ExitCode::kUsage;
  }
  if (sha256_hex(*content) != subject.evidence_sha256) {
    print_error(fmt::format("{} is not the evidence of this run: its SHA-256 differs", place));
    return run::ExitCode::kFailed;
  }
  text::print("{} is the evidence of this run\n", place);
  return run::ExitCode::kConformant;
}

// What a certificate says, and what stands behind it.
run::ExitCode check_certificate(const Verification& what, const report::Certificate& read) {
  text::print("{}: {}, {} of {} MUST rules met by {}; {}\n", what.file, verdict_word(read),
              read.must.kept, read.must.all, subject_text(read.subject), read.rules);
  std::error_code failed;
  const bool is_signed =
      !read.subject.signing_key.empty() || std::filesystem::exists(what.signature, failed);
  const run::ExitCode of_signature =
      is_signed ? check_signature(what, read.subject.signing_key) : run::ExitCode::kInconclusive;
  const run::ExitCode of_evidence = check_evidence(what.file, read.subject);
  if (of_evidence != run::ExitCode::kConformant) return of_evidence;
  const bool sound = of_signature == run::ExitCode::kConformant || !is_signed;
  // The first sentence is about the key that it names.
  const bool names_key = is_signed == !read.subject.signing_key.empty();
  const std::vector<std::string> worth = worth_of(read);
  for (std::size_t i = names_key ? 0 : 1; sound && i < worth.size(); ++i) {
    text::print("{}\n", worth[i]);
  }
  return of_signature;
}

}  // namespace

run::ExitCode verify(const VerifyOptions& options) {
  const Verification what{
      .file = options.file,
      .signature = options.signature.empty() ? options.file + ".sig" : options.signature,
      .allowed_signers = options.allowed_signers,
      .signer = options.signer};
  const auto content = read_whole_file(what.file);  // evidence may be longer
  if (!content || !report::is_certificate(*content)) return check_signature(what, "");
  const auto certificate = report::read_certificate({what.file, *content});
  if (certificate) return check_certificate(what, *certificate);
  print_error(certificate.error());
  return run::ExitCode::kFailed;
}

}  // namespace fencepost::cli
