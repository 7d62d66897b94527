// Files that claim to come from collect.sh: each is refused with an Error or becomes a host that
// can be written as evidence and read again. Two of it are asked for the cables between them: an
// end of a cable is one of its hosts.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "probes/cables.h"
#include "probes/sources/collected.h"

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  auto file = plumbline::take_apart(text);
  if (!file) return 0;
  file->name = "host";
  const plumbline::HostEvidence host = plumbline::host_of(*file);
  if (host.name != "host" || host.source != "collected") std::abort();
  plumbline::EvidenceSet set;
  set.hosts.push_back(host);
  if (!plumbline::parse_evidence(plumbline::evidence_text(set))) std::abort();
  set.hosts.push_back(host);
  set.hosts.back().name = "other";
  if (set.hosts.back().thunderbolt) {  // the other ends
    for (plumbline::ThunderboltPort& port : *set.hosts.back().thunderbolt) {
      if (!port.peers.empty()) std::swap(port.domain, port.peers[0].domain);
    }
  }
  for (const plumbline::Cable& cable : plumbline::find_cables(set).cables) {
    if (cable.a.host >= 2 || cable.b.host >= 2 || cable.a.host == cable.b.host) std::abort();
  }
  return 0;
}
