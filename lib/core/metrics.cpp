#include <ftlfeed/core/metrics.hpp>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace ftlfeed::core {

namespace {

/// Never destroyed: handles outlive main() in threads that end late.
prometheus::Registry& registry() {
    static auto* all = new prometheus::Registry(prometheus::Registry::InsertBehavior::Merge);
    return *all;
}

}  // namespace

void Counter::increment(double by) { static_cast<prometheus::Counter*>(series_)->Increment(by); }
void Gauge::set(double value) { static_cast<prometheus::Gauge*>(series_)->Set(value); }
void Gauge::add(double by) { static_cast<prometheus::Gauge*>(series_)->Increment(by); }
void Histogram::observe(double value) { static_cast<prometheus::Histogram*>(series_)->Observe(value); }

Counter counter(const std::string& name, const std::string& help, const MetricLabels& labels) {
    Counter handle;
    handle.series_ = &prometheus::BuildCounter().Name(name).Help(help).Register(registry()).Add(labels);
    return handle;
}

Gauge gauge(const std::string& name, const std::string& help, const MetricLabels& labels) {
    Gauge handle;
    handle.series_ = &prometheus::BuildGauge().Name(name).Help(help).Register(registry()).Add(labels);
    return handle;
}

Histogram histogram(const std::string& name, const std::string& help, const std::vector<double>& bounds,
                    const MetricLabels& labels) {
    Histogram handle;
    handle.series_ = &prometheus::BuildHistogram().Name(name).Help(help).Register(registry()).Add(labels, bounds);
    return handle;
}

std::string metrics_text() { return prometheus::TextSerializer().Serialize(registry().Collect()); }

}  // namespace ftlfeed::core
