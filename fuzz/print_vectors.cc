// Prints the hostile vectors, which are C++, for make_seeds.py: a line each with what it is, its
// name and its bytes in Base16.
#include <cstdio>

#include "codec/base16.h"
#include "codec/testing/vectors.h"

using namespace fencepost::codec;

int main() {
  for (const vectors::RequestVector& vector : vectors::all_requests()) {
    std::printf("request %s %s\n", label(vector).c_str(), base16_encode(vector.payload).c_str());
  }
  for (const vectors::ReplyVector& vector : vectors::all_replies()) {
    std::printf("reply %s %s\n", label(vector).c_str(), base16_encode(vector.payload).c_str());
  }
  return 0;
}
