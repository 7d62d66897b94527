// For tests of compressed operations: numbers as gradients are, an operation on them on all ranks,
// and whether all have the same bits, within the bound.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "collectives/compressed_data.h"
#include "tests/support/collective_case.h"
#include "transport/memory/memory.h"

namespace plumbline {

inline World ranks_in_memory(int ranks, const WireShape& wire = kWireShapes[0]) {
  return make_memory_groups(ranks, channel_options_for(wire), {0, true}, wire.buffer_bytes);
}

inline OperationSpec compressed(const std::string& codec, uint64_t count,
                                const std::string& algorithm = "auto") {
  OperationSpec spec;
  spec.codec = *parse_codec(codec);
  spec.count = count;
  spec.algorithm = algorithm;
  return spec;
}

inline std::vector<float> gradient(int rank, size_t count) {
  std::mt19937 random(static_cast<uint32_t>(rank) + 1);
  std::vector<float> numbers(count);
  for (float& number : numbers) {
    const double mantissa = static_cast<double>(random()) / 4294967296.0 - 0.5;
    number = static_cast<float>(std::ldexp(mantissa, static_cast<int>(random() % 12)));
  }
  return numbers;
}

using Arrays = std::vector<std::vector<float>>;

// One operation on these inputs; the results of all ranks.
inline Arrays results_of(World& world, const OperationSpec& spec, const Arrays& inputs) {
  Arrays results(world.size(), std::vector<float>(spec.count));
  const std::string wrong = first_of(on_every_rank(world, [&](int rank, Group& group) {
    Executor executor(group, test_kernels());
    const std::vector<float>& in = inputs[static_cast<size_t>(rank)];
    std::vector<float>& out = results[static_cast<size_t>(rank)];
    if (spec.in_place) out = in;
    auto prepared = executor.prepare(spec);
    if (!prepared) return prepared.error().message();
    const Status status = executor.run(**prepared, spec.in_place ? nullptr : in.data(), out.data(),
                                       Deadline::after_ms(20'000));
    return status ? std::string() : status.error().message();
  }));
  EXPECT_EQ(wrong, "") << spec.text(static_cast<int>(world.size()), spec.algorithm.c_str());
  return results;
}

inline Arrays gradients(int ranks, size_t count) {
  Arrays inputs;
  for (int rank = 0; rank < ranks; ++rank) inputs.push_back(gradient(rank, count));
  return inputs;
}

// Of the first ranks the first numbers, which are those of their gradients.
inline Arrays part_of(const Arrays& gradients, int ranks, size_t count) {
  Arrays inputs(gradients.begin(), gradients.begin() + ranks);
  for (std::vector<float>& input : inputs) input.resize(count);
  return inputs;
}

inline void expect_same_bits(const Arrays& results, const std::string& what) {
  for (const std::vector<float>& result : results) {
    const auto* bytes = reinterpret_cast<const std::byte*>(result.data());
    const auto* first = reinterpret_cast<const std::byte*>(results[0].data());
    ASSERT_TRUE(std::equal(bytes, bytes + result.size() * sizeof(float), first)) << what;
  }
}

// The bound of collectives/compressed_data.h for numbers of both signs: s is the sum of magnitudes.
inline void expect_within_bound(const OperationSpec& spec, const Arrays& inputs,
                                const std::vector<float>& result, const std::string& what) {
  const int ranks = static_cast<int>(inputs.size());
  const CompressedData data(spec.codec, spec.redop, ranks);
  const double divisor = spec.redop == RedOp::kAvg ? ranks : 1;
  for (size_t i = 0; i < result.size(); ++i) {
    double sum = 0, magnitude = 0;
    for (const std::vector<float>& input : inputs) {
      sum += static_cast<double>(input[i]);
      magnitude += std::abs(static_cast<double>(input[i]));
    }
    const double error = std::abs(static_cast<double>(result[i]) - sum / divisor);
    const double bound = data.bound(magnitude / divisor);
    if (error <= bound) continue;  // a macro for each element takes longer than the operation
    ASSERT_LE(error, bound) << what << " at " << i;
  }
}

}  // namespace plumbline
