// Cells of servers of language models: one rank as so many clients at a time, each of which sends
// its next request when the last one is answered (a closed loop), until the cell's time is over.
// What is under way then is waited for. A sample is the time to the first token, or, of answers
// that come whole, to the whole answer; everything else is counted (docs/serving.md). What the
// server does is a result, never an Error.
#pragma once

#include <string>
#include <vector>

#include "collectives/measure.h"
#include "transport/http/completion.h"

namespace plumbline {

// By the one rank of the group.
Expected<Measurement> measure_endpoint(const Cell& cell, const MeasureSettings& settings,
                                       const MeasureContext& context);

// How long answers that are under way are waited for, in ms.
int64_t endpoint_cell_limit_ms(const Cell& cell, const MeasureSettings& settings);

// The question, `bytes` long or as long as it has to be.
std::string endpoint_prompt(EndpointApi api, uint64_t bytes);

// What a cell says of these answers, which took so long together. Pure.
Measurement judge_answers(const Cell& cell, const std::vector<EndpointAnswer>& answers,
                          int64_t elapsed_ns);

}  // namespace plumbline
