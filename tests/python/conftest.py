"""What the tests of the Python package share: small graphs, and the tree's data where it is at hand."""

import os
import pathlib

import numpy as np
import pytest

import gneiss

ROOT = pathlib.Path(__file__).resolve().parents[2]


def data_folder():
    """The folder of published data sets, as the C++ tests find it; None if it is not there."""
    for path in (os.environ.get("GNEISS_DATA"), ROOT.parent / "shared" / "data", ROOT / "shared" / "data"):
        if path and pathlib.Path(path).is_dir():
            return pathlib.Path(path)
    return None


@pytest.fixture
def cora():
    folder = data_folder()
    if folder is None or not (folder / "planetoid_cora").exists():
        pytest.skip("no data: planetoid_cora is not at hand")
    return folder / "planetoid_cora"


class Small:
    """A directed, weighted, asymmetric graph of three communities, as arrays."""

    def __init__(self, nodes=60, seed=0):
        rng = np.random.default_rng(seed)
        self.y = np.arange(nodes) % 3
        source = rng.integers(0, nodes, 5 * nodes)
        near = rng.random(5 * nodes) < 0.8
        target = np.where(near, (source + 3 * rng.integers(1, 6, 5 * nodes)) % nodes, rng.integers(0, nodes, 5 * nodes))
        self.edge_index = np.stack([source, target])
        self.weight = rng.random(5 * nodes).astype(np.float32) + 0.5
        self.x = (np.eye(3)[self.y] + rng.normal(0, 0.5, (nodes, 3))).astype(np.float32)
        self.train = np.arange(nodes) < nodes // 2
        self.val = (np.arange(nodes) >= nodes // 2) & (np.arange(nodes) < 3 * nodes // 4)
        self.test = np.arange(nodes) >= 3 * nodes // 4

    def arguments(self, **other):
        given = {
            "edge_index": self.edge_index,
            "x": self.x,
            "y": self.y,
            "train_mask": self.train,
            "val_mask": self.val,
            "test_mask": self.test,
        }
        given.update(other)
        return given

    def dataset(self, **other):
        return gneiss.Dataset(**self.arguments(**other))


@pytest.fixture
def small():
    return Small()


QUICK = {"epochs": 5, "threads": 1, "progress": False}
