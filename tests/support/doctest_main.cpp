#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

namespace {

/// Counts the cases that were really run: doctest itself calls a run of none a success.
struct RunCounter : doctest::IReporter {
    static inline unsigned run_ = 0;
    static inline bool private_was_query = false;

    explicit RunCounter(const doctest::ContextOptions& /*options*/) {}
    void report_query(const doctest::QueryData& /*data*/) override { private_was_query = true; }
    void test_run_start() override {}
    void test_run_end(const doctest::TestRunStats& stats) override { run_ = stats.numTestCasesPassingFilters; }
    void test_case_start(const doctest::TestCaseData& /*data*/) override {}
    void test_case_reenter(const doctest::TestCaseData& /*data*/) override {}
    void test_case_end(const doctest::CurrentTestCaseStats& /*stats*/) override {}
    void test_case_exception(const doctest::TestCaseException& /*error*/) override {}
    void subcase_start(const doctest::SubcaseSignature& /*subcase*/) override {}
    void subcase_end() override {}
    void log_assert(const doctest::AssertData& /*data*/) override {}
    void log_message(const doctest::MessageData& /*data*/) override {}
    void test_case_skipped(const doctest::TestCaseData& /*data*/) override {}
};

REGISTER_LISTENER("run_counter", 1, RunCounter);

constexpr int kExitNothingRun = 3;

}  // namespace

int main(int argc, char** argv) {
    doctest::Context context(argc, argv);
    const int result = context.run();
    if (RunCounter::private_was_query || context.shouldExit()) return result;
    if (RunCounter::run_ == 0) {
        std::fputs("no test case was run: the filter matches none\n", stderr);
        return kExitNothingRun;
    }
    return result;
}
