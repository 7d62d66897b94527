#include "tests/reports/bundle_samples.h"

#include <cmath>
#include <random>

#include "core/op.h"

namespace plumbline::samples {
namespace {

// In pieces, so that no file of the repository names a home.
const std::string kSampleHome = "/home/", kUsers = "/Users/";
constexpr const char* kSecret = "hunter2-TOKEN";

HostFacts host(const std::string& name, const std::string& boot, const std::string& ip) {
  HostFacts facts;
  facts.hostname = name;
  facts.os = "Debian GNU/Linux 12 (bookworm) of " + name;
  facts.kernel = "Linux 6.1.0-" + name + "-amd64 x86_64";
  facts.arch = "x86_64";
  facts.cpu_model = "AMD EPYC";
  facts.cores_online = facts.cores_usable = 8;
  facts.clock_source = "tsc";
  facts.load1 = 0.25;
  facts.memory_bytes = 64ull << 30;
  facts.virtualisation = "kvm";
  facts.congestion_control = "cubic";
  facts.rmem_max = 4194304;
  facts.wmem_max = 4194304;
  facts.boot_id = boot;
  Nic nic;
  nic.name = "enx0200c0ffee01";
  nic.kind = "ethernet";
  nic.up = nic.carrier = true;
  nic.mtu = 9000;
  nic.speed_bps = 10'000'000'000;
  nic.mac = "02:00:c0:ff:ee:01";
  nic.master = "br-Acme";
  nic.addresses = {{ip, 24, false, false, false}, {"fe80::c0ff:eeff:fe01", 64, true, true, false}};
  facts.nics = {nic};
  facts.libraries = {{"plumbline", "0.1.0"},
                     {"openssl", std::string("built in /home/"
                                             "annette/") +
                                     kSecret}};
  facts.environment = {{"NCCL_SOCKET_IFNAME", "br-Acme"}, {"SLURM_JOB_ID", kSecret}};
  return facts;
}

PerRank per_rank(int rank, const std::string& name) {
  PerRank out;
  out.rank = rank;
  out.host = name;
  out.cpu = rank;
  return out;
}

Record cell(const std::string& kind, const std::string& op, uint64_t bytes, int64_t p50_ns, int n,
            uint64_t seed) {
  Record record;
  record.suite_version = "0.1.0";
  record.run_id = "feedface00000001";
  record.time = "2026-11-20T10:00:00.000Z";
  record.scenario = "Zebra7-rack";
  record.question = "Is Zebra7.acme.example at 10.77.0.1 as fast as q?";
  record.plan_hash = std::string(64, 'd');
  record.seed = 7;
  record.cell.kind = *cell_kind_from(kind);
  record.cell.op = op;
  record.cell.ranks = 2;
  record.cell.hosts = "Zebra7+q";
  const OpRow& known = row(*op_from(op));
  const Shape shape = shape_of(known.op, DType::kF32, 2, bytes);
  record.cell.bytes = shape.bytes;
  record.cell.count = shape.count;
  record.cell.redop = known.reduces ? "sum" : "none";
  record.cell.root = known.rooted ? 0 : -1;
  record.cell.params = {{"chunk_bytes", "512Ki"}, {"ifname", "br-Acme"}, {"kernel", kSecret}};
  Measurement& m = record.measurement;
  m.reason = std::string("connect to 10.77.0.2: ") + kSecret;
  m.verified = true;
  m.wrong = 0;
  m.samples_ns = times(seed, n, p50_ns);
  for (const int64_t ns : m.samples_ns) m.hist.add(ns);
  m.iterations = m.hist.n();
  m.warmup_converged = true;
  m.per_rank = {per_rank(0, "Zebra7"), per_rank(1, "q")};
  m.resolved.transport = "tcp";
  m.resolved.algorithm = "ring";
  m.resolved.congestion_control = "cubic";
  m.resolved.kernel = "AVX3";
  m.resolved.chunk_bytes = 512 << 10;
  m.resolved.address_pairs = {"0-1 10.77.0.1:40000>10.77.0.2:29601",
                              "0-1 fe80::c0ff:eeff:fe01%enx0200c0ffee01>10.77.0.2:29601"};
  m.extra[kInvoluntarySwitches] = n < 100 ? 0 : 3;
  Environment& e = record.environment;
  e.hosts = {host("Zebra7.acme.example", "boot-one", "10.77.0.1"),
             host("q", "boot-two", "10.77.0.2")};
  e.options = {{"chunk_bytes", {"256Ki", "flag"}},
               {"spin_us", {"100", "env PLUMBLINE_SPIN_US"}},
               {"ifname", {"br-Acme", "flag"}},
               {"ssh_config", {kSampleHome + "annette/.ssh/config", "flag"}},
               {"listen_addr", {"2001:db8:77::1", "flag"}},
               {"fault", {kSecret, "flag"}},
               {"mesh", {"eager", "default"}}};
  e.command = {"plumbline",
               "run",
               kSampleHome + "annette/secret-project/Zebra7.json",
               "--out",
               kUsers + "boris/out",
               "--key",
               kSecret,
               "carla@Zebra7.acme.example"};
  e.control = "ssh";
  e.auth = "token";
  recompute(record);
  return record;
}

}  // namespace

std::vector<int64_t> times(uint64_t seed, int n, int64_t p50_ns) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> out;
  for (int i = 0; i < n; ++i) {
    // A sum of uniforms for the body, a long tail for one in twenty: no library's distributions,
    // which differ between libraries.
    double body = 0;
    for (int k = 0; k < 6; ++k) body += static_cast<double>(random() >> 11) * 0x1p-53 / 6;
    const double tail = random() % 20 == 0 ? static_cast<double>(random() >> 11) * 0x1p-53 : 0;
    out.push_back(std::llround(static_cast<double>(p50_ns) * (0.8 + 0.4 * body + tail * tail)));
  }
  return out;
}

std::vector<Record> seeded_run() {
  std::vector<Record> run = {cell("latency", "pingpong", 8, 12'000, 2000, 1),
                             cell("latency", "allreduce", 65536, 90'000, 1500, 2),
                             cell("latency", "barrier", 0, 14'000, 1200, 3),
                             cell("bandwidth", "allreduce", 1 << 20, 1'000'000, 300, 4),
                             cell("bandwidth", "broadcast", 1 << 20, 950'000, 31, 5),
                             cell("bandwidth", "stream", 1 << 20, 930'000, 4, 6)};
  Record check = run[1];
  check.cell.kind = CellKind::kCheck;
  check.measurement.hist = Histogram();
  check.measurement.samples_ns.clear();
  run.push_back(check);
  Record noisy = cell("bandwidth", "allgather", 1 << 20, 900'000, 300, 8);
  noisy.noise = {"noisy", {"load on Zebra7"}};
  run.push_back(noisy);
  return run;
}

std::vector<std::string> seeded_words() {
  return {"zebra7",   "acme",     "example",  "10.77.0", "77.10",   "fe80",   "c0ff",
          "c0-ff",    "annette",  "boris",    "carla",   "hunter2", "token-", "br-acme",
          "enx",      "2001:db8", "db8:77",   "/home",   "/users",  "boot-",  "secret",
          "ssh_conf", "feedface", "dddddddd", "\"q\"",   "-q-",     " q",     "question",
          "reason",   "command",  "address",  "boot_id", "ifname",  "run_id", "plan_hash"};
}

BundleStatement statement() {
  BundleStatement out;
  out.link_kind = "ethernet-10g";
  out.cable = "2 m copper between Zebra7 and 10.77.0.2, no switch";
  out.hardware = {"Mac mini of annette"};
  out.submitter = "";
  out.notes =
      "files in /home/"
      "annette/x, MAC 02-00-C0-FF-EE-01, 2.0.77.10.in-addr.arpa, "
      "fe80::c0ff:eeff:fe01%eth0, ZEBRA7.ACME.EXAMPLE";
  return out;
}

nlohmann::json bundle(uint64_t seed) {
  std::vector<Record> run = seeded_run();
  for (size_t i = 0; i < run.size(); ++i) {
    if (seed == 1 || run[i].measurement.hist.n() == 0) continue;
    Measurement& m = run[i].measurement;
    const auto p50 = static_cast<int64_t>(*run[i].time_ns.p50);
    m.samples_ns = times(seed * 100 + i, static_cast<int>(m.hist.n()), p50);
    m.hist = Histogram();
    for (const int64_t ns : m.samples_ns) m.hist.add(ns);
    recompute(run[i]);
  }
  Redactor redactor;
  const auto built = build_bundle(run, statement(), {"submit"}, redactor);
  return built ? *built->document : nlohmann::json();
}

}  // namespace plumbline::samples
