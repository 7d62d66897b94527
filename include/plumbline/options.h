// How a rank is reached, and how a group of ranks moves its data. Everything has a default that
// suits ranks of one machine. The library reads no environment variables and no files: what is not
// said here is as its table of options has it. Plain values.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "plumbline/types.h"

namespace plumbline {

struct Options {
  // Numeric addresses of this machine that other ranks can reach, in order of preference, with the
  // prefix length of their networks where that is known: "10.0.0.1/24". Two ranks use the pair of
  // addresses that shares a network.
  std::vector<std::string> addresses = {"127.0.0.1"};
  // That this rank listens on; 0 = any free one.
  uint16_t port = 0;
  // This machine in errors. Ranks with the same name are taken to share its cores. Empty = the
  // system's name.
  std::string host;
  // The same on all ranks, and a stranger who knows it too is let in only when it also knows all
  // endpoints. Empty = the group is as safe as the exchange of its endpoints.
  std::string secret;
  // Knobs of the data path by name, as `plumbline config` lists them, durations in milliseconds or
  // with a unit: {{"watchdog_timeout_ms", "5s"}, {"sock_bufsize", "8Mi"}}. docs/library.md says
  // which there are.
  std::map<std::string, std::string> settings;
  // What ranks say of what they do, from `log_level` on; called from the rank's own thread and from
  // one that the library keeps, of this group and of those split from it, until all of them are
  // gone. Empty = they say nothing.
  std::function<void(LogLevel level, std::string_view text)> log;
  LogLevel log_level = LogLevel::kWarn;
};

}  // namespace plumbline
