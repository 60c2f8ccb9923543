// What OpenTelemetry costs: a gateway without it, one that exports the spans of every request, and one that samples a tenth.
import { join } from 'node:path'
import type { Place, Running } from './contestant.ts'
import { CHAT, type DialectContestant } from './dialects.ts'
import { ask, type Env, startPinned, stop } from './processes.ts'
import { startTurnpike } from './turnpike.ts'

export const TRACED: readonly DialectContestant[] = [
  { name: CHAT, dialect: 'chat', ratioMax: undefined, start: place => startTurnpike(place) },
  traced('chat, every request traced', {}),
  traced('chat, a tenth traced', { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.1' }),
]

function traced(name: string, env: Env): DialectContestant {
  return { name, dialect: 'chat', ratioMax: undefined, start: place => start(place, env) }
}

// The collector does not count as part of the gateway.
async function start(place: Place, env: Env): Promise<Running> {
  const command = [process.execPath, join(import.meta.dirname, 'otlp-sink.ts')]
  const sink = startPinned('others', command, join(place.folder, 'otlp-sink.log'))
  const { port } = await ask<{ port: number }>(sink)
  const running = await startTurnpike(place, { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, ...env })
  return {
    ...running,
    async stop() {
      await running.stop()
      await stop(sink)
    },
  }
}
