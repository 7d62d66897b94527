#include "reports/links/link_kinds.h"

#include "core/op.h"

namespace plumbline {
namespace {

constexpr uint64_t kGbit = 1'000'000'000;
// The smallest Ethernet frame is 64 + 8 bytes on the wire (IEEE 802.3), and at each end a word must
// cross PCIe: 400 ns and more for a read, half of it for a write (Neugebauer et al., Understanding
// PCIe performance for end host networking, SIGCOMM 2018). 100 ns an end are granted.
constexpr uint64_t frame_ns(uint64_t rate_bps) { return 200 + 72 * 8 * kGbit / rate_bps; }
constexpr const char* kEthernet =
    "IEEE 802.3: 72 bytes on the wire; PCIe, SIGCOMM 2018 (Neugebauer et al.)";
constexpr const char* kMemory =
    "819 GB/s: memory of an Apple M3 Ultra, data sheet; 20 ns: a cache line between two cores";

}  // namespace

const std::vector<LinkKindRow>& link_kind_table() {
  static const std::vector<LinkKindRow> kTable = {
      {"loopback", "ranks on one machine, through 127.0.0.1 or memory", 819 * 8 * kGbit, 20,
       kMemory, false},
      {"virtual", "containers, namespaces or virtual machines of one machine", 819 * 8 * kGbit, 20,
       kMemory, false},
      {"ethernet-100m", "100 Mbit/s Ethernet", kGbit / 10, frame_ns(kGbit / 10), kEthernet},
      {"ethernet-1g", "1 Gbit/s Ethernet", kGbit, frame_ns(kGbit), kEthernet},
      {"ethernet-2.5g", "2.5 Gbit/s Ethernet", 5 * kGbit / 2, frame_ns(5 * kGbit / 2), kEthernet},
      {"ethernet-5g", "5 Gbit/s Ethernet", 5 * kGbit, frame_ns(5 * kGbit), kEthernet},
      {"ethernet-10g", "10 Gbit/s Ethernet", 10 * kGbit, frame_ns(10 * kGbit), kEthernet},
      {"ethernet-25g", "25 Gbit/s Ethernet", 25 * kGbit, frame_ns(25 * kGbit), kEthernet},
      {"ethernet-40g", "40 Gbit/s Ethernet", 40 * kGbit, frame_ns(40 * kGbit), kEthernet},
      {"ethernet-50g", "50 Gbit/s Ethernet", 50 * kGbit, frame_ns(50 * kGbit), kEthernet},
      {"ethernet-100g", "100 Gbit/s Ethernet", 100 * kGbit, frame_ns(100 * kGbit), kEthernet},
      {"ethernet-200g", "200 Gbit/s Ethernet", 200 * kGbit, frame_ns(200 * kGbit), kEthernet},
      {"ethernet-400g", "400 Gbit/s Ethernet", 400 * kGbit, frame_ns(400 * kGbit), kEthernet},
      {"ethernet-800g", "800 Gbit/s Ethernet", 800 * kGbit, frame_ns(800 * kGbit), kEthernet},
      {"thunderbolt3", "Thunderbolt 3 cable, 40 Gbit/s", 40 * kGbit, 200,
       "Intel, Thunderbolt 3 technology brief; PCIe as for Ethernet"},
      {"thunderbolt4", "Thunderbolt 4 cable, 40 Gbit/s", 40 * kGbit, 200,
       "Intel, Thunderbolt 4 brief; PCIe as for Ethernet"},
      {"thunderbolt5", "Thunderbolt 5 cable, 80 Gbit/s each way", 80 * kGbit, 200,
       "Intel, Thunderbolt 5 brief; PCIe as for Ethernet"},
      {"usb4", "USB4 cable, 40 Gbit/s", 40 * kGbit, 200, "USB4 specification 1.0"},
      {"usb4-v2", "USB4 version 2 cable, 80 Gbit/s each way", 80 * kGbit, 200,
       "USB4 specification 2.0"},
      {"infiniband-fdr", "InfiniBand FDR 4x, 56 Gbit/s", 56 * kGbit, 200, "IBTA roadmap"},
      {"infiniband-edr", "InfiniBand EDR 4x, 100 Gbit/s", 100 * kGbit, 200, "IBTA roadmap"},
      {"infiniband-hdr", "InfiniBand HDR 4x, 200 Gbit/s", 200 * kGbit, 200, "IBTA roadmap"},
      {"infiniband-ndr", "InfiniBand NDR 4x, 400 Gbit/s", 400 * kGbit, 200, "IBTA roadmap"},
      {"infiniband-xdr", "InfiniBand XDR 4x, 800 Gbit/s", 800 * kGbit, 200, "IBTA roadmap"},
      {"wifi", "any wireless network", 46 * kGbit, 20'000,
       "IEEE 802.11be: at most 46 Gbit/s; a frame begins with 20 us of preamble (802.11a and "
       "later)"},
      {"other", "anything else; needs --link-speed", 0, 20, "as stated"},
  };
  return kTable;
}

const LinkKindRow* find_link_kind(const std::string& name) {
  for (const LinkKindRow& row : link_kind_table()) {
    if (name == row.name) return &row;
  }
  return nullptr;
}

int crossings_of(const std::string& op, const std::string& sync) {
  const std::optional<Op> known = op_from(op);
  if (!known) return 0;
  if (*known == Op::kPingpong || *known == Op::kStream) return 2;  // there and back
  // Where everybody needs everybody, whoever started first waits for whoever started last.
  return row(*known).rooted && sync != "window" ? 0 : 1;
}

}  // namespace plumbline
