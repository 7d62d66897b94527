#include <linux/sock_diag.h>
#include <sys/socket.h>

#include <array>

#include "probes/actions/socket_drops.h"

namespace plumbline {

int64_t socket_drops(int fd) {
  std::array<uint32_t, SK_MEMINFO_VARS> values{};
  socklen_t length = sizeof values;
  const bool told = ::getsockopt(fd, SOL_SOCKET, SO_MEMINFO, values.data(), &length) == 0;
  return told ? int64_t{values[SK_MEMINFO_DROPS]} : 0;
}

}  // namespace plumbline
