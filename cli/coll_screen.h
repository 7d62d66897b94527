// A sweep of `coll` as its user sees it: every row as soon as its cells are measured, in the form
// that was asked for, and the records into their file.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cli/args.h"
#include "cli/coll_request.h"
#include "cli/plain_caller.h"
#include "core/record/record.h"
#include "reports/export/nccl.h"

namespace plumbline {

class CollScreen : public PlainCaller {
 public:
  // `file`: where records are kept too.
  CollScreen(const CollSweep& sweep, const OptionSet& options, CollOutput output, Context& context,
             std::optional<RecordFile> file);
  void progress(const RunProgress& state) override;

 private:
  bool records_only() const { return output_ == CollOutput::kRecords; }
  std::unique_ptr<CollWriter> make_writer() const;
  NcclSetup setup(const std::vector<RankSeat>& seats) const;
  void begin(const std::vector<RankSeat>& seats);
  void begin_cell(const RunProgress& state);
  void tell_arrays(int arrays);
  void end_cell(const Record& record);
  std::optional<NcclSide> side_of(const Record& record, bool again);
  void keep(const Record& record);
  void sum_up(const Record& record);
  void finish_row();
  void end();

  const CollSweep& sweep_;
  const OptionSet& options_;
  const CollOutput output_;
  Context& context_;
  std::optional<RecordFile> file_;
  const std::unique_ptr<CollWriter> writer_;
  RecordLines lines_;           // on standard output
  std::optional<NcclRow> row_;  // whose second cell is missing
  VerifiedCount verified_;      // over all rows
  double clock_error_ns_ = 0;   // largest of all rows, window timing only
  uint64_t late_ = 0;           // samples, all rows
  bool skip_told_ = false;      // why columns stay empty
  int arrays_told_ = 1;         // of the rows that follow
};

}  // namespace plumbline
