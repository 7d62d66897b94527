// What the settings of the library say; fake_verbs.cc lists them.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "transport/rdma/verbs_abi.h"

namespace plumbline {

struct VerbsDevice {
  std::string name;
};

namespace fake {

struct Settings {
  std::vector<std::shared_ptr<VerbsDevice>> devices;
  int port = kPortActive, gids = 4, late = 0, lose = 0, lose_bytes = 0, posts = 0,
      inline_bytes = 1 << 20;
  int linger_ms = 0, linger_bytes = 0;
  bool deaf = false;
  std::string sockets;                   // folder; empty = names of the network namespace
  mutable std::atomic<int> messages{0};  // of UC, since these were read
  std::map<int, VerbsGid> gid;
  bool rc_refused = false;
  std::map<std::string, int> most, fails;
  std::map<std::string, std::string> faults;  // "hang", "crash"
};

// As they were read last.
std::shared_ptr<const Settings> settings();
void read_settings();
// true: the step fails, with errno set. May not return at all.
bool fails(const std::string& step);

}  // namespace fake
}  // namespace plumbline
