#include "suite/scenario/file_kind.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace fencepost::scenario {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(FileKind, NamesWhatTheSuiteWrites) {
  EXPECT_THAT(kind_of_file("fencepost evidence 1\n\x01"), HasSubstr("evidence"));
  EXPECT_THAT(kind_of_file(R"({"type":"history","format":1})"), HasSubstr("check"));
  EXPECT_THAT(kind_of_file("{\"unfinished\":{}, \"suite_version\":\"1\"}"),
              HasSubstr("unfinished run"));
  EXPECT_THAT(kind_of_file("\n{\n \"suite_version\": \"1\""), HasSubstr("JSON report"));
  EXPECT_THAT(kind_of_file("<!DOCTYPE html>\n<html>"), HasSubstr("page"));
  EXPECT_THAT(kind_of_file("<?xml version=\"1.0\"?>"), HasSubstr("JUnit"));
}

TEST(FileKind, NamesNothingElse) {
  for (const char* text : {"", " \n", "area: x\n", "{\"area\": \"x\", \"cases\": []}",
                           "url: mqtt://h", "# {\"suite_version\":\"1\"}", "{\"suite\":1}"}) {
    EXPECT_THAT(kind_of_file(text), IsEmpty()) << text;
  }
  const std::string far = "{" + std::string(5'000, ' ') + "\"suite_version\":\"1\"}";
  EXPECT_THAT(kind_of_file(far), IsEmpty());
}

}  // namespace
}  // namespace fencepost::scenario
