#include "tests/support/paper_macs.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/host/ip.h"
#include "probes/sources/source.h"

namespace plumbline::test {
namespace {

using nlohmann::json;

std::string profiler(const PaperMac& mac) {
  json buses = json::array();
  for (const PaperSocket& socket : mac.sockets) {
    json bus = {{"_name", fmt::format("thunderboltusb4_bus_{}", socket.number)},
                {"device_name_key", mac.model},
                {"domain_uuid_key", socket.domain},
                {"switch_uid_key", fmt::format("0x05AC00000000000{}", socket.number)},
                {"route_string_key", "0"}};
    const bool empty = socket.peer.empty();
    bus["receptacle_1_tag"] = {
        {"current_speed_key", fmt::format("{}{} Gb/s", empty ? "Up to " : "", socket.gigabits)},
        {"link_status_key", empty ? "0x100" : "0x2"},
        {"receptacle_id_key", std::to_string(socket.number)},
        {"receptacle_status_key",
         empty ? "receptacle_no_devices_connected" : "receptacle_connected"}};
    if (!empty) {
      json items = json::array({{{"_name", "Mac mini"},
                                 {"device_name_key", "Mac16,11"},
                                 {"domain_uuid_key", socket.peer}}});
      for (int hub = 0; hub < socket.hubs; ++hub) {
        items = json::array({{{"_name", "Thunderbolt 5 Hub"}, {"_items", items}}});
      }
      bus["_items"] = items;
    }
    buses.push_back(bus);
  }
  return json{{"SPThunderboltDataType", buses}}.dump(1) + "\n";
}

std::string hardware_ports(const PaperMac& mac) {
  std::string out = fmt::format(
      "\n{0}: Ethernet\n{1}: en0\n\n{0}: Wi-Fi\n{1}: en1\n\n{0}: {2} Bridge\n{1}: bridge0\n",
      mac.title_key, mac.device_key, mac.title);
  for (const PaperSocket& socket : mac.sockets) {
    out += fmt::format("\n{}: {} {}\n{}: {}\nEthernet Address: 36:00:00:00:00:0{}\n", mac.title_key,
                       mac.title, socket.number, mac.device_key, socket.interface, socket.number);
  }
  return out + "\nVLAN Configurations\n===================\n";
}

std::string inet(const std::string& address) {
  if (address.empty()) return {};
  const Cidr own = parse_cidr(address);
  const Ip mask = netmask(own.prefix, false);
  return fmt::format("\tinet {} netmask 0x{:02x}{:02x}{:02x}{:02x} broadcast 0.0.0.0\n", own.ip,
                     mask.bytes[0], mask.bytes[1], mask.bytes[2], mask.bytes[3]);
}

std::string interface_text(const std::string& name, int number, const std::string& address,
                           bool active) {
  return fmt::format(
      "{}: flags=8863<UP,BROADCAST,SMART,RUNNING,SIMPLEX,MULTICAST> mtu 1500\n"
      "\tether 36:00:00:00:01:{:02x}\n{}\tmedia: autoselect <full-duplex>\n\tstatus: {}\n",
      name, number, inet(address), active ? "active" : "inactive");
}

std::string ifconfig(const PaperMac& mac) {
  std::string out =
      "lo0: flags=8049<UP,LOOPBACK,RUNNING,MULTICAST> mtu 16384\n\tinet 127.0.0.1 netmask "
      "0xff000000\n" +
      interface_text("en0", 1, mac.lan, !mac.lan.empty());
  bool bridged = !mac.bridge.empty();
  for (const PaperSocket& socket : mac.sockets) {
    out += interface_text(socket.interface, 16 + socket.number, socket.ip, !socket.peer.empty());
    bridged = bridged || socket.in_bridge;
  }
  if (!bridged) return out;
  out +=
      "bridge0: flags=8863<UP,BROADCAST,SMART,RUNNING,SIMPLEX,MULTICAST> mtu 1500\n"
      "\tether 36:00:00:00:01:fe\n" +
      inet(mac.bridge);
  for (const PaperSocket& socket : mac.sockets) {
    if (socket.in_bridge) {
      out += fmt::format("\tmember: {} flags=3<LEARNING,DISCOVER>\n", socket.interface);
    }
  }
  return out + "\tmedia: <unknown type>\n\tstatus: active\n";
}

std::string routes(const PaperMac& mac) {
  std::string out =
      "Routing tables\n\nInternet:\nDestination        Gateway            Flags    Netif Expire\n";
  if (!mac.lan.empty()) out += "default            192.168.4.1        UGScg    en0\n";
  return out + "127.0.0.1          127.0.0.1          UH       lo0\n";
}

std::string devices(const PaperMac& mac) {
  std::string out = "    device          \t   node GUID\n    ------          \t----------------\n";
  if (!mac.rdma) return out;
  for (const PaperSocket& socket : mac.sockets) {
    out += fmt::format("    rdma_{}        \t023600000000000{}\n", socket.interface, socket.number);
  }
  return out;
}

std::string section(const SourceRow& row, const std::string* text) {
  std::string out = fmt::format("=begin {}\n=command {}\n", row.name, row.command);
  if (text == nullptr) return out + "=end status=127 sure=no lines=0\n";
  int lines = 0;
  for (size_t at = 0; at < text->size(); ++lines) {
    const size_t end = std::min(text->find('\n', at), text->size());
    out += "|" + text->substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out + fmt::format("=end status=0 sure=no lines={}\n", lines);
}

bool is_of_macs(const SourceRow& row) {
  return row.system == std::string("macos") || row.system == std::string("any");
}

// Another one for each name.
uint64_t number_of(const std::string& name) {
  uint64_t out = 0;
  for (const char c : name) out = (out * 31 + static_cast<unsigned char>(c)) % 0xffffffffffffU;
  return out;
}

std::string uuid(size_t mac, int socket) {
  return fmt::format("{:08X}-0000-4000-8000-{:012X}", mac + 1, socket);
}

}  // namespace

PaperSocket& PaperMac::socket(int number) {
  for (PaperSocket& one : sockets) {
    if (one.number == number) return one;
  }
  throw std::out_of_range("no such socket");
}

PaperCluster::PaperCluster(size_t count, int sockets) {
  for (size_t i = 0; i < count; ++i) {
    PaperMac mac;
    mac.name = fmt::format("mac{}", i + 1);
    mac.lan = fmt::format("192.168.4.{}/24", 11 + i);
    for (int number = 1; number <= sockets; ++number) {
      PaperSocket socket;
      socket.number = number;
      // Names of two Macs have nothing to do with each other.
      socket.interface = fmt::format("en{}", 1 + number + static_cast<int>(i % 2));
      socket.domain = uuid(i, number);
      mac.sockets.push_back(socket);
    }
    macs.push_back(mac);
  }
}

PaperCluster& PaperCluster::cable(size_t a, int socket_a, size_t b, int socket_b) {
  PaperSocket &here = macs.at(a).socket(socket_a), &there = macs.at(b).socket(socket_b);
  here.peer = there.domain;
  there.peer = here.domain;
  return *this;
}

std::map<std::string, std::string> outputs_of(const PaperMac& mac) {
  std::map<std::string, std::string> out = {
      {"system-profiler-thunderbolt", profiler(mac)},
      {"networksetup", hardware_ports(mac)},
      {"ifconfig", ifconfig(mac)},
      {"netstat-routes", routes(mac)},
      {"ibv-devices", devices(mac)},
      {"rdma-ctl", mac.rdma ? "enabled\n" : "disabled\n"},
      {"sw-vers", fmt::format("ProductName:\t\tmacOS\nProductVersion:\t\t{}\nBuildVersion:\t\t{}\n",
                              mac.version, mac.build)},
      {"uname", "Darwin 25.2.0 arm64\n"},
      {"id", "501\n"},
      {"sysctl-host",
       fmt::format(
           "kern.hostname: {0}.local\nkern.bootsessionuuid: 00000000-0000-4000-8000-{3:012X}\n"
           "kern.osrelease: 25.2.0\nhw.model: {1}\nhw.memsize: 68719476736\nhw.ncpu: 14\n"
           "machdep.cpu.brand_string: {2}\nvm.loadavg: {{ 1.52 1.61 1.70 }}\n",
           mac.name, mac.model, mac.chip, number_of(mac.name))}};
  for (const std::string& source : mac.silent) out.erase(source);
  for (const auto& [source, text] : mac.said) out[source] = text;
  return out;
}

EvidenceSet PaperCluster::evidence() const {
  EvidenceSet set;
  for (const PaperMac& mac : macs) {
    HostEvidence host;
    host.name = mac.name;
    host.source = "agent";
    host.system = "macos";
    const auto outputs = outputs_of(mac);
    for (const SourceRow& row : source_table()) {
      const auto text = outputs.find(row.name);
      if (!is_of_macs(row) || text == outputs.end()) continue;
      apply_output(row, {SourceOutput::State::kRead, text->second, {}, false}, host);
    }
    JobHost job;
    job.name = mac.name;
    set.job.hosts.push_back(job);
    set.hosts.push_back(host);
  }
  return set;
}

std::vector<std::string> PaperCluster::collect_files(const std::string& folder) const {
  std::vector<std::string> out;
  for (const PaperMac& mac : macs) {
    const auto outputs = outputs_of(mac);
    std::string text = fmt::format(
        "=plumbline-collect 1\n=name {}\n=system macos\n=time 2026-11-20T09:30:01Z\n=peers \n"
        "=ports 29500\n",
        mac.name);
    int sections = 0;
    for (const SourceRow& row : source_table()) {
      if (!is_of_macs(row)) continue;
      const auto found = outputs.find(row.name);
      text += section(row, found == outputs.end() ? nullptr : &found->second);
      ++sections;
    }
    out.push_back(folder + "/" + mac.name + ".txt");
    std::ofstream(out.back()) << text << fmt::format("=done sections={}\n", sections);
  }
  return out;
}

PaperCluster paper_pair() { return PaperCluster(2).cable(0, 1, 1, 2); }

PaperCluster paper_mesh(size_t macs) {
  PaperCluster out(macs, static_cast<int>(macs) - 1);
  for (size_t a = 0; a < macs; ++a) {
    for (size_t b = a + 1; b < macs; ++b) {
      out.cable(a, static_cast<int>(b), b, static_cast<int>(a) + 1);
    }
  }
  return out;
}

PaperCluster paper_ring(size_t macs) {
  PaperCluster out(macs);
  for (size_t a = 0; a < macs; ++a) out.cable(a, 1, (a + 1) % macs, 2);
  return out;
}

PaperCluster paper_star(size_t macs) {
  PaperCluster out(macs, static_cast<int>(macs));
  for (size_t leaf = 1; leaf < macs; ++leaf) out.cable(0, static_cast<int>(leaf), leaf, 1);
  return out;
}

PaperCluster paper_two_cables() { return PaperCluster(2).cable(0, 1, 1, 2).cable(0, 2, 1, 1); }

void give_addresses(PaperCluster& cluster) {
  int number = 0;
  for (PaperMac& mac : cluster.macs) {
    for (PaperSocket& socket : mac.sockets) {
      if (socket.peer.empty() || !socket.ip.empty()) continue;
      for (PaperMac& other : cluster.macs) {
        for (PaperSocket& there : other.sockets) {
          if (there.domain != socket.peer) continue;
          socket.ip = fmt::format("10.7.{}.{}/30", number / 64, number % 64 * 4 + 1);
          there.ip = fmt::format("10.7.{}.{}/30", number / 64, number % 64 * 4 + 2);
          ++number;
        }
      }
    }
  }
}

}  // namespace plumbline::test
