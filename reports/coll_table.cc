#include "reports/coll_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "reports/tables.h"
#include "reports/text.h"

namespace plumbline {
namespace {

using ColumnSpec = CollTable::ColumnSpec;
using Side = std::optional<NcclSide>;

constexpr const char* kOut = "out of place";
constexpr const char* kIn = "in place";

bool measured(const Side& side) { return side && std::isfinite(side->time_us); }

std::optional<double> ns_of(std::optional<double> us) {
  return us ? std::optional<double>(*us * 1e3) : std::nullopt;
}

std::string time_text(const Side& side) {
  return measured(side) ? us_text(side->time_us * 1e3) : "";
}
std::string algbw_text(const Side& side) {
  return measured(side) ? gbps_text(side->algbw * 1e9) : "";
}
std::string busbw_text(const Side& side) {
  return measured(side) ? gbps_text(side->busbw * 1e9) : "";
}
std::string wrong_text(const Side& side) {
  return side && side->wrong ? fmt::format("{}", *side->wrong) : "";
}
std::string p50_text(const Side& side) { return side ? us_text(ns_of(side->p50_us)) : ""; }
std::string p99_text(const Side& side) { return side ? us_text(ns_of(side->p99_us)) : ""; }
std::string ci_text(const Side& side) {
  if (!side || !side->ci_low_us || !side->ci_high_us) return "";
  return us_text(ns_of(side->ci_low_us)) + ".." + us_text(ns_of(side->ci_high_us));
}

// The columns of one placement.
template <Side NcclRow::*Which>
void add_side(const CollTableSpec& spec, const char* group, std::vector<ColumnSpec>& columns) {
  const bool in = Which == &NcclRow::in;
  const auto add = [&](const char* name, const char* unit, int width, int least, int priority,
                       std::string (*text)(const NcclRow&)) {
    columns.push_back({group, name, unit, width, least, priority, text});
  };
  // Apart from the columns of the other placement.
  const int time = in ? 9 : 8;
  add("time", "(us)", time, time, in ? 2 : 0,
      [](const NcclRow& row) { return time_text(row.*Which); });
  if (spec.moves_data) {
    add("algbw", "(GB/s)", 7, 7, in ? 6 : 5,
        [](const NcclRow& row) { return algbw_text(row.*Which); });
    add("busbw", "(GB/s)", 7, 7, in ? 2 : 0,
        [](const NcclRow& row) { return busbw_text(row.*Which); });
  }
  if (spec.checked) {
    add("wrong", "", 5, 5, in ? 4 : 3, [](const NcclRow& row) { return wrong_text(row.*Which); });
  }
  add("p50", "(us)", 8, 8, in ? 9 : 7, [](const NcclRow& row) { return p50_text(row.*Which); });
  if (spec.enough_for_ci) {
    add("95% CI", "(us)", 18, 14, in ? 10 : 8,
        [](const NcclRow& row) { return ci_text(row.*Which); });
  }
  if (spec.enough_for_p99) {
    add("p99", "(us)", 8, 8, in ? 9 : 6, [](const NcclRow& row) { return p99_text(row.*Which); });
  }
}

int digits(uint64_t number) { return static_cast<int>(fmt::format("{}", number).size()); }

// "float", or "" where the rows differ in it, which then have a column.
std::string only_one(const std::vector<std::string>& values) {
  return values.size() == 1 ? values.front() : std::string();
}

// "ranks 0-3 on node1: eth0 10.0.0.1" once for all that share it.
std::vector<std::string> places_of(const std::vector<NcclDevice>& devices) {
  std::map<std::string, std::set<int>> ranks;
  std::vector<std::string> order;
  for (const NcclDevice& device : devices) {
    std::string place = device.host;
    if (!device.bus.empty()) place += ": " + device.bus + " " + device.name;
    if (ranks[place].empty()) order.push_back(place);
    ranks[place].insert(device.rank);
  }
  std::vector<std::string> lines;
  for (const std::string& place : order) {
    const std::set<int>& here = ranks[place];
    lines.push_back(
        fmt::format("rank{} {} on {}", here.size() == 1 ? "" : "s", ranges_text(here), place));
  }
  return lines;
}

}  // namespace

void CollTable::preamble(const NcclSetup& setup, const std::vector<NcclDevice>& devices) {
  max_bytes_ = setup.max_bytes;
  choose_columns();
  std::string what = spec_.op;
  for (const auto* values : {&spec_.types, &spec_.redops}) {
    if (!only_one(*values).empty()) what += " " + only_one(*values);
  }
  if (!only_one(spec_.roots).empty()) what += ", root " + only_one(spec_.roots);
  const std::string arrays = only_one(spec_.arrays);
  if (!arrays.empty() && arrays != "1") what += fmt::format(", lists of {} arrays", arrays);
  line(fmt::format("{}, {} rank{}, algorithm {}, transport {}{}{}{}{}", what, spec_.ranks,
                   spec_.ranks == 1 ? "" : "s", setup.algorithm, setup.transport,
                   setup.compression.empty() ? "" : ", compression ", setup.compression,
                   setup.split.empty() ? "" : ", groups ", setup.split),
       Tone::kHeading);
  std::string how = fmt::format("{} operation{} per size after {} to warm up", setup.iterations,
                                setup.iterations == 1 ? "" : "s", setup.warmup_iterations);
  if (setup.aggregate > 1) how += fmt::format(", {} timed as one", setup.aggregate);
  how += "; time: " + spec_.time;
  const auto shown = columns_for(std::span<const ColumnSpec>(columns_), spec_.width);
  if (std::any_of(shown.begin(), shown.end(), [](const auto& c) { return c.row->name == "p50"; })) {
    how += "; p50: median of the slowest rank";
  }
  line(how);
  for (const std::string& place : places_of(devices)) line(place);
}

void CollTable::choose_columns() {
  columns_.clear();
  const int size = std::max(6, digits(max_bytes_));
  if (spec_.moves_data) {
    columns_.push_back({"", "size", "(B)", size, size, 0,
                        [](const NcclRow& row) { return fmt::format("{}", row.size); }});
    const int count = std::max(8, digits(max_bytes_));
    columns_.push_back({"", "elements", "", count, count, 11,
                        [](const NcclRow& row) { return fmt::format("{}", row.count); }});
  }
  if (spec_.types.size() > 1) {
    columns_.push_back(
        {"", "type", "", 8, 8, 0, [](const NcclRow& row) { return row.type; }, true});
  }
  if (spec_.redops.size() > 1) {
    columns_.push_back(
        {"", "redop", "", 5, 5, 0, [](const NcclRow& row) { return row.redop; }, true});
  }
  if (spec_.roots.size() > 1) {
    columns_.push_back(
        {"", "root", "", 4, 4, 0, [](const NcclRow& row) { return fmt::format("{}", row.root); }});
  }
  if (spec_.arrays.size() > 1) {
    columns_.push_back({"", "arrays", "", 6, 6, 0,
                        [](const NcclRow& row) { return fmt::format("{}", row.arrays); }});
  }
  add_side<&NcclRow::out>(spec_, kOut, columns_);
  if (spec_.in_place) add_side<&NcclRow::in>(spec_, kIn, columns_);
}

// "--- out of place ---  --- in place ---" over their columns.
std::string CollTable::group_line() const {
  std::string text;
  const auto shown = columns_for(std::span<const ColumnSpec>(columns_), spec_.width);
  for (size_t i = 0; i < shown.size();) {
    const std::string& group = shown[i].row->group;
    size_t span = 0;
    for (; i < shown.size() && shown[i].row->group == group; ++i) {
      span += static_cast<size_t>(shown[i].width + (span > 0 ? kColumnGap : 0));
    }
    if (!text.empty()) text += std::string(kColumnGap, ' ');
    // Over the numbers, not over the space between the placements.
    const std::string words = group.empty() ? "" : " " + group + " ";
    const size_t room = span - std::min<size_t>(span, 2);
    std::string part = words;
    for (bool left = false; !part.empty() && display_width(part) < room; left = !left) {
      part = left ? "-" + part : part + "-";
    }
    text += fit(part, span, false);
  }
  return text;
}

void CollTable::header() {
  const std::span<const ColumnSpec> columns = columns_;
  out_ << "\n";
  const auto heading = [this](std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    out_ << toned(text, Tone::kHeading, spec_.colour) << "\n";
  };
  if (spec_.in_place) heading(group_line());
  heading(column_line(
      columns, spec_.width, [](const ColumnSpec& c) { return c.name; }, ""));
  heading(column_line(
      columns, spec_.width, [](const ColumnSpec& c) { return c.unit; }, ""));
  out_.flush();
}

void CollTable::row(const NcclRow& row) {
  Tone tone = Tone::kPlain;
  for (const Side* side : {&row.out, &row.in}) {
    if (!measured(*side)) continue;
    ++measured_;
    busbw_sum_ += (*side)->busbw;
    busbw_most_ = std::max(busbw_most_, (*side)->busbw);
    if ((*side)->wrong.value_or(0) == 0) continue;
    ++wrong_;
    tone = Tone::kBad;
  }
  if (!measured(row.out)) tone = Tone::kBad;
  const std::string text = column_line(std::span<const ColumnSpec>(columns_), spec_.width,
                                       [&row](const ColumnSpec& c) { return c.text(row); });
  out_ << toned(text, tone, spec_.colour) << "\n" << std::flush;
}

void CollTable::line(const std::string& text, Tone tone) {
  for (const std::string& part : wrap(clean(text), static_cast<size_t>(std::max(0, spec_.width)))) {
    out_ << toned(part, tone, spec_.colour) << "\n";
  }
  out_.flush();
}

void CollTable::comment(const std::string& text) { line(text); }

void CollTable::verified(uint64_t verified, uint64_t operations) {
  verified_ = fmt::format("; verified {} of {} operations", verified, operations);
}

void CollTable::footer() {
  out_ << "\n";
  if (wrong_ > 0) {
    line(fmt::format("WRONG DATA in {} measurement{}{}", wrong_, wrong_ == 1 ? "" : "s", verified_),
         Tone::kBad);
  } else if (measured_ == 0) {
    line("Nothing was measured", Tone::kBad);
  } else {
    line(spec_.checked ? "No wrong data" + verified_ : "Data not checked");
  }
  if (measured_ == 0 || !spec_.moves_data) return;
  line(fmt::format("Bus bandwidth: {} GB/s on average, {} GB/s at most",
                   gbps_text(busbw_sum_ / static_cast<double>(measured_) * 1e9),
                   gbps_text(busbw_most_ * 1e9)));
}

}  // namespace plumbline
