#pragma once

#include <functional>
#include <string>

#include <ftlfeed/store/session.hpp>

#include <ftlctl/call.hpp>

namespace ftlctl {

/// What an operator did, for `audit_log`. A value.
struct Action {
    std::string name;     ///< `destination off`
    std::string subject;  ///< `client/name`
    std::string why;      ///< Empty = no reason was asked for
};

/// Runs `work` in one transaction with its row in `audit_log`. When it fails, the attempt is recorded by itself and the
/// failure goes on: who tried what matters as much as who did it.
void audited(Call& call, const Action& action, const ftlfeed::store::Session::Work& work);

/// The same for work that has transactions of its own: the row is written after it.
void audited_outside(Call& call, const Action& action, const std::function<void()>& work);

}  // namespace ftlctl
