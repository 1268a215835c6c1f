// Names first, then positions; and the words for what does not pair.
#include "state/parameter_pairing.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>

#include <fmt/ranges.h>

#include "format/fail.h"

namespace cairn::state {

namespace {

class Pairing {
 public:
  Pairing(const PlanContext& context, const OptimizerRecord& record, const LiveParameters& live)
      : context_(context), record_(record), live_(live), taken_(live.parameters.size(), false) {
    for (std::size_t i = 0; i < live.parameters.size(); ++i) index_names(i);
    has_names_ = !spelled_.empty() && std::any_of(record.parameters.begin(), record.parameters.end(),
                                                  [](const RecordedParameter& parameter) { return parameter.name; });
  }

  std::vector<ParameterPair> pair() {
    if (record_.groups.size() != live_.groups.size()) {
      refuse_group_count();
      return {};
    }
    std::vector<std::vector<std::size_t>> unpaired(record_.groups.size());
    for (std::size_t i = 0; i < record_.parameters.size(); ++i) {
      const std::optional<std::size_t> found = find_by_name(record_.parameters[i]);
      if (found && !taken_[*found]) {
        add(i, *found);
      } else {
        unpaired[record_.parameters[i].group].push_back(i);
      }
    }
    for (std::size_t group = 0; group < unpaired.size(); ++group) pair_by_position(group, unpaired[group]);
    std::sort(pairs_.begin(), pairs_.end(),
              [](const ParameterPair& left, const ParameterPair& right) { return left.live < right.live; });
    return std::move(pairs_);
  }

 private:
  void index_names(std::size_t live) {
    const auto spell = [&](const std::string& name) {
      const auto [place, is_new] = spelled_.emplace(name, live);
      if (!is_new && place->second != live) place->second = kAmbiguous;
    };
    for (const ParameterNames::Place& place : context_.names.places(live_.parameters[live].tensor)) {
      spell(place.object + "/" + place.name);
      spell(place.name);
    }
  }

  std::optional<std::size_t> find_spelled(const std::string& name) const {
    const auto found = spelled_.find(name);
    if (found == spelled_.end() || found->second == kAmbiguous) return std::nullopt;
    return found->second;
  }

  /// Renames speak of objects, a recorded name may be a plain one: it is tried in every module of the source.
  std::optional<std::size_t> find_by_name(const RecordedParameter& parameter) const {
    if (!has_names_ || !parameter.name) return std::nullopt;
    const std::string& name = *parameter.name;
    if (context_.selection.has_renames()) {
      if (const auto found = find_spelled(context_.selection.renamed(name))) return found;
      for (const SourceObject& object : context_.views.source().objects()) {
        if (object.kind != ObjectKind::kModule) continue;
        if (const auto found = find_spelled(context_.selection.renamed(object.name + "/" + name))) return found;
      }
    }
    return find_spelled(name);
  }

  void add(std::size_t recorded, std::size_t live) {
    taken_[live] = true;
    pairs_.push_back({recorded, live});
    const RecordedParameter& from = record_.parameters[recorded];
    const LiveParameter& to = live_.parameters[live];
    if (from.group != to.group) {
      context_.differences.add(
          fmt::format("{}: parameter {} is in param group {} of the checkpoint, {} of the optimizer",
                      printable(context_.object()), recorded_name(recorded), from.group, to.group));
    }
    const std::string shape = describe_parameter(to.tensor);
    if (!from.shape || *from.shape == shape) return;
    const auto sizes = [](const std::string& text) { return text.substr(std::min(text.find(' '), text.size())); };
    if (context_.options.cast && sizes(*from.shape) == sizes(shape)) return;
    context_.differences.add(fmt::format("{}: parameter {}: checkpoint {}, optimizer {}", printable(context_.object()),
                                         live_name(live), printable(*from.shape), shape));
  }

  void pair_by_position(std::size_t group, const std::vector<std::size_t>& recorded) {
    std::vector<std::size_t> live;
    for (std::size_t i = 0; i < live_.parameters.size(); ++i) {
      if (live_.parameters[i].group == group && !taken_[i]) live.push_back(i);
    }
    bool fits = recorded.size() == live.size();
    for (std::size_t i = 0; fits && i < live.size(); ++i) {
      // Two names that are not the same are two parameters.
      fits = !has_names_ || !record_.parameters[recorded[i]].name || !is_named(live[i]);
    }
    if (!fits) return refuse_membership(group, recorded, live);
    for (std::size_t i = 0; i < live.size(); ++i) add(recorded[i], live[i]);
  }

  bool is_named(std::size_t live) const { return !context_.names.places(live_.parameters[live].tensor).empty(); }

  std::string recorded_name(std::size_t i) const {
    const RecordedParameter& parameter = record_.parameters[i];
    std::string text =
        parameter.name ? fmt::format("'{}'", printable(*parameter.name)) : fmt::format("#{}", parameter.number);
    return !parameter.name && parameter.shape ? text + " " + printable(*parameter.shape) : text;
  }

  std::string live_name(std::size_t i) const {
    const LiveParameter& parameter = live_.parameters[i];
    const auto name = context_.names.find(parameter.tensor);
    return name ? fmt::format("'{}'", printable(*name))
                : fmt::format("#{} {}", parameter.number, describe_parameter(parameter.tensor));
  }

  static std::string join(std::vector<std::string> names) {
    constexpr std::size_t kShown = 20;
    const std::size_t count = names.size();
    if (count > kShown) names.resize(kShown);
    return fmt::format("{}{}", fmt::join(names, ", "),
                       count > kShown ? fmt::format(" and {} more", count - kShown) : "");
  }

  std::string recorded_names(const std::vector<std::size_t>& list) const {
    std::vector<std::string> names;
    for (const std::size_t i : list) names.push_back(recorded_name(i));
    return join(std::move(names));
  }

  std::string live_names(const std::vector<std::size_t>& list) const {
    std::vector<std::string> names;
    for (const std::size_t i : list) names.push_back(live_name(i));
    return join(std::move(names));
  }

  void refuse_membership(std::size_t group, const std::vector<std::size_t>& recorded,
                         const std::vector<std::size_t>& live) {
    const auto recorded_count = std::count_if(record_.parameters.begin(), record_.parameters.end(),
                                              [&](const RecordedParameter& each) { return each.group == group; });
    const auto live_count = std::count_if(live_.parameters.begin(), live_.parameters.end(),
                                          [&](const LiveParameter& each) { return each.group == group; });
    std::string text = fmt::format("{}: param group {}: checkpoint {} parameters, optimizer {}",
                                   printable(context_.object()), group, recorded_count, live_count);
    const bool names_help = has_names_ || recorded.empty() || live.empty();
    if (!recorded.empty()) {
      text += fmt::format("; {} the checkpoint: {}", names_help ? "only in" : "in", recorded_names(recorded));
    }
    if (!live.empty()) text += fmt::format("; {} the optimizer: {}", names_help ? "only in" : "in", live_names(live));
    context_.differences.add(std::move(text));
  }

  void refuse_group_count() {
    std::vector<std::string> recorded;
    for (std::size_t group = 0; group < record_.groups.size(); ++group) {
      std::vector<std::size_t> list;
      for (std::size_t i = 0; i < record_.parameters.size(); ++i) {
        if (record_.parameters[i].group == group) list.push_back(i);
      }
      recorded.push_back(fmt::format("[{}]", recorded_names(list)));
    }
    std::vector<std::string> live;
    for (std::size_t group = 0; group < live_.groups.size(); ++group) {
      std::vector<std::size_t> list;
      for (std::size_t i = 0; i < live_.parameters.size(); ++i) {
        if (live_.parameters[i].group == group) list.push_back(i);
      }
      live.push_back(fmt::format("[{}]", live_names(list)));
    }
    context_.differences.add(fmt::format(
        "{}: checkpoint has {} param groups, optimizer {}; checkpoint: {}; optimizer: {}", printable(context_.object()),
        record_.groups.size(), live_.groups.size(), join(std::move(recorded)), join(std::move(live))));
  }

  static constexpr std::size_t kAmbiguous = static_cast<std::size_t>(-1);

  const PlanContext& context_;
  const OptimizerRecord& record_;
  const LiveParameters& live_;
  std::unordered_map<std::string, std::size_t> spelled_;  // plain and qualified names -> live parameter
  std::vector<bool> taken_;
  bool has_names_ = false;  // on both sides
  std::vector<ParameterPair> pairs_;
};

}  // namespace

std::vector<ParameterPair> pair_parameters(const PlanContext& context, const OptimizerRecord& record,
                                           const LiveParameters& live) {
  return Pairing(context, record, live).pair();
}

}  // namespace cairn::state
