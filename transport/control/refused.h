// Connections that failed the handshake: how many, and from which addresses. Counted where they are
// refused, added up over ranks and cells, told once. Strangers may come from ever new addresses, so
// only the first few are kept apart.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace plumbline {

struct RefusedConnections {
  static constexpr size_t kMostAddresses = 16;

  uint64_t total = 0;
  std::map<std::string, uint64_t> by_address;  // without the port; at most kMostAddresses

  void add(const std::string& address, uint64_t count = 1);
  void add(const RefusedConnections& others);
  // "250 connections that are not of this run were refused: 10.0.0.9 (240), 10.0.0.7 (10)".
  std::string text() const;
};

// The same, filled by one thread and emptied by another.
class RefusedTally {
 public:
  void add(const std::string& address);
  // What came since the last call.
  RefusedConnections take();

 private:
  std::mutex mutex_;
  RefusedConnections refused_;
};

}  // namespace plumbline
