// `doctor --stack NAME --env K=V`: from the command line to what the run asks of a stack's model.
// MLX's variables and files come from the table of its backends, so that they exist once.
#pragma once

#include "cli/args.h"
#include "runs/doctor_run.h"

namespace plumbline {

// For these hosts, read from the file `path` (empty = no file). An error names what is wrong with
// --stack or --env; problems of the host file travel with the request.
Expected<StackRequest> stack_request(const Args& args, const std::string& path,
                                     const std::vector<ScenarioHost>& hosts);

}  // namespace plumbline
