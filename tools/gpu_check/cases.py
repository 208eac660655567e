"""What gpu-check trains, and how a training is called."""
import hashlib
import json
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent  # of the packed folder; of tools where it is packed
# Trainings that the emulation has run: a card has to give their bits. Their losses stay of the order of the first, since
# what is left of a loss that went to zero is rounding alone.
CASES = {
    "gcn": "karate --model gcn --dropout 0.5",
    "gcn-cora-like": "dcsbm:nodes=300,degree=5,features=40 --model gcn --hidden 24",
    "sage-mean-batch-norm": "karate --model sage --norm batch --residual --clip-norm 0.5 --weight-decay 0.01",
    "sage-max-layer-norm": "karate --model sage --aggr max --norm layer --jk cat --class-weights balanced --lr 0.002",
    "gin": "karate --model gin --lr 0.002",
    "gat": "karate --model gat --heads 4 --dropout 0.3",
    "several-labels": "dcsbm:nodes=60,degree=4,features=8,multilabel=1 --model gcn",
    "sparse-features": "dcsbm:nodes=300,degree=5,features=400,density=0.02 --model gcn --sparse-path sparse --dropout 0.5",
    "bf16": "karate --model sage --feature-dtype bf16",
    "sgd": "karate --model gcn --optimizer sgd --momentum 0.9",
    "gated-mean-loops": "karate --model models/gated_mean.gneiss --jit",
    "edge-conv-loops": "karate --model models/edge_conv.gneiss --jit --lr 0.002",
    "own-gatv2-loops": "karate --model models/own_gatv2.gneiss --jit",
    "two-devices": "karate --model gcn --devices 2 --exchange fine",
    "two-processes": "karate --model gcn --devices 2 --exchange fine --processes",
    "three-devices-max": "karate --model sage --aggr max --devices 3 --exchange fine --lr 0.002",
    "three-devices-max-halo": "karate --model sage --aggr max --devices 3 --exchange halo --lr 0.002",
    "three-devices-gat-halo": "karate --model gat --heads 4 --devices 3 --exchange halo",
}
SHARED = ("two-devices", "two-processes", "three-devices-max", "three-devices-max-halo", "three-devices-gat-halo")
LAYERS = ("gated_mean", "edge_conv", "own_gatv2")  # of users, in models/ of the packed folder
# Bits of this card alone: the same in every run, within 1e-5 of the CPU's losses.
TENSOR_CORES = "dcsbm:nodes=300,degree=5,features=64 --model gcn --hidden 64"
EPOCHS = "20"

SPEED = {"ogbn-arxiv": 30, "reddit": 20, "ogbn-products": 20}  # epochs
SPARSE = {"corafull": 30, "physics": 30, "nell": 30}
MODELS = {"gcn": "--model gcn", "sage": "--model sage", "gin": "--model gin", "gat": "--model gat --heads 4 --input-dropout 0"}
SHAPE = "--hidden 32 --num-layers 3 --dropout 0"
CORA = "dcsbm:nodes=2708,degree=3.9,features=1433,density=0.0127,classes=7"  # of its size
# What stands in the place of a data set where the stages are rehearsed.
SMALL = ":nodes=200,edges=600,features=16"

PARITY = ("dense_kernels_parity_test", "graph_kernels_parity_test", "half_kernels_parity_test", "spmm_parity_test")
SEVERAL = ("device_exchange_test", "device_units_test")  # kernels of one of several devices, as PARITY
SUMS = "device_sums_bench"
FAULTS = "card_faults"


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def command(program, case, device, out, *more, epochs=EPOCHS):
    words = CASES.get(case, case).replace(" models/", f" {Path(program).parent}/models/").split()
    return [str(program), "train", *words, "--epochs", epochs, "--seed", "1", "--defaults", "plain", "--threads", "2",
            "--device", device, "--out", str(out), "--force", *more]


def epochs_of(out):
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
