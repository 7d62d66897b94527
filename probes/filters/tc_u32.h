// u32, the classifier of tc that compares raw words of the IP header. Only for the readers in this
// folder. Pure functions, thread-safe; they may throw nlohmann::json::exception.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "probes/filters/filter_rule.h"

namespace plumbline {

// Adds the conditions of one filter's options, whose "match" keys are numbered ("match#000000001").
// Needs the filter's "family" condition to be there already: offsets mean other fields in IPv6.
void read_tc_u32(const nlohmann::json& options, FilterRule& rule);

}  // namespace plumbline
