#include "postgres.hpp"

#include <libpq-fe.h>
#include <poll.h>

#include <stdexcept>

namespace ftl::bench {

namespace {

bool take_notifications(pg_conn* connection) {
    bool is_any = false;
    while (auto* notification = PQnotifies(connection)) {
        PQfreemem(notification);
        is_any = true;
    }
    return is_any;
}

}  // namespace

void Postgres::Close::operator()(pg_conn* connection) const { PQfinish(connection); }

Postgres::Postgres(const std::string& uri) : connection_(PQconnectdb(uri.c_str())) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(connection_.get()));
}

std::string Postgres::run(const std::string& sql, const std::vector<std::string>& values) {
    std::vector<const char*> texts;
    for (const auto& value : values) texts.push_back(value.c_str());
    const std::unique_ptr<PGresult, decltype(&PQclear)> result(
        values.empty() ? PQexec(connection_.get(), sql.c_str())
                       : PQexecParams(connection_.get(), sql.c_str(), static_cast<int>(texts.size()), nullptr,
                                      texts.data(), nullptr, nullptr, 0),
        &PQclear);
    const auto status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
        throw std::runtime_error(PQerrorMessage(connection_.get()));
    }
    return PQntuples(result.get()) > 0 ? PQgetvalue(result.get(), 0, 0) : "";
}

bool Postgres::wait_for_notify(std::chrono::milliseconds limit) {
    if (take_notifications(connection_.get())) return true;
    pollfd waiting{PQsocket(connection_.get()), POLLIN, 0};
    poll(&waiting, 1, static_cast<int>(limit.count()));
    PQconsumeInput(connection_.get());
    return take_notifications(connection_.get());
}

}  // namespace ftl::bench
