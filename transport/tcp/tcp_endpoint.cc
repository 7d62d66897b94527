#include "transport/tcp/tcp_endpoint.h"

#include <algorithm>
#include <span>
#include <utility>

#include "transport/control/wire.h"

namespace plumbline {
namespace {

constexpr size_t kMostAddresses = 1024;
constexpr size_t kMostAddressText = 64;  // an address with its scope, the name of an interface
constexpr int kLongestPrefix = 128;

}  // namespace

std::string endpoint_bytes(const TcpEndpoint& endpoint) {
  WireWriter writer;
  writer.u16(endpoint.port);
  const size_t count = std::min(endpoint.addresses.size(), kMostAddresses);
  writer.u16(static_cast<uint16_t>(count));
  for (const RankAddress& address : std::span(endpoint.addresses).first(count)) {
    writer.text(address.ip, kMostAddressText);
    writer.u16(static_cast<uint16_t>(address.prefix + 1));
    writer.text(address.interface, kMostAddressText);
  }
  std::string bytes;
  for (const std::byte byte : writer.view()) bytes += std::to_integer<char>(byte);
  return bytes;
}

Expected<TcpEndpoint> read_endpoint(std::string_view bytes, const std::string& whose) {
  WireReader reader(std::as_bytes(std::span(bytes.data(), bytes.size())));
  TcpEndpoint endpoint;
  endpoint.port = reader.u16();
  const size_t count = reader.u16();
  bool sound = count <= kMostAddresses;
  for (size_t i = 0; i < count && sound; ++i) {
    RankAddress address;
    address.ip = printable(reader.text(), kMostAddressText);
    address.prefix = reader.u16() - 1;
    address.interface = printable(reader.text(), kMostAddressText);
    sound = reader.ok() && address.prefix <= kLongestPrefix;
    endpoint.addresses.push_back(std::move(address));
  }
  if (sound && reader.complete()) return endpoint;
  return fail(ErrorCode::kProtocol, whose + " says where it listens in bytes that are not TCP's",
              "all ranks must be the same build and use the same transport");
}

}  // namespace plumbline
