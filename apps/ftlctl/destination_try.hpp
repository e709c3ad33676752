#pragma once

#include <ftlctl/call.hpp>

namespace ftlctl {

/// `destination test`: a try from here, past queue and pace. Exit code 0 when the destination takes it.
int test_destination(Call& call);

/// `destination send`: owes the newest version of a file once more, as an occasion of its own; ftl-deliver sends it.
int send_again(Call& call);

}  // namespace ftlctl
