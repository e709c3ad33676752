#pragma once

#include "provider.hpp"

namespace ftlfeed::sim {

/// Spoils an in-play answer. kHalf and kNothing are only noted: the server carries them out.
void spoil(ProviderAnswer& answer, Fault fault);

}  // namespace ftlfeed::sim
