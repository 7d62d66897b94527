// Codecs by name, and what they are refused for.
#include "core/codec.h"

#include <gtest/gtest.h>

#include <limits>
#include <tuple>

namespace plumbline {
namespace {

TEST(Codec, NamesAreReadAndWritten) {
  for (const CodecRow& row : codec_table()) {
    const Expected<Codec> codec = parse_codec(row.name);
    ASSERT_TRUE(codec) << row.name;
    EXPECT_EQ(codec->kind, row.kind);
    const Expected<Codec> again = parse_codec(to_string(*codec));
    ASSERT_TRUE(again) << to_string(*codec);
    EXPECT_EQ(*again, *codec);
  }
  EXPECT_FALSE(*parse_codec(""));
  EXPECT_EQ(to_string(*parse_codec("topk")), "topk:0.01");
  EXPECT_EQ(to_string(*parse_codec("topk:1")), "topk:1");
  EXPECT_EQ(parse_codec("topk:5e-4")->ratio, 5e-4);
}

TEST(Codec, WhatIsNoneIsRefusedInWords) {
  for (const char* text : {"fp15", "fp16:2", "none:1", "topk:", "topk:0", "topk:-0.1", "topk:1.01",
                           "topk:nan", "topk:inf", "topk:0.1x", " fp16", ":0.1", "topk:0.1:0.1"}) {
    const Expected<Codec> codec = parse_codec(text);
    ASSERT_FALSE(codec) << text;
    EXPECT_EQ(codec.error().code, ErrorCode::kConfig) << text;
    EXPECT_FALSE(codec.error().hint.empty()) << text;
  }
  EXPECT_NE(parse_codec("fp15").error().hint.find("fp16"), std::string::npos);
}

TEST(Codec, OnlySumsOfF32OverAllreduce) {
  const Codec fp16 = *parse_codec("fp16");
  for (const OpRow& op : op_table()) {
    for (const DTypeRow& dtype : dtype_table()) {
      for (const RedOpRow& redop : redop_table()) {
        const bool means = op.op == Op::kAllreduce && dtype.dtype == DType::kF32 &&
                           (redop.redop == RedOp::kSum || redop.redop == RedOp::kAvg);
        EXPECT_EQ(codec_unsupported(fp16, op.op, dtype.dtype, redop.redop, 1).empty(), means)
            << op.name << " " << dtype.name << " " << redop.name;
        EXPECT_EQ(codec_unsupported({}, op.op, dtype.dtype, redop.redop, 1), "");
      }
    }
  }
  const Codec topk = *parse_codec("topk");
  constexpr uint64_t kMost = std::numeric_limits<uint32_t>::max();
  for (const auto& [codec, count, means] :
       {std::tuple(topk, kMost, true), {topk, kMost + 1, false}, {fp16, kMost + 1, true}}) {
    EXPECT_EQ(codec_unsupported(codec, Op::kAllreduce, DType::kF32, RedOp::kAvg, count).empty(),
              means);
  }
  const std::string why = codec_unsupported(fp16, Op::kBroadcast, DType::kF32, RedOp::kSum, 1);
  EXPECT_NE(why.find("broadcast"), std::string::npos) << why;
  EXPECT_NE(why.find("allreduce of f32"), std::string::npos) << why;
}

TEST(Codec, AShareIsAtLeastOneElement) {
  const Codec percent = *parse_codec("topk:0.01");
  EXPECT_EQ(kept_elements(percent, 0), 0u);
  EXPECT_EQ(kept_elements(percent, 1), 1u);
  EXPECT_EQ(kept_elements(percent, 199), 1u);
  EXPECT_EQ(kept_elements(percent, 200), 2u);
  EXPECT_EQ(kept_elements(*parse_codec("topk:1"), 7), 7u);
}

}  // namespace
}  // namespace plumbline
