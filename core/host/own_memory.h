// How much memory this process holds. Platform code: own_memory_linux.cc, own_memory_macos.cc.
// Thread-safe.
#pragma once

#include <cstdint>
#include <optional>

namespace plumbline {

// Resident bytes now; absent when the system does not tell.
std::optional<uint64_t> resident_bytes();

}  // namespace plumbline
