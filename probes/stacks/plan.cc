#include "probes/stacks/plan.h"

#include "core/json.h"

namespace plumbline {

PLUMBLINE_JSON_FIELDS(StackListener, purpose, ip, kind, first, last, callers)
PLUMBLINE_JSON_FIELDS(StackRank, rank, host, interface, ip, reason, cannot, also, listeners,
                      environment)
PLUMBLINE_JSON_FIELDS(StackTrap, cause, severity, host, peer, ports, text, remedy)
PLUMBLINE_JSON_FIELDS(StackVariable, name, effect)
PLUMBLINE_JSON_FIELDS(StackPlan, stack, read_from, rendezvous_host, rendezvous_ip, rendezvous_port,
                      own_name, higher_calls, interface_variable, port_variable, ranks, traps,
                      remarks, variables, installed, meant)
PLUMBLINE_JSON_FIELDS(PortSample, port, first, last)

}  // namespace plumbline
