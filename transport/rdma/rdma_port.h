// One port of an RDMA device, opened: what queue pairs are made on. And which devices a rank uses:
// those that the host file names for a peer, or the option rdma_device, or the one whose GID is the
// rank's data address. Used by one thread at a time; queue pairs keep their port alive.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/options/options.h"
#include "transport/address.h"
#include "transport/rdma/profiles.h"
#include "transport/rdma/verbs.h"

namespace plumbline {

// What the options say about RDMA; -1 and 0 leave it to the provider's profile.
struct RdmaOptions {
  std::string library;  // a path; empty = the system's
  std::vector<std::string> devices;
  int qp_type = 0;  // VerbsQpType
  int gid_index = -1;
  size_t frame_bytes = 0;
};
RdmaOptions rdma_options(const OptionSet& options);

class RdmaPort {
 public:
  // kUnsupported with the cause of the step that failed. An option that means nothing on this
  // provider: kUsage, by name. `address`: of this end of the pair's connection, whose GID is taken
  // where there is one; may be empty.
  static Expected<std::shared_ptr<RdmaPort>> open(std::shared_ptr<const Verbs> verbs,
                                                  const std::string& device,
                                                  const RdmaOptions& options,
                                                  const std::string& address = {});
  ~RdmaPort();
  RdmaPort(const RdmaPort&) = delete;
  RdmaPort& operator=(const RdmaPort&) = delete;

  static constexpr uint8_t kNumber = 1;

  const Verbs& verbs() const { return *verbs_; }
  VerbsContext* context() const { return context_; }
  VerbsDomain* domain() const { return domain_; }
  const std::string& device() const { return device_; }
  const RdmaProfile& profile() const { return *profile_; }
  const VerbsGid& gid() const { return gid_; }
  int gid_index() const { return gid_index_; }
  uint16_t lid() const { return port_.lid; }
  int mtu() const;  // VerbsPort's code, of the port and the profile the smaller
  // What queue pairs on it are, by the options or the profile.
  int qp_type() const { return qp_type_; }
  size_t frame_bytes() const { return frame_bytes_; }
  // The longest message that the provider and this system have.
  size_t most_message() const;

 private:
  RdmaPort(std::shared_ptr<const Verbs> verbs, const std::string& device);
  Status find_and_open();
  Status look(const RdmaOptions& options, const std::string& address);
  Status take_gid(int index, const std::string& address);
  Status take(const RdmaOptions& options);

  const std::shared_ptr<const Verbs> verbs_;
  const std::string device_;
  const RdmaProfile* profile_;
  VerbsContext* context_ = nullptr;
  VerbsDomain* domain_ = nullptr;
  VerbsPort port_;
  VerbsGid gid_;
  int gid_index_ = -1;
  int qp_type_ = 0;
  size_t frame_bytes_ = 0;
};

// Loaded once per process and path.
Expected<std::shared_ptr<const Verbs>> shared_verbs(const std::string& library);
// Names of all devices.
std::vector<std::string> rdma_devices(const Verbs& verbs);
// Those with a GID that is one of these addresses, in the order of the addresses.
std::vector<std::string> rdma_devices_of(const std::shared_ptr<const Verbs>& verbs,
                                         const std::vector<RankAddress>& addresses);
// "::ffff:10.0.0.1" as an address that holds an IPv4 one.
bool is_ipv4_mapped(const VerbsGid& gid);
std::string to_text(const VerbsGid& gid);
// "RC", "UC".
const char* qp_type_name(int type);

// Error of a call of the library: kUnsupported, with what it said and the cause.
Error verbs_error(const std::string& doing, int number, const char* cause, const char* hint);

}  // namespace plumbline
