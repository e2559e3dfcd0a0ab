// Signatures in the format of `ssh-keygen -Y`, made and checked by that program, so that anybody
// can check them without us, by hardware keys and agents as well.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace fencepost::cli {

// The purpose of our signatures: one made for another purpose is not valid.
inline constexpr const char* kSignatureNamespace = "fencepost";

// Is the program there, and the key a file? The error says what to do.
[[nodiscard]] Result<void, std::string> check_signing(const std::string& key);

// "SHA256:...", by which ssh-keygen names the key; empty: `key` is not a key.
[[nodiscard]] std::string fingerprint_of(const std::string& key);

// Writes FILE.sig, in the place of an older one. `key`: a private key, or the public one of a key
// that an agent has.
[[nodiscard]] Result<void, std::string> sign_file(const std::string& key, const std::string& file);

struct Verification {
  std::string file{};
  std::string signature{};
  std::string allowed_signers{};  // a file; empty: any key will do
  std::string signer{};           // of that file; empty: any of them
};

enum class SignatureState { kGood, kBad, kUnusable };
struct Verified {
  SignatureState state = SignatureState::kUnusable;  // kUnusable: a file or the program is missing
  std::string text{};                                // what there is to say
};
[[nodiscard]] Verified verify_file(const Verification& what);

// Can the key sign, and is there a file that it is to sign? Called before the run. False after an
// error was printed. No key: nothing is signed.
[[nodiscard]] bool can_sign(const std::string& key, const std::vector<std::string>& files);
// Signs those that have a name. False after an error was printed.
[[nodiscard]] bool sign_files(const std::string& key, const std::vector<std::string>& files);

}  // namespace fencepost::cli
