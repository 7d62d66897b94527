// One rank of an operation over gloo, timed as `plumbline coll` times ours (peer.h). Run by
// vs_peers.py only.
//   gloo_peer VARIANT RANK SIZE STORE_FOLDER OP PLACEMENT BYTES TIMED WARMUP FOLDER CPUS
// VARIANT: "only" is gloo's one implementation of an operation over unbound buffers, ring and bcube
// are its two of allreduce; ring_chunked, halving_doubling and legacy are its older classes, with
// _busy behind it over pairs that poll.

#include <gloo/allgather.h>
#include <gloo/allgather_ring.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/alltoall.h>
#include <gloo/barrier.h>
#include <gloo/barrier_all_to_all.h>
#include <gloo/broadcast.h>
#include <gloo/broadcast_one_to_all.h>
#include <gloo/gather.h>
#include <gloo/math.h>
#include <gloo/reduce.h>
#include <gloo/reduce_scatter.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/scatter.h>
#include <gloo/transport/tcp/device.h>

#include <exception>

#include "benchmarks/peer.h"

namespace {

using peer::Arrays;
using peer::Job;
using World = std::shared_ptr<gloo::Context>;
using Operation = std::function<void()>;

void sum(void* out, const void* a, const void* b, size_t n) { gloo::sum<float>(out, a, b, n); }

Operation keep(std::shared_ptr<gloo::Algorithm> algorithm) {
  return [algorithm] { algorithm->run(); };
}

// The older classes: buffers bound to pairs when they are made, all but allgather in place.
Operation older(const std::string& variant, const World& context, const Job& job, const Arrays& a) {
  const auto count = static_cast<int>(a.count());
  const std::vector<float*> data = {a.out};
  const bool halving = variant == "halving_doubling";
  if (variant == "ring_chunked" && job.op == "allreduce" && job.in_place) {
    return keep(std::make_shared<gloo::AllreduceRingChunked<float>>(context, data, count));
  }
  if (halving && job.op == "allreduce" && job.in_place) {
    return keep(std::make_shared<gloo::AllreduceHalvingDoubling<float>>(context, data, count));
  }
  if (halving && job.op == "reduce_scatter" && job.in_place) {
    const std::vector<int> shares(static_cast<size_t>(job.size), count);
    return keep(std::make_shared<gloo::ReduceScatterHalvingDoubling<float>>(
        context, data, count * job.size, shares));
  }
  if (variant != "legacy") return nullptr;
  if (job.op == "allgather" && !job.in_place) {
    return keep(std::make_shared<gloo::AllgatherRing<float>>(
        context, std::vector<const float*>{a.in}, a.out, count));
  }
  if (job.op == "broadcast" && job.in_place) {
    return keep(std::make_shared<gloo::BroadcastOneToAll<float>>(context, data, count));
  }
  if (job.op == "barrier") return keep(std::make_shared<gloo::BarrierAllToAll>(context));
  return nullptr;
}

Operation allreduce(const World& context, const Job& job, const Arrays& a,
                    gloo::AllreduceOptions::Algorithm kind) {
  return [=, &job, &a] {
    gloo::AllreduceOptions options(context);
    options.setAlgorithm(kind);
    if (!job.in_place) options.setInput(a.in, a.count());
    options.setOutput(a.out, a.count());
    options.setReduceFunction(sum);
    gloo::allreduce(options);
  };
}

// gloo's reduce uses the output of every rank on its way.
Operation rooted(const World& context, const Job& job, const Arrays& a) {
  const size_t count = a.count(), whole = count * static_cast<size_t>(job.size);
  const bool root = job.rank == 0;
  if (job.op == "broadcast") {
    return [=, &job, &a] {
      gloo::BroadcastOptions options(context);
      options.setRoot(0);
      if (root && !job.in_place) options.setInput(a.in, count);
      options.setOutput(a.out, count);
      gloo::broadcast(options);
    };
  }
  if (job.op == "reduce") {
    return [=, &job, &a] {
      gloo::ReduceOptions options(context);
      options.setRoot(0);
      if (!job.in_place) options.setInput(a.in, count);
      options.setOutput(a.out, count);
      options.setReduceFunction(sum);
      gloo::reduce(options);
    };
  }
  if (job.op == "gather" && !job.in_place) {
    return [=, &a] {
      gloo::GatherOptions options(context);
      options.setRoot(0);
      options.setInput(a.in, count);
      if (root) options.setOutput(a.out, whole);
      gloo::gather(options);
    };
  }
  if (job.op != "scatter" || job.in_place) return nullptr;
  return [=, &job, &a] {
    gloo::ScatterOptions options(context);
    options.setRoot(0);
    std::vector<float*> parts;
    for (int r = 0; r < job.size; ++r) parts.push_back(a.in + static_cast<size_t>(r) * count);
    if (root) options.setInputs(parts, count);
    options.setOutput(a.out, count);
    gloo::scatter(options);
  };
}

Operation collective(const World& context, const Job& job, const Arrays& a) {
  const size_t count = a.count(), whole = count * static_cast<size_t>(job.size);
  if (job.op == "allgather") {
    return [=, &job, &a] {
      gloo::AllgatherOptions options(context);
      if (!job.in_place) options.setInput(a.in, count);
      options.setOutput(a.out, whole);
      gloo::allgather(options);
    };
  }
  if (job.op == "alltoall" && !job.in_place) {
    return [=, &a] {
      gloo::AlltoallOptions options(context);
      options.setInput(a.in, whole);
      options.setOutput(a.out, whole);
      gloo::alltoall(options);
    };
  }
  if (job.op != "barrier") return nullptr;
  return [=] {
    gloo::BarrierOptions options(context);
    gloo::barrier(options);
  };
}

// The same two buffers every time, as their owner is told to keep them.
Operation point_to_point(const World& context, const Job& job, const Arrays& a) {
  const size_t bytes = a.count() * sizeof(float);
  std::shared_ptr<gloo::transport::UnboundBuffer> in = context->createUnboundBuffer(a.in, bytes);
  std::shared_ptr<gloo::transport::UnboundBuffer> out = context->createUnboundBuffer(a.out, bytes);
  constexpr uint64_t kSlot = 1;
  const auto swap = [=](int to, int from) {
    out->recv(from, kSlot);
    in->send(to, kSlot);
    in->waitSend();
    out->waitRecv();
  };
  if (job.op == "sendrecv") {
    const int right = (job.rank + 1) % job.size, left = (job.rank + job.size - 1) % job.size;
    return [=] { swap(right, left); };
  }
  if (job.rank > 1) return [] {};
  const int other = 1 - job.rank;
  if (job.op == "bidirectional") return [=] { swap(other, other); };
  const size_t back = job.op == "pingpong" ? bytes : 0;
  const auto send = [=](gloo::transport::UnboundBuffer& from, size_t size) {
    from.send(other, kSlot, 0, size);
    from.waitSend();
  };
  const auto receive = [=](size_t size) {
    out->recv(other, kSlot, 0, size);
    out->waitRecv();
  };
  if (job.rank == 0) {
    return [=] {
      send(*in, bytes);
      receive(back);
    };
  }
  return [=] {
    receive(bytes);
    send(*out, back);
  };
}

Operation operation_of(std::string variant, const World& context, const Job& job, const Arrays& a) {
  using Kind = gloo::AllreduceOptions::Algorithm;
  const std::string busy = "_busy";
  if (variant.size() > busy.size() && variant.ends_with(busy)) {
    variant.resize(variant.size() - busy.size());
    for (int other = 0; other < job.size; ++other) {
      if (other != job.rank) context->getPair(other)->setSync(true, true);
    }
  }
  if (variant == "ring" || variant == "bcube") {
    if (job.op != "allreduce") return nullptr;
    return allreduce(context, job, a, variant == "ring" ? Kind::RING : Kind::BCUBE);
  }
  if (variant != "only") return older(variant, context, job, a);
  for (const char* op : {"pingpong", "stream", "bidirectional", "sendrecv"}) {
    if (job.op == op) return point_to_point(context, job, a);
  }
  Operation operation = rooted(context, job, a);
  return operation ? operation : collective(context, job, a);
}

int run(const std::string& variant, const std::string& store_folder, const Job& job) {
  gloo::transport::tcp::attr attr;
  attr.hostname = "127.0.0.1";
  auto device = gloo::transport::tcp::CreateDevice(attr);
  gloo::rendezvous::FileStore store(store_folder);
  auto context = std::make_shared<gloo::rendezvous::Context>(job.rank, job.size);
  context->connectFullMesh(store, device);
  const Arrays arrays(job);
  const Operation operation = operation_of(variant, context, job, arrays);
  if (!operation) {
    std::fprintf(stderr, "gloo's %s has no %s %s\n", variant.c_str(), job.op.c_str(),
                 job.in_place ? "in place" : "out of place");
    return peer::kFailed;
  }
  const int status = peer::measure(job, arrays, operation);
  // gloo hangs when polling pairs are closed: leave without closing, but not before all are done,
  // because a rank whose peer has gone fails.
  if (status == 0) peer::await(job, job.size);
  std::_Exit(status);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kOwn = 4;
  if (argc != 1 + kOwn + peer::kWords || peer::row(argv[1 + kOwn]) == nullptr) {
    std::fprintf(stderr, "usage: gloo_peer VARIANT RANK SIZE STORE_FOLDER %s\n", peer::kUsage);
    return peer::kFailed;
  }
  const Job job = peer::job_from(argv + 1 + kOwn, std::atoi(argv[2]), std::atoi(argv[3]));
  if (!peer::bind(job.cpus, job.rank)) return peer::kFailed;
  try {
    return run(argv[1], argv[4], job);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gloo: %s\n", error.what());
    std::_Exit(peer::kFailed);  // its threads may wait for ranks that are gone
  }
}
