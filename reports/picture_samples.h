// What a picture is planned from: the results that belong in it, each with what tells series apart,
// and the series that they make. For picture.cc; pure.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "reports/picture.h"

namespace plumbline {

// What tells series apart. Where a picture would have too many, it is cut along the first of these
// that varies; the algorithm comes last, because it is what one wants to compare.
enum PictureDimension {
  kRun,
  kSource,  // our engine, or another tool with its statistic
  kTransport,
  kType,
  kRedOp,
  kRoot,
  kOther,
  kPlacement,
  kLoad,
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
  std::string kind, op;
  int ranks = 0;
  XAxis x = XAxis::kBytes;
  YAxis y = YAxis::kTime;
};

std::vector<PictureSample> samples_of(const PictureRequest& request);
// In order of appearance: sizes stay ascending.
std::vector<std::string> values_of(const std::vector<PictureSample>& samples, size_t dimension);
// Points of repetitions merged, series sorted by their labels.
std::vector<Series> series_of(const std::vector<PictureSample>& samples);
// What the times are, where that is not the one statistic of ours: "mean over ranks", or that the
// legend says it; empty for ours.
std::string time_statistic(const std::vector<PictureSample>& samples);

}  // namespace plumbline
