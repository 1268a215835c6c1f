// `cairn get`: one entry, as a summary, as JSON or as a .npy file. Only its own chunks are read.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cairn/checkpoint.h"
#include "cli/command.h"
#include "cli/json.h"
#include "cli/npy.h"
#include "cli/summary.h"
#include "cli/version_argument.h"
#include "text/table.h"
#include "text/terminal.h"
#include "text/wording.h"

namespace cairn::tools {

namespace {

struct GetOptions : Session {
  std::string path_of_entry;
  std::string version = "latest";
  std::string output;

  /// Entry names may hold slashes, object names may not.
  std::string object() const { return path_of_entry.substr(0, path_of_entry.find('/')); }
  std::string entry() const { return path_of_entry.substr(path_of_entry.find('/') + 1); }
};

std::string check_entry_path(const std::string& text) {
  if (text.find('/') != std::string::npos && text[0] != '/') return {};
  return fmt::format("'{}' is not of the form OBJECT/ENTRY, as in model/fc1.weight", printable(text));
}

Json optional_json(const std::optional<Number>& number) { return number ? to_json(*number) : Json(nullptr); }

std::string optional_text(const std::optional<Number>& number) { return number ? number_text(*number) : "none"; }

Json summary_json(const std::optional<Summary>& summary) {
  if (!summary) return nullptr;
  Json json;
  json["min"] = optional_json(summary->min);
  json["max"] = optional_json(summary->max);
  json["mean"] = optional_json(summary->mean);
  json["std"] = summary->std ? to_json(*summary->std) : Json(nullptr);
  json["nan_count"] = summary->nan_count;
  json["infinite_count"] = summary->infinite_count;
  json["first"] = Json::array();
  for (const Number& number : summary->first) json["first"].push_back(to_json(number));
  return json;
}

std::string summary_text(const at::Tensor& tensor, const std::optional<Summary>& summary) {
  if (!summary) return "no summary: LibTorch has no numbers for this dtype\n";
  std::vector<std::string> first;
  for (const Number& number : summary->first) first.push_back(number_text(number));
  const bool is_cut = tensor.numel() > static_cast<std::int64_t>(first.size());
  return aligned_pairs({
      {"min", optional_text(summary->min)},
      {"max", optional_text(summary->max)},
      {"mean", optional_text(summary->mean)},
      {"std", summary->std ? number_text(*summary->std) : "none"},
      {"NaN", fmt::format("{}", summary->nan_count)},
      {"infinite", fmt::format("{}", summary->infinite_count)},
      {"first", first.empty() ? "none" : fmt::format("{}{}", fmt::join(first, ", "), is_cut ? ", ..." : "")},
  });
}

/// What the document says of every entry, before what is special to its kind.
Json document_of(const GetOptions& options, const Checkpoint& checkpoint) {
  return {{"store", valid_utf8(options.path)},
          {"version", checkpoint.version()},
          {"object", valid_utf8(options.object())},
          {"entry", valid_utf8(options.entry())}};
}

Exit answer_value(const GetOptions& options, const Checkpoint& checkpoint, const EntryInfo& info) {
  if (!options.output.empty()) {
    throw CommandError(fmt::format("'{}' is a plain value of type {}, not a tensor", options.path_of_entry,
                                   to_string(info.value.type())),
                       "the same without -o, which prints it as JSON");
  }
  if (!options.wants_json) {
    write_json(to_json(info.value));
    return kOk;
  }
  Json document = document_of(options, checkpoint);
  document["kind"] = "value";
  document["type"] = to_string(info.value.type());
  document["value"] = to_json(info.value);
  write_json(document);
  return kOk;
}

Exit write_file(const GetOptions& options, const Checkpoint& checkpoint, const EntryInfo& info) {
  const std::optional<NpyType> type = npy_type_of(info.dtype);
  if (!type) {
    throw CommandError(
        fmt::format("'{}' has dtype {}, which no type of NumPy can hold", options.path_of_entry, info.dtype));
  }
  const at::Tensor tensor = checkpoint.tensor(options.object(), options.entry());
  write_npy(tensor, *type, options.output);
  if (options.wants_json) {
    Json document = document_of(options, checkpoint);
    document["kind"] = "tensor";
    document["dtype"] = info.dtype;
    document["shape"] = info.sizes;
    document["file"] = valid_utf8(options.output);
    document["file_dtype"] = type->name;
    write_json(document);
    return kOk;
  }
  std::string text = fmt::format("wrote {}: {} {}", printable(options.output), info.dtype, shape_text(info.sizes));
  if (type->widened_to) text += fmt::format(", widened to {}, which holds every value of it", type->name);
  write_output(text + "\n");
  return kOk;
}

Exit answer_tensor(const GetOptions& options, const Checkpoint& checkpoint, const EntryInfo& info) {
  if (!options.output.empty()) return write_file(options, checkpoint, info);
  const at::Tensor tensor = checkpoint.tensor(options.object(), options.entry());
  const std::optional<Summary> summary = summarize(tensor);
  if (options.wants_json) {
    Json document = document_of(options, checkpoint);
    document["kind"] = "tensor";
    document["dtype"] = info.dtype;
    document["shape"] = info.sizes;
    document["bytes"] = info.bytes;
    document["requires_grad"] = info.requires_grad;
    document["summary"] = summary_json(summary);
    write_json(document);
    return kOk;
  }
  const std::string title = fmt::format("{} of checkpoint {}", printable(options.path_of_entry), checkpoint.version());
  write_output(styled(Style::kTitle, title) + "\n" +
               aligned_pairs({
                   {"dtype", info.dtype},
                   {"shape", shape_text(info.sizes)},
                   {"size", size_text(info.bytes)},
                   {"gradient", info.requires_grad ? "required" : "not required"},
               }) +
               summary_text(tensor, summary));
  return kOk;
}

Exit run(const GetOptions& options) {
  const Store store = options.open();
  const Checkpoint checkpoint = resolve_version(store, options.version);
  const EntryInfo info = checkpoint.entry(options.object(), options.entry());
  return info.is_tensor ? answer_tensor(options, checkpoint, info) : answer_value(options, checkpoint, info);
}

}  // namespace

void add_get(CLI::App& app, Command& chosen) {
  const auto options = std::make_shared<GetOptions>();
  CLI::App* command = app.add_subcommand("get", "Print one entry, or write it as .npy");
  add_session(*command, *options);
  command->add_option("entry", options->path_of_entry, "The entry; its name may hold slashes, the object's may not")
      ->type_name("OBJECT/ENTRY")
      ->required()
      ->check(check_entry_path, "");
  command->add_option("--version", options->version, "A number, 'latest' or 'latest~2' (default: latest)")
      ->type_name("VERSION")
      ->check(check_version, "");
  command->add_option("-o,--output", options->output, "Write the tensor to this file, in NumPy's .npy format")
      ->type_name("FILE");
  command->footer(
      "A tensor is summarized: min and max without NaN, mean and std (of the population) without "
      "NaN and infinities.\n"
      "A plain value is printed as JSON. In a .npy file types that NumPy lacks (bfloat16, float8) "
      "become float32,\n"
      "which holds every value of theirs.\n\nExamples:\n  cairn get runs/lm.cairn "
      "model/fc1.weight\n"
      "  cairn get runs/lm.cairn optimizer/param_groups.0.lr --version latest~2\n"
      "  cairn get runs/lm.cairn model/fc1.weight -o fc1.npy");
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace cairn::tools
