// Opens OpenTelemetry where the OTEL_* variables ask for it; otherwise nothing of it is loaded.
import type { OpenOtel } from '../telemetry/otel/otel.ts'
import type { ServerContext } from './context.ts'
import type { OpenedStore } from './open-store.ts'

export async function openOtel({ catalog }: OpenedStore, context: ServerContext): Promise<OpenOtel | undefined> {
  const { config, clock, node, metrics, log } = context
  const { traces, metrics: exported } = config.otel
  if (traces === undefined && exported === undefined) return undefined
  const sdk = await import('../telemetry/otel/otel.ts')
  log.info({ traces: traces?.protocol, metrics: exported?.protocol }, 'OpenTelemetry is on')
  return sdk.openOtel(
    { traces: traces && { ...traces, ...config.tracing }, metrics: exported },
    {
      clock,
      node,
      kindOf: id => catalog.current().provider(id)?.kind,
      metrics: metrics.everything,
      onWarning: why => log.warn({ why }, 'OpenTelemetry reported a problem'),
    },
  )
}
