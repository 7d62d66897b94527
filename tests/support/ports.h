// Ports for the servers of a test. Tests run side by side, and a port that was free a moment ago
// may be the next test's as well, or the source port of anybody's connection. So a process of tests
// takes a block of ports below the ephemeral ones for itself: as long as it lives, no other test in
// its network namespace is given one of them.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <string>
#include <vector>

#include "core/fd.h"
#include "transport/tcp/socket.h"

namespace plumbline::test {

inline constexpr int kFirstTestPort = 10'000;
inline constexpr int kPortsOfABlock = 16;
inline constexpr int kPortBlocks = 1'000;

// The first port of a block that is this process's until it ends: a socket at it says so, and so it
// is not given to anybody. 0 = every block is taken.
inline int claim_port_block() {
  static std::vector<Fd> claims;
  for (int block = 0; block < kPortBlocks; ++block) {
    const int port = kFirstTestPort + block * kPortsOfABlock;
    const auto address = make_socket_address("127.0.0.1", static_cast<uint16_t>(port));
    Fd fd(::socket(AF_INET, SOCK_DGRAM, 0));
    if (!address || ::fcntl(fd.get(), F_SETFD, FD_CLOEXEC) != 0) return 0;
    if (::bind(fd.get(), address->get(), address->length) != 0) continue;
    claims.push_back(std::move(fd));
    return port;
  }
  return 0;
}

// The first of `count` neighbouring TCP ports of `ip`, less than kPortsOfABlock, on which nobody
// listens and which no other call is given; 0, and a failure of the test, when there are none.
inline int free_ports(int count, const std::string& ip = "127.0.0.1") {
  static int next = 0;
  static int end = 0;
  for (int tried = 0; tried < kPortBlocks * kPortsOfABlock; ++tried) {
    if (next + count > end) {
      const int block = claim_port_block();
      if (block == 0) break;
      next = block + 1;
      end = block + kPortsOfABlock;
    }
    const int first = next++;
    int port = first;
    for (; port < first + count; ++port) {
      const auto address = make_socket_address(ip, static_cast<uint16_t>(port));
      if (!address || !listen_on(*address, {})) break;
    }
    if (port == first + count) {
      next = port;
      return first;
    }
  }
  ADD_FAILURE() << "no " << count << " free ports at " << ip;
  return 0;
}

inline int free_port(const std::string& ip = "127.0.0.1") { return free_ports(1, ip); }

}  // namespace plumbline::test
