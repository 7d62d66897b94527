// kernels_bench: every kernel of every set that this CPU runs, at buffer sizes from the first-level
// cache to main memory, beside memcpy, the roof. bytes_per_second counts the bytes of one array
// (for conversions, the f32 one) over CPU time, which neighbours on a shared machine disturb less.
// Options are Google Benchmark's, e.g.
//   kernels_bench --benchmark_filter='reduce/sum/f32/'
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/pattern.h"

namespace plumbline {
namespace {

constexpr size_t kSizes[] = {32u << 10, 256u << 10, 4u << 20, 64u << 20};  // bytes

std::string size_name(size_t bytes) {
  return bytes < (1u << 20) ? fmt::format("{}KiB", bytes >> 10) : fmt::format("{}MiB", bytes >> 20);
}

// 16 bytes behind a page boundary, as large blocks of malloc() are: wide vectors meet the alignment
// that users' buffers have.
class Block {
 public:
  explicit Block(size_t bytes) : space_(bytes + 2 * 4096) {}
  std::byte* data() {
    const auto start = reinterpret_cast<uintptr_t>(space_.data());
    return space_.data() + (4096 - start % 4096) + 16;
  }

 private:
  std::vector<std::byte> space_;
};
using Work = std::function<void(std::byte* a, const std::byte* b, size_t bytes)>;

// What the second buffer holds: small integers, so that no repetition ends among subnormals, which
// some CPUs compute slowly.
Pattern input(DType dtype) { return {dtype, RedOp::kProduct, 1, 1}; }

void add(const std::string& name, DType content, const Work& work) {
  for (const size_t bytes : kSizes) {
    auto run = [content, work, bytes](benchmark::State& state) {
      Block a(bytes), b(bytes);
      input(content).fill(b.data(), 0, 0, bytes / size_of(content));
      for (auto _ : state) {
        work(a.data(), b.data(), bytes);
        benchmark::ClobberMemory();
      }
      state.SetBytesProcessed(static_cast<int64_t>(bytes) * state.iterations());
    };
    benchmark::RegisterBenchmark(fmt::format("{}/{}", name, size_name(bytes)).c_str(), run)
        ->MinTime(0.05);
  }
}

void add_reductions(const KernelSet& set) {
  for (const RedOpRow& op : redop_table()) {
    if (op.redop == RedOp::kAvg) continue;  // the same kernel as sum
    for (const DTypeRow& d : dtype_table()) {
      for (const bool fast : {false, true}) {
        const ReduceFn fn = set.reduce(d.dtype, op.redop, fast);
        if (fast && fn == set.reduce(d.dtype, op.redop, false)) continue;
        add(fmt::format("reduce{}/{}/{}/{}", fast ? "_fast" : "", op.name, d.name, set.target),
            d.dtype, [fn, size = d.size](std::byte* a, const std::byte* b, size_t bytes) {
              fn(a, a, b, bytes / size);
            });
      }
    }
  }
}

void add_others(const KernelSet& set) {
  for (const DTypeRow& d : dtype_table()) {
    add(fmt::format("scale/{}/{}", d.name, set.target), d.dtype,
        [fn = set.scale_fn(d.dtype), size = d.size](std::byte* a, const std::byte* b,
                                                    size_t bytes) { fn(a, b, bytes / size, 3); });
  }
  const auto narrow = [&](const char* name, NarrowFn fn) {
    add(fmt::format("convert/{}/{}", name, set.target), DType::kF32,
        [fn](std::byte* a, const std::byte* b, size_t bytes) {
          fn(reinterpret_cast<uint16_t*>(a), reinterpret_cast<const float*>(b), bytes / 4);
        });
  };
  const auto widen = [&](const char* name, DType from, WidenFn fn) {
    add(fmt::format("convert/{}/{}", name, set.target), from,
        [fn](std::byte* a, const std::byte* b, size_t bytes) {
          fn(reinterpret_cast<float*>(a), reinterpret_cast<const uint16_t*>(b), bytes / 4);
        });
  };
  narrow("f32_to_f16", set.f32_to_f16);
  narrow("f32_to_bf16", set.f32_to_bf16);
  widen("f16_to_f32", DType::kF16, set.f16_to_f32);
  widen("bf16_to_f32", DType::kBf16, set.bf16_to_f32);
  add(fmt::format("crc32c/{}", set.target), DType::kU8,
      [fn = set.crc32c](std::byte*, const std::byte* b, size_t bytes) {
        benchmark::DoNotOptimize(fn(0, b, bytes));
      });
}

void add_patterns() {
  for (const DType dtype : {DType::kF32, DType::kU8}) {
    const Pattern pattern = input(dtype);
    const size_t size = size_of(dtype);
    add(fmt::format("pattern_fill/{}", to_string(dtype)), dtype,
        [pattern, size](std::byte* a, const std::byte*, size_t bytes) {
          pattern.fill(a, 0, 0, bytes / size);
        });
    add(fmt::format("pattern_verify/{}", to_string(dtype)), dtype,
        [pattern, size](std::byte*, const std::byte* b, size_t bytes) {
          benchmark::DoNotOptimize(pattern.count_wrong_copy(b, 0, 0, bytes / size));
        });
  }
}

void register_all() {
  add("memcpy", DType::kU8,
      [](std::byte* a, const std::byte* b, size_t bytes) { std::memcpy(a, b, bytes); });
  add_patterns();
  for (const KernelSet* set : kernel_sets()) {
    add_reductions(*set);
    add_others(*set);
  }
}

}  // namespace
}  // namespace plumbline

int main(int argc, char** argv) {
  plumbline::register_all();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
