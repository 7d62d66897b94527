#include <fstream>
#include <sstream>

#include "probes/actions/counters.h"

namespace plumbline {
namespace {

std::string read_file(const std::string& name) {
  std::ifstream file("/proc/thread-self/net/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

Expected<Counters> read_counters() {
  Counters out;
  parse_snmp(read_file("snmp"), out);
  parse_snmp(read_file("netstat"), out);
  parse_snmp6(read_file("snmp6"), out);
  parse_net_devices(read_file("dev"), out);
  if (out.empty()) {
    return fail(ErrorCode::kUnsupported, "the counters of the kernel cannot be read here",
                "is /proc mounted?");
  }
  return out;
}

}  // namespace plumbline
