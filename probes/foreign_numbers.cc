#include "probes/foreign_numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "core/json.h"
#include "core/units.h"

namespace plumbline {
namespace {

using Json = nlohmann::json;

struct Range {
  int64_t least, most;
};
constexpr int64_t kMostExact = int64_t{1} << 53;
constexpr int64_t kMostCount = int64_t{1} << 61;
constexpr Range kUsual = {-kMostExact, kMostExact};
constexpr Range kWide = {-kMostCount, kMostCount};
constexpr Range kSmall = {0, int64_t{1} << 30};  // what is kept, and added up, as an int

// Objects whose members are counters of the kernel, or differences of these.
constexpr std::array<std::string_view, 6> kCounters = {"counters", "counters_later", "sender",
                                                       "receiver", "asker",          "asked"};
constexpr std::array<std::string_view, 11> kSmallKeys = {
    "mtu",      "interface_mtu", "largest_delivered", "smallest_lost",
    "told",     "lost_tries",    "small_sent",        "small_lost",
    "attempts", "prefix",        "cores_usable"};

template <size_t N>
bool is_one_of(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// "tcp.out_segments" is a counter of the reply itself.
Range range_of(std::string_view key, std::string_view above) {
  if (is_one_of(kCounters, above) || key.find('.') != key.npos || key.ends_with("_ns")) {
    return kWide;
  }
  return is_one_of(kSmallKeys, key) ? kSmall : kUsual;
}

[[noreturn]] void refuse(const Json& number, std::string_view key) {
  throw Json::out_of_range::create(
      406, std::string(key) + ": " + number.dump() + " is out of range", nullptr);
}

bool is_within(const Json& number, const Range& range) {
  if (number.is_number_unsigned()) {
    return *number.get_ptr<const Json::number_unsigned_t*>() <= static_cast<uint64_t>(range.most);
  }
  if (number.is_number_integer()) {
    const int64_t value = *number.get_ptr<const Json::number_integer_t*>();
    return value >= range.least && value <= range.most;
  }
  const double value = *number.get_ptr<const Json::number_float_t*>();
  return value >= static_cast<double>(range.least) && value <= static_cast<double>(range.most);
}

void check(const Json& json, std::string_view key, std::string_view above) {
  if (json.is_number() && !is_within(json, range_of(key, above))) refuse(json, key);
  if (json.is_array()) {
    for (const Json& each : json) check(each, key, above);
  } else if (json.is_object()) {
    for (const auto& [name, value] : json.items()) check(value, name, key);
  }
}

}  // namespace

void check_numbers(const Json& said) { check(said, "", ""); }

std::map<std::string, int64_t> counts_of(const Json& reply) {
  std::map<std::string, int64_t> out;
  if (!reply.is_object()) return out;
  for (const auto& [name, value] : reply.items()) {
    if (!value.is_number() || !is_within(value, {0, kMostCount})) continue;
    const bool whole =
        !value.is_number_float() || value.get<double>() == std::trunc(value.get<double>());
    if (whole) out[name] = value.get<int64_t>();
  }
  return out;
}

std::string describe_size(int64_t bytes) {
  return format_bytes(static_cast<uint64_t>(std::max<int64_t>(0, bytes)));
}

}  // namespace plumbline
