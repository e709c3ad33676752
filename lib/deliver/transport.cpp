#include <ftlfeed/deliver/transport.hpp>

#include <ftlfeed/core/failure.hpp>

namespace ftlfeed::deliver {

SendOutcome Transport::test(SendGuard& /*guard*/) {
    throw core::InvalidInput("this transport can only be tried by sending a file");
}

}  // namespace ftlfeed::deliver
