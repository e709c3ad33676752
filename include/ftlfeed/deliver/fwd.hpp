#pragma once

namespace ftlfeed::deliver {
class Dispatcher;
class Transport;
class SendGuard;
struct AssignmentId;
struct DeliverSettings;
struct DestinationSettings;
}  // namespace ftlfeed::deliver
