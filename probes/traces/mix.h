// A fast hash of a few 64-bit numbers (splitmix64's finishing step). Not for adversaries: tables
// that use it are bounded.
#pragma once

#include <cstdint>

namespace plumbline {

inline uint64_t mix(uint64_t hash, uint64_t value) {
  hash += value + 0x9e3779b97f4a7c15U;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9U;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebU;
  return hash ^ (hash >> 31);
}

}  // namespace plumbline
