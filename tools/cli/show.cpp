// `cairn show`: one checkpoint, what it is and what is in it, without reading a tensor.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/command.h"
#include "cli/json.h"
#include "cli/version_argument.h"
#include "text/table.h"
#include "text/terminal.h"
#include "text/wording.h"

namespace cairn::tools {

namespace {

constexpr std::size_t kWidestValue = 60;

struct ShowOptions : Session {
  std::string version = "latest";
  std::vector<std::string> objects;
};

/// The objects asked for with their entries, in the checkpoint's order.
using Contents = std::vector<std::pair<ObjectInfo, std::vector<EntryInfo>>>;

Contents read_contents(const Checkpoint& checkpoint, const std::vector<std::string>& wanted) {
  Contents contents;
  for (const std::string& name : wanted) {
    checkpoint.entries(name);  // an unknown name is an error that names the nearest
  }
  for (const ObjectInfo& object : checkpoint.info().objects) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), object.name) == wanted.end()) continue;
    contents.emplace_back(object, checkpoint.entries(object.name));
  }
  return contents;
}

std::string heading_text(const CheckpointInfo& info) {
  std::uint64_t entry_count = 0;
  for (const ObjectInfo& object : info.objects) entry_count += object.entry_count;
  return aligned_pairs({
      {"version", fmt::format("{}", info.version)},
      {"parent", info.parent == 0 ? "none" : fmt::format("{}", info.parent)},
      {"time",
       fmt::format("{} ({})", time_text(info.created_at_us, Precision::kMicroseconds), age_text(info.created_at_us))},
      {"size",
       fmt::format("{} in {}, {}", size_text(info.logical_bytes), count_text(info.objects.size(), "object", "objects"),
                   count_text(entry_count, "entry", "entries"))},
      {"written", size_text(info.written_bytes)},
  });
}

std::string metadata_text(const Metadata& metadata) {
  if (metadata.empty()) return {};
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& [key, value] : metadata) pairs.emplace_back(printable(key), value_text(value, Detail::kFull));
  return "\n" + styled(Style::kTitle, "METADATA") + "\n" + aligned_pairs(pairs);
}

std::string objects_text(const Contents& contents) {
  Table table({{"OBJECT"}, {"KIND"}, {"TYPE"}, {"ENTRIES", Align::kRight}, {"SIZE", Align::kRight}});
  for (const auto& [object, entries] : contents) {
    table.add_row({printable(object.name), std::string(to_string(object.kind)),
                   object.type_name.empty() ? "-" : printable(object.type_name), fmt::format("{}", object.entry_count),
                   size_text(object.bytes)});
  }
  table.fit(output_width());
  return "\n" + table.text();
}

std::string entries_text(const ObjectInfo& object, const std::vector<EntryInfo>& entries) {
  Table table({{printable(object.name) + "/"}, {"TYPE"}, {"SHAPE OR VALUE"}, {"SIZE", Align::kRight}});
  for (const EntryInfo& entry : entries) {
    if (entry.is_tensor) {
      table.add_row({printable(entry.name), entry.dtype, shape_text(entry.sizes), size_text(entry.bytes)});
    } else {
      table.add_row({printable(entry.name), std::string(to_string(entry.value.type())),
                     clip(value_text(entry.value, Detail::kFull), kWidestValue), "-"});
    }
  }
  table.fit(output_width());
  return "\n" + table.text();
}

Exit run(const ShowOptions& options) {
  const Store store = options.open();
  const Checkpoint checkpoint = resolve_version(store, options.version);
  const Contents contents = read_contents(checkpoint, options.objects);
  if (options.wants_json) {
    Json document = {{"store", valid_utf8(options.path)}};
    document.update(to_json(checkpoint.info()));
    document["objects"] = Json::array();
    for (const auto& [object, entries] : contents) {
      Json json = to_json(object);
      json["entries"] = Json::array();
      for (const EntryInfo& entry : entries) json["entries"].push_back(to_json(entry));
      document["objects"].push_back(std::move(json));
    }
    write_json(document);
    return kOk;
  }
  std::string text = heading_text(checkpoint.info()) + metadata_text(checkpoint.metadata());
  if (!contents.empty()) text += objects_text(contents);
  for (const auto& [object, entries] : contents) {
    if (!entries.empty()) text += entries_text(object, entries);
  }
  write_output(text);
  return kOk;
}

}  // namespace

void add_show(CLI::App& app, Command& chosen) {
  const auto options = std::make_shared<ShowOptions>();
  CLI::App* command = app.add_subcommand("show", "Show one checkpoint: metadata, objects, entries");
  add_session(*command, *options);
  command->add_option("version", options->version, "A number, 'latest' or 'latest~2' (default: latest)")
      ->type_name("VERSION")
      ->check(check_version, "");
  command->add_option("--object", options->objects, "Show this object only; may be given several times")
      ->type_name("NAME")
      ->expected(1)
      ->take_all();
  command->footer("Example:\n  cairn show runs/lm.cairn latest~2 --object optimizer");
  command->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace cairn::tools
