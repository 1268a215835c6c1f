// Plan of a user type: everything is read into a state dict of its own, which the user's function gets.
#include <memory>

#include "cairn/state_dict.h"
#include "state/target_plan.h"
#include "state/tensor_bytes.h"

namespace cairn::state {

TargetPlan plan_user(const PlanContext& context) {
  TargetPlan plan;
  auto state_dict = std::make_shared<StateDict>();
  for (const SourceView::Item& item : context.view.items()) {
    context.count(item);
    if (!item.is_tensor()) {
      state_dict->insert(item.name, item.value());
      continue;
    }
    const at::Tensor tensor = empty_tensor(item.layout());
    state_dict->insert({item.name, tensor, item.layout().requires_grad});
    plan.read_ahead.push_back({item.ref, tensor});
  }
  const auto& user = std::get<detail::UserObject>(context.target.target().object()->object);
  plan.hand_over = [&user, state_dict] { user.from(*state_dict); };
  return plan;
}

}  // namespace cairn::state
