#include "launch/socket_wire.h"

#include <sys/socket.h>

#include "transport/tcp/socket.h"

namespace plumbline {

ssize_t SocketWire::put(const char* bytes, size_t count) const {
  return ::send(from_.get(), bytes, count, send_flags());
}

Error SocketWire::gone(int err) {
  const std::string what =
      !from_.valid() ? " is closed" : " ended: that process, or its host, is gone";
  if (err == 0 || !from_.valid()) return Error{ErrorCode::kPeerLost, who_ + what, 0, "", ""};
  return socket_error(who_, err);
}

}  // namespace plumbline
