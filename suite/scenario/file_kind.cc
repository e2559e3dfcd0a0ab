#include "suite/scenario/file_kind.h"

#include <array>
#include <cstddef>

namespace fencepost::scenario {
namespace {

constexpr std::size_t kLookedAt = 4'096;

struct Kind {
  std::string_view begins;    // behind blanks
  std::string_view contains;  // somewhere in the beginning
  std::string_view name;
};
constexpr std::array kKinds = {
    Kind{"fencepost evidence", "",
         "evidence of a run, which judge, merge and certify --resume read"},
    Kind{"{", R"("type":"history")", "a history, which check reads"},
    Kind{"{", R"("unfinished":)", "an unfinished run of an earlier version"},
    Kind{"{", R"("suite_version":)", "a JSON report"},
    Kind{"<!DOCTYPE html", "", "an HTML page"},
    Kind{"<?xml", "", "XML, such as a JUnit report"},
};

}  // namespace

std::string_view kind_of_file(std::string_view content) {
  const std::string_view begin = content.substr(0, kLookedAt);
  const std::size_t first = begin.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  for (const Kind& kind : kKinds) {
    const bool fits = begin.substr(first).starts_with(kind.begins);
    if (fits && begin.find(kind.contains) != std::string_view::npos) return kind.name;
  }
  return {};
}

}  // namespace fencepost::scenario
