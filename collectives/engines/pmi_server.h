// The process manager that MPICH looks for, as far as MPICH asks: ranks that plumbline started meet
// through plumbline's group, without mpirun. Each rank has a server of its own at the other end of
// a socket pair; what a rank puts is told to the others when all have come to a barrier. PMI-1 is
// lines of "key=value" words: launch/pmi.h names the sources. One thread, not the one that MPI
// starts on.
#pragma once

#include <map>
#include <string>

#include "collectives/engine_module.h"

namespace plumbline {

class PmiServer {
 public:
  // `mapping`: the value of PMI_process_mapping, which says what ranks share a machine.
  PmiServer(ModuleHost& host, const std::string& mapping);

  // The answer to one line, without its end. Barriers are collective. kProtocol for what is not
  // understood.
  Expected<std::string> answer(const std::string& line);

 private:
  Expected<std::string> barrier();
  Status take(const std::string& told);

  ModuleHost& host_;
  std::map<std::string, std::string> known_, fresh_;  // fresh: of this rank, since the last barrier
};

// "(vector,(0,2,1))": nodes by the text of each rank's machine, in blocks of (node, nodes, ranks).
std::string process_mapping(const std::vector<std::string>& machines);

// "value" of "cmd=put key=value", or empty.
std::string pmi_word(const std::string& line, const std::string& key);

}  // namespace plumbline
