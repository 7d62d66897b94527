#include "transport/rdma/profiles.h"

#include <algorithm>
#include <iterator>

namespace plumbline {
namespace {

constexpr RdmaProfile kProfiles[] = {
    // MLX's jaccl, and what its users report (issues of mlx and exo), macOS 26.2 to 26.5
    {"apple", "rdma_en", kUnreliable, 1, 32, 10, 100},
    {"rxe", "rxe", kReliable, -1, 64, 0, 0},   // rdma_rxe of Linux 6.1
    {"generic", "", kReliable, -1, 64, 0, 0},  // verbs(7), perftest
};

}  // namespace

const RdmaProfile& profile_of(std::string_view device) {
  return *std::find_if(std::begin(kProfiles), std::end(kProfiles), [&](const RdmaProfile& row) {
    return device.starts_with(row.device_prefix);
  });
}

}  // namespace plumbline
