#include "fuzz/hiredis_reader.h"

#include <cstddef>
#include <memory>

#include <hiredis/read.h>

namespace fencepost::fuzz {
namespace {

// Compares what the reader finds with what it should find, as it finds it: hiredis builds no tree,
// for which it would allocate each argument. The functions return a pointer that is not null, or
// the reader would take it for a failed allocation.
struct Comparison {
  const std::vector<std::string_view>& expected;
  std::size_t found = 0;
  bool same = true;
};

Comparison* comparison_of(const redisReadTask* task) {
  return static_cast<Comparison*>(task->privdata);
}

void* take_string(const redisReadTask* task, char* bytes, std::size_t size) {
  Comparison* comparison = comparison_of(task);
  const std::size_t i = comparison->found++;
  comparison->same = comparison->same && task->parent != nullptr &&
                     task->type == REDIS_REPLY_STRING && i < comparison->expected.size() &&
                     comparison->expected[i] == std::string_view(bytes, size);
  return comparison;
}

void* take_array(const redisReadTask* task, int /*elements*/) {
  Comparison* comparison = comparison_of(task);
  if (task->parent != nullptr) comparison->same = false;
  return comparison;
}

void* take_integer(const redisReadTask* task, long long /*integer*/) {
  comparison_of(task)->same = false;
  return comparison_of(task);
}

void* take_nil(const redisReadTask* task) {
  comparison_of(task)->same = false;
  return comparison_of(task);
}

void forget(void* /*object*/) {}

struct FreeReader {
  void operator()(redisReader* reader) const { redisReaderFree(reader); }
};

}  // namespace

bool hiredis_reads(std::string_view input, const std::vector<std::string_view>& arguments) {
  redisReplyObjectFunctions functions{take_string, take_array, take_integer, take_nil, forget};
  const std::unique_ptr<redisReader, FreeReader> reader(redisReaderCreateWithFunctions(&functions));
  if (reader == nullptr) return false;
  Comparison comparison{arguments};
  reader->privdata = &comparison;
  void* reply = nullptr;
  if (redisReaderFeed(reader.get(), input.data(), input.size()) != REDIS_OK) return false;
  if (redisReaderGetReply(reader.get(), &reply) != REDIS_OK || reply == nullptr) return false;
  // A read buffer that has been used up is left where it ends, or thrown away.
  return comparison.same && comparison.found == arguments.size() && reader->pos == reader->len;
}

}  // namespace fencepost::fuzz
