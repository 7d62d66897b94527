// The rates of a model, found again from times that it made.
#include "collectives/fit_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "collectives/predict.h"
#include "tests/support/sanitized.h"

namespace plumbline {
namespace {

Topology truth(int ranks, double alpha, double beta, double port, double rank, double gamma) {
  Topology topology;
  topology.host_of.assign(static_cast<size_t>(ranks), 0);
  topology.links.assign(topology.host_of.size() * topology.host_of.size(), {alpha, beta});
  topology.message_ns = alpha / 8;
  topology.port_bytes_per_s = port;
  topology.rank_bytes_per_s = rank;
  topology.reduce_bytes_per_s = gamma;
  return topology;
}

Topology unknown(const Topology& topology) {
  Topology start;
  start.host_of = topology.host_of;
  return start;
}

std::vector<MeasuredOperation> times_of(const Topology& topology) {
  std::vector<MeasuredOperation> all;
  const auto add = [&](Op op, uint64_t bytes, const char* algorithm) {
    const auto ns = predict_ns(topology, op, bytes, algorithm);
    ASSERT_TRUE(ns);
    all.push_back({op, bytes, algorithm, *ns});
  };
  for (const uint64_t bytes : {64, 65536, 1 << 20, 8 << 20}) {
    add(Op::kPingpong, bytes, "direct");
    add(Op::kStream, bytes, "direct");
    add(Op::kSendrecv, bytes, "direct");
    add(Op::kAlltoall, bytes, "direct");
    add(Op::kReduceScatter, bytes, "direct");
    add(Op::kGather, bytes, "direct");
    add(Op::kAllreduce, bytes, "ring");
  }
  return all;
}

// Of algorithms and sizes that it was not fitted to.
double worst_error(const Topology& fitted, const Topology& real) {
  double worst = 0;
  for (const char* name : {"ring:2", "exchange", "halving_doubling", "double_tree"}) {
    for (const uint64_t bytes : {512, 20'000, 300'000, 3 << 20}) {
      const auto a = predict_ns(fitted, Op::kAllreduce, bytes, name);
      const auto b = predict_ns(real, Op::kAllreduce, bytes, name);
      worst = std::max(worst, std::abs(*a / *b - 1));
    }
  }
  return worst;
}

TEST(FitModel, FindsTheRatesOfVeryDifferentNetworks) {
  const Topology networks[] = {
      truth(2, 8e3, 3e9, 3e9, 4e9, 9e9),        // loopback
      truth(4, 30e3, 1.2e9, 1.2e9, 9e9, 12e9),  // a switch of 10 Gbit/s
      truth(4, 50e3, 110e6, 330e6, 5e9, 10e9),  // links of 1 Gbit/s, one for each pair
      truth(8, 5e6, 2e6, 2e6, 1e9, 8e9),        // far away
      truth(3, 400, 12e9, 12e9, 14e9, 15e9),    // shared memory
  };
  for (const Topology& network : networks) {
    if (test::kSanitized && network.ranks() > 2) continue;
    const std::vector<MeasuredOperation> times = times_of(network);
    const auto model = fit_model(unknown(network), times);
    ASSERT_TRUE(model);
    EXPECT_LT(model->median_error, 0.03) << network.links[1].alpha_ns;
    // Where several numbers explain the times alike, others may come out.
    EXPECT_LT(worst_error(model->topology, network), 0.25) << network.links[1].alpha_ns;
  }
}

TEST(FitModel, OneSpoiledTimeDoesNotBendIt) {
  const Topology network = truth(4, 30e3, 1.2e9, 1.2e9, 9e9, 12e9);
  std::vector<MeasuredOperation> times = times_of(network);
  uint32_t random = 1;
  for (MeasuredOperation& one : times) {  // and all are off by up to 4 %
    random = random * 1664525u + 1013904223u;
    one.ns *= 0.96 + 0.08 * static_cast<double>(random >> 8) / (1 << 24);
  }
  times[5].ns *= 20;
  const auto model = fit_model(unknown(network), times);
  ASSERT_TRUE(model);
  EXPECT_LT(model->median_error, 0.08);
  EXPECT_LT(worst_error(model->topology, network), 0.25);
}

TEST(FitModel, LinksKeepTheirProportions) {
  Topology network = truth(3, 30e3, 1e9, 1e12, 1e12, 12e9);
  network.links[1] = {60e3, 0.25e9};  // 0 -> 1
  Topology start = network;
  for (LinkModel& link : start.links) link = {link.alpha_ns / 7, link.bytes_per_s * 3};
  const auto model = fit_model(start, times_of(network));
  ASSERT_TRUE(model);
  const Topology& fitted = model->topology;
  EXPECT_NEAR(fitted.link(0, 1).bytes_per_s / fitted.link(1, 2).bytes_per_s, 0.25, 1e-6);
  EXPECT_NEAR(fitted.link(0, 1).alpha_ns / fitted.link(1, 2).alpha_ns, 2, 1e-6);
  EXPECT_LT(model->median_error, 0.05);
}

TEST(FitModel, NothingToGoByIsAnError) {
  const Topology start = unknown(truth(2, 1, 1, 1, 1, 1));
  EXPECT_FALSE(fit_model(start, {}));
  const std::vector<MeasuredOperation> useless = {
      {Op::kAllreduce, 1024, "no_such", 1e3},   // unknown
      {Op::kAllreduce, 1024, "ring", 0},        // not measured
      {Op::kAllreduce, 1024, "ring", -5},       // no time
      {Op::kAllreduce, 1024, "exchange:3", 9},  // not for two ranks
  };
  EXPECT_FALSE(fit_model(start, useless));
  Topology alone;
  alone.host_of = {0};
  const std::vector<MeasuredOperation> pingpong = {{Op::kPingpong, 8, "direct", 1e3}};
  EXPECT_FALSE(fit_model(alone, pingpong));
}

}  // namespace
}  // namespace plumbline
