// Access to a generator under its lock, and the plan of a generator as a target.
#include "state/generator_state.h"

#include <mutex>

#include <c10/util/Exception.h>

#include "format/fail.h"
#include "state/target_plan.h"
#include "state/tensor_bytes.h"
#include "state/whole_object.h"

namespace cairn::state {

at::Tensor generator_state(const at::Generator& generator) {
  at::Generator handle = generator;
  const std::lock_guard<std::mutex> lock(handle.mutex());
  return handle.get_state();
}

void set_generator_state(const at::Generator& generator, const at::Tensor& state) {
  at::Generator handle = generator;
  const std::lock_guard<std::mutex> lock(handle.mutex());
  handle.set_state(state);
}

std::string generator_problem(const at::Generator& generator, const at::Tensor& state) {
  try {
    at::Generator trial = [&] {
      at::Generator handle = generator;
      const std::lock_guard<std::mutex> lock(handle.mutex());
      return handle.clone();
    }();
    set_generator_state(trial, state);
    return {};
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
}

TargetPlan plan_generator(const PlanContext& context) {
  TargetPlan plan;
  const at::Generator generator = std::get<at::Generator>(context.target.target().object()->object);
  const SourceView::Item* item = only_item(context, "state");
  if (item == nullptr) return plan;
  const at::Tensor present = generator_state(generator);
  if (!context.fits(*item, present.sizes(), present.scalar_type())) return plan;
  const at::Tensor state = empty_tensor(item->layout());
  plan.read_ahead.push_back({item->ref, state});
  plan.check = [generator, state, path = context.path(item->name)](Differences& differences) {
    if (const std::string problem = generator_problem(generator, state); !problem.empty()) {
      differences.add(fmt::format("{}: the generator does not take the checkpoint's state: {}", path, problem));
    }
  };
  plan.finish = [generator, state] { set_generator_state(generator, state); };
  context.count(*item);
  return plan;
}

}  // namespace cairn::state
