#include "transport/control/refused.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace plumbline {
namespace {

// Numbers of other processes are added up here: the sum stays at the largest rather than begin
// anew.
void add_to(uint64_t& sum, uint64_t count) {
  sum = count > std::numeric_limits<uint64_t>::max() - sum ? std::numeric_limits<uint64_t>::max()
                                                           : sum + count;
}

}  // namespace

void RefusedConnections::add(const std::string& address, uint64_t count) {
  add_to(total, count);
  if (by_address.count(address) == 0 && by_address.size() >= kMostAddresses) return;
  add_to(by_address[address], count);
}

void RefusedConnections::add(const RefusedConnections& others) {
  uint64_t named = 0;
  for (const auto& [address, count] : others.by_address) {
    add(address, count);
    add_to(named, count);
  }
  if (others.total > named) add_to(total, others.total - named);
}

std::string RefusedConnections::text() const {
  std::vector<std::pair<std::string, uint64_t>> rows(by_address.begin(), by_address.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string list;
  uint64_t named = 0;
  for (const auto& [address, count] : rows) {
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", address, count);
    add_to(named, count);
  }
  if (total > named) list += fmt::format(", other addresses ({})", total - named);
  return fmt::format("{} connection{} that {} not of this run {} refused: {}", total,
                     total == 1 ? "" : "s", total == 1 ? "is" : "are", total == 1 ? "was" : "were",
                     list);
}

void RefusedTally::add(const std::string& address) {
  const std::lock_guard lock(mutex_);
  refused_.add(address);
}

RefusedConnections RefusedTally::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(refused_, {});
}

}  // namespace plumbline
