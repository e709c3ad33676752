#include <ftlctl/destination_try.hpp>

#include <pqxx/result>
#include <pqxx/transaction_base>
#include <variant>

#include <ftlfeed/core/clock.hpp>
#include <ftlfeed/core/failure.hpp>
#include <ftlfeed/core/feed_key.hpp>
#include <ftlfeed/deliver/dispatcher.hpp>

#include <ftlctl/audit.hpp>
#include <ftlctl/destination_table.hpp>

namespace ftlctl {

namespace {

using namespace ftlfeed;

/// A try of a person's own: nobody else's lease or version is in question.
class OwnGuard final : public deliver::SendGuard {
public:
    OwnGuard(const core::Clock& clock, std::chrono::milliseconds limit) : deadline_(core::Deadline::in(clock, limit)) {}
    [[nodiscard]] core::Deadline deadline() const override { return deadline_; }
    [[nodiscard]] bool may_publish() override { return true; }

private:
    core::Deadline deadline_;
};

std::string receipt_of(const deliver::SendOutcome& outcome) {
    if (const auto* stored = std::get_if<deliver::Stored>(&outcome)) return stored->receipt;
    if (const auto* refused = std::get_if<deliver::Refused>(&outcome)) throw NotDone(refused->reason);
    if (const auto* gone = std::get_if<deliver::Gone>(&outcome)) throw NotDone(gone->reason);
    throw NotDone("nothing was sent");
}

std::string try_it(Call& call, const deliver::DestinationSettings& settings) {
    const auto& clock = core::Clock::real();
    const auto transport = deliver::built_in_transports(call.settings().feeds.deliver, clock)(settings);
    OwnGuard guard(clock, settings.limits.whole());
    return receipt_of(transport->test(guard));
}

}  // namespace

int test_destination(Call& call) {
    if (!call.settings().is_deliver_enabled()) {
        throw NotDone(
            "deliver.enabled is off, so nothing may leave here; give this command the configuration of ftl-deliver, or "
            "--deliver.enabled true");
    }
    std::string receipt;
    audited_outside(call, {"destination test", destination_subject(call), ""}, [&] {
        std::int64_t id = 0;
        call.session().read([&](pqxx::transaction_base& tx) { id = find_destination(tx, call); });
        receipt = try_it(call, deliver::read_destination_settings(call.session(), {id}));
    });
    call.report().fact("destination", destination_subject(call));
    call.report().fact("takes_files", true);
    call.report().fact("receipt", receipt);
    return 0;
}

int send_again(Call& call) {
    const auto key = core::FeedKey::parse(call.operand(2)).doc_key();
    audited(call, {"destination send", destination_subject(call) + " " + key, ""}, [&](pqxx::transaction_base& tx) {
        const auto id = lock_destination(tx, call);
        if (tx.exec_params("SELECT 1 FROM feed_document WHERE doc_key = $1 AND retired_at IS NULL", key).empty()) {
            throw NotDone("there is no file '" + key + "' that could be sent; `ftlctl feed list` shows them");
        }
        if (!tx.exec_params("SELECT 1 FROM delivery_assignment a JOIN delivery_client c ON c.id = a.client_id "
                            "WHERE a.id = $1 AND NOT (a.is_on AND c.is_on)",
                            id)
                 .empty()) {
            throw NotDone("it is switched off; `ftlctl destination on` switches it on");
        }
        // As if the receiver had lost it: the proof stays in the history, and the next one is an occasion of its own.
        tx.exec_params(
            "UPDATE delivery_state SET sent_epoch = 0, sent_seq = 0, sent_render = 0, sent_hash = NULL, failures = 0, "
            "next_try = NULL, refusal_lasts = false WHERE assignment_id = $1 AND doc_key = $2",
            id, key);
        if (tx.exec_params("SELECT 1 FROM delivery_owed WHERE assignment_id = $1 AND doc_key = $2", id, key).empty()) {
            throw NotDone("this destination does not want the file '" + key + "'; look at its events and feed types");
        }
        tell_deliver(tx, id);
    });
    call.report().fact("destination", destination_subject(call));
    call.report().fact("owed", key);
    return 0;
}

}  // namespace ftlctl
