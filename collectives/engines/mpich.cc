// MPICH in ranks that plumbline started, or any launcher but another MPI's: what MPICH wants of a
// process manager it is told by us (pmi_server.h), so that MPI_COMM_WORLD is our group. It is never
// finalized: nobody waits for that, and the processes end together.
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "collectives/engines/mpi_start.h"
#include "collectives/engines/pmi_server.h"

namespace plumbline {
namespace {

constexpr int kNapMs = 1;
constexpr size_t kLongestLine = 4096;

// Ranks with the same text share memory and network.
std::string own_machine_text() {
  std::ostringstream text;
  text << std::ifstream("/proc/sys/kernel/random/boot_id").rdbuf();
  for (const char* space : {"net", "ipc", "mnt", "pid"}) {
    std::error_code unknown;
    text << std::filesystem::read_symlink(std::string("/proc/self/ns/") + space, unknown).string();
  }
  return text.str();
}

// Our end of the socket pair. It stays open: MPICH ends its process when its manager goes.
class PmiLine {
 public:
  PmiLine(int fd, PmiServer& server) : fd_(fd), server_(server) {}

  // Answers what has come, or waits a moment.
  Status serve() {
    pollfd entry{fd_, POLLIN, 0};
    if (::poll(&entry, 1, kNapMs) <= 0) return {};
    std::array<char, kLongestLine> bytes{};
    const ssize_t got = read(fd_, bytes.data(), bytes.size());
    if (got <= 0) return fail(ErrorCode::kProtocol, "MPICH hung up on its process manager");
    text_.append(bytes.data(), static_cast<size_t>(got));
    for (size_t end = text_.find('\n'); end != std::string::npos; end = text_.find('\n')) {
      const Expected<std::string> answer = server_.answer(text_.substr(0, end));
      if (!answer) return fail(answer.error());
      text_.erase(0, end + 1);
      const std::string line = *answer + "\n";
      if (write(fd_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
        return fail_errno(ErrorCode::kSystem, "answer MPICH", errno);
      }
    }
    if (text_.size() > kLongestLine) return fail(ErrorCode::kProtocol, "a line without end");
    return {};
  }

 private:
  const int fd_;
  PmiServer& server_;
  std::string text_;
};

// The process is told as by its manager; what another one said before does not count any more. The
// other threads of a rank, which moves data and hears the coordinator, read no variables.
void set_manager(int fd, int rank, int size) {
  for (const char* name : {"PMI_PORT", "PMI_ID", "PMI_SPAWNED", "PMI_VERSION", "PMI_SUBVERSION"}) {
    unsetenv(name);
  }
  setenv("PMI_FD", std::to_string(fd).c_str(), 1);
  setenv("PMI_RANK", std::to_string(rank).c_str(), 1);
  setenv("PMI_SIZE", std::to_string(size).c_str(), 1);
}

}  // namespace

std::string mpi_unavailable() {
  if (ranks_by("OMPI_COMM_WORLD_SIZE") == 0) return {};
  return "the ranks were started by the mpirun of Open MPI; this works: mpirun.mpich -n 2 "
         "plumbline "
         "coll allreduce --engine mpich, or the same without mpirun";
}

std::string mpi_unsupported(int ranks) {
  const int all = ranks_by("PMI_SIZE");
  if (all == 0 || ranks == all) return {};
  return "mpirun started " + std::to_string(all) +
         " ranks, and MPICH comes up once in a process: it wants all of them to take part, not " +
         std::to_string(ranks);
}

Status start_mpi(ModuleHost& host, Deadline deadline) {
  const auto machines = host.gather(own_machine_text());
  if (!machines) return fail(machines.error());
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail_errno(ErrorCode::kSystem, "make a socket pair for MPICH", errno);
  }
  PmiServer server(host, process_mapping(*machines));
  PmiLine line(ends[0], server);
  set_manager(ends[1], host.rank(), host.size());  // MPICH keeps this end
  return initialize_mpi(host, deadline, [&line] { return line.serve(); });
}

std::string mpi_transport() { return "ch4-ucx"; }

}  // namespace plumbline
