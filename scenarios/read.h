// From a parsed JSON tree to the plain values of a Scenario, in three steps. First: does every
// value have the shape that its row of the key table asks for? What does not is reported and taken
// out, so that the second sees sound values only. It reads them, and checks what depends on one
// value alone (an address, a range). The third checks what needs several values at once, or names
// from the tables of other folders: options, algorithms that cannot do what is asked, more ranks
// than places, ports that collide. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/options/options.h"
#include "scenarios/json_text.h"

namespace plumbline {

// Does every value have its shape? `file` = "" for the scenario itself; an included file's name
// stands before the paths of its problems.
void check_shape(Json& root, const std::string& file, const Vocabulary& vocabulary,
                 Problems& problems);
// The same for one value of the tree, whose row has the path `table_path`.
void check_shape_of(Json& parent, const std::string& key, const std::string& table_path,
                    const Vocabulary& vocabulary, Problems& problems);

// The number that a sound kInt or kSize number is; 1e6 counts as 1000000.
uint64_t whole_number(const Json& value);

Scenario read_scenario(const Json& root, Problems& problems);
// The value of the key `hosts`; `ranks_per_host` for those that do not say it, 0 = nor does anybody
// else. `coordinator`: what a host file says of it.
std::vector<ScenarioHost> read_hosts(const Json& hosts, int ranks_per_host, Problems& problems,
                                     std::string* coordinator = nullptr);
// The interfaces behind the devices of the host's row of the device matrix, each once.
std::vector<std::string> matrix_interfaces(const ScenarioHost& host);

MatrixBlock read_block(const Json& block, const std::string& where, Problems& problems);
// What only blocks of links have.
void read_link_keys(const Json& block, const std::string& where, Problems& problems,
                    MatrixBlock& out);

// What only blocks of servers of language models have.
void read_endpoint_keys(const Json& block, const std::string& where, Problems& problems,
                        MatrixBlock& out);

// A text or a list of texts.
std::vector<std::string> texts(const Json& value);
// Text as it is, numbers and booleans as the option table spells them.
std::string scalar_text(const Json& value);
std::map<std::string, std::string> read_options(const Json& object);

// Where this option is set instead, when it has no place in a scenario, or (`of_block`) in one
// block of it; empty when it has.
std::string option_place(std::string_view name, bool of_block);

// What options that name rows of a table may be, for OptionSources and OptionSet.
OptionChoices option_choices(const Vocabulary& vocabulary);

// What makes no sense in a block of operations; false = there is nothing to expand.
bool check_operation_block(const MatrixBlock& block, const Scenario& scenario,
                           const Vocabulary& vocabulary, Problems& problems);

// Of a probe or block that asks a server of language models; `path` is that of its object.
void check_server(const std::string& url, const std::string& key_from, const std::string& path,
                  Problems& problems);
// The parameters of all calls of that probe.
void check_endpoint_probes(const Scenario& scenario, Problems& problems);
// The same of what must be equal on all hosts: packages, files.
void check_equality_probes(const Scenario& scenario, Problems& problems);

void check_scenario(const Scenario& scenario, const Vocabulary& vocabulary, Problems& problems);

}  // namespace plumbline
