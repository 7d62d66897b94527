// What an allreduce may do to its numbers before they travel: the table of codecs, and a codec by
// the name that people give it, NAME or NAME:RATIO. `fp16` and `bf16` send each number in 16 bits;
// `topk` sends a share of the elements, those of the largest magnitude. All of them lose something,
// so each says what it can be used for. The text is read here once, where it enters. Pure,
// thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/op.h"

namespace plumbline {

enum class CodecKind : uint8_t { kNone, kFp16, kBf16, kTopk };

struct CodecRow {
  CodecKind kind;
  const char* name;
  const char* help;  // one line
};

std::span<const CodecRow> codec_table();

inline constexpr const char* kNoCodec = "none";

struct Codec {
  CodecKind kind = CodecKind::kNone;
  double ratio = 0;  // topk: share of the elements that is sent, above 0, at most 1

  bool operator==(const Codec&) const = default;
  explicit operator bool() const { return kind != CodecKind::kNone; }
  // Each number travels in 16 bits.
  bool halves() const { return kind == CodecKind::kFp16 || kind == CodecKind::kBf16; }
  bool sparse() const { return kind == CodecKind::kTopk; }
};

// "none" and "" are no codec; "topk" alone is topk:0.01. kConfig for what is none of the table, or
// for a ratio that cannot be.
Expected<Codec> parse_codec(std::string_view text);
// "fp16", "topk:0.01"; "none".
std::string to_string(const Codec& codec);

// Why it means nothing for such an operation on so many elements, and what would work; empty = it
// does. Without a codec everything does.
std::string codec_unsupported(const Codec& codec, Op op, DType dtype, RedOp redop, uint64_t count);
// How many of so many elements topk sends: the share, rounded down, but at least one.
uint64_t kept_elements(const Codec& codec, uint64_t count);

}  // namespace plumbline
