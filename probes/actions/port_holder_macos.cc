#include "probes/actions/port_holder.h"
#include "transport/port_owner.h"

namespace plumbline {

std::string port_holder(const std::string&, int port) {
  return port_owner(static_cast<uint16_t>(port));
}

}  // namespace plumbline
