// The part of a bundle that says where: hosts and machines as ordinals, and of their facts what the
// table of bundle fields allows. Used by bundle_build.cc alone.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/record/record.h"
#include "reports/publish/redact.h"

namespace plumbline {

// Facts by the name that ranks and rows know a host by; they point into the records.
using HostsByName = std::map<std::string, const HostFacts*>;

// The hosts of the run: ranks know them by the scenario's names, in whose order the facts stand.
Expected<HostsByName> hosts_of(const std::vector<const Record*>& records);

// Hosts of a lab of namespaces are one machine: they share its boot.
const std::string& machine_id(const HostFacts& facts);

// host1, host2 ... before any text is read, so that texts speak of the same ones.
std::map<std::string, std::string> number_hosts(const HostsByName& hosts, Redactor& redactor);

nlohmann::json environment_json(const Record& record, const HostsByName& hosts,
                                const std::map<std::string, std::string>& ordinals,
                                Redactor& redactor);

// Options whose values are numbers or words of a closed list, as the option table reads them.
nlohmann::json options_json(const std::map<std::string, std::string>& values,
                            const Redactor& redactor);

// What the table of a struct of records says is published; words that may be anything only where
// they are ours.
template <typename Owner>
nlohmann::json published_json(const Owner& owner, Redactor& redactor);

// A word of our own tables, and not somebody's name; whatever else stands there is "unknown".
std::string table_word(const std::string& text, Redactor& redactor);

}  // namespace plumbline
