"""What type checkers and editors know of the package. The functions of settings, at the end, make_stubs.py writes."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from . import errors as errors
from .errors import CopyWarning as CopyWarning
from .errors import DataError as DataError
from .errors import DiskError as DiskError
from .errors import Error as Error
from .errors import NumericError as NumericError
from .errors import OutOfMemoryError as OutOfMemoryError
from .errors import ShapeError as ShapeError
from .errors import UnsupportedError as UnsupportedError
from .errors import UsageError as UsageError
from .sklearn import NodeClassifier as NodeClassifier
from .sklearn import NodeRegressor as NodeRegressor

__version__: str

_Data = Dataset | str | os.PathLike[str] | Any
_Path = str | os.PathLike[str]
_Rows = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike | None]
_Callback = Callable[["Epoch"], bool | None]

class Dataset:
    name: str
    num_nodes: int
    num_edges: int
    num_features: int
    num_classes: int
    notes: list[str]
    def __init__(
        self,
        edge_index: npt.ArrayLike | None = None,
        x: npt.ArrayLike | Any | None = None,
        y: npt.ArrayLike | None = None,
        *,
        edge_weight: npt.ArrayLike | None = None,
        train_mask: npt.ArrayLike | None = None,
        val_mask: npt.ArrayLike | None = None,
        test_mask: npt.ArrayLike | None = None,
        num_nodes: int | None = None,
        label_kind: Literal["auto", "class", "multi", "regression"] = "auto",
        class_names: Sequence[str] | None = None,
        name: str = "arrays",
        csr: _Rows | None = None,
        csc: _Rows | None = None,
    ) -> None: ...
    @classmethod
    def from_pyg(cls, data: Any, split: int = 0, name: str | None = None) -> Dataset: ...
    @classmethod
    def from_dgl(
        cls,
        graph: Any,
        x: str | None = "feat",
        y: str | None = "label",
        edge_weight: str | None = None,
        split: int = 0,
        name: str | None = None,
    ) -> Dataset: ...
    @classmethod
    def from_scipy(
        cls,
        adjacency: Any,
        x: Any = None,
        y: npt.ArrayLike | None = None,
        name: str | None = None,
        **masks: npt.ArrayLike,
    ) -> Dataset: ...
    @classmethod
    def from_networkx(
        cls,
        graph: Any,
        x: Any = None,
        y: Any = None,
        weight: str | None = None,
        name: str | None = None,
        **masks: npt.ArrayLike,
    ) -> Dataset: ...
    @classmethod
    def from_pandas(
        cls,
        edges: Any,
        nodes: Any = None,
        source: str = "source",
        target: str = "target",
        weight: str | None = None,
        x: Sequence[str] | None = None,
        y: str | None = None,
        name: str | None = None,
        **masks: npt.ArrayLike,
    ) -> Dataset: ...
    def info(self) -> dict[str, Any]: ...
    def validate(self, allow_nan: bool = False) -> list[tuple[bool, str]]: ...
    def save(self, path: _Path, force: bool = False) -> None: ...
    def arrays(self) -> dict[str, Any]: ...
    def edge_index(self) -> npt.NDArray[np.int64]: ...
    def to_pyg(self) -> Any: ...

class Epoch:
    run: int
    epoch: int
    loss: float
    val_loss: float
    train: float
    val: float
    test: float
    seconds: float
    evaluated: bool
    best: bool

class History(dict[str, npt.NDArray[Any]]):
    run: npt.NDArray[np.int64]
    epoch: npt.NDArray[np.int64]
    loss: npt.NDArray[np.float64]
    lr: npt.NDArray[np.float64]
    seconds: npt.NDArray[np.float64]
    eval_seconds: npt.NDArray[np.float64]
    val_loss: npt.NDArray[np.float64]
    train: npt.NDArray[np.float64]
    val: npt.NDArray[np.float64]
    test: npt.NDArray[np.float64]
    def to_pandas(self) -> Any: ...

class Run:
    folder: str
    report: dict[str, Any]
    history: History
    losses: npt.NDArray[np.float64]
    scores: dict[str, float]
    metric: str
    interrupted: bool
    settings: dict[str, Any]
    warnings: list[str]
    notes: list[str]
    advice: str
    class_names: list[str]
    def logits(self, data: _Data | None = None) -> npt.NDArray[np.float32]: ...
    def predict(self, data: _Data | None = None) -> npt.NDArray[Any]: ...
    def predict_proba(self, data: _Data | None = None) -> npt.NDArray[np.float32]: ...
    def embed(self, data: _Data | None = None) -> npt.NDArray[np.float32]: ...
    def evaluate(self, data: _Data | None = None) -> dict[str, float]: ...
    def state_dict(self, torch: bool = False) -> dict[str, Any]: ...
    def save(self, path: _Path, force: bool = False) -> str: ...
    def to_pyg(self) -> Any: ...
    def plot(self, ax: Any = None) -> Any: ...

class Model:
    steps: int
    metric: str
    def __init__(self, data: _Data, model: _Path | None = None, *, init: Any = None, **settings: Any) -> None: ...
    def step(self, lr: float | None = None) -> float: ...
    def evaluate(self) -> dict[str, float]: ...
    def logits(self) -> npt.NDArray[np.float32]: ...
    def embed(self) -> npt.NDArray[np.float32]: ...
    def state_dict(self) -> dict[str, npt.NDArray[Any]]: ...
    def load_state_dict(self, weights: Any) -> None: ...

class Plan:
    text: str
    table: dict[str, Any]
    peak_bytes: int
    warnings: list[str]

def open(folder: _Path, data: _Data | None = None) -> Run: ...
def resume(
    run: Run | _Path,
    data: _Data | None = None,
    *,
    callbacks: _Callback | Iterable[_Callback] = (),
    progress: bool | None = None,
    threads: int | None = None,
    checkpoint_every: str | Any | None = None,
    force: bool | None = None,
) -> Run: ...
def doctor() -> dict[str, str]: ...
def models() -> list[str]: ...
def formats() -> dict[str, str]: ...
def generators() -> dict[str, str]: ...
# Written by make_stubs.py from here on.
def load(
    what: _Path,
    *,
    format: str | Any | None = None,
    split: str | Any | None = None,
    split_per_run: bool | None = None,
    data_seed: int | None = None,
    to_undirected: bool | None = None,
    remove_self_loops: bool | None = None,
    add_self_loops: bool | None = None,
    coalesce: bool | None = None,
    ignore_weights: bool | None = None,
    largest_component: bool | None = None,
    binarize: bool | None = None,
    normalize_features: Literal["none", "row", "standard", "train-standard", "binary"] | None = None,
    feature_form: Literal["auto", "dense", "sparse"] | None = None,
    feature_dtype: Literal["f32", "bf16", "f16"] | None = None,
    features: str | Any | None = None,
    labels: str | Any | None = None,
    label_kind: Literal["auto", "class", "multi", "regression"] | None = None,
    train_ids: str | Any | None = None,
    val_ids: str | Any | None = None,
    test_ids: str | Any | None = None,
    source_column: str | Any | None = None,
    target_column: str | Any | None = None,
    weight_column: str | Any | None = None,
    id_column: str | Any | None = None,
    label_column: str | Any | None = None,
    header: bool | None = None,
    separator: Literal["comma", "tab", "semicolon", "space", "pipe"] | None = None,
    decimal: Literal["point", "comma"] | None = None,
    allow_nan: bool | None = None,
    max_data_bytes: int | str | None = None,
) -> Dataset: ...
def train(
    data: _Data,
    model: _Path | None = None,
    *,
    init: Any = None,
    out: _Path | None = None,
    callbacks: _Callback | Iterable[_Callback] = (),
    progress: bool | None = None,
    format: str | Any | None = None,
    split: str | Any | None = None,
    split_per_run: bool | None = None,
    data_seed: int | None = None,
    to_undirected: bool | None = None,
    remove_self_loops: bool | None = None,
    add_self_loops: bool | None = None,
    coalesce: bool | None = None,
    ignore_weights: bool | None = None,
    largest_component: bool | None = None,
    binarize: bool | None = None,
    normalize_features: Literal["none", "row", "standard", "train-standard", "binary"] | None = None,
    feature_form: Literal["auto", "dense", "sparse"] | None = None,
    feature_dtype: Literal["f32", "bf16", "f16"] | None = None,
    features: str | Any | None = None,
    labels: str | Any | None = None,
    label_kind: Literal["auto", "class", "multi", "regression"] | None = None,
    train_ids: str | Any | None = None,
    val_ids: str | Any | None = None,
    test_ids: str | Any | None = None,
    source_column: str | Any | None = None,
    target_column: str | Any | None = None,
    weight_column: str | Any | None = None,
    id_column: str | Any | None = None,
    label_column: str | Any | None = None,
    header: bool | None = None,
    separator: Literal["comma", "tab", "semicolon", "space", "pipe"] | None = None,
    decimal: Literal["point", "comma"] | None = None,
    allow_nan: bool | None = None,
    max_data_bytes: int | str | None = None,
    hidden_channels: int | None = None,
    num_layers: int | None = None,
    dropout: float | None = None,
    input_dropout: float | None = None,
    heads: int | None = None,
    aggr: str | Any | None = None,
    norm: str | Any | None = None,
    act: str | Any | None = None,
    jk: str | Any | None = None,
    residual: bool | None = None,
    loss: Literal["auto", "cross_entropy", "bce_with_logits", "mse"] | None = None,
    label_smoothing: float | None = None,
    class_weights: Sequence[Any] | str | None = None,
    optimizer: Literal["adam", "adamw", "sgd"] | None = None,
    lr: float | None = None,
    weight_decay: float | None = None,
    weight_decay_on: Literal["all", "first"] | None = None,
    momentum: float | None = None,
    nesterov: bool | None = None,
    betas: Sequence[float] | str | None = None,
    eps: float | None = None,
    clip_norm: float | None = None,
    lr_schedule: Literal["constant", "cosine", "plateau"] | None = None,
    warmup_epochs: int | None = None,
    warmup_start: float | None = None,
    min_lr: float | None = None,
    plateau_factor: float | None = None,
    plateau_patience: int | None = None,
    plateau_threshold: float | None = None,
    epochs: int | None = None,
    patience: int | None = None,
    monitor: Literal["metric", "loss", "both", "objective"] | None = None,
    eval_every: int | None = None,
    metric: Literal["accuracy", "micro_f1", "macro_f1", "rocauc", "mse", "rmse", "mae"] | None = None,
    defaults: Literal["chosen", "plain"] | None = None,
    runs: int | None = None,
    seed: int | None = None,
    reorder: Literal["none", "degree", "rcm", "clusters", "auto"] | None = None,
    mem: int | str | None = None,
    page_cache: int | str | None = None,
    ranks: int | None = None,
    partition: Literal["auto", "contiguous", "clusters", "metis", "components", "stream", "degree"] | None = None,
    network: str | Any | None = None,
    ranks_per_node: int | None = None,
    overlap: bool | None = None,
    devices: int | None = None,
    exchange: Literal["auto", "halo", "stream", "fine"] | None = None,
    processes: bool | None = None,
    peer_memory: Literal["ipc", "nvshmem"] | None = None,
    machine: str | Any | None = None,
    threads: int | None = None,
    batch_size: int | None = None,
    fanout: str | Any | None = None,
    replace: bool | None = None,
    weighted: bool | None = None,
    labor: bool | None = None,
    layer_dependency: bool | None = None,
    batch_dependency: int | None = None,
    semantics: Literal["mfg", "subgraph"] | None = None,
    degrees: Literal["full", "batch"] | None = None,
    device: str | Any | None = None,
    device_mem: int | str | None = None,
    tensor_cores: bool | None = None,
    schedule: str | Any | None = None,
    device_batches: int | None = None,
    hot: str | Any | None = None,
    hot_score: str | Any | None = None,
    hot_edges: str | Any | None = None,
    trace: str | Any | None = None,
    force: bool | None = None,
    checkpoint_every: str | Any | None = None,
    passes_off: Sequence[Any] | str | None = None,
    order: Literal["auto", "transform_first", "aggregate_first"] | None = None,
    source_tiles: Literal["auto", "on", "off"] | None = None,
    jit: bool | None = None,
    plan_epochs: int | None = None,
    sparse_path: Literal["auto", "sparse", "dense"] | None = None,
    **arguments: Any,
) -> Run: ...
def plan(
    data: _Data,
    model: _Path = "gcn",
    *,
    format: str | Any | None = None,
    split: str | Any | None = None,
    split_per_run: bool | None = None,
    data_seed: int | None = None,
    to_undirected: bool | None = None,
    remove_self_loops: bool | None = None,
    add_self_loops: bool | None = None,
    coalesce: bool | None = None,
    ignore_weights: bool | None = None,
    largest_component: bool | None = None,
    binarize: bool | None = None,
    normalize_features: Literal["none", "row", "standard", "train-standard", "binary"] | None = None,
    feature_form: Literal["auto", "dense", "sparse"] | None = None,
    feature_dtype: Literal["f32", "bf16", "f16"] | None = None,
    features: str | Any | None = None,
    labels: str | Any | None = None,
    label_kind: Literal["auto", "class", "multi", "regression"] | None = None,
    train_ids: str | Any | None = None,
    val_ids: str | Any | None = None,
    test_ids: str | Any | None = None,
    source_column: str | Any | None = None,
    target_column: str | Any | None = None,
    weight_column: str | Any | None = None,
    id_column: str | Any | None = None,
    label_column: str | Any | None = None,
    header: bool | None = None,
    separator: Literal["comma", "tab", "semicolon", "space", "pipe"] | None = None,
    decimal: Literal["point", "comma"] | None = None,
    allow_nan: bool | None = None,
    max_data_bytes: int | str | None = None,
    hidden_channels: int | None = None,
    num_layers: int | None = None,
    dropout: float | None = None,
    input_dropout: float | None = None,
    heads: int | None = None,
    aggr: str | Any | None = None,
    norm: str | Any | None = None,
    act: str | Any | None = None,
    jk: str | Any | None = None,
    residual: bool | None = None,
    loss: Literal["auto", "cross_entropy", "bce_with_logits", "mse"] | None = None,
    label_smoothing: float | None = None,
    class_weights: Sequence[Any] | str | None = None,
    optimizer: Literal["adam", "adamw", "sgd"] | None = None,
    lr: float | None = None,
    weight_decay: float | None = None,
    weight_decay_on: Literal["all", "first"] | None = None,
    momentum: float | None = None,
    nesterov: bool | None = None,
    betas: Sequence[float] | str | None = None,
    eps: float | None = None,
    clip_norm: float | None = None,
    lr_schedule: Literal["constant", "cosine", "plateau"] | None = None,
    warmup_epochs: int | None = None,
    warmup_start: float | None = None,
    min_lr: float | None = None,
    plateau_factor: float | None = None,
    plateau_patience: int | None = None,
    plateau_threshold: float | None = None,
    epochs: int | None = None,
    patience: int | None = None,
    monitor: Literal["metric", "loss", "both", "objective"] | None = None,
    eval_every: int | None = None,
    metric: Literal["accuracy", "micro_f1", "macro_f1", "rocauc", "mse", "rmse", "mae"] | None = None,
    defaults: Literal["chosen", "plain"] | None = None,
    runs: int | None = None,
    seed: int | None = None,
    init: str | Any | None = None,
    reorder: Literal["none", "degree", "rcm", "clusters", "auto"] | None = None,
    mem: int | str | None = None,
    page_cache: int | str | None = None,
    ranks: int | None = None,
    partition: Literal["auto", "contiguous", "clusters", "metis", "components", "stream", "degree"] | None = None,
    network: str | Any | None = None,
    ranks_per_node: int | None = None,
    overlap: bool | None = None,
    devices: int | None = None,
    exchange: Literal["auto", "halo", "stream", "fine"] | None = None,
    processes: bool | None = None,
    peer_memory: Literal["ipc", "nvshmem"] | None = None,
    machine: str | Any | None = None,
    threads: int | None = None,
    batch_size: int | None = None,
    fanout: str | Any | None = None,
    replace: bool | None = None,
    weighted: bool | None = None,
    labor: bool | None = None,
    layer_dependency: bool | None = None,
    batch_dependency: int | None = None,
    semantics: Literal["mfg", "subgraph"] | None = None,
    degrees: Literal["full", "batch"] | None = None,
    device: str | Any | None = None,
    device_mem: int | str | None = None,
    tensor_cores: bool | None = None,
    schedule: str | Any | None = None,
    device_batches: int | None = None,
    hot: str | Any | None = None,
    hot_score: str | Any | None = None,
    hot_edges: str | Any | None = None,
    trace: str | Any | None = None,
    force: bool | None = None,
    checkpoint_every: str | Any | None = None,
    passes_off: Sequence[Any] | str | None = None,
    order: Literal["auto", "transform_first", "aggregate_first"] | None = None,
    source_tiles: Literal["auto", "on", "off"] | None = None,
    jit: bool | None = None,
    plan_epochs: int | None = None,
    sparse_path: Literal["auto", "sparse", "dense"] | None = None,
    **arguments: Any,
) -> Plan: ...
