"""Drives OpenAI's client for Python through the gateway and prints what it saw as one JSON object; the test checks it."""

import asyncio
import json
import sys

from openai import APIStatusError, AsyncOpenAI, DefaultHttpxClient, OpenAI
from openai.types import CreateEmbeddingResponse
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response


def main() -> None:
    fixture = json.load(sys.stdin)
    client = OpenAI(base_url=fixture["base_url"], api_key=fixture["key"])
    seen = {
        "json": json_call(client, fixture),
        "stream": stream_call(client, fixture),
        "async_stream": asyncio.run(async_stream_call(fixture)),
        "tools": {"json": tool_turns(client, fixture), "stream": streamed_tool_turns(client, fixture)},
        "responses": {"json": response_call(client, fixture), "stream": response_stream(client, fixture)},
        "embeddings": {
            "usual": embed(client, fixture),
            "floats": embed(client, fixture, encoding_format="float"),
        },
        "models": model_calls(client, fixture),
        "unauthorized": refusal(fixture, fixture["wrong_key"]),
        "too_hot": refusal(fixture, fixture["key"], temperature=3),
        "unknown_model": refusal(fixture, fixture["key"], model="no/such"),
        "spent_day": refusal(fixture, fixture["spent_key"]),
    }
    json.dump(seen, sys.stdout)


def hello(fixture: dict) -> dict:
    return {"model": fixture["model"], "messages": [{"role": "user", "content": "Say hello"}]}


def json_call(client: OpenAI, fixture: dict) -> dict:
    raw = client.chat.completions.with_raw_response.create(**hello(fixture))
    completion = raw.parse()
    # The client itself builds answers unchecked; here every field must pass its own models.
    ChatCompletion.model_validate_json(raw.text)
    return {
        "content": completion.choices[0].message.content,
        "usage": completion.usage.to_dict(),
        "request_id": completion._request_id,
        "headers": dict(raw.headers),
    }


def stream_call(client: OpenAI, fixture: dict) -> dict:
    stream = client.chat.completions.create(**hello(fixture), stream=True, stream_options={"include_usage": True})
    chunks = list(stream)
    for chunk in chunks:
        ChatCompletionChunk.model_validate(chunk.to_dict())
    return {
        "content": "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices),
        "early_usage": [chunk.to_dict()["usage"] for chunk in chunks[:-1]],
        "usage": chunks[-1].usage.to_dict(),
        "request_id": stream.response.headers["x-request-id"],
    }


async def async_stream_call(fixture: dict) -> str:
    async with AsyncOpenAI(base_url=fixture["base_url"], api_key=fixture["key"]) as client:
        stream = await client.chat.completions.create(**hello(fixture), stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])


def tool_turns(client: OpenAI, fixture: dict) -> str:
    ask = {**hello(fixture), "tools": [{"type": "function", "function": fixture["tool"]}]}
    message = client.chat.completions.create(**ask).choices[0].message
    answer = client.chat.completions.create(**{**ask, "messages": turns(ask, message, fixture)})
    return answer.choices[0].message.content


def streamed_tool_turns(client: OpenAI, fixture: dict) -> str:
    ask = {**hello(fixture), "tools": [{"type": "function", "function": fixture["tool"]}]}
    with client.chat.completions.stream(**ask) as stream:
        message = stream.get_final_completion().choices[0].message
    with client.chat.completions.stream(**{**ask, "messages": turns(ask, message, fixture)}) as stream:
        return stream.get_final_completion().choices[0].message.content


def turns(ask: dict, message, fixture: dict) -> list:
    call = message.tool_calls[0]
    assert (call.function.name, json.loads(call.function.arguments)) == ("weather", {"city": "Oslo"})
    called = {"id": call.id, "type": "function", "function": {"name": "weather", "arguments": call.function.arguments}}
    said = {"role": "assistant", "content": message.content, "tool_calls": [called]}
    return [*ask["messages"], said, {"role": "tool", "tool_call_id": call.id, "content": fixture["tool_result"]}]


def response_call(client: OpenAI, fixture: dict) -> dict:
    raw = client.responses.with_raw_response.create(model=fixture["model"], input="Say hello")
    response = Response.model_validate_json(raw.text)
    return {
        "text": response.output_text,
        "usage": response.usage.to_dict(),
        "request_id": raw.headers["x-request-id"],
    }


def response_stream(client: OpenAI, fixture: dict) -> dict:
    with client.responses.stream(model=fixture["model"], input="Say hello") as stream:
        types = [event.type for event in stream]
        final = stream.get_final_response()
    return {"text": final.output_text, "usage": final.usage.to_dict(), "types": types}


def embed(client: OpenAI, fixture: dict, **fields) -> dict:
    raw = client.embeddings.with_raw_response.create(model=fixture["embedding_model"], input="Say hello", **fields)
    # Unless told otherwise, the client requests base64 and decodes it.
    answer = raw.parse()
    if fields:
        CreateEmbeddingResponse.model_validate_json(raw.text)
    return {
        "vectors": [entry.embedding for entry in answer.data],
        "usage": answer.usage.to_dict(),
        "request_id": raw.headers["x-request-id"],
    }


def model_calls(client: OpenAI, fixture: dict) -> dict:
    listed = [model.to_dict() for model in client.models.list()]
    return {"listed": listed, "one": client.models.retrieve(fixture["model"]).to_dict()}


def refusal(fixture: dict, key: str, **fields) -> dict:
    statuses = []
    http = DefaultHttpxClient(event_hooks={"response": [lambda response: statuses.append(response.status_code)]})
    client = OpenAI(base_url=fixture["base_url"], api_key=key, http_client=http)
    try:
        client.chat.completions.create(**{**hello(fixture), **fields})
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
