// An adapter of `fencepost certify-client` around statestore.h: docs/CLIENTS.md.
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "adapters/cpp_paho/statestore.h"

namespace {

using nlohmann::json;
using statestore::Client;
using statestore::Failure;

json version_json(const statestore::Reply& reply) {
  return reply.version ? json(*reply.version) : json();
}

int choose(const std::string& payload, const std::map<std::string, int>& results) {
  const auto found = results.find(payload);
  if (found == results.end()) throw Failure("reply", "not a reply to this");
  return found->second;
}

json set(Client& client, const json& command, const std::string& key, const statestore::How& how) {
  std::vector<std::string> words{"SET", key, statestore::bytes_of(command.at("value"))};
  std::map<std::string, int> results{{"+OK\r\n", 1}};
  if (command.contains("condition")) {
    words.emplace_back(command.at("condition") == "nx" ? "NX" : "NEX");
    results.insert({{":-1\r\n", 0}, {"-1\r\n", 0}});
  }
  if (command.contains("px_ms")) {
    words.insert(words.end(), {"PX", std::to_string(command.at("px_ms").get<std::int64_t>())});
  }
  const statestore::Reply reply = client.ask(words, how);
  return {{"applied", choose(reply.payload, results) == 1}, {"version", version_json(reply)}};
}

json get(Client& client, const std::string& key, const statestore::How& how) {
  const statestore::Reply reply = client.ask({"GET", key}, how);
  const auto value = statestore::bulk_of(reply.payload);
  if (!value && reply.payload != "$-1\r\n") throw Failure("reply", "not a reply to GET");
  return {{"value", value ? json(statestore::hex_of(*value)) : json()},
          {"version", version_json(reply)}};
}

json notification(Client& client, const statestore::How& how) {
  const auto change = client.next_change(how.timeout);
  if (!change) return {{"none", true}};
  json out = {{"key", statestore::hex_of(change->key)}, {"version", change->version}};
  out["operation"] = change->deleted ? "delete" : "set";
  if (!change->deleted) out["value"] = statestore::hex_of(change->value);
  return out;
}

json perform(Client& client, const json& command) {
  const std::string name = command.at("command");
  const std::string key = statestore::bytes_of(command.value("key", ""));
  const statestore::How how{statestore::Milliseconds(command.at("timeout_ms").get<int>()),
                            command.value("token", "")};
  const std::map<std::string, int> counts{{":0\r\n", 0}, {":1\r\n", 1}};
  if (name == "set") return set(client, command, key, how);
  if (name == "get") return get(client, key, how);
  if (name == "del") return {{"deleted", choose(client.ask({"DEL", key}, how).payload, counts)}};
  if (name == "vdel") {
    std::map<std::string, int> results = counts;
    results.insert({{":-1\r\n", -1}, {"-1\r\n", -1}});
    const std::string value = statestore::bytes_of(command.at("value"));
    return {{"deleted", choose(client.ask({"VDEL", key, value}, how).payload, results)}};
  }
  if (name == "notification") return notification(client, how);
  if (name == "observe") {
    client.observe(key, true);
    choose(client.ask({"KEYNOTIFY", key}, how).payload, {{"+OK\r\n", 1}});
  } else {
    choose(client.ask({"KEYNOTIFY", key, "STOP"}, how).payload, {{"+OK\r\n", 1}, {":0\r\n", 0}});
    client.observe(key, false);
  }
  return json::object();
}

void say(const json& line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::cout << line.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
}

template <typename Act>
void report(const json& command, const Act& act) {
  try {
    say({{"id", command.at("id")}, {"ok", act()}});
  } catch (const Failure& failure) {
    say({{"id", command.at("id")}, {"error", {{"kind", failure.kind}, {"text", failure.what()}}}});
  }
}

class Adapter {
 public:
  void run() {
    say({{"fencepost_adapter", 1},
         {"name", "cpp-paho"},
         {"capabilities",
          {"set", "get", "del", "vdel", "observe", "conditions", "expiry", "tokens", "versions",
           "concurrent", "error-text", "binary"}}});
    for (std::string line; std::getline(std::cin, line);) take(json::parse(line));
  }

 private:
  void take(const json& command) {
    const std::string name = command.at("command");
    if (name != "connect" && name != "disconnect") {
      // Several may be in flight.
      under_way_.emplace_back(
          [this, command] { report(command, [&] { return perform(*client_, command); }); });
      return;
    }
    under_way_.clear();  // waits for each
    client_.reset();
    report(command, [&] {
      if (name == "connect") connect(command);
      return json::object();
    });
  }

  void connect(const json& command) {
    const std::string uri = "mqtt://" + std::string(command.at("host")) + ':' +
                            std::to_string(command.at("port").get<int>());
    const statestore::Milliseconds timeout(command.at("timeout_ms").get<int>());
    client_ = std::make_unique<Client>(uri, command.at("client_id"), timeout);
  }

  std::unique_ptr<Client> client_{};
  std::vector<std::jthread> under_way_{};
};

}  // namespace

int main() {
  try {
    Adapter().run();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
