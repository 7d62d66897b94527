#include <net/if.h>

#include <fstream>
#include <sstream>

#include "probes/actions/counters.h"
#include "probes/actions/netlink_linux.h"

namespace plumbline {
namespace {

std::string read_file(const std::string& name) {
  std::ifstream file("/proc/thread-self/net/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// How often the signal of each interface came or went: from the kernel itself, because sysfs may
// belong to another network namespace. Left out where it does not answer.
void read_carriers(Counters& out) {
  constexpr int64_t kWithinMs = 500;
  const ifinfomsg everything{};
  const NetlinkRequest request(RTM_GETLINK, NLM_F_DUMP, &everything, sizeof everything);
  const AgentCall call{Deadline::after_ms(kWithinMs)};
  const Status asked = ask_netlink(request, call, [&out](const nlmsghdr& message) {
    const auto attributes = netlink_attributes(message, sizeof everything);
    const auto name = attributes.find(IFLA_IFNAME);
    if (name == attributes.end() || attributes.count(IFLA_CARRIER_CHANGES) == 0) return;
    const std::string plain = name->second.substr(0, name->second.find('\0'));
    out["if." + plain + ".carrier_changes"] = netlink_number(attributes, IFLA_CARRIER_CHANGES);
  });
  static_cast<void>(asked);
}

}  // namespace

Expected<Counters> read_counters() {
  Counters out;
  parse_snmp(read_file("snmp"), out);
  parse_snmp(read_file("netstat"), out);
  parse_snmp6(read_file("snmp6"), out);
  parse_net_devices(read_file("dev"), out);
  read_carriers(out);
  if (out.empty()) {
    return fail(ErrorCode::kUnsupported, "the counters of the kernel cannot be read here",
                "is /proc mounted?");
  }
  return out;
}

}  // namespace plumbline
