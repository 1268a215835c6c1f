// Between archives and state dicts, in memory; and the plan of a sampler as a target.
#include "state/sampler_state.h"

#include <sstream>
#include <utility>

#include <ATen/ops/empty_like.h>
#include <torch/serialize/input-archive.h>
#include <torch/serialize/output-archive.h>

#include "format/fail.h"
#include "state/target_plan.h"
#include "state/tensor_bytes.h"
#include "state/whole_object.h"

namespace cairn::state {

namespace {

std::shared_ptr<torch::serialize::InputArchive> reopen(torch::serialize::OutputArchive& written) {
  std::stringstream stream;
  written.save_to(stream);
  auto archive = std::make_shared<torch::serialize::InputArchive>();
  archive->load_from(stream);
  return archive;
}

Value to_value(const c10::IValue& value, std::string_view owner, const std::string& key) {
  if (value.isNone()) return {};
  if (value.isBool()) return value.toBool();
  if (value.isInt()) return value.toInt();
  if (value.isDouble()) return value.toDouble();
  if (value.isString()) return value.toStringRef();
  fail(ErrorCode::kUnsupported, "{}/{}: the sampler writes a {}, which is not supported", owner, printable(key),
       value.tagKind());
}

c10::IValue to_ivalue(const Value& value) {
  switch (value.type()) {
    case Value::Type::kBool:
      return value.as_bool();
    case Value::Type::kInt:
      return value.as_int();
    case Value::Type::kDouble:
      return value.as_double();
    case Value::Type::kString:
      return value.as_string();
    default:
      return {};
  }
}

bool is_sampler_value(const Value& value) {
  return value.type() != Value::Type::kList && value.type() != Value::Type::kMap;
}

/// LibTorch would go on to read past the end of the permutation.
void check_position(const StateDict& state, const std::string& object, Differences& differences) {
  const StateDict::Entry* index = state.find("index");
  const StateDict::Entry* indices = state.find("indices");
  if (index == nullptr || indices == nullptr || !index->is_tensor() || !indices->is_tensor()) return;
  if (index->tensor().numel() != 1) return;
  const auto position = index->tensor().item().toLong();
  if (position >= 0 && position <= indices->tensor().numel()) return;
  differences.add(fmt::format("{}: position {} in the checkpoint is outside of its {} indices",
                              path_of(object, "index"), position, indices->tensor().numel()));
}

}  // namespace

StateDict sampler_state(const detail::SamplerObject& sampler, std::string_view owner) {
  torch::serialize::OutputArchive written;
  sampler.save(written);
  const auto archive = reopen(written);
  StateDict state;
  for (const std::string& key : archive->keys()) {
    c10::IValue value;
    archive->read(key, value);
    if (value.isTensor()) {
      state.insert(key, value.toTensor());
    } else {
      state.insert(key, to_value(value, owner, key));
    }
  }
  return state;
}

std::shared_ptr<torch::serialize::InputArchive> sampler_archive(const StateDict& state_dict) {
  torch::serialize::OutputArchive written;
  for (const StateDict::Entry& entry : state_dict) {
    if (entry.is_tensor()) {
      written.write(entry.name, entry.tensor(), /*is_buffer=*/true);
    } else {
      written.write(entry.name, to_ivalue(entry.value()));
    }
  }
  return reopen(written);
}

TargetPlan plan_sampler(const PlanContext& context) {
  const auto& sampler = std::get<detail::SamplerObject>(context.target.target().object()->object);
  TargetPlan plan;
  const StateDict present = sampler_state(sampler, printable(context.object()));
  auto wanted = std::make_shared<StateDict>();
  std::vector<std::string> missing;
  std::vector<std::string> unexpected;
  bool is_sound = true;
  for (const StateDict::Entry& entry : present) {
    const SourceView::Item* item = context.view.find(entry.name);
    if (item == nullptr) {
      missing.push_back(entry.name);
      wanted->insert(entry);
    } else if (item->is_tensor() != entry.is_tensor() || (!item->is_tensor() && !is_sampler_value(item->value()))) {
      context.differences.add(fmt::format("{}: not of the sort that the sampler writes", context.path(entry.name)));
      is_sound = false;
    } else if (!item->is_tensor()) {
      wanted->insert(entry.name, item->value());
      context.count(*item);
    } else if (context.fits(*item, entry.tensor().sizes(), entry.tensor().scalar_type())) {
      // Of the sampler's dtype, so that a cast is done on the way.
      const at::Tensor tensor = at::empty_like(entry.tensor());
      wanted->insert(entry.name, tensor);
      plan.read_ahead.push_back({item->ref, tensor});
      context.count(*item);
    } else {
      is_sound = false;
    }
  }
  for (const SourceView::Item& item : context.view.items()) {
    if (!present.contains(item.name)) unexpected.push_back(item.name);
  }
  context.settle(missing, unexpected);
  if (!is_sound) return plan;
  auto archive = std::make_shared<std::shared_ptr<torch::serialize::InputArchive>>();
  plan.check = [wanted, archive, object = context.object()](Differences& differences) {
    check_position(*wanted, object, differences);
    *archive = sampler_archive(*wanted);
  };
  plan.finish = [&sampler, archive] { sampler.load(**archive); };
  return plan;
}

}  // namespace cairn::state
