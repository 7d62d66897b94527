// A job of gloo whose ranks do what job_options.h says. It finds itself as torch does: RANK,
// WORLD_SIZE, MASTER_ADDR and MASTER_PORT name the group, GLOO_SOCKET_IFNAME the interface; without
// that the address of the own host name is taken, and loopback when the name has none of this host.
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>
#include <netdb.h>

#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "tests/lab/your_job/job_options.h"
#include "tests/lab/your_job/tcp_store.h"

namespace {

using your_job::Job;
using your_job::seconds_now;
using your_job::variable;
using Context = std::shared_ptr<gloo::rendezvous::Context>;

constexpr std::chrono::seconds kPatience(90);
constexpr size_t kLarge = 1 << 18, kUnread = 1 << 20;

bool usable_here(const std::string& name) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return false;
  bool usable = false;
  for (const addrinfo* one = found; one != nullptr && !usable; one = one->ai_next) {
    const int attempt = socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol);
    if (attempt < 0) continue;
    usable = bind(attempt, one->ai_addr, one->ai_addrlen) == 0;
    close(attempt);
  }
  freeaddrinfo(found);
  return usable;
}

std::shared_ptr<gloo::transport::Device> own_device() {
  gloo::transport::tcp::attr how;
  how.iface = variable("GLOO_SOCKET_IFNAME", "");
  if (how.iface.empty()) {
    char own[256] = {};
    gethostname(own, sizeof own - 1);
    how.hostname = usable_here(own) ? own : "127.0.0.1";
  }
  return gloo::transport::tcp::CreateDevice(how);
}

void allreduce(const Context& context, std::vector<float>& values, size_t count) {
  gloo::AllreduceOptions options(context);
  options.setOutput(values.data(), count);
  options.setReduceFunction(
      [](void* out, const void* a, const void* b, size_t n) { gloo::sum<float>(out, a, b, n); });
  options.setTimeout(kPatience);
  gloo::allreduce(options);
}

void step(const Context& context, std::vector<float>& values) {
  allreduce(context, values, 2);
  allreduce(context, values, kLarge);
  gloo::BarrierOptions options(context);
  options.setTimeout(kPatience);
  gloo::barrier(options);
}

// Who reads for itself (sync) has nobody who empties its sockets while it works. Buffers of this
// older kind are written to without asking the receiver.
void unread(const Context& context, const Job& job, FILE* log) {
  const int from = (job.who + context->size - 1) % context->size;
  std::vector<char> memory(kUnread);
  if (context->rank == job.who) {
    auto& pair = context->getPair(from);
    const auto buffer = pair->createRecvBuffer(1000, memory.data(), memory.size());
    pair->setSync(true, false);
    std::fprintf(log, "ready\n");
    while (seconds_now() < job.end) your_job::work_seconds(1);
  } else if (context->rank == from) {
    const auto buffer =
        context->getPair(job.who)->createSendBuffer(1000, memory.data(), memory.size());
    your_job::pause_seconds(1);  // the other end stops reading first
    std::fprintf(log, "ready\nsends to %d\n", job.who);
    while (seconds_now() < job.end) {
      buffer->send();
      buffer->waitSend();
    }
  } else {
    std::fprintf(log, "ready\n");
    std::vector<float> values(kLarge, 1);
    step(context, values);
  }
}

void steps(const Context& context, const Job& job, FILE* log) {
  std::vector<float> values(kLarge, 1);
  step(context, values);
  step(context, values);
  if (job.mode == "unread") return unread(context, job, log);
  std::fprintf(log, "ready\n");
  for (long number = 0; seconds_now() < job.end; ++number) {
    if (job.mode == "idle") your_job::pause_seconds(job.end - seconds_now());
    if (job.mode == "compute" && context->rank == job.who) {
      your_job::work_seconds(your_job::kComputeSeconds);
    }
    step(context, values);
    std::fprintf(log, "step %ld\n", number);
    your_job::pause_seconds(0.05);
  }
}

void run(const Job& job, int rank, int size, FILE* log) {
  if (job.mode == "load" && rank == job.who) your_job::work_seconds(your_job::kLoadSeconds);
  const std::string port = variable("MASTER_PORT", "29500");
  std::unique_ptr<your_job::TcpStoreServer> server;
  if (rank == 0) server = std::make_unique<your_job::TcpStoreServer>(std::atoi(port.c_str()));
  your_job::TcpStore store(variable("MASTER_ADDR", "127.0.0.1"), port, kPatience);
  const auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
  context->setTimeout(kPatience);
  auto device = own_device();
  std::fprintf(log, "device %s\n", device->str().c_str());
  context->connectFullMesh(store, device);
  steps(context, job, log);
  std::fprintf(log, "end\n");
  _exit(0);  // ranks end at different moments: whoever still reads would see an error
}

}  // namespace

int main(int argc, char** argv) {
  const Job job = your_job::job_from(argc, argv);
  const std::string rank = variable("RANK", "0"), size = variable("WORLD_SIZE", "1");
  // Ranks that are told that they are the same one have files of their own.
  FILE* log = your_job::rank_log(job, variable("YOUR_JOB_LOG", rank));
  std::fprintf(log, "pid %d rank %s size %s\n", static_cast<int>(getpid()), rank.c_str(),
               size.c_str());
  try {
    run(job, std::atoi(rank.c_str()), std::atoi(size.c_str()), log);
  } catch (const std::exception& error) {
    std::fprintf(log, "error %s\n", error.what());
    if (job.mode == "stay") your_job::pause_seconds(job.end - seconds_now());
    _exit(1);
  }
}
