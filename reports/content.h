// The story that console and Markdown tell about a set of records: the question, the machine, the
// roofs, warnings, findings of the probes, one table per group, and the counts. Pure.
#pragma once

#include <string>
#include <vector>

#include "reports/document.h"
#include "reports/links/link_view.h"
#include "reports/report.h"
#include "reports/view.h"

namespace plumbline {

void add_introduction(const ReportInput& input, const View& view, Document& document);
// The scenario's checklist, item by item; nothing when it has none (checklist.cc).
void add_checklist(const ReportInput& input, const View& view, Document& document);
// What became of the rules of `expect`, one by one; nothing when there are none (checklist.cc).
void add_rules(const ReportInput& input, Document& document);
// What shaped the numbers beside the network, each cause with how many records have it.
std::vector<std::string> noise_notes(const View& view);
// Which pairs of ranks could not share memory, and why.
std::vector<std::string> fell_back_notes(const View& view);
// What cells cost beside their timed part (asking the ranks, warming up, checking the data, writing
// the record): the time from the end of the cell before, where the same ranks did that one too.
std::string cost_text(const std::vector<Record>& records);
// Where records come from, each name once, in their order; and the first and the last time.
struct RunOrigin {
  std::vector<std::string> scenarios, runs, versions;
  std::string first, last;
};
RunOrigin origin_of(const View& view);
// The first record that a plan of ours made; null where everything was imported.
const Record* planned_record(const View& view);
// What the TCP connections that carried the data used, which need not be the system's default:
// "TCP congestion control of the connections: reno"; empty where no record knows.
std::string congestion_text(const View& view);
// "Data: verified 120 of 480 operations; 2 cells verified, count unknown"; empty where nothing has
// data.
std::string verification_text(const View& view);
// Everything of a check that did not pass: failures one by one, skips by reason.
std::vector<std::string> check_failures(const View& view);
void add_tables(const View& view, Document& document);
// The last lines: how many passed, failed, were skipped, ended in error; and which rules broke.
void add_summary(const ReportInput& input, const View& view, Document& document);

// The table of one group (latency, bandwidth, throughput); reasons of rows that are not clean are
// numbered and put into `notes` without repetition.
// Where the time of each result went and what it took, one row a record that tells it; and what the
// columns are.
Table work_table(const View& view);
extern const char* const kWorkLegend;
Table group_table(const ViewGroup& group, std::vector<std::string>& notes);
// "[1] ...", "[2] ...": the notes below a table, by the numbers that it refers to them with.
std::vector<std::string> numbered(const std::vector<std::string>& notes);
// One row per operation, algorithm and transport over all groups of checks.
Table check_table(const View& view);

// How a run ended, in one word: the same on the page, on the terminal and in Markdown.

struct RunAnswer {
  Tone tone = Tone::kPlain;
  std::string word;  // "Sound", "Sound, with remarks", "Not sound" ...
  // Of the links between hosts: those that stand out, those of which it cannot be said, and whether
  // one stays far below the speed that is stated.
  size_t outliers = 0, unknown_links = 0;
  bool link_fails = false;
};

// `worlds` = link_worlds(view).
RunAnswer answer_of(const ReportInput& input, const View& view,
                    const std::vector<LinkWorld>& worlds);

}  // namespace plumbline
