"""Arrays in: the right result, or an error that names the argument, the element and what to do."""

import warnings

import numpy as np
import pytest

import gneiss


def csc_of(dataset):
    indptr, indices, values = dataset.arrays()["csc"]
    return indptr.tolist(), indices.tolist(), None if values is None else values.tolist()


def error_of(**arguments):
    with pytest.raises(gneiss.Error) as caught:
        gneiss.Dataset(**arguments)
    assert caught.value.hint, caught.value
    return caught.value


def test_arrays_are_what_they_say(small):
    dataset = small.dataset(edge_weight=small.weight)
    assert (dataset.num_nodes, dataset.num_edges, dataset.num_features, dataset.num_classes) == (60, 300, 3, 3)
    indptr, indices, values = dataset.arrays()["csc"]
    for v in (0, 7, 59):
        into = small.edge_index[1] == v
        expected = sorted(zip(small.edge_index[0][into], small.weight[into]))
        got = list(zip(indices[indptr[v] : indptr[v + 1]], values[indptr[v] : indptr[v + 1]]))
        assert sorted(got) == expected
    assert (dataset.arrays()["train"] == np.flatnonzero(small.train)).all()


def test_features_are_read_where_they_lie(small):
    dataset = small.dataset()
    assert dataset.arrays()["x"].__array_interface__["data"][0] == small.x.__array_interface__["data"][0]
    assert not dataset.arrays()["x"].flags.writeable


def test_in_edges_are_read_where_they_lie():
    indptr = np.array([0, 0, 2, 3], np.int64)
    indices = np.array([0, 2, 1], np.int32)
    dataset = gneiss.Dataset(csc=(indptr, indices, None))
    assert dataset.arrays()["csc"][1].__array_interface__["data"][0] == indices.__array_interface__["data"][0]


def test_an_array_lives_as_long_as_the_data_set(small):
    dataset = gneiss.Dataset(small.edge_index, small.x.copy(), small.y)
    expected = small.x.copy()
    view = dataset.arrays()["x"]
    del dataset
    assert (view == expected).all()


@pytest.mark.parametrize(
    "change",
    [
        lambda x: np.asfortranarray(x),
        lambda x: x.astype(np.float64),
        lambda x: x.astype(">f4"),
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: x[::-1][::-1],
        lambda x: np.ascontiguousarray(x[:, ::-1])[:, ::-1],
        lambda x: x.tolist(),
        lambda x: (x.setflags(write=False), x)[1],
        lambda x: np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape),
    ],
    ids=["fortran", "f64", "swapped", "strided", "negative", "columns", "list", "readonly", "unaligned"],
)
def test_any_form_of_features_is_the_same(small, change):
    dataset = small.dataset(x=change(small.x.copy()))
    assert (dataset.arrays()["x"] == small.x).all()


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint32, np.uint64, np.int16, np.float64, ">i8"])
def test_any_type_of_edges_is_the_same(small, kind):
    assert csc_of(small.dataset(edge_index=small.edge_index.astype(kind))) == csc_of(small.dataset())


def test_forms_of_edges_are_the_same_graph(small):
    scipy = pytest.importorskip("scipy.sparse")
    plain = csc_of(small.dataset())
    matrix = scipy.coo_matrix((np.ones(300, np.float32), small.edge_index), (60, 60))
    merged = matrix.tocsr()
    merged.sum_duplicates()
    weighted = csc_of(gneiss.Dataset.from_scipy(merged))
    assert weighted == csc_of(gneiss.Dataset.from_scipy(merged.tocsc()))
    assert weighted[0][-1] <= plain[0][-1]
    assert csc_of(small.dataset(edge_index=np.asfortranarray(small.edge_index))) == plain
    pairs = np.ascontiguousarray(small.edge_index.T)
    assert csc_of(small.dataset(edge_index=pairs.T)) == plain


def test_wrong_edges_name_the_element(small):
    bad = small.edge_index.copy()
    bad[1, 4] = -2
    assert "element [1, 4] is -2, outside 0..59" in error_of(**small.arguments(edge_index=bad)).message
    bad[1, 4] = 60
    assert "element [1, 4] is 60" in error_of(**small.arguments(edge_index=bad)).message
    bad[1, 4] = 2**31
    assert "outside what 32-bit ids can number" in error_of(edge_index=bad).message
    half = small.edge_index + 0.5
    assert "not a whole number" in error_of(**small.arguments(edge_index=half)).message
    assert "expected shape (2, edges)" in error_of(edge_index=small.edge_index.T).message
    assert "transposed" in error_of(edge_index=small.edge_index.T).hint
    assert "expected shape (2, edges)" in error_of(edge_index=small.edge_index[0]).message


def test_what_is_copied_is_noted(small):
    assert small.dataset(edge_index=np.zeros((2, 0), np.int64)).notes == []
    swapped = small.dataset(x=small.x.astype(">f4"))
    assert "x was copied: its bytes were in the order of other machines" in swapped.notes
    shifted = np.frombuffer(b"\0" + small.x.tobytes(), np.uint8)[1:].view(np.float32).reshape(small.x.shape)
    assert "x was copied: its elements were not aligned" in small.dataset(x=shifted).notes
    indptr, indices = np.array([0, 0, 2], ">i8"), np.array([0, 1], np.int32)
    notes = gneiss.Dataset(csc=(indptr, indices, None)).notes
    assert any("csc.indptr was copied" in note for note in notes)
    torch = pytest.importorskip("torch")
    half = torch.from_numpy(small.x).bfloat16()
    assert "x was copied: bfloat16 became float32" in small.dataset(x=half).notes


def test_a_copy_is_said_aloud_once_for_each_kind(small, monkeypatch):
    monkeypatch.setattr(gneiss._warn, "_said", set())
    double = small.x.astype(np.float64)
    with pytest.warns(gneiss.CopyWarning, match="x was copied: a row-major array of float32 would be read") as said:
        small.dataset(x=double)
    assert [warning.filename for warning in said] == [small.dataset.__code__.co_filename]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small.dataset()  # nothing is copied
        assert any("x was copied" in note for note in small.dataset(x=double).notes)  # said, but noted
    with pytest.warns(gneiss.CopyWarning, match="bytes were in the order of other machines"):
        small.dataset(x=small.x.astype(">f4"))
    monkeypatch.setattr(gneiss._warn, "_said", set())
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("ignore", gneiss.CopyWarning)
        small.dataset(x=double)
        assert not said


def test_estimators_copy_as_scikit_learn_does(small, monkeypatch):
    monkeypatch.setattr(gneiss._warn, "_said", set())
    with warnings.catch_warnings():
        warnings.simplefilter("error", gneiss.CopyWarning)
        gneiss.NodeRegressor(model="mlp", epochs=1).fit(np.asfortranarray(small.x.astype(np.float64)), small.x[:, 0])


@pytest.mark.parametrize("count", [-1, -2, 2.5, "60"])
def test_a_number_of_nodes_is_whole(small, count):
    error = error_of(**small.arguments(num_nodes=count))
    assert error.where == "num_nodes" and repr(count) in error.message


def test_empty_arrays(small):
    dataset = gneiss.Dataset(np.zeros((2, 0), np.int64), small.x, small.y)
    assert dataset.num_edges == 0
    assert gneiss.Dataset(np.zeros((2, 0), np.int64)).num_nodes == 0
    assert "nothing says how many nodes" in error_of().message


def test_sizes_that_do_not_fit(small):
    assert "y has 59 rows, x says 60 nodes" in error_of(**small.arguments(y=small.y[:-1])).message
    assert "a mask of 59 for 60 nodes" in error_of(**small.arguments(train_mask=small.train[:-1])).message
    short = error_of(**small.arguments(edge_weight=np.ones(3)))
    assert short.message == "edge_weight of shape (3,) for 300 edges"
    assert "features [nodes, width]" in error_of(**small.arguments(x=small.x[0])).message


def test_elements_that_are_no_numbers(small):
    assert "element [1, 0] is 'a', a str" in error_of(**small.arguments(x=np.array([[1], ["a"]], object))).message
    assert "complex" in error_of(**small.arguments(x=small.x + 1j)).message
    assert "masked" in error_of(**small.arguments(x=np.ma.masked_array(small.x))).message
    assert "rows of equal length" in error_of(**small.arguments(x=[[1, 2], [3]])).hint
    assert "datetime64" in error_of(**small.arguments(x=np.zeros((60, 1), "M8[s]"))).message
    assert isinstance(error_of(**small.arguments(x=small.x + 1j)), ValueError)


def test_nan_in_features_stops_a_training(small):
    small.x[7, 1] = np.nan
    with pytest.raises(gneiss.DataError, match="NaN or infinite"):
        gneiss.train(small.dataset(), epochs=2, progress=False)


def test_labels_by_type_and_shape(small):
    def kind(y, **other):
        dataset = gneiss.Dataset(small.edge_index, small.x, y, **other)
        return dataset.info()["labels"], dataset.num_classes

    one_hot = np.eye(3)[small.y]
    assert kind(small.y) == ("single", 3)
    assert kind(small.y.astype(np.float32)) == ("regression", 1)
    assert kind(small.y.astype(np.float32), label_kind="class") == ("single", 3)
    assert kind(small.y > 0) == ("single", 2)
    assert kind(one_hot) == ("single", 3)
    assert kind(one_hot, label_kind="multi") == ("multi", 3)
    assert kind((small.x > 0).astype(int)) == ("multi", 3)
    assert kind(small.x) == ("regression", 3)
    words = gneiss.Dataset(small.edge_index, small.x, np.array(["b", "a", "c"])[small.y])
    assert words.arrays()["class_names"] == ["a", "b", "c"]


def test_words_may_be_missing(small):
    words = np.array(["b", "a", "c"], object)[small.y]
    words[[0, 5]] = None, float("nan")
    dataset = small.dataset(y=words)
    expected = np.array([1, 0, 2])[small.y]
    expected[[0, 5]] = -1
    assert dataset.arrays()["class_names"] == ["a", "b", "c"] and (dataset.arrays()["y"] == expected).all()
    dataset = small.dataset(y=words.tolist())
    assert dataset.arrays()["class_names"] == ["a", "b", "c"] and (dataset.arrays()["y"] == expected).all()
    words[7] = 3
    assert error_of(**small.arguments(y=words)).message == "element [7] is 3, of type int, among words"
    assert "leave class_names out" in error_of(**small.arguments(y=words[:5], class_names=["a"])).hint


def test_notes_speak_of_keywords(small):
    notes = gneiss.Dataset(small.edge_index, small.x, np.eye(3, dtype=int)[small.y]).notes
    assert any("label_kind" in note for note in notes), notes
    assert not any("--" in note for note in notes)


def test_classes_that_came_as_floats_are_warned_of(small):
    floats = np.where(small.y == 2, np.nan, small.y)
    with pytest.warns(UserWarning, match="label_kind='class' takes them for classes"):
        assert small.dataset(y=floats).info()["labels"] == "regression"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert small.dataset(y=floats, label_kind="regression").info()["labels"] == "regression"
        assert small.dataset(y=small.x[:, 0]).info()["labels"] == "regression"
        classes = small.dataset(y=floats, label_kind="class")
    assert (classes.arrays()["y"] == np.where(small.y == 2, -1, small.y)).all()


def test_arrays_that_speak_dlpack_alone(small):
    class Array:
        """As those of CuPy: no buffer and no __array__."""

        def __init__(self, values, kind):
            self.values, self.kind = values, kind

        def __dlpack__(self, **words):
            return self.values.__dlpack__(**words)

        def __dlpack_device__(self):
            return self.kind, 0

    dataset = small.dataset(x=Array(small.x, 1))
    assert dataset.arrays()["x"].__array_interface__["data"][0] == small.x.__array_interface__["data"][0]
    assert "the array lies on cuda:0" in error_of(**small.arguments(x=Array(small.x, 2))).message


def test_torch_tensors(small):
    torch = pytest.importorskip("torch")
    tensors = small.arguments(
        edge_index=torch.from_numpy(small.edge_index),
        x=torch.from_numpy(small.x).requires_grad_(),
        train_mask=torch.from_numpy(small.train),
    )
    dataset = gneiss.Dataset(**tensors)
    assert csc_of(dataset) == csc_of(small.dataset())
    assert dataset.arrays()["x"].__array_interface__["data"][0] == tensors["x"].data_ptr()
    with pytest.raises(gneiss.DataError, match="lies on meta"):
        small.dataset(x=tensors["x"].to("meta"))
    with pytest.raises(gneiss.DataError, match="sparse"):
        small.dataset(x=tensors["x"].to_sparse())


def test_save_and_load(small, tmp_path):
    dataset = small.dataset(edge_weight=small.weight)
    dataset.save(tmp_path / "small")
    assert csc_of(gneiss.load(tmp_path / "small")) == csc_of(dataset)


def test_sparse_features_stay_sparse(small):
    scipy = pytest.importorskip("scipy.sparse")
    kept = np.where(small.x > 0, small.x, 0)
    dataset = small.dataset(x=scipy.csr_matrix(kept))
    assert dataset.info()["features_sparse"] and dataset.num_features == 3
    same = gneiss.train(dataset, epochs=3, progress=False, threads=1).losses
    dense = gneiss.train(small.dataset(x=kept), epochs=3, progress=False, threads=1).losses
    assert np.allclose(same, dense, atol=1e-5)
