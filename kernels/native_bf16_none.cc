#include "kernels/sets.h"

namespace plumbline {

// Highway's targets of this processor family cover what we use.
std::optional<KernelSet> with_native_bf16(const KernelSet&) { return std::nullopt; }

}  // namespace plumbline
