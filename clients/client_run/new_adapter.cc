#include "clients/client_run/new_adapter.h"

#include <algorithm>
#include <array>

namespace fencepost::client_run {
namespace {

struct Language {
  std::string_view name;
  std::string_view folder;  // in adapters/
  std::string_view build;
  std::string_view command;
  std::string_view client;
};

constexpr std::array kLanguages = {
    Language{"cpp", "adapters/cpp_paho/",
             "c++ -std=c++20 -O1 -o adapter adapter.cc statestore.cc -lpaho-mqttpp3 -lpaho-mqtt3as "
             "-pthread  # Debian: libpaho-mqttpp-dev, nlohmann-json3-dev",
             "./adapter", "statestore.cc"},
    Language{"go", "adapters/go_sdk/", "go build -o adapter .", "./adapter", "main.go"},
    Language{"js", "adapters/mqtt_js/", "npm install", "node adapter.js", "statestore.js"},
    Language{"python", "adapters/python_paho/", "",
             "/usr/bin/python3 adapter.py  # Debian: python3-paho-mqtt", "statestore.py"},
    Language{"rust", "adapters/rust_sdk/", "cargo build --release",
             "target/release/fencepost_adapter", "src/main.rs"},
};

// Those in C++ name each other by their path in the repository.
std::string without(std::string text, std::string_view prefix) {
  for (std::size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at)) {
    text.erase(at, prefix.size());
  }
  return text;
}

}  // namespace

std::optional<NewAdapter> new_adapter(std::string_view language) {
  const auto* const found =
      std::find_if(kLanguages.begin(), kLanguages.end(),
                   [language](const Language& each) { return each.name == language; });
  if (found == kLanguages.end()) return std::nullopt;
  NewAdapter out{.command = std::string(found->command),
                 .build = std::string(found->build),
                 .client = std::string(found->client)};
  for (const scenario::SourceFile& each : adapter_files()) {
    if (!each.name.starts_with(found->folder)) continue;
    out.files.push_back({.name = each.name.substr(found->folder.size()),
                         .content = without(std::string(each.content), found->folder)});
  }
  return out;
}

}  // namespace fencepost::client_run
