#include "transport/rdma/rdma_port.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "core/host/ip.h"
#include "core/text.h"
#include "core/units.h"

namespace plumbline {
namespace {

constexpr int kBytesOfMtuOne = 256, kInfiniBand = 1;

// The library's list, given back at the end.
class DeviceList {
 public:
  explicit DeviceList(const Verbs& verbs) : verbs_(verbs) {
    list_ = verbs.get_device_list(&count_);
  }
  ~DeviceList() {
    if (list_ != nullptr) verbs_.free_device_list(list_);
  }
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;

  std::span<VerbsDevice* const> devices() const {
    if (list_ == nullptr || count_ <= 0) return {};
    return {list_, static_cast<size_t>(count_)};
  }
  std::string name(VerbsDevice* device) const {
    const char* const name = verbs_.get_device_name(device);
    return name == nullptr ? "" : name;
  }

 private:
  const Verbs& verbs_;
  int count_ = 0;
  VerbsDevice** list_ = nullptr;
};

// "rdma_en4,rdma_en5".
std::vector<std::string> devices_in(const std::string& text) {
  std::vector<std::string> devices = split_at(text, ',');
  std::erase(devices, std::string());
  return devices;
}

bool is_empty(const VerbsGid& gid) { return gid == VerbsGid{}; }

Ip ip_of(const VerbsGid& gid) {
  return is_ipv4_mapped(gid) ? ip_of_bytes(gid.raw.data() + 12, false)
                             : ip_of_bytes(gid.raw.data(), true);
}

std::vector<Ip> gids_of(const Verbs& verbs, VerbsDevice* device) {
  std::vector<Ip> all;
  VerbsContext* const context = verbs.open_device(device);
  if (context == nullptr) return all;
  VerbsPort port;
  if (verbs.query_port(context, RdmaPort::kNumber, &port) == 0) {
    for (int i = 0; i < port.gids; ++i) {
      VerbsGid gid;
      if (verbs.query_gid(context, RdmaPort::kNumber, i, &gid) != 0 || is_empty(gid)) continue;
      all.push_back(ip_of(gid));
    }
  }
  verbs.close_device(context);
  return all;
}

tl::unexpected<Error> refuse_option(const char* option, const std::string& value,
                                    const std::string& device, const RdmaProfile& profile,
                                    const std::string& why) {
  return fail(ErrorCode::kUsage,
              fmt::format("{} = {} means nothing on {} (profile {}): {}", option, value, device,
                          profile.name, why),
              fmt::format("leave {} out", option));
}

}  // namespace

Error verbs_error(const std::string& doing, int number, const char* cause, const char* hint) {
  return {ErrorCode::kUnsupported, doing, number, hint, cause};
}

RdmaOptions rdma_options(const OptionSet& options) {
  RdmaOptions out;
  out.library = options.text("rdma_library");
  out.devices = devices_in(options.text("rdma_device"));
  const std::string& type = options.text("rdma_qp");
  out.qp_type = type == "rc" ? kReliable : type == "uc" ? kUnreliable : 0;
  out.gid_index = static_cast<int>(options.integer("rdma_gid_index"));
  out.frame_bytes = static_cast<size_t>(options.integer("rdma_frame_bytes"));
  return out;
}

bool is_ipv4_mapped(const VerbsGid& gid) {
  constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kMapped.begin(), kMapped.end(), gid.raw.begin());
}

std::string to_text(const VerbsGid& gid) { return to_text(ip_of_bytes(gid.raw.data(), true)); }

const char* qp_type_name(int type) { return type == kReliable ? "RC" : "UC"; }

Expected<std::shared_ptr<const Verbs>> shared_verbs(const std::string& library) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Verbs>> loaded;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const Verbs>& slot = loaded[library];
  if (slot) return slot;
  Expected<Verbs> verbs =
      load_verbs(library.empty() ? verbs_library_names() : std::vector<std::string>{library});
  if (!verbs) {
    Error error = verbs.error();
    error.what = "load the verbs library: " + error.what;
    error.cause = "rdma.no_library";
    return fail(error);
  }
  slot = std::make_shared<const Verbs>(std::move(*verbs));
  return slot;
}

std::vector<std::string> rdma_devices(const Verbs& verbs) {
  const DeviceList list(verbs);
  std::vector<std::string> names;
  for (VerbsDevice* const device : list.devices()) names.push_back(list.name(device));
  return names;
}

std::vector<std::string> rdma_devices_of(const std::shared_ptr<const Verbs>& verbs,
                                         const std::vector<RankAddress>& addresses) {
  const DeviceList list(*verbs);
  std::vector<std::pair<std::string, std::vector<Ip>>> all;
  for (VerbsDevice* const device : list.devices()) {
    all.emplace_back(list.name(device), gids_of(*verbs, device));
  }
  std::vector<std::string> names;
  for (const RankAddress& address : addresses) {
    const std::optional<Ip> ip = parse_zoned_ip(address.ip);
    if (!ip) continue;
    for (const auto& [name, gids] : all) {
      const bool has = std::find(gids.begin(), gids.end(), *ip) != gids.end();
      if (has && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

Expected<std::shared_ptr<RdmaPort>> RdmaPort::open(std::shared_ptr<const Verbs> verbs,
                                                   const std::string& device,
                                                   const RdmaOptions& options,
                                                   const std::string& address) {
  std::shared_ptr<RdmaPort> port(new RdmaPort(std::move(verbs), device));
  if (Status taken = port->take(options); !taken) return fail(taken.error());
  if (Status opened = port->find_and_open(); !opened) return fail(opened.error());
  if (Status looked = port->look(options, address); !looked) return fail(looked.error());
  return port;
}

RdmaPort::RdmaPort(std::shared_ptr<const Verbs> verbs, const std::string& device)
    : verbs_(std::move(verbs)), device_(device), profile_(&profile_of(device)) {}

RdmaPort::~RdmaPort() {
  if (domain_ != nullptr) verbs_->dealloc_pd(domain_);
  if (context_ != nullptr) verbs_->close_device(context_);
}

// What the options say, as far as this provider has it.
size_t RdmaPort::most_message() const {
  const size_t limit = profile_->classes ? most_message_of_system() : 0;
  return limit == 0 ? profile_->most_frame_bytes : limit;
}

Status RdmaPort::take(const RdmaOptions& options) {
  qp_type_ = options.qp_type == 0 ? profile_->qp_type : options.qp_type;
  if (qp_type_ != profile_->qp_type && !profile_->other_type) {
    return refuse_option("rdma_qp", lower_case(qp_type_name(qp_type_)), device_, *profile_,
                         fmt::format("it has {} only", qp_type_name(profile_->qp_type)));
  }
  const size_t most = most_message();
  frame_bytes_ =
      options.frame_bytes == 0 ? std::min(profile_->frame_bytes, most) : options.frame_bytes;
  if (frame_bytes_ > most) {
    return refuse_option("rdma_frame_bytes", fmt::to_string(frame_bytes_), device_, *profile_,
                         fmt::format("its messages have {} at most", format_bytes(most)));
  }
  if (message_bytes(*profile_, frame_bytes_) != frame_bytes_) {
    return refuse_option("rdma_frame_bytes", fmt::to_string(frame_bytes_), device_, *profile_,
                         "its messages are of 4 KiB, 8 KiB, 16 KiB and so on");
  }
  return {};
}

Status RdmaPort::find_and_open() {
  const DeviceList list(*verbs_);
  for (VerbsDevice* const device : list.devices()) {
    if (list.name(device) != device_) continue;
    errno = 0;
    context_ = verbs_->open_device(device);
    if (context_ != nullptr) return {};
    return fail(verbs_error(fmt::format("open {}", device_), errno, "rdma.no_device",
                            "may this user open it (/dev/infiniband)? plumbline doctor says more"));
  }
  return fail(verbs_error(fmt::format("{} lists no device {}", verbs_->library, device_), 0,
                          "rdma.no_device", "names of devices may change when a machine starts"));
}

Status RdmaPort::look(const RdmaOptions& options, const std::string& address) {
  if (const int number = verbs_->query_port(context_, kNumber, &port_); number != 0) {
    return fail(verbs_error(fmt::format("ask for port {} of {}", kNumber, device_), number,
                            "rdma.port_down", ""));
  }
  if (port_.state != kPortActive) {
    return fail(verbs_error(
        fmt::format("port {} of {} is not active (state {})", kNumber, device_, port_.state), 0,
        "rdma.port_down", "is its cable in, and its interface up at both ends?"));
  }
  const int wanted = options.gid_index >= 0 ? options.gid_index : profile_->gid_index;
  if (Status taken = take_gid(wanted, address); !taken) return taken;
  errno = 0;
  domain_ = verbs_->alloc_pd(context_);
  if (domain_ != nullptr) return {};
  return fail(verbs_error(fmt::format("make a protection domain on {}", device_), errno, "rdma.pd",
                          "plumbline doctor says what may hold them"));
}

// Of the entries that may be taken the one of the address, and of equal ones that of RoCE v2: Linux
// lists each address twice, the one that no router and not every card understands first.
Status RdmaPort::take_gid(int index, const std::string& address) {
  const std::optional<Ip> own = parse_zoned_ip(address);
  int best = -1;
  for (int i = 0; i < port_.gids; ++i) {
    VerbsGid gid;
    if (index >= 0 && i != index) continue;
    if (verbs_->query_gid(context_, kNumber, i, &gid) != 0 || is_empty(gid)) continue;
    const bool is_own = own && ip_of(gid) == *own;
    if (index < 0 && !is_own && !is_ipv4_mapped(gid) && port_.link_layer != kInfiniBand) continue;
    const bool routable = gid_type(device_, kNumber, i) == "RoCE v2";
    const int value = (is_own ? 2 : 0) + (routable ? 1 : 0);
    if (value <= best) continue;
    best = value;
    gid_ = gid;
    gid_index_ = i;
  }
  if (best >= 0) return {};
  return fail(verbs_error(index >= 0
                              ? fmt::format("{} has no GID at index {}", device_, index)
                              : fmt::format("{} has no GID made of an IPv4 address", device_),
                          0, "rdma.no_gid", "give the interface behind it an IPv4 address"));
}

int RdmaPort::mtu() const {
  int code = 1;
  while (code < port_.active_mtu && (kBytesOfMtuOne << code) <= profile_->mtu) ++code;
  return code;
}

}  // namespace plumbline
