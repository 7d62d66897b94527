// What the platforms' network card lists have in common: both walk getifaddrs(3), which has one
// entry per interface and address. Nobody else includes this.
#pragma once

#include <ifaddrs.h>
#include <sys/socket.h>

#include <optional>
#include <vector>

#include "core/host/nics.h"

namespace plumbline {

// The entries of getifaddrs(3), freed with the object.
class InterfaceList {
 public:
  static Expected<InterfaceList> read();
  ~InterfaceList() {
    if (head_ != nullptr) freeifaddrs(head_);
  }
  InterfaceList(InterfaceList&& other) noexcept : head_(other.head_) { other.head_ = nullptr; }
  InterfaceList(const InterfaceList&) = delete;
  InterfaceList& operator=(const InterfaceList&) = delete;
  InterfaceList& operator=(InterfaceList&&) = delete;

  // One Nic per interface with name, index, up and addresses, in index order.
  std::vector<Nic> nics() const;
  const ifaddrs* head() const { return head_; }

 private:
  explicit InterfaceList(ifaddrs* head) : head_(head) {}
  ifaddrs* head_;
};

// IPv4 or IPv6 address with its mask; nothing for other families. A missing mask gives prefix 0.
std::optional<NicAddress> to_nic_address(const sockaddr* address, const sockaddr* mask);
// "02:00:00:00:00:01"; empty for no bytes or only zeros.
std::string to_mac(const unsigned char* bytes, size_t count);

}  // namespace plumbline
