"""Writes tests/golden/tensorboard.tfevents: one record of each kind that a run writes, made with the
messages and the record writer of TensorBoard.

    python3 make_tensorboard.py      # needs the package tensorboard

The times are 0, except that of the scalars.
"""

import io
import pathlib

from google.protobuf import struct_pb2
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, types_pb2
from tensorboard.plugins.hparams import api_pb2, metadata, plugin_data_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

OUT = pathlib.Path(__file__).resolve().parents[1] / "tensorboard.tfevents"


def text(tag, markdown):
    tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, string_val=[markdown.encode()])
    tensor.tensor_shape.SetInParent()
    plugin = summary_pb2.SummaryMetadata.PluginData(plugin_name="text")
    return summary_pb2.Summary.Value(
        tag=tag, metadata=summary_pb2.SummaryMetadata(plugin_data=plugin), tensor=tensor)


def hparams(tag, **data):
    content = metadata.create_summary_metadata(plugin_data_pb2.HParamsPluginData(**data))
    return summary_pb2.Summary.Value(tag=tag, metadata=content, tensor=metadata.NULL_TENSOR)


def summary(step, values, time=0):
    return event_pb2.Event(wall_time=time, step=step, summary=summary_pb2.Summary(value=values))


def main():
    Value = summary_pb2.Summary.Value
    start = plugin_data_pb2.SessionStartInfo()
    start.hparams["lr"].CopyFrom(struct_pb2.Value(number_value=0.5))
    named = plugin_data_pb2.SessionStartInfo()
    named.hparams["model"].CopyFrom(struct_pb2.Value(string_value="resnet18"))
    histogram = summary_pb2.HistogramProto(min=-1, max=3, num=4, sum=4, sum_squares=12,
                                           bucket_limit=[0, 1, 2, 3], bucket=[1, 0, 2, 1])
    events = [
        event_pb2.Event(file_version="brain.Event:2"),
        event_pb2.Event(session_log=event_pb2.SessionLog(status=event_pb2.SessionLog.START)),
        summary(3000, [Value(tag="train/loss", simple_value=0.1), Value(tag="train/acc1", simple_value=0)],
                time=1764000000.25),
        summary(7, [Value(tag="weights/fc", histo=histogram)]),
        summary(0, [text("settings", "    resnet18 é")]),
        summary(0, [hparams(metadata.SESSION_START_INFO_TAG, session_start_info=start)]),
        summary(0, [hparams(metadata.SESSION_START_INFO_TAG, session_start_info=named)]),
        summary(0, [hparams(metadata.SESSION_END_INFO_TAG, session_end_info=plugin_data_pb2.SessionEndInfo(
            status=api_pb2.STATUS_FAILURE))]),
    ]
    file = io.BytesIO()
    writer = RecordWriter(file)
    for event in events:
        writer.write(event.SerializeToString(deterministic=True))
    OUT.write_bytes(file.getvalue())


if __name__ == "__main__":
    main()
