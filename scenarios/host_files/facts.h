// What a host file may say about hosts, as bits, so that a conversion can tell what gets lost: each
// format's row says which of these it keeps. Pure.
#pragma once

#include <string>
#include <vector>

#include "scenarios/host_files/host_file.h"

namespace plumbline {

enum HostFact : unsigned {
  kFactName = 1,               // a name apart from the ssh destination
  kFactReach = 2,              // how to reach the machine
  kFactSshDetails = 4,         // port, key
  kFactBinary = 8,             // path of plumbline there
  kFactData = 16,              // data addresses
  kFactPrefix = 32,            // their prefix lengths
  kFactInterface = 64,         // the one interface to use
  kFactSpeed = 128,            // link speed
  kFactGroup = 256,            // who may talk to whom
  kFactRanks = 512,            // more than one rank
  kFactMatrix = 1024,          // RDMA devices
  kFactControl = 2048,         // `ips` that are not under test, beside the coordinator's
  kFactBackend = 4096,         // which backend
  kFactEnvs = 8192,            // environment of the ranks
  kFactPorts = 16384,          // ports of a ring
  kFactUser = 32768,           // user behind ssh, or in a namespace
  kFactCoordinator = 1 << 16,  // where rank 0 coordinates
  kFactFacing = 1 << 17,  // that data addresses face the host before, without a backend saying so
  kFactRingBackend = 1 << 18,  // the backend `ring`, and no other
};

// The facts in this file that `keeps` lacks, each with the hosts that say it.
std::vector<std::string> lost_facts(const HostFile& file, unsigned keeps);

}  // namespace plumbline
