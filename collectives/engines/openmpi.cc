// Open MPI in ranks that its own mpirun started. Its singletons cannot join one another here
// (MPI_Comm_connect: "Underlying runtime environment does not support accept/connect
// functionality" in 4.1.4), and its runtime, PMIx, has its server in mpirun.
#define OMPI_SKIP_MPICXX 1
#include <dlfcn.h>
#include <link.h>
#include <mpi.h>
#include <stdlib.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string_view>
#include <thread>

#include "collectives/engines/mpi_start.h"

namespace plumbline {
namespace {

constexpr const char* kSize = "OMPI_COMM_WORLD_SIZE";
constexpr std::chrono::seconds kFinalizeTime{5};
constexpr long kNapNs = 1'000'000;

// Open MPI loads its parts itself, and they look for its symbols among those of the whole process.
Status show_to_its_plugins() {
  Dl_info own{};
  if (dladdr(reinterpret_cast<const void*>(&MPI_Init_thread), &own) != 0 &&
      dlopen(own.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD) != nullptr) {
    return {};
  }
  return fail(ErrorCode::kUnsupported, "Open MPI's library cannot be made known to its parts");
}

// mpirun takes a process that ends without MPI_Finalize for one that failed. At the end of this
// process, without waiting for the others (async_mpi_finalize), and not forever.
void finalize_at_exit() {
  struct End {
    std::mutex mutex;
    std::condition_variable changed;
    bool ended = false;
  };
  static End end;
  std::thread([] {
    MPI_Finalize();
    const std::scoped_lock lock(end.mutex);
    end.ended = true;
    end.changed.notify_one();
  }).detach();
  std::unique_lock lock(end.mutex);
  end.changed.wait_for(lock, kFinalizeTime, [] { return end.ended; });
}

// Its parts are files called mca_FRAMEWORK_NAME.so; those that it chose stay loaded.
int add_part(dl_phdr_info* info, size_t /*bytes*/, void* found) {
  std::string_view name = info->dlpi_name;
  name.remove_prefix(std::min(name.size(), name.rfind('/') + 1));
  for (const std::string_view framework : {"pml", "btl", "mtl"}) {
    const std::string start = "mca_" + std::string(framework) + "_";
    if (!name.starts_with(start) || !name.ends_with(".so")) continue;
    name.remove_prefix(start.size());
    name.remove_suffix(3);
    static_cast<std::set<std::string>*>(found)->insert(std::string(framework) + "-" +
                                                       std::string(name));
  }
  return 0;
}

}  // namespace

std::string mpi_unavailable() {
  if (ranks_by(kSize) > 0) return {};
  const std::string how = "mpirun.openmpi -n 2 plumbline coll allreduce --engine openmpi";
  if (ranks_by("PMI_SIZE") > 0) {
    return "the ranks were started by the launcher of another MPI; this works: " + how;
  }
  return "Open MPI's ranks have to be started by its own mpirun; this works: " + how;
}

std::string mpi_unsupported(int ranks) {
  const int all = ranks_by(kSize);
  if (ranks == all) return {};
  return "mpirun started " + std::to_string(all) +
         " ranks, and Open MPI wants all of them to take part, not " + std::to_string(ranks);
}

Status start_mpi(ModuleHost& host, Deadline deadline) {
  if (const Status shown = show_to_its_plugins(); !shown) return shown;
  setenv("OMPI_MCA_async_mpi_finalize", "1", 0);
  const Status started = initialize_mpi(host, deadline, []() -> Status {
    const timespec nap{0, kNapNs};
    nanosleep(&nap, nullptr);
    return {};
  });
  if (started) std::atexit(finalize_at_exit);
  return started;
}

std::string mpi_transport() {
  std::set<std::string> parts;
  dl_iterate_phdr(add_part, &parts);
  // ob1 sends over byte transports, cm over one that matches; what the other one would need may be
  // loaded too.
  const std::string carrier = parts.contains("pml-ob1") ? "btl-" : "mtl-";
  std::string text;
  for (const std::string& start : {std::string("pml-"), carrier}) {
    for (const std::string& part : parts) {
      if (!part.starts_with(start) || part == "btl-self") continue;
      text += (text.empty() ? "" : "-") + part.substr(start.size());
    }
  }
  return text.empty() ? "openmpi" : text;
}

}  // namespace plumbline
