// Commits a module and reads one tensor back, through the installed package alone.
#include <cairn/cairn.h>
#include <torch/nn/modules/linear.h>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  torch::nn::Linear linear(3, 2);
  auto store = cairn::Store::open(argv[1]);
  store.create_checkpoint({{"model", linear}}, {{"step", 1}});
  return store.latest()->tensor("model", "weight").equal(linear->weight) ? 0 : 1;
}
