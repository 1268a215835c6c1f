#!/usr/bin/env python3
"""Runs the same states through what PyTorch users save with, beside Cairn, and prints one table.

    tools/benchmarks/peers.py [--bytes 1GiB] [--repeats 3] [--states large,tiny,frozen] [--folder DIR] [--json]

Needs Python with torch; safetensors, lightning, torchsnapshot are used where they are installed, and named where they are
not. Every peer runs in a process of its own, in turns with the others; medians over the repeats.

Columns
    save       full save, no sync, page cache takes it     (Cairn has none: its saves are durable)
    durable    full save, synced
    resave     the same state once more, durable
    changed    one element changed in 1 % of all stretches of 1 MiB, durable
    restore    into live tensors of the same shapes, page cache warm
    stall      how long an asynchronous save holds up its caller, every trained tensor changed
    disk 20    bytes on disk after 20 checkpoints that change 1 % each
"""

import argparse
import importlib.util
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COLUMNS = ["save", "durable", "resave", "changed", "restore", "stall", "disk_20"]
UNITS = {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
ROOT = Path(__file__).resolve().parents[2]


def size_of(text: str) -> int:
    text = text.lower()
    for suffix, unit in UNITS.items():
        if text.endswith(suffix):
            return int(float(text[: -len(suffix)]) * unit)
    return int(text)


def has(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


# ------------------------------------------------------------------ states


def make_state(kind: str, size: int, seed: int):
    """Names to float32 tensors of random bits, and the names of those that training changes."""
    import torch

    count, per_tensor = (256, size // 256)
    if kind == "tiny":
        count, per_tensor = max(size // 50 // 1024, 1), 1024
    generator = torch.Generator().manual_seed(seed)
    state = {}
    for i in range(count):
        words = torch.randint(-(2**31), 2**31, (per_tensor // 8, 2), dtype=torch.int32, generator=generator)
        state[f"layer.{i:05}.weight"] = words.view(torch.float32)
    names = list(state)
    return state, names[: max(len(names) // 100, 1)] if kind == "frozen" else names


def change_all(state, names, number: int) -> None:
    import torch

    for name in names:
        state[name].view(torch.int32).bitwise_xor_(0x5DEECE66 ^ (number * 0x9E3779B9 & 0x7FFFFFFF))


def change_part(state, names, part: float, number: int) -> None:
    import torch

    due = 0.0
    for name in names:
        words = state[name].view(torch.int32).view(-1)
        for at in range(0, words.numel(), (1 << 20) // 4):
            due += part
            if due >= 1:
                due -= 1
                words[at] ^= number + 1


# ------------------------------------------------------------------ peers


def sync_tree(path: Path) -> None:
    """What a user has to do for a durable save: sync every file, then their folders."""
    files = [path] if path.is_file() else [entry for entry in path.rglob("*")]
    for entry in files + [path, path.parent]:
        descriptor = os.open(entry, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)


class TorchSave:
    needs = ["torch"]
    mmap = False

    def save(self, state, path):
        import torch

        torch.save(state, path)

    def restore(self, live, path):
        import torch

        loaded = torch.load(path, mmap=self.mmap, weights_only=True)
        for name, tensor in live.items():
            tensor.copy_(loaded[name])


class TorchMmap(TorchSave):
    mmap = True


class Safetensors:
    needs = ["torch", "safetensors"]

    def save(self, state, path):
        from safetensors.torch import save_file

        save_file(state, path)

    def restore(self, live, path):
        from safetensors.torch import load_file

        loaded = load_file(path)
        for name, tensor in live.items():
            tensor.copy_(loaded[name])


class DistributedCheckpoint:
    needs = ["torch"]

    def save(self, state, path):
        import torch.distributed.checkpoint as dcp

        dcp.save({"state": state}, checkpoint_id=str(path), no_dist=True)

    def restore(self, live, path):
        import torch.distributed.checkpoint as dcp

        dcp.load({"state": live}, checkpoint_id=str(path), no_dist=True)

    def begin(self, state, path):
        import torch.distributed as dist
        import torch.distributed.checkpoint as dcp

        if not dist.is_initialized():
            dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        return dcp.async_save({"state": state}, checkpoint_id=str(path)).result


class Torchsnapshot:
    needs = ["torch", "torchsnapshot"]

    def save(self, state, path):
        import torchsnapshot

        torchsnapshot.Snapshot.take(str(path), {"state": torchsnapshot.StateDict(**state)})

    def restore(self, live, path):
        import torchsnapshot

        torchsnapshot.Snapshot(str(path)).restore({"state": torchsnapshot.StateDict(**live)})

    def begin(self, state, path):
        import torchsnapshot

        return torchsnapshot.Snapshot.async_take(str(path), {"state": torchsnapshot.StateDict(**state)}).wait


class Fabric:
    needs = ["torch", "lightning"]

    def __init__(self):
        from lightning.fabric import Fabric as LightningFabric

        self.fabric = LightningFabric(accelerator="cpu", devices=1)

    def save(self, state, path):
        self.fabric.save(path, {"state": state})

    def restore(self, live, path):
        loaded = self.fabric.load(path)
        for name, tensor in live.items():
            tensor.copy_(loaded["state"][name])


PEERS = {
    "torch.save": TorchSave,
    "torch.save, mmap": TorchMmap,
    "safetensors": Safetensors,
    "torch.distributed.checkpoint": DistributedCheckpoint,
    "torchsnapshot": Torchsnapshot,
    "Lightning Fabric": Fabric,
}


def clear(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    elif path.exists():
        path.unlink()
    os.sync()


def seconds_of(call) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def bytes_below(folder: Path) -> int:
    return sum(entry.stat().st_size for entry in folder.rglob("*") if entry.is_file())


def run_one(name: str, kind: str, size: int, folder: Path) -> dict:
    """One run of every column for one peer, in this process."""
    import torch

    peer = PEERS[name]()
    state, trained = make_state(kind, size, 1)
    live, _ = make_state(kind, size, 2)
    path = folder / "checkpoint"
    result = {"bytes": sum(tensor.nbytes for tensor in state.values())}

    def durable():
        peer.save(state, path)
        sync_tree(path)

    peer.save(state, path)  # imports, pools, and whatever else the first call pays for
    clear(path)
    result["save"] = seconds_of(lambda: peer.save(state, path))
    clear(path)
    result["durable"] = seconds_of(durable)
    clear(path)
    result["resave"] = seconds_of(durable)
    change_part(state, list(state), 0.01, 1)
    clear(path)
    result["changed"] = seconds_of(durable)
    peer.restore(live, path)
    result["restore"] = seconds_of(lambda: peer.restore(live, path))
    for key in state:
        # By bits: random ones hold NaN, which equals nothing.
        assert state[key].view(torch.int32).equal(live[key].view(torch.int32)), f"{name} does not restore {key}"
    if hasattr(peer, "begin"):
        for number in (2, 3):
            change_all(state, trained, number)
            clear(path)
            begin = time.perf_counter()
            wait = peer.begin(state, path)
            result["stall"] = time.perf_counter() - begin
            wait()
    clear(path)
    # Whole files do not share anything: two of them tell what twenty take.
    for number in range(2):
        change_part(state, trained, 0.01, 10 + number)
        peer.save(state, folder / f"run-{number}")
    result["disk_20"] = bytes_below(folder) * 10
    return result


# ------------------------------------------------------------------ the table


def run_cairn(kind: str, size: int, folder: Path) -> dict:
    program = ROOT / "build/release/tools/cairn_bench"
    output = subprocess.run(
        [program, "--peer", kind, "--bytes", str(size), "--folder", folder], check=True, capture_output=True, text=True
    ).stdout
    result = json.loads(output)
    result["durable"] = result.pop("durable_save")
    return result


def run_peer(name: str, kind: str, size: int, folder: Path) -> dict:
    command = [sys.executable, __file__, "--one", name, "--states", kind, "--bytes", str(size), "--folder", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{name}, {kind}: failed: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return {}
    return json.loads(done.stdout.strip().splitlines()[-1])


def cell(column: str, value, size: int) -> str:
    if value is None:
        return "-"
    if column == "disk_20":
        return f"{value / size:.2f}x"
    return f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=size_of, default=1 << 30)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--states", default="large,tiny,frozen")
    parser.add_argument("--folder", type=Path, default=Path("."))
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()

    if arguments.one:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            print(json.dumps(run_one(arguments.one, arguments.states, arguments.bytes, Path(folder))))
        return 0

    if not has("torch"):
        print("peers: skipped, since there is no torch here: pip install torch safetensors lightning torchsnapshot")
        return 0
    subprocess.run([ROOT / "tools/build", "release", "cairn_bench"], check=True)
    usable = []
    for name, peer in PEERS.items():
        missing = [module for module in peer.needs if not has(module)]
        if missing:
            print(f"{name}: skipped, since {', '.join(missing)} is not installed", file=sys.stderr)
        else:
            usable.append(name)

    report = {}
    for kind in arguments.states.split(","):
        runs = {name: [] for name in ["Cairn", *usable]}
        for repeat in range(arguments.repeats):
            for name in runs:
                print(f"{kind}, round {repeat + 1}: {name} ...", file=sys.stderr)
                with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
                    if name == "Cairn":
                        runs[name].append(run_cairn(kind, arguments.bytes, Path(folder)))
                    else:
                        runs[name].append(run_peer(name, kind, arguments.bytes, Path(folder)))
        report[kind] = {}
        for name, results in runs.items():
            report[kind][name] = {
                column: statistics.median(values) if (values := [r[column] for r in results if column in r]) else None
                for column in ["bytes", *COLUMNS]
            }
    if arguments.json:
        print(json.dumps(report, indent=2))
        return 0
    for kind, rows in report.items():
        size = rows["Cairn"]["bytes"]
        print(f"\n{kind}: {size / (1 << 20):.0f} MiB\n")
        print("| | " + " | ".join(column.replace("_", " ") for column in COLUMNS) + " |")
        print("| --- |" + " --- |" * len(COLUMNS))
        for name, row in rows.items():
            print(f"| {name} | " + " | ".join(cell(column, row[column], size) for column in COLUMNS) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
