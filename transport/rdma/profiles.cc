#include "transport/rdma/profiles.h"

#include <algorithm>
#include <iterator>

namespace plumbline {
namespace {

constexpr size_t kLeastClass = 4096;

constexpr RdmaProfile kProfiles[] = {
    // MLX's jaccl, and what its users report (issues of mlx and exo), macOS 26.2 to 26.5: 32
    // requests of 4 to 512 KiB, no data in requests
    {"apple", "rdma_en", kUnreliable, false, 1, 1024, 1, 32, 32, 128 << 10, 512 << 10, true, 0, 10,
     100},
    // rdma_rxe of Linux 6.1: what it copies into requests it copies twice, so little of it
    {"rxe", "rxe", kReliable, true, -1, 4096, 64, 32, 128, 64 << 10, 1 << 20, false, 220, 0, 0},
    {"generic", "", kReliable, true, -1, 4096, 64, 32, 128, 64 << 10, 1 << 20, false, 220, 0,
     0},  // verbs(7), perftest
};

}  // namespace

const RdmaProfile& profile_of(std::string_view device) {
  return *std::find_if(std::begin(kProfiles), std::end(kProfiles), [&](const RdmaProfile& row) {
    return device.starts_with(row.device_prefix);
  });
}

size_t message_bytes(const RdmaProfile& profile, size_t bytes) {
  if (!profile.classes) return bytes;
  size_t least = kLeastClass;
  while (least < bytes) least *= 2;
  return least;
}

}  // namespace plumbline
