"""Decodes trace export requests with OpenTelemetry's own definitions: reads {"requests": [base64]}, writes a list of objects."""
import base64
import json
import sys

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

given = json.load(sys.stdin)
print(json.dumps([MessageToDict(ExportTraceServiceRequest.FromString(base64.b64decode(each))) for each in given["requests"]]))
