// The probe `host`: is this machine ready to measure? Socket buffers asked for and granted, ranks
// against usable cores, load, CPU governor, clock, descriptors. The rules are pure functions of
// what was read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/clock.h"
#include "probes/probe.h"

namespace plumbline {

// What the rules judge, beside the host facts.
struct Readiness {
  uint64_t buffer_asked = 0;  // bytes, option sock_bufsize; 0 = automatic
  uint64_t send_buffer = 0;   // bytes granted when that was asked
  uint64_t recv_buffer = 0;
  std::string buffer_error;  // why it could not be tried
  int ranks = 1;             // that will run on this machine
  int world = 1;             // that will run in all
  ClockQuality clock;
  std::optional<uint64_t> descriptors;  // soft limit of one process; absent = no limit
};
Readiness read_readiness(const ProbeContext& context);

ProbeResult judge_host(const std::string& host, const HostFacts& facts, const Readiness& ready);

ProbeResult probe_host(const ProbeContext& context);

}  // namespace plumbline
