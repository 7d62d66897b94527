// Lists of arrays as one operation: small arrays are packed, one behind the other, into memory of
// the library, which is reduced in their place and copied out again; large ones are reduced where
// they lie. What is packed with what follows from the sizes alone, so that all ranks come to the
// same. Internal to collectives/; pure functions and plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "plumbline/types.h"
#include "transport/peer_memory.h"

namespace plumbline {

// An array of so many bytes is an operation of its own: to copy it twice costs more than that
// (docs/performance.md).
inline constexpr size_t kAloneBytes = 128 * 1024;
// A part is closed when it has so many bytes, so that memory for packing stays small.
inline constexpr size_t kPackedBytes = 1024 * 1024;

// One operation of a list: several arrays, packed, or one that is not; none where all are empty.
struct ListPart {
  std::vector<size_t> arrays;  // indices
  size_t elements = 0;
  bool packed() const { return arrays.size() > 1; }
};

// Under way.
struct RunningList {
  struct Part {
    ListPart what;
    Array space = {};     // where it is packed
    uint64_t ticket = 0;  // 0 = not started
  };
  std::vector<Buffer> arrays;
  std::vector<Part> parts;
  size_t ended = 0;  // of `parts`, from the front
};

// What is wrong with a list on this rank: other types than the first, arrays that overlap.
Status check_list(std::span<const Buffer> arrays, RedOp redop);
// At least one part.
std::vector<ListPart> parts_of(std::span<const Buffer> arrays);
// Of the number of arrays and their sizes; never 0.
uint64_t digest_of(std::span<const Buffer> arrays);
// "list of 64 arrays (1024, 1024, 7, ... elements; 5f0c12aa)"
std::string text_of(std::span<const Buffer> arrays);
void pack(std::span<const Buffer> arrays, const ListPart& part, std::byte* space);
void unpack(std::span<const Buffer> arrays, const ListPart& part, const std::byte* space);

}  // namespace plumbline
