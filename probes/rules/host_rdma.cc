#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/host/ip.h"
#include "core/number.h"
#include "core/ranges.h"
#include "probes/checks.h"
#include "probes/evidence_query.h"
#include "probes/foreign_numbers.h"
#include "probes/rdma_rungs.h"
#include "probes/remedy.h"
#include "probes/rules/host_readiness.h"
#include "probes/thresholds.h"
#include "transport/rdma/profiles.h"

namespace plumbline {

using enum Standing;

namespace {

bool is_empty_gid(const std::string& gid) {
  return gid.find_first_not_of("0:") == std::string::npos;
}

bool has_gid(const RdmaDevice& device) {
  return any_of(device.gids, [](const std::string& gid) { return !is_empty_gid(gid); });
}

std::string describe_devices(const std::vector<RdmaDevice>& devices) {
  std::vector<std::string> words;
  for (const RdmaDevice& device : devices) {
    words.push_back(fmt::format("{} port {} {}", device.name, device.port,
                                device.state.empty() ? "in an unknown state" : device.state));
  }
  return join_words(words);
}

// Why the kernel's devices were not read, or empty: then none may be there all the same.
std::string unread_devices(const HostEvidence& host) {
  const std::string source = "infiniband: ";
  for (const std::string& line : host.unreadable) {
    if (line.rfind(source, 0) == 0) return "devices: " + line.substr(source.size());
  }
  return {};
}

// The device whose port should carry the job: the one over the data interface, else any.
std::vector<RdmaDevice> devices_for(const JobHost& job, const HostEvidence& host) {
  std::vector<RdmaDevice> named, over_data;
  for (const RdmaDevice& device : host.rdma->devices) {
    if (is_in(job.rdma_devices, device.name)) named.push_back(device);
  }
  if (!named.empty()) return named;
  for (const RdmaDevice& device : host.rdma->devices) {
    for (const Cidr& data : data_of(job)) {
      const InterfaceEvidence* carrier = interface_of(host, data.ip);
      if (carrier != nullptr && device.netdev == carrier->name) over_data.push_back(device);
    }
  }
  return over_data.empty() ? host.rdma->devices : over_data;
}

class RdmaJudge {
 public:
  RdmaJudge(const EvidenceSet& evidence, const JobHost& job, const HostEvidence& host)
      : evidence_(evidence),
        asked_(evidence.job.rdma),
        must_(asked_ && !evidence.job.rdma_or_tcp),
        job_(job),
        host_(host) {}

  HostVerdict judge() {
    if (!has_facts(host_)) return say(kUnknown, lack_of_facts(host_));
    const bool devices = host_.rdma && !host_.rdma->devices.empty();
    if (const std::string why = unread_devices(host_); !devices && !why.empty()) {
      return say(kUnknown, why);
    }
    if (!asked_ && !devices) {
      return say(kSkipped, "the job does not ask for RDMA, and there is no device");
    }
    if (!host_.rdma) return say(kUnknown, "RDMA was not looked for on this host");
    return climb();
  }

 private:
  HostVerdict say(CheckOutcome outcome, const std::string& reason) const {
    return {make_check({"rdma", job_.name}, outcome, reason)};
  }
  HostVerdict blame(const char* cause, const std::string& reason, const Remedy& remedy) const {
    HostVerdict verdict = say(must_ ? kFail : kWarn, reason);
    verdict.cause = cause;
    verdict.remedy = remedy;
    return verdict;
  }

  HostVerdict climb() const {
    const RdmaEvidence& rdma = *host_.rdma;
    const bool macos = host_.system == "macos";
    // Without hardware a library would not help.
    if (rdma.devices.empty() && !rdma.hardware.empty()) {
      return blame("rdma.unsupported_hardware", rdma.hardware,
                   "run the job over TCP on this host, or use a machine whose hardware can RDMA");
    }
    if (rdma.library.empty()) {
      return blame("rdma.no_library",
                   "no verbs library could be loaded" +
                       (rdma.library_error.empty() ? "" : ": " + rdma.library_error),
                   macos ? "update to a macOS that has librdma" : "apt-get install libibverbs1");
    }
    if (rdma.devices.empty()) {
      return blame("rdma.no_device", fmt::format("{} lists no device", rdma.library),
                   macos ? "start the machine in recovery mode and run: rdma_ctl enable"
                         : "load the driver of the card: modprobe mlx5_ib (or the card's own)");
    }
    for (const std::string& name : job_.rdma_devices) {
      const bool there =
          any_of(rdma.devices, [&](const RdmaDevice& device) { return device.name == name; });
      if (there) continue;
      return blame("rdma.no_device",
                   fmt::format("the host file names {}, and there is {}", name,
                               describe_devices(rdma.devices)),
                   "names of devices may change when the machine starts: write the present one "
                   "into the host file");
    }
    return climb_devices(devices_for(job_, host_));
  }

  HostVerdict climb_devices(const std::vector<RdmaDevice>& devices) const {
    std::vector<RdmaDevice> active;
    std::copy_if(devices.begin(), devices.end(), std::back_inserter(active),
                 [](const RdmaDevice& device) { return device.state == "ACTIVE"; });
    if (active.empty()) {
      return blame("rdma.port_down", "no port is active: " + describe_devices(devices),
                   devices[0].netdev.empty()
                       ? Remedy("plug in the cable, and check the port at its other end")
                       : remedy_link_up(host_.system, devices[0].netdev));
    }
    for (const RdmaDevice& device : active) {
      if (const std::string why = why_no_mapped_gid(device); !why.empty()) {
        return blame("rdma.no_gid", why, remedy_of_gid(device));
      }
      if (asked_ && is_socket_beside_ethernet(host_, device.name)) {
        return blame(
            "rdma.unsupported_hardware",
            fmt::format("{} is the socket beside Ethernet of a Mac Studio ({}), which does "
                        "no RDMA",
                        device.name, host_.model),
            "plug this cable into another socket, and write its device into the host file");
      }
    }
    if (none_of(active, has_gid)) {
      const bool list_known = any_of(active, [](const RdmaDevice& d) { return !d.gids.empty(); });
      if (!list_known) return say(kUnknown, "the GID table cannot be seen");
      return blame("rdma.no_gid", fmt::format("{} has no entry in its GID table", active[0].name),
                   fmt::format("give {} an IP address: its GID is made from it",
                               active[0].netdev.empty() ? "its interface" : active[0].netdev));
    }
    const double least = threshold(Threshold::kLockedMemory);
    if (host_.locked_memory && *host_.locked_memory >= 0 &&
        static_cast<double>(*host_.locked_memory) < least) {
      return blame(
          "rdma.memlock",
          fmt::format("a process may lock {} of memory", describe_size(*host_.locked_memory)),
          "raise the limit where the ranks are started: ulimit -l unlimited");
    }
    for (const RdmaClimb& climb : host_.rdma->climbs) {
      if (const RdmaRung* failed = first_failed(climb)) return blame_rung(climb, *failed);
    }
    for (const RdmaClimb& climb : host_.rdma->climbs) {
      if (const std::string few = too_few(climb, "qps"); !few.empty()) {
        return blame("rdma.qp_limit", few, remedy_of_rung("rdma.qp_limit", climb));
      }
      if (const std::string few = too_few(climb, "mrs"); !few.empty()) {
        return blame("rdma.mr_limit", few, remedy_of_rung("rdma.mr_limit", climb));
      }
    }
    for (const RdmaClimb& meeting : host_.rdma->meetings) {
      const RdmaRung* const failed = first_failed(meeting);
      const RdmaRungRow* const row = failed == nullptr ? nullptr : find_rdma_rung(failed->name);
      if (row == nullptr || *row->cause == '\0' || told_by_peer(meeting, *failed)) continue;
      return blame_rung(meeting, *failed);
    }
    for (const RdmaClimb& climb : host_.rdma->climbs) {
      if (climb.rungs.size() >= rdma_rungs().size()) continue;
      return say(kUnknown,
                 fmt::format("{} port {} was not tried to the end: {}", climb.device, climb.port,
                             climb.error.empty() ? "no step failed" : climb.error));
    }
    for (const RdmaClimb& meeting : host_.rdma->meetings) {
      const RdmaRung* const failed = first_failed(meeting);
      if (failed == nullptr && meeting.error.empty()) continue;
      if (failed != nullptr && told_by_peer(meeting, *failed)) continue;
      return say(kUnknown, fmt::format("RDMA with {} was not tried to the end: {}", meeting.peer,
                                       failed == nullptr ? meeting.error : failed->error));
    }
    return say(kPass, describe_devices(active) + ", with a GID" + made());
  }

  // Where the provider takes one entry of the GID table alone, as Apple's does: why that one is no
  // IPv4-mapped address. Empty where the table is not known.
  std::string why_no_mapped_gid(const RdmaDevice& device) const {
    const int wanted = profile_of(device.name).gid_index;
    const auto is_mapped = [](const std::string& gid) {
      const auto ip = parse_ip(gid);
      constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
      return ip && ip->v6 && std::equal(kMapped.begin(), kMapped.end(), ip->bytes.begin());
    };
    if (!asked_ || wanted < 0 || device.gids.empty()) return {};
    const auto at = static_cast<size_t>(wanted);
    if (at < device.gids.size() && is_mapped(device.gids[at])) return {};
    for (size_t index = 0; index < device.gids.size(); ++index) {
      if (!is_mapped(device.gids[index])) continue;
      return fmt::format("{} has its IPv4-mapped GID at index {}, and the provider takes index {}",
                         device.name, index, wanted);
    }
    const InterfaceEvidence* const port = find_interface(host_, device.netdev);
    return fmt::format("{} has no IPv4-mapped GID{}", device.name,
                       port == nullptr || port->master.empty()
                           ? std::string()
                           : fmt::format(": {} is a port of {}", device.netdev, port->master));
  }
  Remedy remedy_of_gid(const RdmaDevice& device) const {
    const InterfaceEvidence* const port = find_interface(host_, device.netdev);
    Remedy out;
    if (port != nullptr && !port->master.empty()) {
      out.run(remedy_leave_bridge(host_.system, port->name, port->master));
    }
    return out.say(fmt::format(
        "give {} one IPv4 address of its own and no other (its GIDs are made of them; plumbline "
        "hosts discover plans them), and take it down and up again",
        device.netdev.empty() ? "its interface" : device.netdev));
  }

  // "; 9 queue pairs and 100 regions can be made; with mini2: 47 us, 5.1 GB/s".
  std::string made() const {
    if (host_.rdma->climbs.empty()) return {};
    std::string out = "; a queue pair and a region can be made";
    for (const RdmaClimb& climb : host_.rdma->climbs) {
      const std::string pairs = text_of(climb, "qps"), regions = text_of(climb, "mrs");
      if (pairs.empty() || regions.empty()) continue;
      out +=
          fmt::format("; {} has room for {} queue pairs, {} regions", climb.device, pairs, regions);
    }
    for (const RdmaClimb& meeting : host_.rdma->meetings) {
      const std::string echo = text_of(meeting, "echo"), rate = text_of(meeting, "rate");
      const auto& meetings = host_.rdma->meetings;
      const bool rails = 1 < std::count_if(meetings.begin(), meetings.end(), [&](const auto& one) {
                           return one.peer == meeting.peer;
                         });
      const std::string over = rails ? " over " + meeting.device : "";
      if (!echo.empty()) out += fmt::format("; with {}{}: {}, {}", meeting.peer, over, echo, rate);
    }
    return out;
  }
  static std::string text_of(const RdmaClimb& climb, const char* name) {
    const RdmaRung* const rung =
        find_where(climb.rungs, [&](const RdmaRung& one) { return one.name == name; });
    return rung == nullptr ? std::string() : rung->text;
  }

  static bool is_loss(const RdmaRung* failed) {
    return failed != nullptr && (failed->name == "echo" || failed->name == "rate");
  }
  // What is lost on the way is seen at both ends: where the other end comes first in the file and
  // has nothing else to be blamed for, it tells of this.
  bool told_by_peer(const RdmaClimb& meeting, const RdmaRung& failed) const {
    const auto& hosts = evidence_.job.hosts;
    const auto place = [&](const std::string& name) {
      return std::find_if(hosts.begin(), hosts.end(),
                          [&](const JobHost& host) { return host.name == name; });
    };
    const HostEvidence* const peer = find_host(evidence_, meeting.peer);
    if (!is_loss(&failed) || peer == nullptr || !peer->rdma ||
        place(meeting.peer) >= place(job_.name)) {
      return false;
    }
    const RdmaClimb* const first = find_where(peer->rdma->meetings, [](const RdmaClimb& other) {
      return first_failed(other) != nullptr;
    });
    return first != nullptr && first->peer == job_.name && is_loss(first_failed(*first)) &&
           RdmaJudge(evidence_, *place(meeting.peer), *peer).judge().cause == "rdma.path";
  }

  // One queue pair for each other host, and at least two regions for each (what comes, what goes).
  std::string too_few(const RdmaClimb& climb, const char* name) const {
    const std::string text = text_of(climb, name);
    const auto count = parse_whole<size_t>(text);  // nothing where there are more
    const bool regions = name == std::string_view("mrs");
    const auto faces = [&](const auto& cell) { return is_in(cell.second, climb.device); };
    const auto& named = job_.rdma_towards;
    const size_t peers =
        named.empty() ? evidence_.job.hosts.size() - 1
                      : static_cast<size_t>(std::count_if(named.begin(), named.end(), faces));
    const size_t wanted = regions ? 2 * peers : peers;
    if (!count || *count >= wanted) return {};
    return fmt::format("{} port {}: only {} {} can be made, and {} other hosts need {}",
                       climb.device, climb.port, *count, regions ? "regions" : "queue pairs", peers,
                       wanted);
  }

  // Counts that came to nothing are no step.
  static const RdmaRung* first_failed(const RdmaClimb& climb) {
    return find_where(climb.rungs, [](const RdmaRung& rung) {
      return !rung.error.empty() && rung.name != "qps" && rung.name != "mrs";
    });
  }

  HostVerdict blame_rung(const RdmaClimb& climb, const RdmaRung& failed) const {
    const RdmaRungRow* row = find_rdma_rung(failed.name);
    const std::string cause = row == nullptr ? "rdma.no_device" : row->cause;
    const std::string with = climb.peer.empty() ? "" : " with " + climb.peer;
    return blame(cause.c_str(),
                 fmt::format("{} port {}{}: {}: {}", climb.device, climb.port, with,
                             row == nullptr ? failed.name : row->what, failed.error),
                 remedy_of_rung(cause, climb));
  }

  Remedy remedy_of_rung(const std::string& cause, const RdmaClimb& climb) const {
    const RdmaProfile& profile = profile_of(climb.device);
    const std::string left_behind =
        "end the programs that use it; what crashed ones held is given back when the machine "
        "starts anew";
    if (cause == "rdma.pd") {
      return Remedy("look whether its cable is in and the host file names the right device; else " +
                    left_behind);
    }
    if (cause == "rdma.qp_limit" && profile.most_qps > 0) {
      return Remedy(
          fmt::format("no more than {} queue pairs are known to work on one of these "
                      "devices: {}",
                      profile.most_qps, left_behind));
    }
    if (cause == "rdma.mr_limit" && profile.most_regions > 0) {
      return Remedy(
          fmt::format("about {} regions are known to work on one of these devices: {}; "
                      "or raise the limit of locked memory: ulimit -l unlimited",
                      profile.most_regions, left_behind));
    }
    if (cause == "rdma.mr_limit") {
      return Remedy(
          "raise the limit of locked memory where the ranks are started: ulimit -l "
          "unlimited; else " +
          left_behind);
    }
    if (cause == "rdma.no_gid") {
      return Remedy(profile.gid_index < 0
                        ? "give its interface an IPv4 address: the GID is made from it"
                        : fmt::format("give its interface an IPv4 address of its own, and take it "
                                      "out of a bridge: the provider takes the GID at index {}",
                                      profile.gid_index));
    }
    if (!climb.peer.empty() && cause != "rdma.qp_limit") {
      return Remedy(fmt::format(
          "does the cable of {} end in {}, in the device that the host file names there? Else give "
          "both ends addresses of one network (the GIDs are made from them), the same MTU, and let "
          "UDP port 4791 (RoCE) through",
          climb.device, climb.peer));
    }
    return Remedy(left_behind);
  }

  const EvidenceSet& evidence_;
  bool asked_, must_;
  const JobHost& job_;
  const HostEvidence& host_;
};

}  // namespace

std::vector<HostVerdict> rdma_verdicts(const EvidenceSet& evidence) {
  std::vector<HostVerdict> out;
  for (const JobHost& job : evidence.job.hosts) {
    const HostEvidence* host = find_host(evidence, job.name);
    if (host == nullptr) continue;
    const std::string earlier = same_as_earlier(evidence, job);
    if (!earlier.empty()) {
      out.push_back({make_check({"rdma", job.name}, kSkipped, "same machine as " + earlier)});
    } else {
      out.push_back(RdmaJudge(evidence, job, *host).judge());
    }
  }
  return out;
}

}  // namespace plumbline
