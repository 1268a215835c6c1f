// `cairn log`: the checkpoints, newest first.
//
// Scalars of the metadata become columns, as many as the terminal is wide: step and epoch first,
// then what has "loss" in its name, then the others by name. What does not fit is named below the
// table.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command.h"
#include "cli/json.h"
#include "text/table.h"
#include "text/terminal.h"
#include "text/wording.h"

namespace cairn::tools {

namespace {

constexpr std::size_t kWidestScalar = 24;

struct LogOptions : Session {
  std::optional<std::int64_t> count;
};

std::string check_count(const std::string& text) {
  const bool is_positive =
      text.find_first_not_of("0123456789") == std::string::npos && text.find_first_not_of('0') != std::string::npos;
  return is_positive ? std::string() : fmt::format("'{}' is no count: give a number from 1", printable(text));
}

bool is_scalar(const Value& value) { return value.type() != Value::Type::kList && value.type() != Value::Type::kMap; }

int rank_of(const std::string& key) {
  if (key == "step") return 0;
  if (key == "epoch") return 1;
  return key.find("loss") != std::string::npos ? 2 : 3;
}

/// Keys that hold a scalar in any of the checkpoints, in the order of columns.
std::vector<std::string> scalar_keys(const std::vector<CheckpointInfo>& checkpoints) {
  std::vector<std::string> keys;
  for (const CheckpointInfo& checkpoint : checkpoints) {
    for (const auto& [key, value] : checkpoint.metadata) {
      if (is_scalar(value)) keys.push_back(key);
    }
  }
  std::sort(keys.begin(), keys.end(), [](const std::string& left, const std::string& right) {
    return std::pair(rank_of(left), left) < std::pair(rank_of(right), right);
  });
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

std::string scalar_cell(const CheckpointInfo& checkpoint, const std::string& key) {
  const Value* value = checkpoint.metadata.find(key);
  return value != nullptr && is_scalar(*value) ? clip(value_text(*value, Detail::kShort), kWidestScalar) : "-";
}

Align align_of(const std::vector<CheckpointInfo>& checkpoints, const std::string& key) {
  for (const CheckpointInfo& checkpoint : checkpoints) {
    const Value* value = checkpoint.metadata.find(key);
    if (value != nullptr && value->type() == Value::Type::kString) return Align::kLeft;
  }
  return Align::kRight;
}

Table table_of(const std::vector<CheckpointInfo>& checkpoints, const std::vector<std::string>& keys) {
  std::vector<Table::Column> columns = {{"VERSION", Align::kRight}, {"TIME"}, {"AGE", Align::kRight}};
  for (const std::string& key : keys) {
    columns.push_back({clip(printable(key), kWidestScalar), align_of(checkpoints, key)});
  }
  columns.push_back({"SIZE", Align::kRight});
  columns.push_back({"WRITTEN", Align::kRight});
  Table table(std::move(columns));
  for (const CheckpointInfo& checkpoint : checkpoints) {
    std::vector<std::string> cells = {fmt::format("{}", checkpoint.version), time_text(checkpoint.created_at_us),
                                      age_text(checkpoint.created_at_us)};
    for (const std::string& key : keys) cells.push_back(scalar_cell(checkpoint, key));
    cells.push_back(size_text(checkpoint.logical_bytes));
    cells.push_back(size_text(checkpoint.written_bytes));
    table.add_row(std::move(cells));
  }
  return table;
}

std::string answer_text(const std::vector<CheckpointInfo>& checkpoints, std::size_t total) {
  std::vector<std::string> keys = scalar_keys(checkpoints);
  std::vector<std::string> left_out;
  Table table = table_of(checkpoints, keys);
  while (!keys.empty() && table.width() > output_width()) {
    left_out.insert(left_out.begin(), printable(keys.back()));
    keys.pop_back();
    table = table_of(checkpoints, keys);
  }
  std::string text = table.text();
  if (!left_out.empty()) text += fmt::format("too wide to show: {} (see --json)\n", fmt::join(left_out, ", "));
  if (checkpoints.size() < total) {
    text += fmt::format("{} of {}\n", checkpoints.size(), count_text(total, "checkpoint", "checkpoints"));
  }
  return text;
}

Exit run(const LogOptions& options) {
  std::vector<CheckpointInfo> checkpoints = options.open().list();
  std::reverse(checkpoints.begin(), checkpoints.end());
  const std::size_t total = checkpoints.size();
  if (options.count && std::cmp_less(*options.count, total)) {
    checkpoints.resize(static_cast<std::size_t>(*options.count));
  }
  if (options.wants_json) {
    Json document = {{"store", valid_utf8(options.path)}, {"checkpoint_count", total}, {"checkpoints", Json::array()}};
    for (const CheckpointInfo& checkpoint : checkpoints) {
      Json json = to_json(checkpoint);
      json["objects"] = Json::array();
      for (const ObjectInfo& object : checkpoint.objects) json["objects"].push_back(to_json(object));
      document["checkpoints"].push_back(std::move(json));
    }
    write_json(document);
  } else if (checkpoints.empty()) {
    write_output("no checkpoints yet\n");
  } else {
    write_output(answer_text(checkpoints, total));
  }
  return kOk;
}

}  // namespace

void add_log(CLI::App& app, Command& chosen) {
  const auto options = std::make_shared<LogOptions>();
  CLI::App* command = app.add_subcommand("log", "List the checkpoints, newest first, with their metadata");
  add_session(*command, *options);
  command->add_option("-n,--count", options->count, "Show the newest COUNT only")
      ->type_name("COUNT")
      ->check(check_count, "");
  command->footer(
      "SIZE is that of all tensors, WRITTEN what the checkpoint added to the store. Numbers are "
      "shown to six digits;\n"
      "--json has them whole.\n\nExample:\n  cairn log runs/lm.cairn -n 20");
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace cairn::tools
