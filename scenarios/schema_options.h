// Options of the data path under `config`, as JSON Schema: which may stand there, and their values.
// Pure.
#pragma once

#include "core/options/options.h"
#include "scenarios/json_text.h"
#include "scenarios/scenario.h"

namespace plumbline {

// name -> schema of its value. `of_block`: those of a block's own `config`.
Json option_schemas(bool of_block, const Vocabulary& vocabulary);

}  // namespace plumbline
