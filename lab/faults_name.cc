// The host's own name, in the file that stands for /etc/hosts in its namespace.
#include <fmt/format.h>

#include "lab/address.h"
#include "lab/fault_tools.h"

namespace plumbline {
namespace {

FaultPlan own_name(FaultMaker& maker, const std::string& own, const std::string& cause) {
  maker.names(maker.host, {{maker.host.name, own}});
  maker.how(fmt::format("the name of {} means {}", maker.host.name, own.empty() ? "nothing" : own));
  maker.expect({cause});
  // Labs share the machine's host name, and each host file tells of it alone.
  maker.plan.injected.any_peer = true;
  return maker.done();
}

FaultPlan name_loopback(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string loopback =
      maker.v6() ? "::1" : maker.draw.pick(std::vector<std::string>{"127.0.1.1", "127.0.0.1"});
  return own_name(maker, loopback, "name.loopback");
}

FaultPlan name_wrong_address(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  const std::string control = ip_of(maker.host.control);
  const std::string other = !control.empty() && maker.draw.coin() ? control
                            : maker.v6() ? fmt::format("2001:db8::{}", maker.draw.between(2, 99))
                                         : fmt::format("192.0.2.{}", maker.draw.between(2, 250));
  return own_name(maker, other, "name.wrong_address");
}

FaultPlan name_unresolved(const Lab& lab, const FaultTarget& target, std::mt19937_64& random) {
  FaultMaker maker(lab, target, random);
  return own_name(maker, "", "name.unresolved");
}

}  // namespace

std::vector<FaultRow> name_faults() {
  return {
      {"name_loopback", "name", "the host's own name means a loopback address", anywhere,
       name_loopback},
      {"name_wrong_address", "name", "the host's own name means an address of another network",
       anywhere, name_wrong_address},
      {"name_unresolved", "name", "the host's own name means nothing", anywhere, name_unresolved},
  };
}

}  // namespace plumbline
