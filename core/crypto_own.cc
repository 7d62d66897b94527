// The choice of a build without libcrypto.
#include "core/crypto.h"

namespace plumbline {

const Crypto& crypto() { return own_crypto(); }

}  // namespace plumbline
