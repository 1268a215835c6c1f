// Timing one thing beside its controls, and what came of it beside its budget.
//
// Everything that is compared runs in one process, taken in turns, each as often as the others: what the machine does
// beside it meets all of them alike. Ratios count; absolute times are shown to judge them by.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace cairn::benchmarks {

/// Wall-clock seconds that the call takes.
double seconds_of(const std::function<void()>& call);

double median(std::vector<double> values);

/// Runs every contestant once without counting, then `repeats` rounds of all, each round begun by another one. A
/// contestant returns the seconds that count, so that what it prepares does not. Returns the medians in the order of
/// the contestants.
std::vector<double> medians_in_turns(unsigned repeats, const std::vector<std::function<double()>>& contestants);

/// One row of the report.
struct Row {
  std::string name;
  double value = 0;  ///< In `unit`.
  std::string unit;  ///< "s", "B".
  std::string control;
  double control_value = 0;  ///< In `unit`; 0: there is no control.
  std::string budget;        ///< In words.
  double ratio = 0;          ///< What the budget is about.
  bool is_met = false;
  std::uint64_t bytes = 0;  ///< That were saved or read; 0: not a matter of bytes. For the speed.
};

/// Speed is at least `least` times that of the control.
Row at_least(std::string name, std::uint64_t bytes, double seconds, std::string control, double control_seconds,
             double least);
/// Time is at most `most` times that of the control.
Row at_most(std::string name, std::uint64_t bytes, double seconds, std::string control, double control_seconds,
            double most);
/// A value of its own is at most so large.
Row below(std::string name, double value, std::string unit, double most);

struct Settings;  // cases.h

/// For people, in columns; and for machines: one object with "machine", "settings" and "rows".
std::string table_of(const std::vector<Row>& rows);
std::string json_of(const std::vector<Row>& rows, const Settings& settings);

}  // namespace cairn::benchmarks
