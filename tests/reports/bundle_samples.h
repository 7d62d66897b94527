// A clean run whose records are full of names, addresses, paths and secrets, and the words that
// must not be found in a bundle made of it; and a sound bundle. The same on every run.
#pragma once

#include <string>
#include <vector>

#include "core/json.h"
#include "core/record/record.h"
#include "reports/publish/bundle_build.h"
#include "tests/support/sanitized.h"

namespace plumbline::samples {

// Tests that verify a bundle for each of its values try every one of so many. A sanitizer makes a
// verification ten times as long; without one all are tried.
inline constexpr size_t kEvery = test::kSanitized ? 8 : 1;

// Times around `p50_ns` with a tail, drawn with `seed`.
std::vector<int64_t> times(uint64_t seed, int n, int64_t p50_ns);

// Two hosts of two machines on 2 ranks: latency and bandwidth of some operations; a check and a
// throughput cell beside them.
std::vector<Record> seeded_run();
// Everything that must not occur: searched in lower case.
std::vector<std::string> seeded_words();

BundleStatement statement();  // ethernet-10g
// Sealed, of seeded_run() and statement().
nlohmann::json bundle(uint64_t seed = 1);

}  // namespace plumbline::samples
