// What the tools of macOS print: the first byte chooses the row of the table, the rest is its
// output. Whatever a tool says, reading it ends, and what was understood can be written as
// evidence.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "probes/sources/source.h"

namespace plumbline {
namespace {

// Rows that complete what earlier ones found need something to complete.
HostEvidence prepared() {
  HostEvidence host;
  for (const char* name : {"en0", "en2", "bridge0"}) {
    InterfaceEvidence interface;
    interface.name = name;
    interface.kind = "unknown";
    interface.carrier = true;
    host.interfaces.push_back(interface);
  }
  host.interfaces[1].kind = "thunderbolt";
  SocketEvidence socket;
  socket.ip = "10.10.0.2";
  socket.port = 29600;
  socket.pid = 412;
  socket.state = "LISTEN";
  host.sockets.push_back(socket);
  return host;
}

void attack(uint8_t choice, const std::string& text) {
  static const std::vector<SourceRow> kTable = [] {
    std::vector<SourceRow> rows;
    for (const SourceRow& row : source_table()) {
      if (std::string(row.system) == "macos") rows.push_back(row);
    }
    return rows;
  }();
  EvidenceSet set;
  set.hosts.push_back(prepared());
  SourceOutput output;
  output.state = SourceOutput::State::kRead;
  output.text = text;
  apply_output(kTable[choice % kTable.size()], output, set.hosts[0]);
  if (!parse_evidence(evidence_text(set))) std::abort();
}

}  // namespace
}  // namespace plumbline

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  plumbline::attack(data[0], std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  return 0;
}
