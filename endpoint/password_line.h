// Lines of a mosquitto_passwd file, without that program and without the password on a disk.
#pragma once

#include <optional>
#include <string>

namespace fencepost::endpoint {

// "me:$7$101$salt$hash\n": PBKDF2 with SHA-512 and a random salt. Nothing when the user name is
// empty or has a colon or a line end, which such a file cannot hold.
[[nodiscard]] std::optional<std::string> password_line(const std::string& user,
                                                       const std::string& password);

}  // namespace fencepost::endpoint
