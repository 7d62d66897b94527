#include "lab/fault.h"
#include "lab/fault_tools.h"

namespace plumbline {

// The one table of faults, family by family.
const std::vector<FaultRow>& fault_table() {
  static const std::vector<FaultRow> table = [] {
    std::vector<FaultRow> rows;
    for (const auto family :
         {firewall_faults, port_faults, link_faults, address_faults, neighbour_faults, route_faults,
          quality_faults, name_faults, agent_faults, wiring_faults}) {
      for (const FaultRow& row : family()) rows.push_back(row);
    }
    return rows;
  }();
  return table;
}

}  // namespace plumbline
