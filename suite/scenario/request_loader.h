// Reads the requests of a case: set, get, del, vdel, keynotify and send. Private to the scenario
// loader.
#pragma once

#include <optional>
#include <string>

#include "suite/scenario/expectation_loader.h"
#include "suite/scenario/scenario.h"
#include "suite/scenario/yaml_reader.h"

namespace fencepost::scenario {

[[nodiscard]] bool is_request(std::string_view action);

class RequestLoader {
 public:
  // All of them must outlive this.
  RequestLoader(YamlReader& reader, Case& test_case, KnownNames& known)
      : reader_(reader), case_(test_case), known_(known) {}

  // `body` stands under the action, `expect` beside it and may be undefined. Nothing after an error
  // without which there is no request. A `keynotify` makes its client an observer.
  [[nodiscard]] std::optional<RequestStep> load(const std::string& action, YamlNode body,
                                                YamlNode expect);

 private:
  bool check_sent_members(const std::string& action, YamlNode members);
  std::optional<BytesSpec> load_payload(const std::string& action, YamlNode body);
  std::optional<BytesSpec> load_command(const std::string& action, YamlNode body);
  std::optional<BytesSpec> load_sent_payload(YamlNode body);
  void load_mark(YamlNode node, RequestStep& request);
  TimestampSpec load_timestamp(YamlNode node, std::string_view what);
  void check_base(const std::string& base, YamlNode node);
  void load_timestamps(YamlNode body, RequestStep& request);
  void load_optional_bytes(YamlNode node, std::string_view what, std::optional<BytesSpec>& bytes,
                           bool& none);
  void load_envelope(YamlNode body, RequestStep& request);
  void load_packet(YamlNode node, RequestStep& request);
  void load_twice(YamlNode node, const RequestStep& request, PacketSpec& packet);
  void load_user_properties(YamlNode node, RequestStep& request);

  YamlReader& reader_;
  Case& case_;
  KnownNames& known_;
};

// Reports `greater_than: [sent]` as an error where no timestamp is sent: it would always hold.
void refuse_sent(YamlReader& reader, const std::optional<TimestampCheck>& check, YamlNode node);

}  // namespace fencepost::scenario
