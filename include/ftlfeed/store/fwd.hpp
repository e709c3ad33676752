#pragma once

namespace pqxx {
class transaction_base;
class result;
}  // namespace pqxx

namespace ftlfeed::store {
class Session;
class Pool;
class Lease;
class Listener;
}  // namespace ftlfeed::store
