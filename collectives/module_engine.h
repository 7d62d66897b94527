// Engines out of modules (collectives/engine_module.h): the arrays are ours and are filled and
// checked as those of `native`; the module runs the operations. The ranks tell each other how to
// meet in the other library over our own group, which also says who is at fault when a rank is lost
// in the middle of an operation: libraries do not. One thread per rank.
#pragma once

#include <string>

#include "collectives/engine.h"
#include "collectives/engine_module.h"

namespace plumbline {

// Why the engine of this name cannot be used by this process, or empty.
std::string module_unavailable(const std::string& engine);
// Why an engine whose module is there cannot do this cell, or empty.
std::string module_unsupported(const std::string& engine, const Cell& cell);
std::string module_unsupported(const EngineModule& module, const Cell& cell);
// Collective.
Expected<std::unique_ptr<Engine>> open_module_engine(const std::string& engine,
                                                     const EngineContext& context);
Expected<std::unique_ptr<Engine>> open_module_engine(const std::string& engine,
                                                     EngineModule& module,
                                                     const EngineContext& context);

}  // namespace plumbline
