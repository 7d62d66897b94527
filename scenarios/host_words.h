// The words that stand in host files of every format: addresses, ssh destinations, names of RDMA
// devices. Each function says what is wrong with one, or gives an empty text. Pure, thread-safe.
#pragma once

#include <string>
#include <vector>

#include "scenarios/json_text.h"

namespace plumbline {

// A host's name in messages, records and names of files: letters, digits and . _ - : % +, at most
// 100, with a letter or digit in front ("mini1", "mini1.local", "fd00::1").
std::string host_name_problem(const std::string& text);
inline constexpr const char* kHostNameHint =
    "give it one of letters, digits and . _ - : % +, with a letter or digit in front";
// A scenario's name, which is that of its file without the ending: any words of UTF-8 but control
// characters and / \ : * ? " < > |, which some file system cannot hold; at most 100 bytes.
std::string scenario_name_problem(const std::string& text);

// "10.10.0.1/24", "fd00::1/64", "10.10.0.1".
std::string address_problem(const std::string& text);
// An address alone: "10.10.0.1", "fd00::1".
std::string ip_problem(const std::string& text);
// What may stand behind `ssh`: "user@mini1.local", "mini1". What begins with a dash would be an
// option, what holds a space several words.
std::string destination_problem(const std::string& text);
// "rdma_en4", "mlx5_0". An interface in its place ("en4") is told.
std::string device_problem(const std::string& text);

// Is it this machine in host files that say so by its address: "127.0.0.1", "localhost"?
bool names_this_machine(const std::string& destination);
// "mini1.local" of "user@mini1.local".
std::string without_user(const std::string& destination);
// The interface behind a device: "en4" of "rdma_en4"; empty where the name does not tell.
std::string interface_of_device(const std::string& device);

// One row of a device matrix, from a list of null | text | list of texts (other cells are left
// empty; whoever calls has reported them). Devices that are no names are reported.
std::vector<std::vector<std::string>> read_matrix_row(const Json& row, const std::string& where,
                                                      Problems& problems);

}  // namespace plumbline
