#include <doctest/doctest.h>

#include <sstream>

#include <ftlctl/report.hpp>

using ftlctl::Cell;
using ftlctl::Report;

namespace {

std::string text_of(const Report& report) {
    std::ostringstream out;
    report.print_text(out);
    return out.str();
}

std::string json_of(const Report& report) {
    std::ostringstream out;
    report.print_json(out);
    return out.str();
}

}  // namespace

TEST_CASE("ftlctl.report: columns line up by characters and not by bytes") {
    Report report;
    report.table("names", {"name", "n"}, {{"Müller", std::int64_t{1}}, {"Muller", std::int64_t{2}}});
    CHECK(text_of(report) == "name    n\nMüller  1\nMuller  2\n");
}

TEST_CASE("ftlctl.report: JSON keeps types and escapes texts") {
    Report report;
    report.fact("done", true);
    report.fact("why", std::string("a \"quoted\"\nline"));
    report.table("rows", {"n", "x"}, {{std::int64_t{7}, Cell{}}});
    CHECK(json_of(report) == "{\"done\":true,\"why\":\"a \\\"quoted\\\"\\nline\",\"rows\":[{\"n\":7,\"x\":null}]}\n");
}

TEST_CASE("ftlctl.report: a control character from the database cannot rewrite the terminal") {
    Report report;
    report.fact("name", std::string("evil\x1b[2Jname"));
    CHECK(text_of(report).find('\x1b') == std::string::npos);
}

TEST_CASE("ftlctl.report: an empty table says so") {
    Report report;
    report.table("alerts", {"kind"}, {});
    CHECK(text_of(report) == "no alerts\n");
    CHECK(json_of(report) == "{\"alerts\":[]}\n");
}
