#include "probes/filters/filter_rule.h"

#include "core/json.h"
#include "core/json_fields.h"

namespace plumbline {

PLUMBLINE_JSON_FIELDS(FilterMatch, key, negated, values)
PLUMBLINE_JSON_FIELDS(FilterRule, tool, variant, family, table, chain, hook, chain_type, device,
                      priority, is_policy, handle, id, matches, action, target, reject_with, share,
                      effects, text)

}  // namespace plumbline
