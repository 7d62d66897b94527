#include "probes/actions/rdma_climb.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <sstream>
#include <vector>

#include "core/command.h"
#include "core/host/process_facts.h"
#include "core/number.h"
#include "core/ranges.h"
#include "core/text.h"
#include "probes/actions/ends.h"
#include "probes/rdma_rungs.h"
#include "transport/rdma/profiles.h"
#include "transport/rdma/rdma_port.h"
#include "transport/rdma/verbs.h"

namespace plumbline {
namespace {

constexpr unsigned kStepSeconds = 4;
constexpr int64_t kRungsMs = 28'000;
constexpr size_t kRegionBytes = 16384;  // a page of every machine
constexpr size_t kMostRungs = 16;       // that a child may tell of
constexpr unsigned kCountSeconds = 20;
constexpr int64_t kCountNs = 3 * kSecond;
constexpr int kMostCounted = 1000;
constexpr const char *kBegins = "begin ", *kDone = "done ", *kFailed = "failed ";

void say_rung(const char* what, const char* name, const std::string& text) {
  const std::string line = fmt::format("{}{} {}\n", what, name, escaped(text));
  // At once: the next thing may be a crash.
  static_cast<void>(!::write(STDOUT_FILENO, line.data(), line.size()));
}

constexpr int kBySignal = 128;  // exit status of a child that a signal ended, less its number

// What is said when the time of a step is over, whatever hangs then.
std::string too_late;
void end_late(int) {
  static_cast<void>(!::write(STDOUT_FILENO, too_late.data(), too_late.size()));
  ::_exit(kBySignal + SIGALRM);
}

// The system's words for the errno of a call; some providers set none.
std::string error_text(int number) {
  if (number == 0) return "the library gives no reason";
  return fmt::format("{} (errno {})", std::strerror(number), number);
}

class Climber {
 public:
  explicit Climber(const AskRdma& asked)
      : asked_(asked), profile_(profile_of(asked.device)), port_(asked.port) {}

  void run() {
    const bool up = step("library", &Climber::load) && step("device", &Climber::find) &&
                    step("open", &Climber::open) && step("port", &Climber::look_at_port) &&
                    step("gid", &Climber::find_gid) && step("pd", &Climber::make_domain) &&
                    step("cq", &Climber::make_cq) && step("qp", &Climber::make_qp) &&
                    step("mr", &Climber::make_region) && step("init", &Climber::init);
    if (up && asked_.counts) {
      take_rung("qps", kCountSeconds, [&](std::string& found) { return count_pairs(found); });
      take_rung("mrs", kCountSeconds, [&](std::string& found) { return count_regions(found); });
    }
    give_back();
  }

 private:
  // A step returns what is wrong; what it found is in found_.
  using Step = std::string (Climber::*)();
  bool step(const char* name, Step take) {
    return take_rung(name, kStepSeconds, [&](std::string& found) {
      found_.clear();
      errno = 0;
      std::string wrong = (this->*take)();
      found = found_;
      return wrong;
    });
  }

  std::string load() {
    const auto names =
        asked_.library.empty() ? verbs_library_names() : std::vector<std::string>{asked_.library};
    Expected<Verbs> verbs = load_verbs(names);
    if (!verbs) return verbs.error().what;
    verbs_ = std::move(*verbs);
    found_ = verbs_.library;
    return {};
  }
  std::string find() {
    int count = 0;
    list_ = verbs_.get_device_list(&count);
    if (list_ == nullptr) return error_text(errno);
    std::string others;
    for (int i = 0; i < count && list_[i] != nullptr; ++i) {
      const char* const name = verbs_.get_device_name(list_[i]);
      if (name == nullptr) continue;
      if (asked_.device == name) device_ = list_[i];
      others += (others.empty() ? "" : ", ") + std::string(name);
    }
    if (device_ != nullptr) return {};
    return others.empty() ? "it lists none" : "it lists " + others;
  }
  std::string open() {
    context_ = verbs_.open_device(device_);
    return context_ == nullptr ? error_text(errno) : std::string();
  }
  std::string look_at_port() {
    constexpr const char* kStates[] = {"NOP", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER"};
    VerbsPort port;
    const int failed = verbs_.query_port(context_, static_cast<uint8_t>(port_), &port);
    if (failed != 0) return error_text(failed > 0 ? failed : errno);
    gids_ = port.gids;
    if (port.state == kPortActive) return {};
    const bool known = port.state >= 0 && port.state < static_cast<int>(std::size(kStates));
    return fmt::format("it is {}", known ? kStates[port.state] : "in an unknown state");
  }
  // The one that the profile asks for.
  std::string find_gid() {
    constexpr int kMostGids = 1024;
    std::string there;
    for (int i = 0; i < std::min(gids_, kMostGids); ++i) {
      VerbsGid gid;
      if (verbs_.query_gid(context_, static_cast<uint8_t>(port_), i, &gid) != 0) continue;
      if (gid == VerbsGid{}) continue;
      there += fmt::format("{}{} at index {}", there.empty() ? "" : ", ", to_text(gid), i);
      const bool meant = profile_.gid_index < 0 ? is_ipv4_mapped(gid) : i == profile_.gid_index;
      if (!meant || !found_.empty()) continue;
      if (!is_ipv4_mapped(gid)) continue;
      found_ = fmt::format("{} at index {}", to_text(gid), i);
    }
    if (!found_.empty()) return {};
    const std::string wanted =
        profile_.gid_index < 0 ? "" : fmt::format(" at index {}", profile_.gid_index);
    return fmt::format("no IPv4-mapped GID{}; there is: {}", wanted,
                       there.empty() ? "nothing" : there);
  }
  std::string make_domain() {
    domain_ = verbs_.alloc_pd(context_);
    return domain_ == nullptr ? error_text(errno) : std::string();
  }
  std::string make_cq() {
    cq_ = verbs_.create_cq(context_, 2 * profile_.requests, nullptr, nullptr, 0);
    return cq_ == nullptr ? error_text(errno) : std::string();
  }
  VerbsQpRequest pair_request() const {
    VerbsQpRequest request;
    request.send_cq = request.receive_cq = cq_;
    request.limits.sends = request.limits.receives = static_cast<uint32_t>(profile_.requests);
    request.limits.send_pieces = request.limits.receive_pieces = 1;
    request.type = profile_.qp_type;
    return request;
  }
  std::string make_qp() {
    VerbsQpRequest request = pair_request();
    qp_ = verbs_.create_qp(domain_, &request);
    found_ = profile_.qp_type == kReliable ? "RC" : "UC";
    return qp_ == nullptr ? found_ + ": " + error_text(errno) : std::string();
  }
  std::string make_region() {
    // On a page of its own.
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kRegionBytes, kRegionBytes)));
    if (!memory_) return "no memory";
    region_ = verbs_.reg_mr(domain_, memory_.get(), kRegionBytes, kLocalWrite);
    return region_ == nullptr ? error_text(errno) : std::string();
  }
  std::string init() {
    VerbsQpAttributes attributes;
    attributes.state = kQpInit;
    attributes.port = static_cast<uint8_t>(port_);
    const int failed =
        verbs_.modify_qp(qp_, &attributes, kMaskState | kMaskPkey | kMaskPort | kMaskAccess);
    return failed == 0 ? std::string() : error_text(failed > 0 ? failed : errno);
  }

  // How many more of them there can be, until one cannot be made or the time is over. The first
  // one is ours; all others are given back at once.
  std::string count_pairs(std::string& found) {
    std::vector<VerbsQueuePair*> more;
    const Deadline enough = Deadline::after_ns(kCountNs);
    bool all = false;
    while (!all && static_cast<int>(more.size()) + 1 < kMostCounted && !enough.passed()) {
      VerbsQpRequest request = pair_request();
      VerbsQueuePair* const one = verbs_.create_qp(domain_, &request);
      all = one == nullptr;
      if (!all) more.push_back(one);
    }
    found = counted(more.size() + 1, all);
    for (VerbsQueuePair* one : more) verbs_.destroy_qp(one);
    return {};
  }
  std::string count_regions(std::string& found) {
    std::vector<VerbsRegion*> more;
    const Deadline enough = Deadline::after_ns(kCountNs);
    bool all = false;
    while (!all && static_cast<int>(more.size()) + 1 < kMostCounted && !enough.passed()) {
      VerbsRegion* const one = verbs_.reg_mr(domain_, memory_.get(), kRegionBytes, kLocalWrite);
      all = one == nullptr;
      if (!all) more.push_back(one);
    }
    found = counted(more.size() + 1, all);
    for (VerbsRegion* one : more) verbs_.dereg_mr(one);
    return {};
  }
  static std::string counted(size_t count, bool all) {
    return fmt::format("{}{}", count, all ? "" : " and more");
  }

  void give_back() {
    alarm(kStepSeconds);
    if (region_ != nullptr) verbs_.dereg_mr(region_);
    if (qp_ != nullptr) verbs_.destroy_qp(qp_);
    if (cq_ != nullptr) verbs_.destroy_cq(cq_);
    if (domain_ != nullptr) verbs_.dealloc_pd(domain_);
    if (context_ != nullptr) verbs_.close_device(context_);
    if (list_ != nullptr) verbs_.free_device_list(list_);
    alarm(0);
  }

  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  const AskRdma& asked_;
  const RdmaProfile& profile_;
  const int port_;
  std::string found_;
  Verbs verbs_;
  VerbsDevice** list_ = nullptr;
  VerbsDevice* device_ = nullptr;
  VerbsContext* context_ = nullptr;
  int gids_ = 0;
  VerbsDomain* domain_ = nullptr;
  VerbsCompletionQueue* cq_ = nullptr;
  VerbsQueuePair* qp_ = nullptr;
  std::unique_ptr<std::byte, Free> memory_;
  VerbsRegion* region_ = nullptr;
};

// "pd", and the rest of the line.
std::pair<std::string, std::string> name_and_text(std::string_view line) {
  const size_t space = std::min(line.find(' '), line.size());
  return {std::string(line.substr(0, space)),
          std::string(line.substr(std::min(space + 1, line.size())))};
}

}  // namespace

std::string ending_of_climb(int status) {
  if (status == 0) return {};
  if (status == kBySignal + SIGALRM) return "no answer in time";
  if (status > kBySignal) return fmt::format("the library crashed (signal {})", status - kBySignal);
  return fmt::format("the library ended the process with status {}", status);
}

void climb_rdma(const AskRdma& asked) { Climber(asked).run(); }

RdmaClimb read_climb(const AskRdma& asked, const std::string& said, const std::string& ended) {
  RdmaClimb climb;
  climb.device = asked.device;
  climb.profile = profile_of(asked.device).name;
  climb.port = asked.port;
  std::optional<std::string> at;  // begun, and not told of again
  std::istringstream lines(said);
  for (std::string line; std::getline(lines, line);) {
    for (const char* what : {kBegins, kDone, kFailed}) {
      if (!line.starts_with(what)) continue;
      const auto [name, text] = name_and_text(std::string_view(line).substr(std::strlen(what)));
      if (find_rdma_rung(name) == nullptr || climb.rungs.size() >= kMostRungs) continue;
      if (what == kBegins) {
        at = name;
        continue;
      }
      const bool done = what == kDone;
      climb.rungs.push_back({name,
                             done           ? ""
                             : text.empty() ? "it failed"
                                            : text,
                             done ? text : ""});
      at.reset();
    }
  }
  if (at && !ended.empty()) climb.rungs.push_back({*at, ended, ""});
  if (climb.rungs.empty()) climb.error = ended.empty() ? "nothing was said" : ended;
  return climb;
}

bool take_rung(const char* name, unsigned seconds,
               const std::function<std::string(std::string& found)>& take) {
  say_rung(kBegins, name, "");
  too_late = fmt::format("{}{} no answer within {} s\n", kFailed, name, seconds);
  std::signal(SIGALRM, end_late);
  std::string found;
  alarm(seconds);
  const std::string wrong = take(found);
  alarm(0);
  say_rung(wrong.empty() ? kDone : kFailed, name, wrong.empty() ? found : wrong);
  return wrong.empty();
}

Expected<RdmaClimb> run_rungs(const AskRdma& about, const std::vector<std::string>& words,
                              const std::string& input, const AgentCall& call) {
  CommandOptions options;
  options.input = input;
  const auto done = run_command(words, within(call, kRungsMs * kMillisecond).deadline, options);
  if (done) return read_climb(about, done->out, ending_of_climb(done->status));
  return read_climb(about, "", done.error().message());
}

Expected<RdmaClimb> climb_in_child(const AskRdma& asked, const AgentCall& call) {
  const Expected<std::string> program = own_program_path();
  if (!program) return fail(program.error());
  std::vector<std::string> words = {*program,     "rdma-climb", "--device",
                                    asked.device, "--port",     std::to_string(asked.port)};
  if (!asked.library.empty()) words.insert(words.end(), {"--library", asked.library});
  if (asked.counts) words.emplace_back("--counts");
  return run_rungs(asked, words, "", call);
}

}  // namespace plumbline
