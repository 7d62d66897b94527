// A soak as every report tells it: the rounds in one table, steps with the events beside them, what
// idle time costs, memory, and the list of events; and the same as JSON. Pure.
#pragma once

#include <string>

#include "reports/document.h"
#include "reports/soak/soak_verdict.h"

namespace plumbline {

// Nothing when there is no soak among the records.
void add_soaks(const std::vector<SoakRun>& soaks, Document& document);
void add_soak(const SoakVerdict& verdict, Document& document);
// One object; docs/soak.md names its fields. SI units, null where nothing is known.
std::string soak_json(const std::vector<SoakVerdict>& verdicts);

// A track over time, with lines at the steps and at events: data and script for draw_files().
std::string soak_plot_data(const SoakTrend& trend);
std::string soak_plot_script(const SoakTrend& trend, const SoakRun& run, const std::string& name);

}  // namespace plumbline
