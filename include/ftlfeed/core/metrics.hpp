#pragma once

#include <map>
#include <string>
#include <vector>

namespace ftlfeed::core {

using MetricLabels = std::map<std::string, std::string>;

/// Handles to series of the process's registry, which lives as long as the process. Threads: thread-safe. Cost: an
/// atomic addition; finding a series by name and labels takes a lock, so keep the handle.
class Counter {
public:
    void increment(double by = 1);

private:
    friend Counter counter(const std::string&, const std::string&, const MetricLabels&);
    void* series_ = nullptr;
};
class Gauge {
public:
    void set(double value);
    void add(double by);

private:
    friend Gauge gauge(const std::string&, const std::string&, const MetricLabels&);
    void* series_ = nullptr;
};
class Histogram {
public:
    void observe(double value);

private:
    friend Histogram histogram(const std::string&, const std::string&, const std::vector<double>&, const MetricLabels&);
    void* series_ = nullptr;
};

/// Names follow Prometheus' conventions: `ftl_ROOM_WHAT_UNIT`, counters end in `_total`, times are in seconds.
[[nodiscard]] Counter counter(const std::string& name, const std::string& help, const MetricLabels& labels = {});
[[nodiscard]] Gauge gauge(const std::string& name, const std::string& help, const MetricLabels& labels = {});
[[nodiscard]] Histogram histogram(const std::string& name, const std::string& help, const std::vector<double>& bounds,
                                  const MetricLabels& labels = {});
/// All series in Prometheus' text format.
[[nodiscard]] std::string metrics_text();

}  // namespace ftlfeed::core
