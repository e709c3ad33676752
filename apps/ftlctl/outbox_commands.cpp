#include <ftlctl/command.hpp>

#include <ftlfeed/build/marker.hpp>
#include <ftlfeed/outbox/reader.hpp>

#include <ftlctl/audit.hpp>
#include <ftlctl/call.hpp>

namespace ftlctl {

namespace {

namespace outbox = ftlfeed::outbox;

int status(Call& call) {
    const auto status = outbox::status(call.session());
    call.report().fact("rows", status.rows);
    std::vector<std::vector<Cell>> consumers;
    for (const auto& consumer : status.consumers) {
        consumers.push_back(
            {consumer.consumer, consumer.rows_behind, consumer.oldest_unread_seconds, consumer.is_foreign});
    }
    call.report().table("consumers", {"consumer", "rows_behind", "oldest_unread_seconds", "foreign"},
                        std::move(consumers));
    std::vector<std::vector<Cell>> old;
    for (const auto& transaction : status.old_transactions) old.push_back({transaction});
    call.report().table("old_transactions", {"transaction"}, std::move(old));
    return 0;
}

int rebase(Call& call) {
    if (!call.flag("yes")) {
        throw UsageError(
            "this marks every file for a build and sets every cursor to now; add --yes if this database "
            "was restored into another cluster");
    }
    std::int64_t marked = 0;
    audited_outside(call, {"outbox rebase", "all", ""}, [&] { marked = outbox::rebase(call.session()); });
    call.report().fact("marked", marked);
    return 0;
}

int register_one(Call& call) {
    const auto& name = parse_name("CONSUMER", call.operand(0));
    audited_outside(call, {"outbox register", name, ""}, [&] {
        const bool is_made = name == ftlfeed::build::kConsumer ? ftlfeed::build::register_marker(call.session())
                                                               : outbox::register_consumer(call.session(), name);
        if (!is_made) {
            throw NotDone("consumer '" + name + "' is registered already");
        }
    });
    call.report().fact("consumer", name);
    return 0;
}

int unregister_one(Call& call) {
    const auto& name = parse_name("CONSUMER", call.operand(0));
    audited_outside(call, {"outbox unregister", name, ""}, [&] {
        if (!outbox::unregister_consumer(call.session(), name)) {
            throw NotDone("there is no consumer '" + name + "'; `ftlctl outbox status` shows them");
        }
    });
    call.report().fact("consumer", name);
    return 0;
}

}  // namespace

std::vector<Command> outbox_commands() {
    return {
        {{"outbox", "status"},
         {},
         "how far the readers of the outbox are",
         "Every consumer with the rows that it has not read. Old open or prepared transactions are named, since they\n"
         "hold back the tidying of the table until a person ends them.\n\n  ftlctl outbox status",
         {},
         status},
        {{"outbox", "rebase"},
         {},
         "start again after a restore into another cluster",
         "Readers refuse to go on in a restored database, since what they had read cannot be told. This marks every\n"
         "file for a build and sets every cursor to now. It is exact: files that did not change send nothing.\n\n"
         "  ftlctl outbox rebase --yes",
         {{"yes", "", "I know that every file is built again"}},
         rebase},
        {{"outbox", "register"},
         {"CONSUMER"},
         "make a cursor that starts now",
         "Rows are kept until every registered consumer has read them. With the cursor `build` every file is\n"
         "marked for a build, since what was touched before it is not read.\n\n  ftlctl outbox register audit",
         {},
         register_one},
        {{"outbox", "unregister"},
         {"CONSUMER"},
         "drop a cursor",
         "Its unread rows may be trimmed from then on.\n\n  ftlctl outbox unregister audit",
         {},
         unregister_one},
    };
}

}  // namespace ftlctl
