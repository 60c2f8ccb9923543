// Descriptions of the fields of shared schemas. A test checks that each name is a field.

type Note = { readonly about?: string; readonly fields?: Readonly<Record<string, string>> }

export const NOTES: Readonly<Record<string, Note>> = {
  ChatRequest: {
    about:
      "OpenAI's chat request. An explicit `null` means absent. Fields that are not listed here are left out and named in the Ignored-Fields header; fields known to cost extra or to reach elsewhere (`web_search_options`, `audio`, `plugins`, …) are refused with `unsupported_value`.",
    fields: {
      model: 'Id or alias of a model from `GET /v1/models`.',
      messages: 'The conversation, in order.',
      frequency_penalty: 'Lowers the odds of tokens by how often they came.',
      function_call: 'The older form of `tool_choice`.',
      functions: 'The older form of `tools`.',
      logit_bias: 'Token id to bias.',
      logprobs: 'Whether to return log probabilities.',
      max_completion_tokens: 'Another name of `max_tokens`; both with different values are refused.',
      max_tokens:
        "Most tokens to produce, per choice; at most the model's maximum. Without it a low balance may cap the answer.",
      metadata: 'Free text pairs, forwarded.',
      modalities: 'Only `text` is offered.',
      n: 'How many choices; each is paid for.',
      parallel_tool_calls: 'Whether several tools may be called at once.',
      presence_penalty: 'Lowers the odds of tokens that came at all.',
      prompt_cache_key: 'Goes upstream only as an HMAC with the account.',
      prompt_cache_options: 'Forwarded as it is.',
      prompt_cache_retention: 'How long the provider keeps a cached prompt, in its own words.',
      reasoning_effort: 'How much to think, in the words of the model.',
      response_format: '`json_schema` carries the schema beside its type.',
      safety_identifier: 'Goes upstream only as an HMAC with the account.',
      seed: 'For repeatable sampling, where the model has it.',
      service_tier: 'Only `auto` and `default` are offered.',
      session_id: 'Goes upstream only as an HMAC with the account.',
      store: '`false` is passed on; `true` is refused.',
      stop: 'Up to four texts that end the answer.',
      stream: '`true` for server-sent events; `false` (also when absent) for one JSON object.',
      stream_options: '`include_usage: true` adds a last chunk with usage and cost.',
      temperature: 'Sampling temperature. Never filled in where absent.',
      tool_choice: '`auto`, `none`, `required`, or one tool.',
      tools: 'What the model may call; each carries the object that its type names.',
      top_logprobs: 'How many alternatives per token; needs `logprobs`.',
      top_p: 'Nucleus sampling.',
      user: 'Goes upstream only as an HMAC with the account.',
      verbosity: 'How long the answer should be.',
      min_p: 'Beyond OpenAI; for providers that know it.',
      min_tokens: 'Beyond OpenAI; for providers that know it.',
      repetition_penalty: 'Beyond OpenAI; for providers that know it.',
      top_a: 'Beyond OpenAI; for providers that know it.',
      top_k: 'Beyond OpenAI; for providers that know it.',
      typical_p: 'Beyond OpenAI; for providers that know it.',
      models:
        'Read by routing, never forwarded. One that is not in the catalog, or that the prompt does not fit, is passed over.',
      provider:
        "Read by routing, never forwarded: which of the model's providers may serve, and in which order. `max_price` is in credits per million tokens, and per request.",
    },
  },
  Message: { about: 'One of these, by its `role`.' },
  ContentPart: { about: 'One of these, by its `type`. A model takes the kinds that its `input_modalities` list.' },
  ChatCompletion: { about: 'A whole answer. Providers may add fields of their own to a choice or message.' },
  ChatCompletionChunk: {
    about: 'One event of a stream. `id`, `created` and `model` are the same on every chunk.',
    fields: {
      usage: 'Only with `include_usage`: on the last chunk, and null on the others.',
      error: 'Only when the provider broke after content was sent; `finish_reason` is then `error`.',
    },
  },
  UsageRecord: {
    about: 'What one request was, did and cost. Never the prompt, the answer or a secret.',
    fields: {
      request_id: 'What `X-Request-Id` said.',
      client_request_id: 'What the caller sent as `X-Client-Request-Id`.',
      secret_last4: 'Which secret of the key was used.',
      attempts: 'Every provider that was tried, in order.',
      state: '`open` while it runs, then `settled`; `recovered` after a crash.',
      outcome: 'How it ended; null while open.',
      usage_source: "Where the counts come from: the provider, the tokenizer's estimate, or nowhere.",
      price: 'The prices it was billed at.',
      hold: 'What was set aside before the provider was called.',
      cost: 'What was booked: the number of the header, the trailer and `usage.cost`.',
      upstream_cost:
        'What it cost the operator, in credits and without markup; null where the target that served states no cost, and where nothing was produced.',
      upstream_id: "The provider's own id of the answer.",
      requests:
        'How many requests the row stands for: 1, or more where refusals of a key came too quickly to have a row each.',
    },
  },
  Error: { about: "OpenAI's error shape, so that its SDKs raise their typed errors." },
  KeyWithSecret: { about: 'A key with its new secret, which is shown this once and never again.' },
}
