// One rank of an allreduce over gloo, timed as `plumbline coll` times ours: back to back, one
// duration per operation. Prints the durations (ns), one a line, for vs_gloo.py, which combines the
// ranks. Run by that script only.
//   gloo_peer ALGORITHM RANK SIZE BYTES ITERATIONS WARMUP STORE_FOLDER CONGESTION_CONTROL
// ALGORITHM: ring, bcube, halving_doubling, halving_doubling_busy (busy-polling pairs),
// ring_chunked.

#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/allreduce_ring_chunked.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace {

std::string congestion_control;

int64_t now_ns() {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

}  // namespace

// gloo offers no way to choose the congestion control of its sockets, and a comparison needs it
// equal on both sides: this definition stands before libc's for the whole program. Accepted sockets
// inherit it from their listener.
extern "C" int socket(int domain, int type, int protocol) noexcept {
  const int fd = static_cast<int>(syscall(SYS_socket, domain, type, protocol));
  if (fd >= 0 && (domain == AF_INET || domain == AF_INET6) && !congestion_control.empty()) {
    setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, congestion_control.data(),
               static_cast<socklen_t>(congestion_control.size()));
  }
  return fd;
}

int main(int argc, char** argv) {
  if (argc != 9) {
    std::fprintf(stderr, "usage: gloo_peer ALGORITHM RANK SIZE BYTES ITERATIONS WARMUP STORE CC\n");
    return 1;
  }
  const std::string algorithm = argv[1];
  const int rank = std::atoi(argv[2]);
  const int size = std::atoi(argv[3]);
  const size_t count = std::strtoull(argv[4], nullptr, 10) / sizeof(float);
  const int iterations = std::atoi(argv[5]);
  const int warmup = std::atoi(argv[6]);
  congestion_control = argv[8];

  gloo::transport::tcp::attr attr;
  attr.hostname = "127.0.0.1";
  auto device = gloo::transport::tcp::CreateDevice(attr);
  gloo::rendezvous::FileStore store(argv[7]);
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
  context->connectFullMesh(store, device);

  std::vector<float> data(count, static_cast<float>(rank + 1));
  std::function<void()> operation;
  std::unique_ptr<gloo::Algorithm> legacy;
  if (algorithm == "ring" || algorithm == "bcube") {
    const auto kind = algorithm == "ring" ? gloo::AllreduceOptions::Algorithm::RING
                                          : gloo::AllreduceOptions::Algorithm::BCUBE;
    operation = [&, kind] {
      gloo::AllreduceOptions options(context);
      options.setAlgorithm(kind);
      options.setOutput(data.data(), data.size());
      options.setReduceFunction([](void* out, const void* a, const void* b, size_t n) {
        gloo::sum<float>(out, a, b, n);
      });
      gloo::allreduce(options);
    };
  } else if (algorithm == "ring_chunked") {
    legacy = std::make_unique<gloo::AllreduceRingChunked<float>>(
        context, std::vector<float*>{data.data()}, static_cast<int>(count));
  } else {
    if (algorithm == "halving_doubling_busy") {
      for (int peer = 0; peer < size; ++peer) {
        if (peer != rank) context->getPair(peer)->setSync(true, true);
      }
    }
    legacy = std::make_unique<gloo::AllreduceHalvingDoubling<float>>(
        context, std::vector<float*>{data.data()}, static_cast<int>(count));
  }
  if (legacy) operation = [&] { legacy->run(); };

  for (int i = 0; i < warmup; ++i) operation();
  std::vector<int64_t> durations;
  durations.reserve(static_cast<size_t>(iterations));
  for (int i = 0; i < iterations; ++i) {
    const int64_t start = now_ns();
    operation();
    durations.push_back(now_ns() - start);
  }
  for (const int64_t ns : durations) std::printf("%lld\n", static_cast<long long>(ns));
  std::fflush(stdout);
  // gloo hangs when busy-polling pairs are closed; the other rank may still be reading, so leave
  // without closing.
  std::_Exit(0);
}
