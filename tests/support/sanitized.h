// Whether a sanitizer watches this program: it takes ten times as long then, and keeps freed memory
// for a while. A sanitizer looks for what no round of a loop may do, so a part of the rounds shows
// it (row_share.h); questions of statistics need all of them, and are asked without a sanitizer
// only.
#pragma once

namespace plumbline::test {

#ifdef PLUMBLINE_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

inline constexpr const char* kStatistics =
    "a question of statistics, not of memory: asked without a sanitizer";
inline constexpr const char* kSources = "looks at sources: once is enough";

}  // namespace plumbline::test
