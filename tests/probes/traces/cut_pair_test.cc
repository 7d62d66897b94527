// Two captures that do not begin and end together, with clocks that disagree: whatever is cut off
// either file, nobody is accused who is innocent, and who is guilty is named when the time that
// both files cover shows it.
#include <gmock/gmock.h>

#include <cstdlib>

#include "tests/probes/traces/paired_transfer.h"
#include "tests/support/covering.h"
#include "tests/support/row_share.h"

namespace plumbline {
namespace {

constexpr uint32_t kSeed = 20261122;

// Clocks of b against a's: right, a little and far off, drifting.
struct Clock {
  int64_t skew_us, drift_ppm;
};
constexpr std::array<Clock, 4> kClocks = {
    {{0, 0}, {350'000, 0}, {-3'600'000'000, 0}, {7'300'000, 100}}};
constexpr std::array<LostAt, 4> kPlaces = {LostAt::kNowhere, LostAt::kBetween, LostAt::kReceiver,
                                           LostAt::kSender};
constexpr std::array<const char*, 4> kWords = {
    "nowhere", "between the hosts", "behind the receiver's wire", "before the sender's wire"};

// a's head and tail, b's head and tail (tenths), place of the loss, clock, marked, hops, joined,
// order of the files.
const std::vector<size_t> kAxes = {10, 10, 10, 10, 4, 4, 2, 2, 2, 2};

bool something_is_left(const CoveringRow& row) {
  return row[0] + row[1] < 10 && row[2] + row[3] < 10;
}

class CutPair {
  static constexpr int kEnough = 30;  // packets in both files that decide everything

 public:
  CutPair(const CoveringRow& row, const PairedTransfer& transfer)
      : row_(row), transfer_(transfer), a_first_(row[9] == 0) {
    const auto tenths = [&](size_t axis) { return static_cast<double>(row[axis]) / 10; };
    a_ = capture_at(transfer_, true, {tenths(0), tenths(1)});
    b_ = capture_at(transfer_, false, {tenths(2), tenths(3)});
    begin_us_ = std::max(a_.begin_us, b_.begin_us);
    end_us_ = std::min(a_.end_us, b_.end_us);
    for (const Transmission& packet : transfer.all()) {
      const bool whole = packet.sent_us >= begin_us_ && packet.arrived_us <= end_us_;
      common_ += whole && packet.arrived_us >= 0 ? 1 : 0;
    }
  }

  // What is wrong about the comparison; empty = nothing.
  std::string check() {
    const std::string& first = (a_first_ ? a_ : b_).file.bytes();
    const std::string& second = (a_first_ ? b_ : a_).file.bytes();
    const Expected<TraceComparison> both = compare_traces(first, second);
    if (!both) return "error: " + both.error().message();
    check_overlap(both->overlap);
    for (const TracePairFlow& pair : both->flows) check_pair(pair);
    const std::string guilt = guilt_shown();
    if (!guilt.empty() && !found_) wrong_ += "; the place was not found: " + guilt;
    return wrong_.empty() ? "" : describe() + wrong_ + "\n" + compare_text(*both, 0);
  }

  static PairShape shape_of(const CoveringRow& row) {
    const Clock& clock = kClocks[row[5]];
    return {kPlaces[row[4]], row[6] == 0,   static_cast<int>(row[7]),
            row[8] == 1,     clock.skew_us, clock.drift_ppm};
  }

 private:
  std::string describe() const {
    std::string text = "row";
    for (const size_t value : row_) text += " " + std::to_string(value);
    return text;
  }

  // A lost packet, and what proves it, well inside the time that both cover.
  std::string guilt_shown() const {
    constexpr int64_t kMarginUs = 40'000;
    const auto inside = [&](int64_t at_us) {
      return begin_us_ + kMarginUs <= at_us && at_us <= end_us_ - kMarginUs;
    };
    const LostAt lost = kPlaces[row_[4]];
    const std::vector<Transmission>& all = transfer_.all();
    for (size_t i = 0; i < all.size(); ++i) {
      if (!all[i].planted || !inside(all[i].meant_us)) continue;
      if (lost == LostAt::kSender && !all[i].first) continue;  // the hole may be older
      const std::string what = "number " + std::to_string(all[i].tcp.seq) + " was lost at " +
                               std::to_string(all[i].meant_us) + " us";
      if (lost == LostAt::kBetween) return what;
      for (size_t j = i + 1; j < all.size(); ++j) {  // sent again
        if (all[j].tcp.seq != all[i].tcp.seq || !all[j].from_a || all[j].sent_us < 0) continue;
        if (inside(all[j].meant_us)) {
          return what + " and sent again at " + std::to_string(all[j].meant_us);
        }
        break;
      }
    }
    return "";
  }

  void check_overlap(const TraceOverlap& overlap) {
    if (!overlap.not_compared.empty()) {
      if (common_ > kEnough) wrong_ += "; not compared";
      return;
    }
    if (overlap.first.before_packets + overlap.first.after_packets > (a_first_ ? a_ : b_).packets) {
      wrong_ += "; more left out than there was";
    }
    // Without marks a packet that was sent again may be taken for the first, when there are few.
    const bool marked = row_[6] == 0;
    if (common_ <= (marked ? 0 : kEnough)) return;
    const int64_t skew = transfer_.b_clock(begin_us_) - begin_us_;
    const int64_t offset = overlap.clock_offset_ns.value_or(0) / 1000;
    if (std::abs(offset - (a_first_ ? skew : -skew)) > 1000) wrong_ += "; wrong clock";
    if (std::abs(overlap.duration_ns / 1000 - (end_us_ - begin_us_)) > 1000) {
      wrong_ += "; wrong duration";
    }
  }

  void check_pair(const TracePairFlow& pair) {
    const TraceFlow& flow = pair.here.a_ip.empty() ? pair.there : pair.here;
    const bool a_is_host_a = flow.a_ip == "10.0.0.1";
    if (pair.told_by != "undecided" && (pair.here_is_a == a_is_host_a) != a_first_) {
      wrong_ += "; wrong host";
    }
    const bool bulk = (a_is_host_a ? flow.a_port : flow.b_port) == 4000;
    check_direction(a_is_host_a ? pair.a_to_b : pair.b_to_a, bulk);
    check_direction(a_is_host_a ? pair.b_to_a : pair.a_to_b, false);
    if (pair.told_by == "undecided" && common_ > kEnough) wrong_ += "; undecided";
  }

  void check_direction(const TraceLoss& loss, bool planted) {
    const std::string expected = planted ? kWords[row_[4]] : "nowhere";
    if (loss.where == expected) {
      found_ = found_ || (planted && expected != "nowhere");
    } else if (loss.where != "nowhere" && loss.where != "unknown") {
      wrong_ += "; wrong place: " + loss.where;
    }
    const bool lossy = planted && kPlaces[row_[4]] == LostAt::kBetween;
    if (lossy || loss.where == "unknown") return;
    if (loss.left != loss.arrived || loss.bytes_left != loss.bytes_arrived) {
      wrong_ += "; a sound direction lost " + std::to_string(loss.left - loss.arrived) + " of " +
                std::to_string(loss.left);
    }
  }

  CoveringRow row_;
  const PairedTransfer& transfer_;
  bool a_first_, found_ = false;
  CutCapture a_, b_;
  int64_t begin_us_ = 0, end_us_ = 0;
  int common_ = 0;  // packets that are in both files
  std::string wrong_;
};

void check_rows(const std::vector<CoveringRow>& rows) {
  testing::Test::RecordProperty("seed", static_cast<int>(kSeed));
  testing::Test::RecordProperty("cases", static_cast<int>(rows.size()));
  int wrong = 0;
  std::map<CoveringRow, PairedTransfer> transfers;  // by what is not cut
  for (const CoveringRow& row : rows) {
    const CoveringRow shape(row.begin() + 4, row.begin() + 9);
    const auto transfer = transfers.try_emplace(shape, CutPair::shape_of(row)).first;
    const std::string text = CutPair(row, transfer->second).check();
    if (text.empty()) continue;
    ADD_FAILURE() << "seed " << kSeed << ": " << text;
    if (++wrong == 10) return;
  }
}

TEST(TraceCutPair, EveryCutAtEitherEndOfBothFiles) {
  const std::vector<CoveringRow> rows = covering_array(kAxes, kSeed, something_is_left);
  EXPECT_GT(rows.size(), 90U);
  check_rows(test::rows_to_run(rows));
}

// Every cut of both files, for each place of loss, nothing else unusual.
TEST(TraceCutPair, EveryCutWhereGuiltShowsNamesIt) {
  test::RowShare share(8);
  for (size_t place = 0; place < kPlaces.size(); ++place) {
    std::vector<CoveringRow> rows;
    for (size_t head = 0; head < 10; ++head) {
      for (size_t tail = 0; head + tail < 10; ++tail) {
        const CoveringRow first = {head, tail, 0, 0, place, head % 4, 0, tail % 2, 0, 0};
        const CoveringRow second = {0, 0, head, tail, place, tail % 4, 1, head % 2, 1, 1};
        for (const CoveringRow& row : {first, second}) {
          if (share.runs(std::to_string(place))) rows.push_back(row);
        }
      }
    }
    check_rows(rows);
  }
}

// All of it, or one of 16 parts (TEST_PART=0 to 15), so that each core of a machine can have one.
TEST(TraceCutPair, FullCross) {
  if (std::getenv("TEST_EXHAUSTIVE") == nullptr) {
    GTEST_SKIP() << "takes long: run by the tests with the label exhaustive";
  }
  std::vector<CoveringRow> rows = full_cross(kAxes, something_is_left);
  std::mt19937 random(kSeed);  // what is wrong in many rows shows early
  std::shuffle(rows.begin(), rows.end(), random);
  if (const char* part = std::getenv("TEST_PART")) {
    std::vector<CoveringRow> own;
    for (size_t i = std::strtoul(part, nullptr, 10); i < rows.size(); i += 16) {
      own.push_back(rows[i]);
    }
    rows = std::move(own);
  }
  check_rows(rows);
}

}  // namespace
}  // namespace plumbline
