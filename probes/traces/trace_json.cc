
#include "core/json.h"
#include "probes/traces/analyse.h"

namespace plumbline {

std::string trace_json(const std::vector<TraceSummary>& traces, const TraceComparison& comparison) {
  constexpr int kSchema = 1;
  const nlohmann::json json = {{"schema", kSchema},
                               {"traces", traces},
                               {"overlap", comparison.overlap},
                               {"pairs", comparison.flows},
                               {"other_flows", comparison.other_flows}};
  return json_text(json, 2);
}

}  // namespace plumbline
