#include "collectives/communicator_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "collectives/communicator_impl.h"

namespace plumbline {
namespace {

constexpr size_t kSizesShown = 4;
constexpr size_t kMostIdleSpace = 64 * kPackedBytes;  // bytes of all that is kept for later lists

size_t bytes_of(const Buffer& array) { return array.count * size_of(array.dtype); }

tl::unexpected<Error> wrong_list(const std::string& what, const char* hint) {
  return fail(ErrorCode::kUsage, "allreduce_coalesced: " + what, hint);
}

// FNV-1a.
uint64_t mixed(uint64_t hash, uint64_t value) {
  for (int i = 0; i < 8; ++i, value >>= 8) hash = (hash ^ (value & 0xff)) * 1099511628211u;
  return hash;
}

}  // namespace

Status check_list(std::span<const Buffer> arrays, RedOp redop) {
  const std::string senseless =
      arrays.empty() ? "" : reduction_unsupported(arrays.front().dtype, redop);
  if (!senseless.empty()) return fail(ErrorCode::kUnsupported, senseless);
  std::vector<size_t> order;
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].dtype != arrays.front().dtype) {
      return wrong_list(fmt::format("array {} has elements {}, array 0 {}", i,
                                    to_string(arrays[i].dtype), to_string(arrays.front().dtype)),
                        "make a list for each type");
    }
    if (arrays[i].count > 0) order.push_back(i);
  }
  const auto begin = [&](size_t i) { return reinterpret_cast<uintptr_t>(arrays[i].data); };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return begin(a) < begin(b); });
  for (size_t i = 1; i < order.size(); ++i) {
    if (begin(order[i]) - begin(order[i - 1]) >= bytes_of(arrays[order[i - 1]])) continue;
    return wrong_list(fmt::format("arrays {} and {} overlap", std::min(order[i - 1], order[i]),
                                  std::max(order[i - 1], order[i])),
                      "an element belongs to one array of the list");
  }
  return {};
}

std::vector<ListPart> parts_of(std::span<const Buffer> arrays) {
  std::vector<ListPart> parts;
  ListPart open;
  size_t open_bytes = 0;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const size_t bytes = bytes_of(arrays[i]);
    if (bytes == 0) continue;
    if (bytes >= kAloneBytes) {
      parts.push_back({{i}, arrays[i].count});
      continue;
    }
    open.arrays.push_back(i);
    open.elements += arrays[i].count;
    open_bytes += bytes;
    if (open_bytes < kPackedBytes) continue;
    parts.push_back(std::exchange(open, {}));
    open_bytes = 0;
  }
  if (!open.arrays.empty() || parts.empty()) parts.push_back(std::move(open));
  return parts;
}

uint64_t digest_of(std::span<const Buffer> arrays) {
  uint64_t hash = mixed(14695981039346656037u, arrays.size());
  for (const Buffer& array : arrays) hash = mixed(hash, array.count);
  return std::max<uint64_t>(hash, 2);  // 0: no list, 1: a split
}

std::string text_of(std::span<const Buffer> arrays) {
  std::string sizes;
  for (size_t i = 0; i < std::min(arrays.size(), kSizesShown); ++i) {
    sizes += fmt::format("{}{}", i == 0 ? "" : ", ", arrays[i].count);
  }
  if (arrays.empty()) return "list of 0 arrays";
  return fmt::format("list of {} arrays ({}{} elements; {:08x})", arrays.size(), sizes,
                     arrays.size() > kSizesShown ? ", ..." : "",
                     static_cast<uint32_t>(digest_of(arrays)));
}

void pack(std::span<const Buffer> arrays, const ListPart& part, std::byte* space) {
  for (const size_t i : part.arrays) {
    std::memcpy(space, arrays[i].data, bytes_of(arrays[i]));
    space += bytes_of(arrays[i]);
  }
}

void unpack(std::span<const Buffer> arrays, const ListPart& part, const std::byte* space) {
  for (const size_t i : part.arrays) {
    std::memcpy(arrays[i].data, space, bytes_of(arrays[i]));
    space += bytes_of(arrays[i]);
  }
}

// ---- of a Communicator -------------------------------------------------------------------------

Work CommunicatorImpl::start_list(std::vector<Buffer> arrays, RedOp redop) {
  const Entry entry(*this);
  retire_ended();
  return work(
      with_memory("allreduce_coalesced", [&] { return try_start_list(std::move(arrays), redop); }));
}

// Memory for all parts is there before the first of them starts: a rank that has too little starts
// none.
Expected<uint64_t> CommunicatorImpl::try_start_list(std::vector<Buffer> arrays, RedOp redop) {
  if (const Status right = check_list(arrays, redop); !right) return fail(right.error());
  RunningList list;
  list.arrays = std::move(arrays);
  const size_t element = list.arrays.empty() ? 1 : size_of(list.arrays.front().dtype);
  for (ListPart& part : parts_of(list.arrays)) {
    RunningList::Part running{std::move(part)};
    if (running.what.packed()) {
      Expected<Array> space = packing_space(running.what.elements * element);
      if (!space) return fail(space.error());
      running.space = std::move(*space);
    }
    list.parts.push_back(std::move(running));
  }
  const CallPurpose purpose{digest_of(list.arrays), text_of(list.arrays)};
  Call call{Op::kAllreduce};
  call.redop = redop;
  call.purpose = &purpose;
  const uint64_t ticket = ++last_ticket_;
  RunningList& kept = lists_.emplace(ticket, std::move(list)).first->second;
  const Status started = start_parts(kept, call);
  if (started) return ticket;
  // What has begun cannot be taken back, and its memory stays.
  if (kept.parts.front().ticket != 0) {
    group_->control().abort(started.error());
  } else {
    lists_.erase(ticket);
  }
  return fail(started.error());
}

Status CommunicatorImpl::start_parts(RunningList& list, const Call& call) {
  const DType dtype = list.arrays.empty() ? DType::kU8 : list.arrays.front().dtype;
  for (RunningList::Part& part : list.parts) {
    Call one = call;
    if (part.what.packed()) {
      pack(list.arrays, part.what, part.space.data);
      one.out = {part.space.data, part.what.elements, dtype};
    } else if (!part.what.arrays.empty()) {
      one.out = list.arrays[part.what.arrays.front()];
    } else {
      one.op = Op::kBarrier;  // whose messages tell whether all ranks have no elements
    }
    one.in = one.out;
    const Expected<uint64_t> ticket = try_start(one);
    if (!ticket) return fail(ticket.error());
    part.ticket = *ticket;
  }
  return {};
}

Expected<Array> CommunicatorImpl::packing_space(uint64_t bytes) {
  const auto found = std::find_if(idle_space_.begin(), idle_space_.end(),
                                  [bytes](const Array& space) { return space.bytes >= bytes; });
  if (found == idle_space_.end()) return group_->allocate(bytes);
  Array space = std::move(*found);
  idle_space_.erase(found);
  return space;
}

bool CommunicatorImpl::end_parts(RunningList& list) {
  for (; list.ended < list.parts.size(); ++list.ended) {
    RunningList::Part& part = list.parts[list.ended];
    if (part.ticket == 0 || running_.count(part.ticket) != 0) return false;
    if (!part.what.packed()) continue;
    unpack(list.arrays, part.what, part.space.data);
    size_t kept = part.space.bytes;
    for (const Array& space : idle_space_) kept += space.bytes;
    if (kept > kMostIdleSpace) idle_space_.clear();
    idle_space_.push_back(std::move(part.space));
  }
  return true;
}

}  // namespace plumbline
