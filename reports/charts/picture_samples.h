// What a picture is planned from: the results that belong in it, each with what tells series apart,
// and the series that they make. For picture.cc; pure.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "reports/charts/picture.h"

namespace plumbline {

// What tells series apart. Where a picture would have too many, it is cut along the first of these
// that varies; transport, ranks and algorithm come last, because they are what one wants to
// compare.
enum PictureDimension {
  kRun,
  kSource,  // our engine, or another tool with its statistic
  kType,
  kRedOp,
  kRoot,
  kOther,
  kPlacement,
  kLoad,
  kTransport,
  kRanks,
  kAlgorithm,
  kDimensions
};

struct PictureSample {
  std::array<std::string, kDimensions> dims;
  Point point;
  const Item* item = nullptr;
};

struct PictureRequest {
  const View* view = nullptr;
  CellKind kind = CellKind::kLatency;
  std::string op;
  XAxis x = XAxis::kBytes;
  YAxis y = YAxis::kTime;
};

std::vector<PictureSample> samples_of(const PictureRequest& request);
// In order of appearance: sizes stay ascending.
std::vector<std::string> values_of(const std::vector<PictureSample>& samples, size_t dimension);
// Points of repetitions merged, series sorted by their ranks and labels.
std::vector<Series> series_of(const std::vector<PictureSample>& samples);
// Floors and roofs of our own results (picture_guides.cc), at the sizes at which they were
// measured: one for each number of ranks and transport, the best of all where these are too many.
std::vector<Series> guides_of(const PictureRequest& request,
                              const std::vector<PictureSample>& samples);
// What the times are, where that is not the one statistic of ours: "mean over ranks", or that the
// legend says it; empty for ours.
std::string time_statistic(const std::vector<PictureSample>& samples);

}  // namespace plumbline
