#include "core/codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "core/number.h"
#include "core/text.h"

namespace plumbline {
namespace {

constexpr double kUsualRatio = 0.01;

// In the order of the enum.
constexpr std::array kCodecs = {
    CodecRow{CodecKind::kNone, kNoCodec, "numbers travel as they are"},
    CodecRow{CodecKind::kFp16, "fp16", "IEEE half precision: 11 significant bits, up to 65504"},
    CodecRow{CodecKind::kBf16, "bf16", "the upper half of an f32: 8 significant bits, its range"},
    CodecRow{CodecKind::kTopk, "topk",
             "topk:RATIO, the elements of largest magnitude and their places; what is not sent is "
             "added the next time"},
};

const CodecRow& row(CodecKind kind) { return kCodecs[static_cast<size_t>(kind)]; }

Error unknown_codec(std::string_view name) {
  std::vector<std::string> names;
  for (const CodecRow& row : kCodecs) names.emplace_back(row.name);
  return {ErrorCode::kConfig, fmt::format("unknown compression {}", in_quotes(std::string(name))),
          0, near_or(std::string(name), names, "use none, fp16, bf16 or topk:RATIO"), ""};
}

}  // namespace

std::span<const CodecRow> codec_table() { return kCodecs; }

Expected<Codec> parse_codec(std::string_view text) {
  if (text.empty()) return Codec{};
  const size_t mark = text.find(kParameterMark);
  const std::string_view name = text.substr(0, mark);
  const auto* const found = std::find_if(kCodecs.begin(), kCodecs.end(),
                                         [&](const CodecRow& r) { return name == r.name; });
  if (found == kCodecs.end()) return fail(unknown_codec(name));
  Codec codec{found->kind, 0};
  if (codec.sparse()) codec.ratio = kUsualRatio;
  if (mark == std::string_view::npos) return codec;
  if (!codec.sparse()) {
    return fail(ErrorCode::kConfig, fmt::format("compression {} takes no parameter", name),
                fmt::format("write {}", name));
  }
  const std::optional<double> ratio = parse_decimal(std::string(text.substr(mark + 1)));
  if (!ratio || !(*ratio > 0) || *ratio > 1) {
    return fail(
        ErrorCode::kConfig,
        fmt::format("{} is no ratio of topk", in_quotes(std::string(text.substr(mark + 1)))),
        "it is a number above 0 and at most 1, such as topk:0.01");
  }
  codec.ratio = *ratio;
  return codec;
}

std::string to_string(const Codec& codec) {
  const char* name = row(codec.kind).name;
  return codec.sparse() ? fmt::format("{}{}{}", name, kParameterMark, codec.ratio) : name;
}

std::string codec_unsupported(const Codec& codec, Op op, DType dtype, RedOp redop, uint64_t count) {
  if (!codec) return {};
  const std::string name = to_string(codec);
  if (op != Op::kAllreduce) {
    return fmt::format("{} does not compress {}; it works for allreduce of f32 sum or avg", name,
                       to_string(op));
  }
  if (dtype != DType::kF32) {
    return fmt::format("{} compresses f32, not {}; use dtype f32, or {} without compression", name,
                       to_string(dtype), to_string(dtype));
  }
  if (redop != RedOp::kSum && redop != RedOp::kAvg) {
    return fmt::format("{} of {} means nothing; it works for sum and avg", name, to_string(redop));
  }
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  if (codec.sparse() && count > kMost) {
    return fmt::format("{} numbers its elements with 32 bits: at most {}, not {}", name, kMost,
                       count);
  }
  return {};
}

uint64_t kept_elements(const Codec& codec, uint64_t count) {
  if (count == 0) return 0;
  const auto share = static_cast<uint64_t>(std::floor(static_cast<double>(count) * codec.ratio));
  return std::clamp<uint64_t>(share, 1, count);
}

}  // namespace plumbline
