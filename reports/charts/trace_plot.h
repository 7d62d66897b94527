// The time-sequence plot of one TCP connection, as tcptrace made it known: sequence numbers over
// time, every segment a bar, the other side's acknowledgements and the end of its window as steps,
// and a mark on everything out of the ordinary. A panel for each direction that carried a
// noteworthy share of the bytes. Drawn by gnuplot.
#pragma once

#include <string>

#include "core/diagnosis/trace_summary.h"
#include "core/error.h"

namespace plumbline {

// A gnuplot script, data included, that writes the file `output` (svg or png by its ending). Pure.
std::string trace_plot_script(const TracePoints& points, const std::string& output);

// Writes the picture. kUsage when the ending is neither .svg nor .png or there is nothing to draw,
// kUnsupported without gnuplot, kConfig when the file cannot be written. At most a minute.
Status write_trace_plot(const TracePoints& points, const std::string& path);

}  // namespace plumbline
