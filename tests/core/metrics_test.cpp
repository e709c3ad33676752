#include <doctest/doctest.h>

#include <ftlfeed/core/metrics.hpp>
#include <thread>

using namespace ftlfeed::core;

namespace {
bool shows(const std::string& line) { return metrics_text().find(line + "\n") != std::string::npos; }
}  // namespace

TEST_CASE("core.metrics: series of one name and other labels stand side by side") {
    auto a = counter("ftl_test_events_total", "Events", {{"kind", "a"}});
    auto b = counter("ftl_test_events_total", "Events", {{"kind", "b"}});
    a.increment();
    b.increment(4);
    counter("ftl_test_events_total", "Events", {{"kind", "a"}}).increment();
    CHECK(shows("ftl_test_events_total{kind=\"a\"} 2"));
    CHECK(shows("ftl_test_events_total{kind=\"b\"} 4"));
    CHECK(shows("# TYPE ftl_test_events_total counter"));
}

TEST_CASE("core.metrics: a gauge holds what was set and a histogram counts into its buckets") {
    auto g = gauge("ftl_test_depth", "Depth");
    g.set(5);
    g.add(-2);
    CHECK(shows("ftl_test_depth 3"));
    auto h = histogram("ftl_test_seconds", "Seconds", {0.1, 1}, {{"room", "core"}});
    h.observe(0.05);
    h.observe(0.5);
    h.observe(5);
    CHECK(shows("ftl_test_seconds_bucket{room=\"core\",le=\"0.1\"} 1"));
    CHECK(shows("ftl_test_seconds_bucket{room=\"core\",le=\"+Inf\"} 3"));
}

TEST_CASE("core.metrics: a label cannot break the text format") {
    counter("ftl_test_label_total", "Labels", {{"name", "a\"b\\c\nd"}}).increment();
    CHECK(shows("ftl_test_label_total{name=\"a\\\"b\\\\c\\nd\"} 1"));
}
