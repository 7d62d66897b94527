#include "collectives/aligned_bytes.h"

#include <algorithm>
#include <new>

namespace plumbline {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

AlignedBytes::AlignedBytes(size_t bytes)
    : data_(static_cast<std::byte*>(::operator new(std::max<size_t>(bytes, 1), kAlignment))) {}

void AlignedBytes::Delete::operator()(std::byte* data) const {
  ::operator delete(data, kAlignment);
}

}  // namespace plumbline
