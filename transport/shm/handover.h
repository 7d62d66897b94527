// Memory that has no name goes from one of two processes to the other as a descriptor, over a Unix
// socket that only the two have (SCM_RIGHTS, unix(4)). They meet at a path that follows from a
// secret which both know beforehand; the one binds it and listens, the other connects and takes it
// away. Both remove it at the end too, so that it is there no longer than both of them live: one
// that is killed leaves the other to do it, and only where both are killed between two system
// calls of one and the next of the other a socket's file stays, without memory behind it.
// Every message proves by the secret that its sender is the one; whoever else connects is closed.
// Nothing here waits: what one has sent before it said so elsewhere is here when that is heard.
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "core/encode.h"
#include "core/error.h"
#include "core/fd.h"

namespace plumbline {

// One message, with the descriptor beside it.
struct HandedMemory {
  uint64_t id = 0, bytes = 0;  // what the sender says of it
  Fd memory;                   // whatever it may be: SharedMemory::adopt looks
};

class Handover {
 public:
  enum class Part : uint8_t { kConnects, kListens };

  Handover(const Digest& secret, Part part);
  ~Handover() { close(); }
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;

  // Binds and listens; or, when the other has said that it does, connects.
  Status meet();
  // The path is taken away and nothing goes either way any more. What was received stays.
  void close();

  // False = not now: the other end has not come yet, or has not taken what was sent before; or
  // never again, because it has gone.
  bool send(uint64_t id, uint64_t bytes, int memory);
  // What came next; nothing = there is no more. kProtocol: it is no message with one descriptor, or
  // not from the other end; kSystem: this process may have no more descriptors. No descriptor that
  // came is left open.
  Expected<std::optional<HandedMemory>> receive();

  const std::string& path() const { return path_; }  // empty = it is too long for a socket

 private:
  Expected<std::optional<HandedMemory>> accept_first();
  void remove_path();

  const Part part_;
  const std::string path_;
  const Digest own_proof_, peer_proof_;
  bool path_there_ = true;  // it may be: the other end makes it
  Fd listener_, socket_;
};

// --- what differs by platform -------------------------------------------------------------------

// Of this user alone or, as /tmp, one where nobody removes what is another's; the same for all
// processes of this user. Ends with '/'; empty = the system does not tell.
std::string handover_directory();
// For recvmsg(2): descriptors that come are closed when another program is started.
int receive_flags();

}  // namespace plumbline
