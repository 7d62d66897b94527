#include "transport/rdma/rdma.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "transport/channel/ring.h"
#include "transport/rdma/rdma_port.h"
#include "transport/rdma/rdma_stream.h"
#include "transport/tcp/tcp.h"

namespace plumbline {
namespace {

// "10.10.0.1" of "10.10.0.1:40000" and "[fd00::1]:40000".
std::string address_alone(const std::string& address) {
  const size_t colon = address.rfind(':');
  std::string ip = address.substr(0, colon);
  if (ip.size() > 2 && ip.front() == '[') ip = ip.substr(1, ip.size() - 2);
  return ip;
}

// The devices of a rank, opened when they are first needed.
class RankDevices {
 public:
  RankDevices(std::shared_ptr<const Verbs> verbs, RdmaOptions options,
              std::vector<std::vector<std::string>> by_rank)
      : verbs_(std::move(verbs)), options_(std::move(options)), by_rank_(std::move(by_rank)) {}

  // One rail for each device that faces this peer; `local` is this end of its connection.
  Expected<RdmaRails> rails(int peer, int size, const std::string& local) {
    const Expected<std::vector<std::string>> devices = facing(peer, local);
    if (!devices) return fail(devices.error());
    RdmaRails rails;
    for (const std::string& device : *devices) {
      std::shared_ptr<RdmaPort>& port = ports_[{device, local}];
      if (!port) {
        Expected<std::shared_ptr<RdmaPort>> opened =
            RdmaPort::open(verbs_, device, options_, local);
        if (!opened) return fail(opened.error());
        port = std::move(*opened);
      }
      const size_t most = static_cast<size_t>(port->profile().requests) * port->frame_bytes();
      const auto requests = static_cast<int>(ring_bytes_of(size, most) / port->frame_bytes());
      auto rail = RdmaRail::create(port, requests, fmt::format("rank {}", peer));
      if (!rail) return fail(rail.error());
      rails.push_back(std::move(*rail));
    }
    return rails;
  }

 private:
  Expected<std::vector<std::string>> facing(int peer, const std::string& local) const {
    const auto index = static_cast<size_t>(peer);
    std::vector<std::string> devices = options_.devices;
    if (index < by_rank_.size() && !by_rank_[index].empty()) devices = by_rank_[index];
    if (devices.empty()) {
      devices = rdma_devices_of(verbs_, {{local, -1, ""}});
      // Of soft-RoCE on a card that does RDMA itself, the other end may know nothing.
      if (devices.size() > 1) devices.resize(1);
    }
    if (devices.size() > kMostRails) devices.resize(kMostRails);
    if (!devices.empty()) return devices;
    return fail(verbs_error(fmt::format("no RDMA device has the address {} of this pair", local), 0,
                            "rdma.no_gid", "name the device: --rdma-device"));
  }

  const std::shared_ptr<const Verbs> verbs_;
  const RdmaOptions options_;
  const std::vector<std::vector<std::string>> by_rank_;
  // By name, and the address whose GID they take.
  std::map<std::pair<std::string, std::string>, std::shared_ptr<RdmaPort>> ports_;
};

// Each pair registers a few MiB.
bool may_lock_much() {
  constexpr rlim_t kMuch = rlim_t{256} << 20;
  rlimit limit{};
  return ::geteuid() == 0 || ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur >= kMuch;
}

TcpUpgrade cannot(const std::string& why) {
  TcpUpgrade upgrade;
  upgrade.name = "rdma";
  upgrade.make = [](std::unique_ptr<ByteStream> tcp, int, int, int, const TcpUpgrade::Stays&) {
    return tcp;
  };
  upgrade.why_not = why;
  return upgrade;
}

}  // namespace

std::string rdma_unavailable(bool /*ranks_in_process*/) {
  return loads_libraries() ? "" : "a static plumbline can load no verbs library";
}

Expected<std::unique_ptr<TransportClaim>> claim_rdma(const ClaimSpec& spec) {
  return claim_over_tcp(spec, [&spec](const TcpEndpoint& site) {
    return std::vector<TcpUpgrade>{rdma_upgrade(*spec.options, site)};
  });
}

TcpUpgrade rdma_upgrade(const OptionSet& options, const TcpEndpoint& site) {
  const RdmaOptions wanted = rdma_options(options);
  const bool named =
      !wanted.devices.empty() || std::any_of(site.rdma_devices.begin(), site.rdma_devices.end(),
                                             [](const auto& devices) { return !devices.empty(); });
  const bool counted_on = named || options.text("transport") == "rdma";
  if (!counted_on && !may_have_rdma_devices()) return cannot({});
  Expected<std::shared_ptr<const Verbs>> verbs = shared_verbs(wanted.library);
  if (!verbs) return cannot(counted_on ? verbs.error().message() : "");
  if (rdma_devices(**verbs).empty()) {
    return cannot(counted_on ? (*verbs)->library + " lists no device" : "");
  }
  // Not by itself where the first pairs would use up what may be locked.
  if (!counted_on && (!may_lock_much() || rdma_devices_of(*verbs, site.addresses).empty())) {
    return cannot({});
  }
  const auto arrays = std::make_shared<RdmaArrays>();
  const auto devices = std::make_shared<RankDevices>(std::move(*verbs), wanted, site.rdma_devices);
  const auto make = [devices, arrays, counted_on](std::unique_ptr<ByteStream> tcp, int self,
                                                  int peer, int size, TcpUpgrade::Stays stays) {
    const std::string local = address_alone(tcp->stats().local);
    return make_rdma_stream(
        std::move(tcp), self, peer, counted_on,
        [devices, peer, size, local] { return devices->rails(peer, size, local); },
        std::move(stays), arrays);
  };
  const auto pool = [arrays](std::shared_ptr<ArrayPool> below) {
    arrays->stand_on(std::move(below));
    return arrays;
  };
  return {"rdma", make, pool, sha256("rdma")};
}

}  // namespace plumbline
