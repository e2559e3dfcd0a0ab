#include "endpoint/paho_driver.h"

#include <string_view>

#include <dlfcn.h>

#include "endpoint/beside_program.h"
#include "endpoint/cancellation.h"
#include "endpoint/paho/module.h"

namespace fencepost::endpoint {
namespace {

std::string cannot_load(const std::string& why) {
  return "cannot load " + why +
         "; --driver paho needs the Debian package libpaho-mqttpp3-1, --driver builtin does not";
}

Result<const PahoModule*, std::string> load() {
  const auto path = find_beside_program(kPahoModule);
  if (!path) {
    return fail("--driver paho needs the module " + std::string(kPahoModule) +
                ", which is not in the folder of this program: install it with the program, or run "
                "ci/build");
  }
  void* loaded = dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc's is of one thread
  if (loaded == nullptr) return fail(cannot_load(dlerror()));
  const auto* module = static_cast<const PahoModule*>(dlsym(loaded, "fencepost_paho_module"));
  if (module == nullptr || std::string_view(module->interface) != kPahoInterface) {
    return fail(path->string() + " is of another build than this program" +
                "; install both together, or run ci/build");
  }
  return module;
}

const Result<const PahoModule*, std::string>& paho_module() {
  static const Result<const PahoModule*, std::string> module = load();
  return module;
}

}  // namespace

Result<std::unique_ptr<Connector>, std::string> make_paho_connector(const MqttOptions& options) {
  const auto& module = paho_module();
  if (!module) return fail(module.error());
  return (*module)->make_connector(options, cancellation());
}

std::string paho_error() {
  const auto& module = paho_module();
  return module ? std::string() : module.error();
}

}  // namespace fencepost::endpoint
