# SPDX-License-Identifier: BSD-3-Clause
"""metrics.txt: results of the metrics after each of three batches.

Run: pip install "tensorflow-cpu==2.15.*" && python make_metrics.py
"""

import numpy as np
from golden_file import GoldenFile, Numbers
import tensorflow as tf

metrics = tf.keras.metrics
BATCHES = 3
file = GoldenFile("metrics.txt", "Metrics: case/target_<batch>, case/prediction_<batch>[, case/sample_weight_<batch>],")
file.comment("case/results: the metric after each of three batches (the last one is smaller).")
numbers = Numbers(7)


def batches(make):
    return [make(rows) for rows in (5, 5, 2)]


def add(name, metric, data, weighted=False):
    results = []
    for index, (target, prediction) in enumerate(data):
        target, prediction = np.asarray(target, np.float32), np.asarray(prediction, np.float32)
        file.add(f"{name}/target_{index}", target)
        file.add(f"{name}/prediction_{index}", prediction)
        weight = None
        if weighted:
            weight = numbers.uniform(len(target), high=2, digits=1)
            file.add(f"{name}/sample_weight_{index}", weight)
        results.append(metric(target, prediction, weight))
    file.add(f"{name}/results", results)
    print(name, results)


class AccuracyOfModel:
    """What compile(metrics=["accuracy"]) makes of a model whose output is `prediction`."""

    def __init__(self, output_shape, weighted=False):
        self.model = tf.keras.Sequential([tf.keras.Input(output_shape), tf.keras.layers.Activation("linear")])
        name = {"weighted_metrics" if weighted else "metrics": ["accuracy"]}
        self.model.compile("sgd", lambda target, prediction: tf.reduce_mean(prediction, -1), **name)

    def __call__(self, target, prediction, weight):
        options = {"sample_weight": weight, "reset_metrics": False, "return_dict": True}
        return self.model.test_on_batch(prediction, target, **options)["accuracy"]


class Metric:
    def __init__(self, metric):
        self.metric = metric

    def __call__(self, target, prediction, weight):
        self.metric.update_state(target, prediction, weight)
        return self.metric.result().numpy()


def with_ties(prediction):
    """Rows in which the largest value is there twice, all are equal, and none is above 0.5."""
    prediction[0, : prediction.shape[1]] = 0.5
    if prediction.shape[1] > 2:
        prediction[1, :] = 0.25
        prediction[1, 1:3] = 0.75
    return prediction


def sparse(rows, classes=4):
    return numbers.integers(rows, high=classes), with_ties(numbers.uniform(rows, classes))


def categorical(rows, classes=4):
    return numbers.one_hot(rows, classes), with_ties(numbers.uniform(rows, classes))


def binary(rows, outputs=1):
    return numbers.integers(rows, outputs, high=2), with_ties(numbers.uniform(rows, outputs))


def column(pair):
    return pair[0][:, None], pair[1]


def sparse_rank3(rows):
    return numbers.integers(rows, 3, high=4), numbers.uniform(rows, 3, 4)


file.comment("accuracy_*: as compile(metrics=['accuracy']) resolves it")
file.comment("  binary: target (n, 1) or (n), output (n, 1); categorical: both (n, 4); sparse: target (n) or (n,")
file.comment("  1), output (n, 4)")
add("accuracy_binary", AccuracyOfModel((1,)), batches(binary))
add("accuracy_binary_flat", AccuracyOfModel((1,)), [(t[:, 0], p) for t, p in batches(binary)])
add("accuracy_categorical", AccuracyOfModel((4,)), batches(categorical))
add("accuracy_categorical_2", AccuracyOfModel((2,)), batches(lambda rows: categorical(rows, 2)))
add("accuracy_sparse", AccuracyOfModel((4,)), batches(sparse))
add("accuracy_sparse_column", AccuracyOfModel((4,)), [column(pair) for pair in batches(sparse)])
add("accuracy_sparse_rank3", AccuracyOfModel((3, 4)), batches(sparse_rank3))
add("accuracy_categorical_rank3", AccuracyOfModel((3, 4)), [(np.eye(4)[t], p) for t, p in batches(sparse_rank3)])
add("accuracy_binary_weighted", AccuracyOfModel((1,), True), batches(binary), weighted=True)
add("accuracy_categorical_weighted", AccuracyOfModel((4,), True), batches(categorical), weighted=True)
add("accuracy_sparse_weighted", AccuracyOfModel((4,), True), batches(sparse), weighted=True)

add("binary_accuracy_outputs", Metric(metrics.BinaryAccuracy()), batches(lambda rows: binary(rows, 3)))
add("binary_accuracy_threshold", Metric(metrics.BinaryAccuracy(threshold=0.25)), batches(binary))
add("categorical_accuracy", Metric(metrics.CategoricalAccuracy()), batches(categorical))
add("sparse_categorical_accuracy", Metric(metrics.SparseCategoricalAccuracy()), batches(sparse))


def values(rows):
    return numbers.normal(rows, 3), numbers.normal(rows, 3)


def values_rank3(rows):
    return numbers.normal(rows, 2, 3), numbers.normal(rows, 2, 3)


for name, kind in (
    ("mean_squared_error", metrics.MeanSquaredError),
    ("mean_absolute_error", metrics.MeanAbsoluteError),
):
    add(name, Metric(kind()), batches(values))
    add(f"{name}_weighted", Metric(kind()), batches(values), weighted=True)
    add(f"{name}_rank3", Metric(kind()), batches(values_rank3))


def tied(rows, classes=8):
    """Few distinct values, so that many classes share the k-th place."""
    return numbers.integers(rows, high=classes), numbers.uniform(rows, classes, digits=1)


def tied_one_hot(rows):
    target, prediction = tied(rows)
    return np.eye(8)[target], prediction


add("sparse_top_k_categorical_accuracy", Metric(metrics.SparseTopKCategoricalAccuracy()), batches(tied))
for k in (1, 2, 3, 8, 10):
    add(f"sparse_top_k_categorical_accuracy_{k}", Metric(metrics.SparseTopKCategoricalAccuracy(k)), batches(tied))
    add(f"top_k_categorical_accuracy_{k}", Metric(metrics.TopKCategoricalAccuracy(k)), batches(tied_one_hot))
add("top_k_categorical_accuracy", Metric(metrics.TopKCategoricalAccuracy()), batches(tied_one_hot))
top_2 = Metric(metrics.TopKCategoricalAccuracy(2))
add("top_k_categorical_accuracy_weighted", top_2, batches(tied_one_hot), weighted=True)
file.comment("Values that are not finite: no class of a row with one is in its top k where Keras says so.")
strange = np.array(
    [[np.inf, 1, 2, 3], [0, np.nan, 1, 2], [-np.inf, 1, 2, 3], [1, 1, 1, 1], [3, 2, 1, -np.inf]], np.float32
)
top_2 = Metric(metrics.SparseTopKCategoricalAccuracy(2))
add("sparse_top_k_not_finite", top_2, [([0, 3, 0, 3, 0], strange), ([3, 2, 3, 0, 1], strange)])
file.write()

# Metrics that share their data: those of tests/metrics/metric_table.hpp, under the same names.
file = GoldenFile("metric_table.txt", "Metrics: <data>/{target,prediction,sample_weight}_<batch> for three batches;")
file.comment("<data>/<metric>: after each batch, without and (weighted/) with sample weights.")
file.comment("yes_no: one column; labels: three columns, each a yes or no; classes: four columns and one-hot targets;")
file.comment("values, positive: three columns; class_numbers: one column of predicted class numbers; classes_of_rows: four")
file.comment("columns and class numbers; classes_of_places: (3, 2) numbers and (2) class numbers, along the first axis.")


def with_weights(pairs):
    return [(t, p, numbers.uniform(len(t), high=2, digits=1)) for t, p in pairs]


def yes_no(rows, columns=1):
    target = numbers.integers(rows, columns, high=2)
    return target, np.clip(0.25 * target + numbers.uniform(rows, columns, high=0.8, digits=3), 0, 1)


def class_numbers(rows):
    return numbers.integers(rows, 1, high=3), numbers.integers(rows, 1, high=3)


table = {
    "yes_no": with_weights([yes_no(rows) for rows in (40, 37, 20)]),
    "labels": with_weights([yes_no(rows, 3) for rows in (16, 15, 8)]),
    "classes": with_weights(
        [(numbers.one_hot(rows, 4), tf.nn.softmax(numbers.normal(rows, 4)).numpy()) for rows in (20, 33, 8)]
    ),
    "values": with_weights([(numbers.normal(rows, 3), numbers.normal(rows, 3)) for rows in (20, 33, 8)]),
    "positive": with_weights(
        [(numbers.uniform(rows, 3, low=0.1), numbers.uniform(rows, 3, low=0.1)) for rows in (20, 33, 8)]
    ),
    "class_numbers": with_weights([class_numbers(rows) for rows in (20, 33, 8)]),
    "classes_of_rows": with_weights(
        [(numbers.integers(rows, high=4), tf.nn.softmax(numbers.normal(rows, 4)).numpy()) for rows in (20, 33, 8)]
    ),
    "classes_of_places": with_weights(
        [(numbers.integers(rows, 2, high=3), numbers.normal(rows, 3, 2)) for rows in (20, 33, 8)]
    ),
}
of_yes_no = {
    "auc": lambda: metrics.AUC(),
    "auc_minoring": lambda: metrics.AUC(num_thresholds=21, summation_method="minoring"),
    "auc_majoring": lambda: metrics.AUC(num_thresholds=21, summation_method="majoring"),
    "auc_pr": lambda: metrics.AUC(curve="PR"),
    "auc_pr_minoring": lambda: metrics.AUC(num_thresholds=21, curve="PR", summation_method="minoring"),
    "auc_logits": lambda: metrics.AUC(from_logits=True),
    "precision": lambda: metrics.Precision(),
    "precision_threshold": lambda: metrics.Precision(thresholds=0.3),
    "recall": lambda: metrics.Recall(),
    "true_positives": lambda: metrics.TruePositives(),
    "false_positives": lambda: metrics.FalsePositives(thresholds=0.3),
    "true_negatives": lambda: metrics.TrueNegatives(),
    "false_negatives": lambda: metrics.FalseNegatives(),
    "precision_at_recall": lambda: metrics.PrecisionAtRecall(0.6),
    "recall_at_precision": lambda: metrics.RecallAtPrecision(0.6),
    "sensitivity_at_specificity": lambda: metrics.SensitivityAtSpecificity(0.6, num_thresholds=11),
    "specificity_at_sensitivity": lambda: metrics.SpecificityAtSensitivity(0.6, num_thresholds=1),
}
walked = {
    "yes_no": {
        **of_yes_no,
        "binary_crossentropy": lambda: metrics.BinaryCrossentropy(label_smoothing=0.1),
        "binary_crossentropy_logits": lambda: metrics.BinaryCrossentropy(from_logits=True),
        "auc_thresholds": lambda: metrics.AUC(thresholds=[0.8, 0.2, 0.3, 0.55]),
        "precision_of": lambda: metrics.Precision(thresholds=[0.7, 0.3]),
        "true_positives_of": lambda: metrics.TruePositives(thresholds=[0.2, 0.6]),
    },
    "labels": {
        "auc": lambda: metrics.AUC(),
        "auc_multi_label": lambda: metrics.AUC(multi_label=True),
        "precision": lambda: metrics.Precision(),
        "precision_top_k": lambda: metrics.Precision(top_k=2),
        "recall_top_k_threshold": lambda: metrics.Recall(top_k=1, thresholds=0.6),
        "recall_class_id": lambda: metrics.Recall(class_id=1),
        "precision_at_recall": lambda: metrics.PrecisionAtRecall(0.5),
        "auc_label_weights": lambda: metrics.AUC(num_thresholds=21, label_weights=[0.5, 2.0, 1.5]),
        "auc_multi_label_weights": lambda: metrics.AUC(
            curve="PR", thresholds=[0.7, 0.2, 0.5], multi_label=True, num_labels=3, label_weights=[0.5, 2.0, 1.5]
        ),
        "recall_of_top_k": lambda: metrics.Recall(thresholds=[0.3, 0.6], top_k=2),
    },
    "classes": {
        "categorical_crossentropy": lambda: metrics.CategoricalCrossentropy(label_smoothing=0.1),
        "kl_divergence": lambda: metrics.KLDivergence(),
        "categorical_hinge": lambda: metrics.CategoricalHinge(),
        "hinge": lambda: metrics.Hinge(),
        "squared_hinge": lambda: metrics.SquaredHinge(),
    },
    "values": {
        "root_mean_squared_error": lambda: metrics.RootMeanSquaredError(),
        "mean_relative_error": lambda: metrics.MeanRelativeError(np.full(3, 2.5, np.float32)),
        "mean_relative_error_of_columns": lambda: metrics.MeanRelativeError(np.float32([2.5, 0, 0.5])),
        "cosine_similarity": lambda: metrics.CosineSimilarity(),
        "log_cosh_error": lambda: metrics.LogCoshError(),
        "mean_absolute_percentage_error": lambda: metrics.MeanAbsolutePercentageError(),
    },
    "positive": {
        "mean_squared_logarithmic_error": lambda: metrics.MeanSquaredLogarithmicError(),
        "poisson": lambda: metrics.Poisson(),
    },
    "class_numbers": {"mean_io_u": lambda: metrics.MeanIoU(num_classes=3)},
    "classes_of_rows": {"sparse_categorical_crossentropy": lambda: metrics.SparseCategoricalCrossentropy()},
    "classes_of_places": {
        "sparse_categorical_crossentropy_axis": lambda: metrics.SparseCategoricalCrossentropy(from_logits=True, axis=1)
    },
}
for data, batches_of in table.items():
    for index, (target, prediction, weight) in enumerate(batches_of):
        file.add(f"{data}/target_{index}", target)
        file.add(f"{data}/prediction_{index}", prediction)
        file.add(f"{data}/sample_weight_{index}", weight)
    for name, make in walked[data].items():
        for prefix in ("", "weighted/"):
            metric, results = make(), []
            for target, prediction, weight in batches_of:
                prediction = tf.constant(prediction, tf.float32)
                if name.startswith("mean_relative_error") and prefix:
                    weight = np.repeat(weight[:, None], 3, 1)  # Keras wants weights of the values' shape here
                metric.update_state(tf.constant(target, tf.float32), prediction, weight if prefix else None)
                results.append(metric.result().numpy())
            if np.ndim(results) > 1:  # at each threshold
                for index, result in enumerate(np.transpose(results)):
                    file.add(f"{prefix}{data}/{name}_threshold_{index}", result)
            else:
                file.add(f"{prefix}{data}/{name}", results)
            print(data, name, prefix, results)
file.write()
