#include "tests/reports/samples.h"

#include <algorithm>
#include <cmath>

#include "core/op.h"
#include "core/stats/noise.h"

namespace plumbline::samples {
namespace {

Environment environment() {
  Environment environment;
  HostFacts host;
  host.hostname = "bench1";
  host.os = "Debian GNU/Linux 12 (bookworm)";
  host.kernel = "Linux 6.1.0 x86_64";
  host.cpu_model = "Example CPU 3.0 GHz";
  host.cores_online = 2;
  host.cores_usable = 2;
  host.memory_bytes = 8ULL << 30;
  host.governor = "performance";
  host.load1 = 0.25;
  environment.hosts = {host};
  environment.command = {"plumbline", "run", "scenarios/quick start.json", "--out", "/tmp/x"};
  environment.options["chunk_bytes"] = {"65536", "flag"};
  environment.options["port_base"] = {"29600", "default"};
  return environment;
}

// Deterministic values in [0, 1), evenly spread.
double spread(int i) {
  const double x = 0.618033988749895 * (i + 1);
  return x - std::floor(x);
}

}  // namespace

Record record(const std::string& kind, const std::string& op, const std::string& algorithm,
              int ranks, uint64_t bytes, double p50_ns, int n) {
  Record r;
  r.suite_version = "0.1.0";
  r.run_id = "run1";
  r.time = "2025-03-01T12:00:00Z";
  r.scenario = "quickstart";
  r.question = "How fast is this machine?";
  r.plan_hash = "abcdef";
  r.seed = 42;
  r.cell.kind = *cell_kind_from(kind);
  r.cell.op = op;
  r.cell.algorithm = algorithm;
  r.cell.ranks = ranks;
  const std::optional<Op> known = op_from(op);
  const Shape shape = known ? shape_of(*known, DType::kF32, ranks, bytes) : Shape{};
  r.cell.bytes = known ? shape.bytes : bytes;
  r.cell.count = known ? shape.count : bytes / 4;
  if (!known || !row(*known).reduces) r.cell.redop = "none";
  if (known && row(*known).rooted) r.cell.root = 0;
  Measurement& m = r.measurement;
  m.verified = true;
  m.wrong = 0;
  m.stop_reason = "ci";
  m.resolved.transport = "tcp";
  m.resolved.algorithm = algorithm == "auto" ? "ring" : algorithm;
  m.iterations = static_cast<uint64_t>(n);
  // As if each sent its bytes one way; an operation without data sends headers.
  if (kind == "latency" && (r.cell.bytes > 0 || op == "barrier")) {
    m.extra[row(FloorManner::kOneWay).key] =
        static_cast<double>(std::max<uint64_t>(r.cell.bytes, 8));
  }
  for (int i = 0; i < n; ++i) {
    const double tail = spread(i) > 0.985 ? 0.6 : 0.0;
    const auto ns = static_cast<int64_t>(std::llround(p50_ns * (0.95 + 0.1 * spread(i) + tail)));
    m.samples_ns.push_back(ns);
    m.hist.add(ns);
  }
  r.environment = environment();
  recompute(r);
  return r;
}

Record throughput(const std::string& op, const std::string& algorithm, int ranks, uint64_t bytes,
                  int outstanding, double ops_per_s) {
  Record r = record("throughput", op, algorithm, ranks, bytes, 1e9 / ops_per_s * outstanding, 500);
  r.cell.outstanding = outstanding;
  r.measurement.ops_per_s = ops_per_s;
  r.measurement.bytes_per_s = ops_per_s * static_cast<double>(r.cell.bytes);
  recompute(r);
  return r;
}

std::vector<Record> roofs() {
  std::vector<Record> out;
  out.push_back(record("roof", "raw_pingpong", "auto", 2, 8, 9800));
  out.push_back(record("roof", "raw_pingpong", "auto", 2, 65536, 41'000));
  out.push_back(record("roof", "raw_stream", "auto", 2, 4 << 20, 745'000));
  out.push_back(record("roof", "raw_duplex", "auto", 2, 4 << 20, 1'300'000));
  out.push_back(record("roof", "memcpy", "auto", 2, 64 << 20, 6'000'000));
  for (Record& r : out) r.cell.transport = "tcp";
  return out;
}

namespace {

void add_both(std::vector<Record>& out, Record r) {
  out.push_back(r);
  r.cell.placement = "in";
  for (int64_t& ns : r.measurement.samples_ns) ns += ns / 20;
  r.measurement.hist = {};
  for (const int64_t ns : r.measurement.samples_ns) r.measurement.hist.add(ns);
  recompute(r);
  out.push_back(r);
}

void add_trouble(std::vector<Record>& out) {
  Record wrong = record("latency", "allreduce", "ring", 4, 4096, 60'000);
  wrong.measurement.outcome = Outcome::kFailed;
  wrong.measurement.wrong = 12;
  wrong.measurement.reason = "element 3 of rank 1 is 7, expected 6";
  out.push_back(wrong);
  Record noisy = record("latency", "allreduce", "ring", 4, 8192, 70'000);
  noisy.noise = {"noisy", {"oversubscribed", "cv"}};
  out.push_back(noisy);
  Record few = record("latency", "allreduce", "ring", 4, 16384, 80'000, 4);
  out.push_back(few);
  Record skipped = record("latency", "allreduce", "ring", 4, 32768, 1, 0);
  skipped.measurement.outcome = Outcome::kSkipped;
  skipped.measurement.reason = "needs a power-of-two world size";
  skipped.measurement.wrong.reset();
  out.push_back(skipped);
  Record error = record("latency", "allreduce", "ring", 4, 65536, 1, 0);
  error.measurement.outcome = Outcome::kError;
  error.measurement.reason = "op 91 allreduce step 7: rank 2 waits for rank 1";
  error.measurement.cause = "transport.peer_lost";
  error.measurement.wrong.reset();
  out.push_back(error);
}

void add_checks(std::vector<Record>& out) {
  for (const char* algorithm : {"ring", "recursive_doubling"}) {
    for (int ranks = 1; ranks <= 8; ranks *= 2) {
      for (const char* dtype : {"f32", "bf16"}) {
        Record r = record("check", "allreduce", algorithm, ranks, 1024, 1000, 1);
        r.cell.dtype = dtype;
        if (ranks == 8 && r.cell.dtype == "bf16") {
          r.measurement.outcome = Outcome::kFailed;
          r.measurement.wrong = 3;
          r.measurement.reason = "rank 5 element 17";
        }
        if (ranks == 1 && std::string(algorithm) == "recursive_doubling") {
          r.measurement.outcome = Outcome::kSkipped;
          r.measurement.reason = "needs two ranks";
        }
        out.push_back(r);
      }
    }
  }
}

}  // namespace

std::vector<Record> small_run() {
  std::vector<Record> out = roofs();
  for (const uint64_t bytes : {8U, 64U, 512U}) {
    add_both(out, record("latency", "allreduce", "ring", 4, bytes, 30'000 + 10.0 * bytes));
    add_both(out, record("latency", "allreduce", "auto", 2, bytes, 12'000 + 5.0 * bytes));
  }
  add_trouble(out);
  for (const uint64_t bytes : {1U << 20, 4U << 20, 16U << 20}) {
    add_both(out, record("bandwidth", "allreduce", "ring", 2, bytes, bytes * 0.5 + 2e4, 60));
    out.push_back(record("bandwidth", "broadcast", "tree", 2, bytes, bytes * 0.3 + 2e4, 60));
  }
  out.push_back(record("latency", "barrier", "dissemination", 2, 0, 11'000));
  out.push_back(record("latency", "barrier", "dissemination", 4, 0, 25'000));
  for (const int k : {1, 2, 4}) out.push_back(throughput("allreduce", "ring", 2, 1024, k, 4e4 * k));
  add_checks(out);
  return out;
}

std::vector<Record> large_run() {
  std::vector<Record> out = roofs();
  for (const char* op : {"allreduce", "broadcast", "allgather", "alltoall"}) {
    for (const int ranks : {2, 4}) {
      int a = 0;
      for (const char* algorithm : {"ring", "recursive_doubling", "direct"}) {
        ++a;
        for (uint64_t bytes = 8; bytes <= (1 << 20); bytes *= 4) {
          const double ns = 9000.0 * ranks * a + static_cast<double>(bytes) * ranks * 0.4 / a;
          Record r = record("latency", op, algorithm, ranks, bytes, ns, 200);
          if (ranks == 4) r.noise = {"noisy", {"oversubscribed"}};
          add_both(out, r);
        }
        for (uint64_t bytes = 1 << 20; bytes <= (64 << 20); bytes *= 4) {
          const double ns = 9000.0 * ranks * a + static_cast<double>(bytes) * (0.5 + 0.2 * a);
          add_both(out, record("bandwidth", op, algorithm, ranks, bytes, ns, 40));
        }
        for (const uint64_t bytes : {8U, 4096U, 65536U}) {
          for (const int k : {1, 2, 4, 8, 16}) {
            const double one = 9000.0 * ranks * a + static_cast<double>(bytes) * 0.5;
            out.push_back(throughput(op, algorithm, ranks, bytes, k, 1e9 / one * std::pow(k, 0.6)));
          }
        }
      }
    }
  }
  for (int ranks = 2; ranks <= 8; ++ranks) {
    out.push_back(record("latency", "barrier", "dissemination", ranks, 0, 8000.0 * ranks));
  }
  // A series of one point, and points without an interval.
  out.push_back(record("latency", "reduce", "binomial", 2, 1024, 20'000, 200));
  out.push_back(record("latency", "reduce", "ring", 2, 64, 22'000, 4));
  for (const uint64_t bytes : {256U, 1024U, 4096U, 16384U}) {
    out.push_back(record("latency", "reduce", "direct", 2, bytes, 15'000.0 + 3.0 * bytes,
                         bytes == 1024 ? 3 : 30));
  }
  return out;
}

}  // namespace plumbline::samples
