// kernels_bench: every kernel of every set that this CPU runs, at buffer sizes from the first-level
// cache to main memory. bytes_per_second counts the bytes of one array (for conversions, the f32
// one) over CPU time, which neighbours on a shared machine disturb less. `of_roof` is that rate
// over memcpy's of as many bytes, which is measured right before and after, on the same buffers.
// Options are Google Benchmark's, and our reports read what it writes:
//   kernels_bench --benchmark_filter='reduce_sum/type:f32/' --benchmark_out=kernels.json
//   plumbline report console kernels.json
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "kernels/pattern.h"
#include "kernels/topk.h"

namespace plumbline {
namespace {

constexpr size_t kSizes[] = {32u << 10, 256u << 10, 4u << 20, 64u << 20};  // bytes

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
// Arrays of `bytes` each: the result, and the sources, one or more.
using Work = std::function<void(std::byte* a, const void* const* b, size_t bytes)>;

// What the sources hold: small integers, so that no repetition ends among subnormals, which some
// CPUs compute slowly.
Pattern input(DType dtype) { return {dtype, RedOp::kProduct, 1, 1}; }

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Seconds of CPU time that so many copies of `bytes` take.
double copy_seconds(std::byte* a, const void* b, size_t bytes, int64_t times) {
  const double start = cpu_seconds();
  for (int64_t i = 0; i < times; ++i) {
    std::memcpy(a, b, bytes);
    benchmark::ClobberMemory();
  }
  return cpu_seconds() - start;
}

// `name` is the kernel with what tells it apart in words that our import knows.
void add(const std::string& name, DType content, const Work& work, size_t sources = 1) {
  for (const size_t bytes : kSizes) {
    auto run = [content, work, sources, bytes](benchmark::State& state) {
      Block a(bytes);
      std::vector<Block> blocks;
      std::vector<const void*> b;
      while (b.size() < sources) {
        std::byte* data = blocks.emplace_back(bytes).data();
        input(content).fill(data, 0, 0, bytes / size_of(content));
        b.push_back(data);
      }
      const auto half = static_cast<int64_t>(state.max_iterations / 2 + 1);
      double roof = copy_seconds(a.data(), b[0], bytes, half);
      const double start = cpu_seconds();
      for (auto _ : state) {
        work(a.data(), b.data(), bytes);
        benchmark::ClobberMemory();
      }
      const double own = (cpu_seconds() - start) / static_cast<double>(state.iterations());
      roof += copy_seconds(a.data(), b[0], bytes, half);
      state.SetBytesProcessed(static_cast<int64_t>(bytes) * state.iterations());
      state.counters["of_roof"] = roof / static_cast<double>(2 * half) / own;
    };
    benchmark::RegisterBenchmark(fmt::format("{}/bytes:{}", name, bytes).c_str(), run)
        ->MinTime(0.05);
  }
}

void add_reductions(const KernelSet& set) {
  for (const RedOpRow& op : redop_table()) {
    if (op.redop == RedOp::kAvg) continue;  // the same kernel as sum
    for (const DTypeRow& d : dtype_table()) {
      if (d.dtype == DType::kBool) continue;  // kernels of u8
      for (const bool fast : {false, true}) {
        const ReduceFn fn = set.reduce(d.dtype, op.redop, fast);
        if (fast && fn == set.reduce(d.dtype, op.redop, false)) continue;
        add(fmt::format("reduce_{}{}/type:{}/algorithm:{}", fast ? "fast_" : "", op.name, d.name,
                        set.target),
            d.dtype, [fn, size = d.size](std::byte* a, const void* const* b, size_t bytes) {
              fn(a, a, b[0], bytes / size);
            });
      }
    }
  }
}

// Out of place: what a chain of pairs makes of the sources, and one pass with both kinds of stores.
void add_many(const KernelSet& set, DType dtype, size_t sources) {
  const std::string name =
      fmt::format("type:{}/algorithm:{}/sources:{}", to_string(dtype), set.target, sources);
  const Reducer& fn = set.reducer(dtype, RedOp::kSum, false);
  const size_t size = size_of(dtype);
  const Work chain = [=](std::byte* a, const void* const* b, size_t bytes) {
    fn.pair(a, b[0], b[1], bytes / size);
    for (size_t k = 2; k < sources; ++k) fn.pair(a, a, b[k], bytes / size);
  };
  const auto many = [=](Stores stores) -> Work {
    return [=](std::byte* a, const void* const* b, size_t bytes) {
      fn.many(a, b, sources, bytes / size, stores);
    };
  };
  add("sum_chain/" + name, dtype, chain, sources);
  add("sum_many/" + name, dtype, many(Stores::kNear), sources);
  add("sum_many_far/" + name, dtype, many(Stores::kFar), sources);
}

void add_others(const KernelSet& set) {
  const std::string target = fmt::format("/algorithm:{}", set.target);
  for (const DTypeRow& d : dtype_table()) {
    if (d.dtype == DType::kBool) continue;  // not divided
    add(fmt::format("scale/type:{}{}", d.name, target), d.dtype,
        [fn = set.scale_fn(d.dtype), size = d.size](
            std::byte* a, const void* const* b, size_t bytes) { fn(a, b[0], bytes / size, 3); });
  }
  const auto narrow = [&](const char* name, NarrowFn fn) {
    add(name + target, DType::kF32, [fn](std::byte* a, const void* const* b, size_t bytes) {
      fn(reinterpret_cast<uint16_t*>(a), static_cast<const float*>(b[0]), bytes / 4);
    });
  };
  const auto widen = [&](const char* name, DType from, WidenFn fn) {
    add(name + target, from, [fn](std::byte* a, const void* const* b, size_t bytes) {
      fn(reinterpret_cast<float*>(a), static_cast<const uint16_t*>(b[0]), bytes / 4);
    });
  };
  narrow("f32_to_f16", set.f32_to_f16);
  narrow("f32_to_bf16", set.f32_to_bf16);
  widen("f16_to_f32", DType::kF16, set.f16_to_f32);
  widen("bf16_to_f32", DType::kBf16, set.bf16_to_f32);
  add("copy_far" + target, DType::kU8,
      [fn = set.copy_far](std::byte* a, const void* const* b, size_t bytes) {
        fn(a, b[0], bytes);
      });
  add("crc32c" + target, DType::kU8,
      [fn = set.crc32c](std::byte*, const void* const* b, size_t bytes) {
        benchmark::DoNotOptimize(fn(0, b[0], bytes));
      });
}

void add_patterns() {
  for (const DType dtype : {DType::kF32, DType::kU8}) {
    const Pattern pattern = input(dtype);
    const size_t size = size_of(dtype);
    add(fmt::format("pattern_fill/type:{}", to_string(dtype)), dtype,
        [pattern, size](std::byte* a, const void* const*, size_t bytes) {
          pattern.fill(a, 0, 0, bytes / size);
        });
    add(fmt::format("pattern_verify/type:{}", to_string(dtype)), dtype,
        [pattern, size](std::byte*, const void* const* b, size_t bytes) {
          benchmark::DoNotOptimize(pattern.count_wrong_copy(b[0], 0, 0, bytes / size));
        });
  }
}

// 1 % of an array; the pattern has many ties.
void add_topk() {
  constexpr size_t kShare = 100;
  const auto selector = std::make_shared<TopkSelector>(kSizes[3] / sizeof(float));
  add("topk/type:f32", DType::kF32, [selector](std::byte* a, const void* const* b, size_t bytes) {
    const size_t count = bytes / sizeof(float), kept = count / kShare;
    auto* const indices = reinterpret_cast<uint32_t*>(a);
    selector->select(static_cast<const float*>(b[0]), count, kept, indices,
                     reinterpret_cast<float*>(indices + kept));
  });
}

void register_all() {
  add("memcpy", DType::kU8,
      [](std::byte* a, const void* const* b, size_t bytes) { std::memcpy(a, b[0], bytes); });
  add_patterns();
  add_topk();
  for (const KernelSet* set : kernel_sets()) {
    add_reductions(*set);
    add_others(*set);
    for (const DTypeRow& d : dtype_table()) add_many(*set, d.dtype, 4);
    for (const size_t sources : {2, 8, 16}) add_many(*set, DType::kF32, sources);
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
