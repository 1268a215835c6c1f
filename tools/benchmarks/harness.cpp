#include "benchmarks/harness.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "benchmarks/cases.h"
#include "text/table.h"
#include "text/wording.h"

namespace cairn::benchmarks {

namespace {

std::string value_text(double value, const std::string& unit) {
  if (unit == "B") return tools::size_text(static_cast<std::uint64_t>(value));
  if (value >= 1) return fmt::format("{:.2f} s", value);
  if (value >= 1e-3) return fmt::format("{:.2f} ms", value * 1e3);
  return fmt::format("{:.1f} us", value * 1e6);
}

std::string speed_text(const Row& row) {
  if (row.bytes == 0 || row.unit != "s") return "";
  return fmt::format("{:.2f} GB/s", static_cast<double>(row.bytes) / row.value / 1e9);
}

}  // namespace

double seconds_of(const std::function<void()>& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::vector<double> medians_in_turns(unsigned repeats, const std::vector<std::function<double()>>& contestants) {
  std::vector<std::vector<double>> seconds(contestants.size());
  for (const auto& contestant : contestants) contestant();
  for (unsigned round = 0; round < repeats; ++round) {
    for (std::size_t turn = 0; turn < contestants.size(); ++turn) {
      const std::size_t i = (round + turn) % contestants.size();
      seconds[i].push_back(contestants[i]());
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& of_one : seconds) medians.push_back(median(std::move(of_one)));
  return medians;
}

Row at_least(std::string name, std::uint64_t bytes, double seconds, std::string control, double control_seconds,
             double least) {
  const double ratio = control_seconds / seconds;
  return {std::move(name),
          seconds,
          "s",
          std::move(control),
          control_seconds,
          fmt::format("speed at least {:.2f}x", least),
          ratio,
          ratio >= least,
          bytes};
}

Row at_most(std::string name, std::uint64_t bytes, double seconds, std::string control, double control_seconds,
            double most) {
  const double ratio = seconds / control_seconds;
  return {std::move(name),
          seconds,
          "s",
          std::move(control),
          control_seconds,
          fmt::format("time at most {:.2f}x", most),
          ratio,
          ratio <= most,
          bytes};
}

Row below(std::string name, double value, std::string unit, double most) {
  std::string budget = fmt::format("at most {}", value_text(most, unit));
  return {std::move(name), value, std::move(unit), "", 0, std::move(budget), value / most, value <= most, 0};
}

std::string table_of(const std::vector<Row>& rows) {
  using tools::Align;
  tools::Table table({{"CASE", Align::kLeft},
                      {"MEDIAN", Align::kRight},
                      {"SPEED", Align::kRight},
                      {"CONTROL", Align::kLeft},
                      {"MEDIAN", Align::kRight},
                      {"RATIO", Align::kRight},
                      {"BUDGET", Align::kLeft},
                      {"", Align::kLeft}});
  for (const Row& row : rows) {
    table.add_row({row.name, value_text(row.value, row.unit), speed_text(row), row.control,
                   row.control.empty() ? "" : value_text(row.control_value, row.unit), fmt::format("{:.2f}", row.ratio),
                   row.budget, row.is_met ? "pass" : "FAIL"});
  }
  return table.text();
}

std::string json_of(const std::vector<Row>& rows, const Settings& settings) {
  nlohmann::json report;
  report["machine"]["threads"] = std::thread::hardware_concurrency();
  report["settings"] = {
      {"bytes", settings.bytes},     {"tensors", settings.tensors},         {"repeats", settings.repeats},
      {"threads", settings.threads}, {"checkpoints", settings.checkpoints}, {"archive", settings.archive}};
  report["rows"] = nlohmann::json::array();
  for (const Row& row : rows) {
    nlohmann::json item = {{"case", row.name},   {"value", row.value}, {"unit", row.unit},  {"budget", row.budget},
                           {"ratio", row.ratio}, {"pass", row.is_met}, {"bytes", row.bytes}};
    if (!row.control.empty()) {
      item["control"] = row.control;
      item["control_value"] = row.control_value;
    }
    report["rows"].push_back(std::move(item));
  }
  return report.dump(2) + "\n";
}

}  // namespace cairn::benchmarks
