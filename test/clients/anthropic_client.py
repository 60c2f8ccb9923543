"""Drives Anthropic's client for Python through the gateway and prints what it saw as one JSON object; the test checks it."""

import json
import sys

from anthropic import Anthropic, APIStatusError
from anthropic.types import Message


def main() -> None:
    fixture = json.load(sys.stdin)
    client = Anthropic(base_url=fixture["base_url"], api_key=fixture["key"])
    seen = {
        "json": json_call(client, fixture),
        "stream": stream_call(client, fixture),
        "tools": tool_turns(client, fixture),
        "counted": client.messages.count_tokens(model=fixture["model"], messages=hello()).input_tokens,
        "models": [model.id for model in client.models.list()],
        "unauthorized": refusal(fixture, fixture["wrong_key"]),
        "unknown_model": refusal(fixture, fixture["key"], model="no/such"),
        "spent_day": refusal(fixture, fixture["spent_key"]),
    }
    json.dump(seen, sys.stdout)


def hello() -> list:
    return [{"role": "user", "content": "Say hello"}]


def asked(fixture: dict, **fields) -> dict:
    return {"model": fixture["model"], "max_tokens": 100, "messages": hello(), **fields}


def json_call(client: Anthropic, fixture: dict) -> dict:
    raw = client.messages.with_raw_response.create(**asked(fixture))
    # The client itself builds answers unchecked; here every field must pass its own models.
    message = Message.model_validate_json(raw.text())
    return {
        "content": message.content[0].text,
        "usage": message.usage.to_dict(),
        "request_id": raw.headers["x-request-id"],
        "cost": raw.headers["x-svc-cost"],
    }


def stream_call(client: Anthropic, fixture: dict) -> dict:
    with client.messages.stream(**asked(fixture)) as stream:
        events = list(stream)
        message = stream.get_final_message()
        # The client's final message has only the fields that it knows.
        delta = next(event for event in events if event.type == "message_delta")
        return {
            "pieces": [event.text for event in events if event.type == "text"],
            "content": message.content[0].text,
            "stop_reason": message.stop_reason,
            "usage": delta.usage.to_dict(),
            "request_id": stream.response.headers["x-request-id"],
        }


def tool_turns(client: Anthropic, fixture: dict) -> str:
    tool = fixture["tool"]
    tools = [{"name": tool["name"], "description": tool["description"], "input_schema": tool["parameters"]}]
    message = client.messages.create(**asked(fixture, tools=tools))
    call = next(block for block in message.content if block.type == "tool_use")
    assert (message.stop_reason, call.name, call.input) == ("tool_use", "weather", {"city": "Oslo"})
    result = {"type": "tool_result", "tool_use_id": call.id, "content": fixture["tool_result"]}
    said = [*hello(), {"role": "assistant", "content": message.content}, {"role": "user", "content": [result]}]
    return client.messages.create(**asked(fixture, tools=tools, messages=said)).content[0].text


def refusal(fixture: dict, key: str, **fields) -> list:
    client = Anthropic(base_url=fixture["base_url"], api_key=key, max_retries=0)
    try:
        client.messages.create(**asked(fixture, **fields))
    except APIStatusError as error:
        return [type(error).__name__, error.status_code, error.body["error"]["type"], error.body["error"]["code"]]
    raise AssertionError("it should have been refused")


main()
