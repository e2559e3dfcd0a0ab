#include "suite/scenario/bytes_loader.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/bytes.h"

namespace fencepost::scenario {
namespace {

using testing::HasSubstr;

using Loader = std::optional<BytesSpec> (*)(YamlReader&, YamlNode, std::string_view);

std::string show(const BytesSpec& spec);

std::string show(const std::vector<BytesSpec>& parts) {
  std::string out;
  for (const BytesSpec& part : parts) out += (out.empty() ? "" : " ") + show(part);
  return out;
}

// Literal bytes as `"..."`, a key as `<name "appended">`, lists as join(...) and command(...).
std::string show(const BytesSpec& spec) {
  if (const auto* bytes = std::get_if<LiteralBytes>(&spec.what)) {
    return "\"" + escape(bytes->bytes, 40) + "\"";
  }
  if (const auto* bytes = std::get_if<LongBytes>(&spec.what)) {
    return "long:\"" + escape(bytes_of(*bytes), 40) + "\"";
  }
  if (const auto* key = std::get_if<KeyBytes>(&spec.what)) {
    return "<" + key->name + (key->append.empty() ? "" : " \"" + escape(key->append) + "\"") + ">";
  }
  if (const auto* joined = std::get_if<JoinedBytes>(&spec.what)) {
    return "join(" + show(joined->parts) + ")";
  }
  if (const auto* fill = std::get_if<FillBytes>(&spec.what)) {
    return (fill->again ? "filled:" : "fill:") + std::to_string(fill->excess);
  }
  if (const auto* wire = std::get_if<WireBytes>(&spec.what)) {
    std::string out = "wire(";
    for (const WireBytes::Piece& piece : wire->pieces) {
      out += escape(piece.bytes);
      if (piece.key.empty()) continue;
      out += (piece.is_length ? "<#" : "<") + piece.key + ":" + std::to_string(piece.change) + ">";
    }
    return out + ")";
  }
  return "command(" + show(std::get<CommandBytes>(spec.what).arguments) + ")";
}

// What was loaded, or all errors.
std::string loaded(Loader load, const std::string& yaml) {
  std::vector<LoadError> errors;
  YamlReader reader("f", errors);
  const auto node = reader.parse(yaml);
  const auto spec = node ? load(reader, *node, "value") : std::nullopt;
  std::string out = spec ? show(*spec) : "";
  for (const LoadError& error : errors) out += (out.empty() ? "" : "\n") + describe(error);
  return out;
}

struct Row {
  std::string yaml;
  std::string result;
};

TEST(BytesLoader, ReadsEveryNotation) {
  const Row kTable[] = {
      {"text", R"("text")"},
      {"''", R"("")"},
      {R"('a\r\n')", R"("a\\r\\n")"},
      {R"("a\r\n\x00")", R"("a\r\n\x00")"},
      {R"({escaped: 'a\r\n\t\0\xfF\\\"'})", R"("a\r\n\t\x00\xff\\\"")"},
      {"{escaped: ''}", R"("")"},
      {"{hex: '00 fF 0a'}", R"("\x00\xff\n")"},
      {"{hex: '0 0f f'}", R"("\x00\xff")"},
      {"{hex: ''}", R"("")"},
      {"{repeat: ab, times: 3}", R"("ababab")"},
      {"{repeat: ab, times: 0}", R"("")"},
      {"{times: 2, repeat: {hex: ff}}", R"("\xff\xff")"},
      {"{repeat: {repeat: x, times: 2}, times: 2}", R"("xxxx")"},
      {"{size: 0}", R"("")"},
      {"{size: 11}", R"("0,1,2,3,4,5")"},
      {"{join: [a, {hex: '00'}, {key: k}]}", R"(join("a" "\x00" <k>))"},
      {"{join: []}", "join()"},
      {"{command: ['GET', {key: k}]}", R"(command("GET" <k>))"},
      {"{join: [{command: [a]}, {join: [b]}]}", R"(join(command("a") join("b")))"},
      {"{key: k}", "<k>"},
      {"{key: k, append: {hex: '00'}}", R"(<k "\x00">)"},
      {"{append: '*', key: k/x}", R"(<k/x "*">)"},
      {R"({wire: '$<#k>\r\n<k>\r\n'})", R"(wire($<#k:0>\r\n<k:0>\r\n))"},
      {R"({wire: '<#a_1+12><#b-3>\x3c<c-2>>x'})", "wire(<#a_1:12><#b:-3><<c:-2>>x)"},
      {"{wire: ''}", "wire()"},
      {"{fill_packet: 0}", "fill:0"},
      {"{fill_packet: -1000000}", "fill:-1000000"},
      {"{join: [a, {filled: 16}]}", R"(join("a" filled:16))"},
  };
  for (const Row& row : kTable) EXPECT_EQ(loaded(load_bytes, row.yaml), row.result) << row.yaml;
}

TEST(BytesLoader, MakesAllBytesInOrder) {
  std::vector<LoadError> errors;
  YamlReader reader("f", errors);
  const auto spec = load_bytes(reader, *reader.parse("{all_bytes: true}"), "value");
  ASSERT_TRUE(spec && errors.empty());
  const std::string& bytes = std::get<LiteralBytes>(spec->what).bytes;
  ASSERT_EQ(bytes.size(), 256U);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(static_cast<unsigned char>(bytes[i]), i);
  }
}

TEST(BytesLoader, RefusesWhatIsNoNotation) {
  const Row kTable[] = {
      {"1.20", "f:1:1: value: YAML does not read 1.20 as text; write \"1.20\""},
      {"[a]", "f:1:1: value must be text, not a list"},
      {"{}",
       "f:1:1: value needs one of escaped, wire, hex, repeat, size, join, command, key, "
       "all_bytes, fill_packet or filled"},
      {"{times: 3}", "f:1:1: value needs one of escaped"},
      {"{base64: eA==}", "f:1:2: value has no key \"base64\"; allowed: escaped, hex"},
      {"{hex: '00', escaped: x}", "f:1:13: value has both \"hex\" and \"escaped\"; join them with"},
      {"{wire: '<'}", "f:1:8: wire: <k> is the key k"},
      {"{wire: '<>'}", "f:1:8: wire: <k> is the key"},
      {"{wire: '<K>'}", "f:1:8: wire: <k> is the key"},
      {"{wire: '<k+1>'}", "f:1:8: wire: <k> is the key"},
      {"{wire: '<#k+>'}", "f:1:8: wire: <k> is the key"},
      {"{wire: '<#k-0>'}", "f:1:8: wire: <k> is the key"},
      {"{wire: '<#k+1001>'}", "f:1:8: wire: <k> is the key"},
      {R"({wire: '\q'})", "f:1:8: wire: <k> is the key"},
      {R"({escaped: 'a\qb'})", "f:1:11: escaped: a backslash starts one of"},
      {R"({escaped: 'a\x0'})", "f:1:11: escaped: a backslash starts one of"},
      {R"({escaped: 'a\'})", "f:1:11: escaped: a backslash starts one of"},
      {"{escaped: 7}", "f:1:11: escaped: YAML does not read 7"},
      {"{hex: '0'}", "f:1:7: hex: \"0\" must be pairs of hexadecimal digits"},
      {"{hex: '0g'}", "f:1:7: hex: \"0g\" must be pairs"},
      {"{hex: 00}", "f:1:7: hex: YAML does not read 00"},
      {"{repeat: x}", "f:1:1: repeat needs times"},
      {"{repeat: x, times: -1}", "f:1:20: times must be a whole number from 0 to 16777216"},
      {"{repeat: xx, times: 16777216}",
       "f:1:1: repeat takes text or bytes, and makes at most 16 MiB"},
      {"{repeat: {key: k}, times: 2}", "f:1:1: repeat takes text or bytes"},
      {"{size: 16777217}", "f:1:8: size must be a whole number from 0 to 16777216"},
      {"{fill_packet: '0'}", "f:1:15: fill_packet must be a whole number from -1000000 to 1000000"},
      {"{filled: 1000001}", "f:1:10: filled must be a whole number from -1000000 to 1000000"},
      {"{fill_packet: 0, times: 2}", "f:1:25: times needs repeat"},
      {"{size: '5'}", "f:1:8: size must be a whole number"},
      {"{join: a}", "f:1:8: join must be a list"},
      {"{join: [a, 7]}", "f:1:12: join: YAML does not read 7"},
      {"{command: {a: b}}", "f:1:11: command must be a list"},
      {"{key: k, append: {key: l}}", "f:1:18: append takes text or bytes"},
      {"{key: ''}",
       "f:1:7: a key name is not empty, as the case's prefix goes before it; the empty key is"},
      {"{key: [k]}", "f:1:7: key name must be text, not a list"},
  };
  for (const Row& row : kTable) {
    EXPECT_THAT(loaded(load_bytes, row.yaml), testing::StartsWith(row.result)) << row.yaml;
  }
}

// Each of these was once dropped without a word.
TEST(BytesLoader, RefusesWhatWouldBeIgnored) {
  const Row kTable[] = {
      {"{all_bytes: false}", "f:1:13: all_bytes must be true; leave it out otherwise"},
      {"{hex: '00', times: 3}", "f:1:20: times needs repeat; join different bytes with"},
      {"{escaped: a, append: b}", "f:1:22: append needs key; join different bytes with"},
      {"{repeat: a, times: 2, append: b}", "f:1:31: append needs key"},
  };
  for (const Row& row : kTable) EXPECT_THAT(loaded(load_bytes, row.yaml), HasSubstr(row.result));
}

TEST(BytesLoader, RepeatsUpToTheLimit) {
  EXPECT_EQ(loaded(load_bytes, "{repeat: x, times: 16777216}"),
            "long:\"" + escape(std::string(16U << 20U, 'x'), 40) + "\"");
}

// Whether bytes are many decides how they are kept, and nothing else.
TEST(BytesLoader, MakesTheSameOfFewAndMany) {
  EXPECT_EQ(bytes_of({"ab", 6}), "ababab");
  EXPECT_EQ(bytes_of({"x", 3}), "xxx");
  EXPECT_EQ(bytes_of({"", 10}), patterned_bytes(10));
  EXPECT_EQ(loaded(load_bytes, "{repeat: ab, times: 2048}"),
            "\"" + escape(bytes_of({"ab", 4096}), 40) + "\"");
  EXPECT_EQ(loaded(load_bytes, "{repeat: ab, times: 2049}"),
            "long:\"" + escape(bytes_of({"ab", 4098}), 40) + "\"");
  EXPECT_EQ(loaded(load_bytes, "{size: 4097}"),
            "long:\"" + escape(patterned_bytes(4097), 40) + "\"");
  const std::string twice = patterned_bytes(5000) + patterned_bytes(5000);
  EXPECT_EQ(loaded(load_bytes, "{repeat: {size: 5000}, times: 2}"),
            "long:\"" + escape(twice, 40) + "\"");
  EXPECT_EQ(loaded(load_bytes, "{key: k, append: {size: 5000}}"),
            "<k \"" + escape(patterned_bytes(5000)) + "\">");
}

TEST(KeyLoader, ReadsEveryNotation) {
  const Row kTable[] = {
      {"k", "<k>"},
      {"\"1.20\"", "<1.20>"},
      {"{name: k}", "<k>"},
      {"{name: k, append: {escaped: '\\r\\n'}}", R"(<k "\r\n">)"},
      {"{exact: k}", R"("k")"},
      {"{exact: ''}", R"("")"},
      {"{exact: {join: [{key: k}, x]}}", R"(join(<k> "x"))"},
  };
  for (const Row& row : kTable) EXPECT_EQ(loaded(load_key, row.yaml), row.result) << row.yaml;
}

TEST(KeyLoader, RefusesWhatIsNoKey) {
  const Row kTable[] = {
      {"1.20", "f:1:1: key name: YAML does not read 1.20"},
      {"''",
       "f:1:1: a key name is not empty, as the case's prefix goes before it; the empty key is "
       "{exact: \"\"}"},
      {"[k]", "f:1:1: key name must be text, not a list"},
      {"{}", "f:1:1: value needs either name (with the case's prefix) or exact"},
      {"{name: k, exact: k}", "f:1:1: value needs either name"},
      {"{append: x}", "f:1:1: value needs either name"},
      {"{exact: k, append: x}", "f:1:20: append needs name; join different bytes with"},
      {"{nam: k}", "f:1:2: value has no key \"nam\"; did you mean \"name\"?"},
  };
  for (const Row& row : kTable) {
    EXPECT_THAT(loaded(load_key, row.yaml), testing::StartsWith(row.result)) << row.yaml;
  }
}

// A value that is torn, or shifted, is not mistaken for the whole.
TEST(PatternedBytes, EqualNoShiftedCopyOfThemselves) {
  const std::string bytes = patterned_bytes(2'000);
  ASSERT_EQ(bytes.size(), 2'000U);
  for (std::size_t shift = 1; shift <= 1'000; ++shift) {
    EXPECT_NE(bytes.substr(shift), bytes.substr(0, bytes.size() - shift)) << shift;
  }
}

}  // namespace
}  // namespace fencepost::scenario
