#include "kernels/kernels.h"

#include <fmt/format.h>

#include <optional>

#include "kernels/sets.h"

namespace plumbline {
namespace {

struct Family {
  std::optional<KernelSet> native_bf16;
  std::vector<const KernelSet*> sets;

  Family() : sets(supported_simd_sets()) {
    if (!sets.empty()) native_bf16 = with_native_bf16(*sets.front());
    if (native_bf16) sets.insert(sets.begin(), &*native_bf16);
    sets.push_back(&scalar_kernel_set());
  }
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;
};

}  // namespace

std::span<const KernelSet* const> kernel_sets() {
  static const Family family;  // what the CPU can run does not change
  return family.sets;
}

Expected<const KernelSet*> select_kernels(std::string_view name) {
  if (name == "auto") return kernel_sets().front();
  std::string names = "auto";
  for (const KernelSet* set : kernel_sets()) {
    if (name == set->target) return set;
    names += fmt::format(", {}", set->target);
  }
  return fail(ErrorCode::kConfig, fmt::format("no kernels named '{}' on this CPU", name),
              fmt::format("use one of: {}", names));
}

}  // namespace plumbline
