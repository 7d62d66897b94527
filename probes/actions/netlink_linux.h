// Questions to the kernel over route netlink (rtnetlink(7)): one request, all parts of its answer.
// Only reads; needs no privilege. Thread-safe.
#pragma once

#include <linux/rtnetlink.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/diagnosis/host_agent.h"
#include "core/error.h"

namespace plumbline {

// A request under construction: header, the family's structure, attributes.
class NetlinkRequest {
 public:
  // `flags` beside NLM_F_REQUEST.
  NetlinkRequest(uint16_t type, uint16_t flags, const void* body, size_t size);
  void add(uint16_t type, const void* data, size_t size);
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// Calls `message` for each part of the answer. kSystem with the errno that the kernel answered.
Status ask_netlink(const NetlinkRequest& request, const AgentCall& call,
                   const std::function<void(const nlmsghdr&)>& message);

// The family's structure behind the header; false when the message is too short for it.
bool netlink_body(const nlmsghdr& message, void* body, size_t size);
// The attributes behind the structure of `body_size` bytes: type -> bytes; damaged ones left out.
std::map<int, std::string> netlink_attributes(const nlmsghdr& message, size_t body_size);
// An attribute that holds an address of this family as text; empty when there is none.
std::string netlink_ip(const std::map<int, std::string>& attributes, int type, int family);
// The same for a 32-bit number; 0 when there is none.
uint32_t netlink_number(const std::map<int, std::string>& attributes, int type);

}  // namespace plumbline
