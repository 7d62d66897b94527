// One rank of an operation over MPI, timed as `plumbline coll` times ours (peer.h). One source,
// built once per MPI that is installed: mpi_peer_openmpi, mpi_peer_mpich. Run under that MPI's
// launcher by vs_peers.py only.
//   mpi_peer OP PLACEMENT BYTES TIMED WARMUP FOLDER CPUS

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include "benchmarks/peer.h"

namespace {

using peer::Arrays;
using peer::Job;
using Operation = std::function<void()>;

constexpr int kTag = 1;

// The launcher tells the rank before MPI starts: it is bound by then.
int rank_by_launcher() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    if (const char* text = std::getenv(name)) return std::atoi(text);
  }
  return 0;
}

void send(const float* data, int count, int to) {
  MPI_Send(data, count, MPI_FLOAT, to, kTag, MPI_COMM_WORLD);
}
void receive(float* data, int count, int from) {
  MPI_Recv(data, count, MPI_FLOAT, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
void swap(const Arrays& a, int count, int to, int from) {
  MPI_Sendrecv(a.in, count, MPI_FLOAT, to, kTag, a.out, count, MPI_FLOAT, from, kTag,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

Operation point_to_point(const Job& job, const Arrays& a, int count) {
  if (job.op == "sendrecv") {
    const int right = (job.rank + 1) % job.size, left = (job.rank + job.size - 1) % job.size;
    return [=, &a] { swap(a, count, right, left); };
  }
  if (job.rank > 1) return [] {};
  const bool first = job.rank == 0;
  if (job.op == "bidirectional") return [=, &a] { swap(a, count, first ? 1 : 0, first ? 1 : 0); };
  const int back = job.op == "pingpong" ? count : 0;  // a stream is answered by an empty message
  if (first) {
    return [=, &a] {
      send(a.in, count, 1);
      receive(a.out, back, 1);
    };
  }
  return [=, &a] {
    receive(a.out, count, 0);
    send(a.out, back, 0);
  };
}

Operation collective(const Job& job, const Arrays& a, int count) {
  const MPI_Comm all = MPI_COMM_WORLD;
  const bool root = job.rank == 0;
  const void* in = job.in_place ? MPI_IN_PLACE : static_cast<const void*>(a.in);
  const void* root_in = root ? in : a.in;
  void* root_out = job.in_place && root ? MPI_IN_PLACE : static_cast<void*>(a.out);
  if (job.op == "allreduce") {
    return [=, &a] { MPI_Allreduce(in, a.out, count, MPI_FLOAT, MPI_SUM, all); };
  }
  if (job.op == "reduce_scatter") {
    return [=, &a] { MPI_Reduce_scatter_block(in, a.out, count, MPI_FLOAT, MPI_SUM, all); };
  }
  if (job.op == "allgather") {
    return [=, &a] { MPI_Allgather(in, count, MPI_FLOAT, a.out, count, MPI_FLOAT, all); };
  }
  if (job.op == "broadcast" && job.in_place) {
    return [=, &a] { MPI_Bcast(a.out, count, MPI_FLOAT, 0, all); };
  }
  if (job.op == "reduce") {
    return [=, &a] { MPI_Reduce(root_in, a.out, count, MPI_FLOAT, MPI_SUM, 0, all); };
  }
  if (job.op == "gather") {
    return [=, &a] { MPI_Gather(root_in, count, MPI_FLOAT, a.out, count, MPI_FLOAT, 0, all); };
  }
  if (job.op == "scatter") {
    return [=, &a] { MPI_Scatter(a.in, count, MPI_FLOAT, root_out, count, MPI_FLOAT, 0, all); };
  }
  if (job.op == "alltoall") {
    return [=, &a] { MPI_Alltoall(in, count, MPI_FLOAT, a.out, count, MPI_FLOAT, all); };
  }
  if (job.op == "barrier") return [=] { MPI_Barrier(all); };
  return nullptr;
}

bool is_between_two(const std::string& op) {
  return op == "pingpong" || op == "stream" || op == "bidirectional";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 1 + peer::kWords || peer::row(argv[1]) == nullptr) {
    std::fprintf(stderr, "usage: mpi_peer %s\n", peer::kUsage);
    return peer::kFailed;
  }
  Job job = peer::job_from(argv + 1, rank_by_launcher(), 1);
  if (!peer::bind(job.cpus, job.rank)) return peer::kFailed;
  MPI_Init(&argc, &argv);  // errors end the program: MPI_ERRORS_ARE_FATAL
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.size);
  const Arrays arrays(job);
  const auto count = static_cast<int>(arrays.count());
  const Operation operation = is_between_two(job.op) || job.op == "sendrecv"
                                  ? point_to_point(job, arrays, count)
                                  : collective(job, arrays, count);
  if (!operation) {
    std::fprintf(stderr, "MPI has no %s %s\n", job.op.c_str(),
                 job.in_place ? "in place" : "out of place");
    MPI_Abort(MPI_COMM_WORLD, peer::kFailed);
  }
  const int status = peer::measure(job, arrays, operation);
  if (status != 0) MPI_Abort(MPI_COMM_WORLD, status);
  // Who has no part in it would wait in MPI_Finalize on a processor that the others may need.
  if (is_between_two(job.op) && job.rank > 1) peer::await(job, 2);
  MPI_Finalize();
  return 0;
}
