// A job of MPI whose ranks do what job_options.h says. One source for Open MPI and MPICH.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <vector>

#include "tests/lab/your_job/job_options.h"

namespace {

using your_job::Job;
using your_job::seconds_now;

constexpr int kLarge = 1 << 18, kPiece = 4096, kPieces = 4000;

struct World {
  int rank = 0, size = 0;
  std::vector<float> in = std::vector<float>(kLarge, 1), out = std::vector<float>(kLarge);
};

// The launcher's number: ranks that are each a world of their own are all rank 0 to MPI.
std::string launched_as() {
  return your_job::variable("OMPI_COMM_WORLD_RANK", your_job::variable("PMI_RANK", "0"));
}

void step(World& world) {
  MPI_Allreduce(world.in.data(), world.out.data(), 2, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Allreduce(world.in.data(), world.out.data(), kLarge, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}

// Small messages leave at once, into the sockets' buffers; the last one waits for its receiver.
void send_to(World& world, int peer, FILE* log) {
  std::fprintf(log, "sends to %d\n", peer);
  for (int piece = 0; piece < kPieces; ++piece) {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(world.out.data(), kPiece, MPI_FLOAT, peer, 1, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
  }
  MPI_Ssend(world.out.data(), kLarge, MPI_FLOAT, peer, 2, MPI_COMM_WORLD);
}

void steps(World& world, const Job& job, FILE* log) {
  for (long number = 0;; ++number) {
    if (job.mode == "idle") your_job::pause_seconds(job.end - seconds_now());
    if (job.mode == "compute" && world.rank == job.who) {
      your_job::work_seconds(your_job::kComputeSeconds);
    }
    // Rank 0 alone looks at the clock, so that all end after the same step.
    int more = seconds_now() < job.end ? 1 : 0;
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (more == 0) return;
    step(world);
    std::fprintf(log, "step %ld\n", number);
    your_job::pause_seconds(0.05);
  }
}

void run(World& world, const Job& job, FILE* log) {
  step(world);
  // So that every pair of ranks has its connection.
  MPI_Alltoall(world.in.data(), 1, MPI_FLOAT, world.out.data(), 1, MPI_FLOAT, MPI_COMM_WORLD);
  step(world);
  std::fprintf(log, "ready\n");
  if (job.mode == "unread" && world.rank == job.who) {
    while (seconds_now() < job.end) your_job::work_seconds(1);
  } else if (job.mode == "unread" && world.rank == (job.who + world.size - 1) % world.size) {
    send_to(world, job.who, log);
  }
  steps(world, job, log);
  std::fprintf(log, "end\n");
}

}  // namespace

int main(int argc, char** argv) {
  const Job job = your_job::job_from(argc, argv);
  if (job.mode == "load" && launched_as() == std::to_string(job.who)) {
    your_job::work_seconds(your_job::kLoadSeconds);
  }
  MPI_Init(&argc, &argv);
  World world;
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.size);
  FILE* log = your_job::rank_log(job, launched_as());
  std::fprintf(log, "pid %d rank %d size %d\n", static_cast<int>(getpid()), world.rank, world.size);
  run(world, job, log);
  MPI_Finalize();
  return 0;
}
