// Macs on paper: clusters of them with cables between their Thunderbolt sockets, and what each
// one's tools would print, after Apple's manual pages and outputs that people have published. The
// texts go through the same parsers as those of a Mac. As evidence, as files of collect.sh, or as a
// folder of programs that print them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "probes/evidence.h"

namespace plumbline::test {

struct PaperSocket {
  int number = 1;         // printed beside it
  std::string interface;  // "en3"
  std::string domain;     // UUID of this end
  std::string peer;       // UUID of the other end; empty = nothing is plugged in
  int gigabits = 80;
  int hubs = 0;
  std::string ip;          // "10.0.0.1/30"; empty = none
  bool in_bridge = false;  // a port of bridge0
};

struct PaperMac {
  std::string name;
  std::string version = "26.3", build = "25D125", model = "Mac16,11", chip = "Apple M4 Pro";
  std::string lan = "192.168.4.11/24";  // of en0; empty = none
  std::string bridge;                   // address of bridge0
  std::string title_key = "Hardware Port", title = "Thunderbolt", device_key = "Device";
  std::vector<PaperSocket> sockets;
  bool rdma = true;                         // rdma_ctl says enabled
  std::set<std::string> silent;             // sources that give no answer
  std::map<std::string, std::string> said;  // by source: this instead

  PaperSocket& socket(int number);
};

class PaperCluster {
 public:
  explicit PaperCluster(size_t macs, int sockets = 3);
  // Between these sockets of these Macs.
  PaperCluster& cable(size_t a, int socket_a, size_t b, int socket_b);
  EvidenceSet evidence() const;
  // NAME.txt of each in this folder; their paths.
  std::vector<std::string> collect_files(const std::string& folder) const;

  std::vector<PaperMac> macs;
};

// What each of its tools prints, by the name of the source.
std::map<std::string, std::string> outputs_of(const PaperMac& mac);

// As people wire them.
PaperCluster paper_pair();             // one cable
PaperCluster paper_mesh(size_t macs);  // a cable between every two
PaperCluster paper_ring(size_t macs);  // each with the next one
PaperCluster paper_star(size_t macs);  // all with the first
PaperCluster paper_two_cables();       // two Macs
// Addresses of /30 networks for all cables, 10.7.0.1 and 10.7.0.2 for the first one.
void give_addresses(PaperCluster& cluster);

}  // namespace plumbline::test
