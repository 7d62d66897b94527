// Packet captures on all hosts at the same time, through their agents: started before something is
// tried, stopped and analysed on each host afterwards, and the files fetched where they are wanted.
// One thread at a time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/diagnosis/trace_summary.h"
#include "probes/probe.h"

namespace plumbline {

class HostCaptures {
 public:
  // `own[i]` = addresses of host i that are of interest; `id` names the capture at the agents.
  HostCaptures(ProbeContext& context, std::string id, std::vector<std::vector<std::string>> own,
               std::vector<int> ports)
      : context_(context), id_(std::move(id)), own_(std::move(own)), ports_(std::move(ports)) {}

  // Hosts that may not capture say so in their evidence (`unreadable`).
  void start();
  // What each host that captured has seen. `keep`: the files stay with the agents until fetched.
  std::map<size_t, TraceSummary> stop(bool keep);
  // Writes the kept files into a folder, NAME.pcap each; returns their paths.
  std::vector<std::string> fetch(const std::string& folder);

 private:
  std::string fetch_one(size_t host, const std::string& folder);
  ProbeContext& context_;
  std::string id_;
  std::vector<std::vector<std::string>> own_;
  std::vector<int> ports_;
  std::vector<size_t> running_;
};

}  // namespace plumbline
