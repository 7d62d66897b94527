// Running the cells of the fault matrix.
#include "lab/matrix.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "core/clock.h"
#include "core/command.h"
#include "core/number.h"
#include "core/shell_words.h"
#include "lab/address.h"
#include "lab/draw.h"
#include "lab/lab_files.h"
#include "lab/shell.h"
#include "lab/snapshot.h"

namespace plumbline {
namespace {

constexpr int64_t kDoctorMs = 150'000;
constexpr int64_t kRemedyMs = 20'000;

// What is true of the machine itself, in any lab.
std::vector<std::string> true_of_machine() {
  std::ifstream in("/proc/loadavg");
  double load = 0;
  in >> load;
  const double cores = std::max(1U, std::thread::hardware_concurrency());
  if (load > cores / 2) return {"host.overloaded"};
  return {};
}

std::string this_machine() {
  utsname system{};
  uname(&system);
  const std::string release = system.release;
  return fmt::format("{} cores, {} {}", std::thread::hardware_concurrency(), system.sysname,
                     release.substr(0, release.find('-')));
}

class CellRunner {
 public:
  CellRunner(const MatrixOptions& options, const MatrixCell& cell, size_t number)
      : options_(options), number_(number) {
    result_.cell = cell;
  }

  // Null when it was stopped, and its lab is gone all the same.
  std::optional<CellResult> run() {
    CellResult result = run_whole();
    if (stopped() && !lab_stayed_) return std::nullopt;
    return result;
  }

 private:
  bool stopped() const { return options_.stop && options_.stop() > 0; }

  CellResult run_whole() {
    const CellNetwork network = cell_network(result_.cell, options_.unprivileged);
    LabTopology topology = network.topology;
    result_.lab = in_words(topology);
    if (!network.unavailable.empty()) {
      result_.skipped = network.unavailable;
      return result_;
    }
    topology.name = fmt::format("matrix-{}-{}", getpid(), number_);
    const Expected<Lab> lab = lab_up(topology, result_.cell.seed, [this] { return stopped(); });
    if (!lab) {
      // A device type that this kernel lacks, mostly.
      const bool cannot = lab.error().code == ErrorCode::kUnsupported && geteuid() == 0;
      (cannot ? result_.skipped : result_.error) = lab.error().message();
      return result_;
    }
    lab_ = *lab;
    in_lab();
    const Status down = lab_down(lab_.name);
    lab_stayed_ = !down;
    if (lab_stayed_ && (stopped() || result_.error.empty())) result_.error = down.error().message();
    return result_;
  }

  void in_lab() {
    if (stopped() || !inject_all() || stopped()) return;
    result_.diagnosis = ask_doctor("");
    if (!result_.diagnosis.problem.empty()) result_.error = result_.diagnosis.problem;
    const std::vector<std::string> ignored = true_of_machine();
    result_.judgement = judge(result_.injected, result_.diagnosis, options_.unprivileged, ignored);
    const Judgement& judgement = result_.judgement;
    result_.right = result_.error.empty() && judgement.missed.empty() && judgement.wrong.empty() &&
                    (result_.cell.kind == MatrixCellKind::kZoo || judgement.first_is_right);
    // What a wrong diagnosis would have done is not worth trying, and without privileges the rule
    // that a remedy would have to change cannot be seen.
    if (!options_.unprivileged && result_.cell.kind == MatrixCellKind::kSingle && result_.right &&
        !stopped() && result_.injected.front().remedy_is_local) {
      try_remedy();
    }
  }

  bool inject_all() {
    std::mt19937_64 random(result_.cell.seed * 2654435761ULL + 17);
    Draw draw(random);
    std::vector<std::string> hosts;
    for (const LabHost& host : lab_.hosts) hosts.push_back(host.name);
    for (const std::string& fault : result_.cell.faults) {
      FaultTarget target;
      target.host = draw.take(hosts);
      // Two faults stay apart when their four hosts are different ones.
      if (result_.cell.kind == MatrixCellKind::kPair) target.peer = draw.take(hosts);
      const Expected<Injected> injected = inject_fault(lab_, fault, target, random());
      if (!injected) {
        result_.error = injected.error().message();
        return false;
      }
      result_.injected.push_back(*injected);
    }
    return true;
  }

  Diagnosis ask_doctor(const std::string& again) {
    std::vector<int> window = lab_.ports;
    // The longest run of ports is the window, what is left the master port.
    std::pair<int, int> longest{0, -1};
    for (const auto& run : runs_of(window)) {
      if (run.second - run.first > longest.second - longest.first) longest = run;
    }
    int master = 29500;
    for (const int port : window) {
      if (port < longest.first || port > longest.second) master = port;
    }
    std::vector<std::string> argv = {
        options_.program, "doctor",
        "--hosts",        lab_.hosts_file,
        "--ports",        fmt::format("{}-{}", longest.first, longest.second),
        "--master-port",  std::to_string(master),
        "--json"};
    for (const Injected& injected : result_.injected) {
      const std::vector<std::string>& more = injected.doctor_args;
      for (size_t i = 0; i + 1 < more.size(); i += 2) {
        const auto known = std::find(argv.begin(), argv.end(), more[i]);
        if (known != argv.end()) argv.erase(known, known + 2);
        argv.insert(argv.end(), {more[i], more[i + 1]});
      }
    }
    const int64_t began = monotonic_ns();
    CommandOptions command;
    command.stop = options_.stop;
    const auto done = run_command(argv, Deadline::after_ms(kDoctorMs), command);
    const int64_t took = monotonic_ns() - began;
    Diagnosis diagnosis;
    if (done) {
      diagnosis = parse_diagnosis(done->out, done->status);
      if (!diagnosis.problem.empty() && !done->err.empty()) diagnosis.problem += "; " + done->err;
      keep(again, done->out);
    } else {
      diagnosis.problem = done.error().message();
    }
    diagnosis.took_ns = took;
    return diagnosis;
  }

  void keep(const std::string& again, const std::string& text) const {
    if (options_.keep.empty()) return;
    std::error_code ignored;
    std::filesystem::create_directories(options_.keep, ignored);
    (void)write_file(
        fmt::format("{}/{}-{}{}.json", options_.keep, result_.cell.name, result_.cell.seed, again),
        text);
  }

  // The commands of each right finding's remedy, on the hosts that they are for, as root there.
  void try_remedy() {
    const auto before = take_snapshots(lab_);
    std::set<std::string> touched;
    for (const SaidFinding& finding : result_.diagnosis.findings) {
      if (finding.outcome == "note") continue;
      for (const HostCommand& command : finding.commands) {
        const LabHost* host = find_lab_host(lab_, command.host);
        if (host == nullptr) continue;
        touched.insert(host->netns);
        const Status done = carry_out(*host, command.argv);
        if (done) continue;
        result_.after_remedy.push_back("the remedy failed: " + done.error().message());
        break;
      }
    }
    result_.remedy_tried = true;
    if (touched.empty()) {
      result_.after_remedy.emplace_back("no command was printed");
      return;
    }
    compare_elsewhere(before, touched);
    Diagnosis after = ask_doctor("-healed");
    // A note harms nothing: a remedy for the job's ports need not let ping through as well.
    std::erase_if(after.findings, [](const SaidFinding& f) { return f.outcome == "note"; });
    const Judgement clean = judge({}, after, options_.unprivileged, true_of_machine());
    result_.after_remedy.insert(result_.after_remedy.end(), clean.wrong.begin(), clean.wrong.end());
    if (!after.problem.empty()) result_.after_remedy.push_back(after.problem);
    result_.healed = result_.after_remedy.empty() && result_.changed_elsewhere.empty();
  }

  // In the host's namespace, with its file of names in the place of /etc/hosts. A tool that
  // replaces that file cannot do so where it is mounted, so /etc is a copy there.
  Status carry_out(const LabHost& host, const std::vector<std::string>& argv) const {
    const std::string names = "/etc/netns/" + host.netns + "/hosts";
    const std::string line = "sh -c '\"$@\"' sh " + shell_line(argv);  // kill is the shell's own
    std::string command = in_netns(host.netns, line);
    const bool names_files = std::any_of(argv.begin(), argv.end(), [](const std::string& word) {
      return word.find("/etc/") != std::string::npos;
    });
    if (names_files) {
      const std::string copy = lab_.folder + "/etc";
      const std::string inner = fmt::format(
          "mkdir -p {0}\nmount -t tmpfs tmpfs {0}\ncp -a /etc/. {0}/\n"
          "cat {1} > {0}/hosts\nmount --bind {0} /etc\n"
          "nsenter --net=/run/netns/{2} {3} || exit 1\ncat /etc/hosts > {4}",
          copy, names, host.netns, line, lab_.folder + "/names.after");
      command = "unshare -m sh -e -c " + shell_quoted(inner) + "\ncat " + lab_.folder +
                "/names.after > " + names;
    }
    return run_script("remedy on " + host.name, command, kRemedyMs);
  }

  void compare_elsewhere(const Expected<std::map<std::string, Snapshot>>& before,
                         const std::set<std::string>& touched) {
    const auto after = take_snapshots(lab_);
    if (!before || !after) {
      result_.changed_elsewhere.emplace_back("could not be seen");
      return;
    }
    for (const auto& [netns, snapshot] : *before) {
      if (touched.count(netns) > 0) continue;
      for (const std::string& line : difference(snapshot, after->at(netns))) {
        result_.changed_elsewhere.push_back((netns.empty() ? "this machine" : netns) + " " + line);
      }
    }
  }

  const MatrixOptions& options_;
  size_t number_;
  CellResult result_;
  Lab lab_;
  bool lab_stayed_ = false;
};

}  // namespace

MatrixResult run_matrix(const MatrixOptions& options, const std::vector<MatrixCell>& cells) {
  std::vector<std::optional<CellResult>> ended(cells.size());
  std::mutex mutex;
  size_t next = 0, done = 0;
  bool cut = false;
  const auto work = [&] {
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex);
      if (next == cells.size() || (options.stop && options.stop() > 0)) return;
      const size_t i = next++;
      lock.unlock();
      std::optional<CellResult> cell = CellRunner(options, cells[i], i).run();
      lock.lock();
      ended[i] = std::move(cell);
      cut = cut || !ended[i];
      if (!ended[i]) return;
      if (options.progress) options.progress(*ended[i], ++done, cells.size());
    }
  };
  std::vector<std::thread> workers;
  for (int i = 1; i < options.jobs; ++i) workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();

  MatrixResult result;
  result.options = options;
  result.machine = this_machine();
  result.interrupted = cut || next < cells.size() || (options.stop && options.stop() > 0);
  for (std::optional<CellResult>& cell : ended) {
    if (cell) result.cells.push_back(std::move(*cell));
  }
  return result;
}

}  // namespace plumbline
