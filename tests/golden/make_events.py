# SPDX-License-Identifier: BSD-3-Clause
"""events.tfevents: a scalar and two histograms as TensorBoard's plugins write them, at fixed times.

Run: pip install "tensorflow-cpu==2.15.*" && python make_events.py
"""

import numpy as np
import tensorflow as tf
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.plugins.histogram import metadata as histogram_metadata
from tensorboard.plugins.histogram import summary_v2 as histogram
from tensorboard.plugins.scalar import metadata as scalar_metadata

values = np.array([-15, 0.5, 0.25, 3, 15, -0.75, 1], dtype=np.float32)


def event(tag, tensor, metadata, step, wall_time):
    result = Event(wall_time=wall_time, step=step)
    value = result.summary.value.add(tag=tag)
    value.tensor.ParseFromString(tensor.SerializeToString())
    value.metadata.CopyFrom(metadata)
    return result


scalar = scalar_metadata.create_summary_metadata("", "")
histograms = histogram_metadata.create_summary_metadata("", "")
for metadata in (scalar, histograms):
    metadata.plugin_data.ClearField("content")
with tf.io.TFRecordWriter("events.tfevents") as file:
    events = [
        Event(wall_time=1.5, file_version="brain.Event:2"),
        event("epoch_loss", tf.make_tensor_proto(np.float32(0.375)), scalar, 0, 2.5),
        event("epoch_loss", tf.make_tensor_proto(np.float32(0.25)), scalar, 300, 3.5),
    ]
    for data in (values, values[:1]):
        buckets = histogram._buckets(tf.constant(data), 30).numpy()
        tensor = tf.make_tensor_proto(buckets)
        events.append(event("dense/kernel_0", tensor, histograms, 1, 4.5))
    for each in events:
        file.write(each.SerializeToString(deterministic=True))
