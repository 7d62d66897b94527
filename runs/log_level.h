// How much the coordinator and its ranks say of what they do.
#pragma once

#include "core/log.h"
#include "core/options/options.h"

namespace plumbline {

// The log level of these options.
inline LogLevel log_level(const OptionSet& options) {
  LogLevel level = LogLevel::kWarn;
  log_level_from(options.text("log_level"), level);
  return level;
}

}  // namespace plumbline
