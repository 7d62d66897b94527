#include "probes/subnet.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <vector>

namespace plumbline {
namespace {

// The bytes of the address, empty when the text is none.
std::vector<unsigned char> bytes_of(const std::string& text) {
  const std::string plain = text.substr(0, text.find('%'));
  std::vector<unsigned char> bytes(4);
  if (inet_pton(AF_INET, plain.c_str(), bytes.data()) == 1) return bytes;
  bytes.resize(16);
  if (inet_pton(AF_INET6, plain.c_str(), bytes.data()) == 1) return bytes;
  return {};
}

}  // namespace

bool same_subnet(const std::string& a, const std::string& b, int prefix) {
  const auto left = bytes_of(a), right = bytes_of(b);
  if (left.empty() || left.size() != right.size()) return false;
  if (prefix < 0 || static_cast<size_t>(prefix) > 8 * left.size()) return false;
  const auto whole = static_cast<size_t>(prefix / 8);
  for (size_t i = 0; i < whole; ++i) {
    if (left[i] != right[i]) return false;
  }
  const int rest = prefix % 8;
  if (rest == 0) return true;
  return (left[whole] >> (8 - rest)) == (right[whole] >> (8 - rest));
}

}  // namespace plumbline
