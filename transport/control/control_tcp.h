// The control plane over TCP: a ControlPlane whose thread (control_loop.h) also builds the mesh and
// hands the data connections over. Destruction says goodbye to the peers and joins the thread
// within half a second.
#pragma once

#include <memory>

#include "transport/control/control_loop.h"
#include "transport/group.h"

namespace plumbline {

class TcpControl : public ControlPlane {
 public:
  // Starts the thread; connections come up in the background.
  static Expected<std::shared_ptr<TcpControl>> start(ControlConfig config);

  // Waits until the control connections to all ranks stand, and the data connections too in an
  // eager mesh. At the deadline: which ranks are missing and what each try was answered.
  virtual Status establish(Deadline deadline) = 0;
  // The data connection to a peer, made now when there is none yet. Each only once.
  virtual Expected<std::unique_ptr<ByteStream>> take_data(int peer, Deadline deadline) = 0;
};

}  // namespace plumbline
