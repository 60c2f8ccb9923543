"""Drives OpenAI's client for Python through the gateway and prints what it saw as one JSON object; the test judges it."""

import asyncio
import json
import sys

from openai import APIStatusError, AsyncOpenAI, DefaultHttpxClient, OpenAI
from openai.types.chat import ChatCompletion, ChatCompletionChunk


def main() -> None:
    scene = json.load(sys.stdin)
    client = OpenAI(base_url=scene["base_url"], api_key=scene["key"])
    seen = {
        "json": json_call(client, scene),
        "stream": stream_call(client, scene),
        "async_stream": asyncio.run(async_stream_call(scene)),
        "tools": {"json": tool_turns(client, scene), "stream": streamed_tool_turns(client, scene)},
        "models": model_calls(client, scene),
        "unauthorized": refusal(scene, scene["wrong_key"]),
        "too_hot": refusal(scene, scene["key"], temperature=3),
        "unknown_model": refusal(scene, scene["key"], model="no/such"),
        "spent_day": refusal(scene, scene["spent_key"]),
    }
    json.dump(seen, sys.stdout)


def hello(scene: dict) -> dict:
    return {"model": scene["model"], "messages": [{"role": "user", "content": "Say hello"}]}


def json_call(client: OpenAI, scene: dict) -> dict:
    raw = client.chat.completions.with_raw_response.create(**hello(scene))
    completion = raw.parse()
    # The client itself builds answers unchecked; here every field must pass its own models.
    ChatCompletion.model_validate_json(raw.text)
    return {
        "content": completion.choices[0].message.content,
        "usage": completion.usage.to_dict(),
        "request_id": completion._request_id,
        "headers": dict(raw.headers),
    }


def stream_call(client: OpenAI, scene: dict) -> dict:
    stream = client.chat.completions.create(**hello(scene), stream=True, stream_options={"include_usage": True})
    chunks = list(stream)
    for chunk in chunks:
        ChatCompletionChunk.model_validate(chunk.to_dict())
    return {
        "content": "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices),
        "early_usage": [chunk.to_dict()["usage"] for chunk in chunks[:-1]],
        "usage": chunks[-1].usage.to_dict(),
        "request_id": stream.response.headers["x-request-id"],
    }


async def async_stream_call(scene: dict) -> str:
    async with AsyncOpenAI(base_url=scene["base_url"], api_key=scene["key"]) as client:
        stream = await client.chat.completions.create(**hello(scene), stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])


def tool_turns(client: OpenAI, scene: dict) -> str:
    ask = {**hello(scene), "tools": [{"type": "function", "function": scene["tool"]}]}
    message = client.chat.completions.create(**ask).choices[0].message
    answer = client.chat.completions.create(**{**ask, "messages": turns(ask, message, scene)})
    return answer.choices[0].message.content


def streamed_tool_turns(client: OpenAI, scene: dict) -> str:
    ask = {**hello(scene), "tools": [{"type": "function", "function": scene["tool"]}]}
    with client.chat.completions.stream(**ask) as stream:
        message = stream.get_final_completion().choices[0].message
    with client.chat.completions.stream(**{**ask, "messages": turns(ask, message, scene)}) as stream:
        return stream.get_final_completion().choices[0].message.content


def turns(ask: dict, message, scene: dict) -> list:
    call = message.tool_calls[0]
    assert (call.function.name, json.loads(call.function.arguments)) == ("weather", {"city": "Oslo"})
    called = {"id": call.id, "type": "function", "function": {"name": "weather", "arguments": call.function.arguments}}
    said = {"role": "assistant", "content": message.content, "tool_calls": [called]}
    return [*ask["messages"], said, {"role": "tool", "tool_call_id": call.id, "content": scene["tool_result"]}]


def model_calls(client: OpenAI, scene: dict) -> dict:
    listed = [model.to_dict() for model in client.models.list()]
    return {"listed": listed, "one": client.models.retrieve(scene["model"]).to_dict()}


def refusal(scene: dict, key: str, **fields) -> dict:
    statuses = []
    http = DefaultHttpxClient(event_hooks={"response": [lambda response: statuses.append(response.status_code)]})
    client = OpenAI(base_url=scene["base_url"], api_key=key, http_client=http)
    try:
        client.chat.completions.create(**{**hello(scene), **fields})
    except APIStatusError as error:
        return {
            "raised": type(error).__name__,
            "code": error.code,
            "type": error.type,
            "param": error.param,
            "request_id": error.request_id,
            "retry_after": error.response.headers.get("retry-after"),
            "statuses": statuses,
        }
    raise AssertionError("it should have been refused")


main()
