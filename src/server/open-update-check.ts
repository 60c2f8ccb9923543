// The check for a newer version, where a URL is configured.
import { NO_UPDATE_CHECK, type UpdateCheck, updateCheck } from '../admin/update-check.ts'
import { wordsOf } from '../lib/text.ts'
import { version } from '../lib/version.ts'
import { getText } from '../upstream/get-text.ts'
import type { ServerContext } from './context.ts'

export function openUpdateCheck(context: ServerContext): UpdateCheck {
  const { config, clock, log, newId, onBug } = context
  const { updateUrl, bounds, network } = config
  if (updateUrl === undefined) return NO_UPDATE_CHECK
  return updateCheck({
    read: () =>
      getText(updateUrl, {
        requestId: newId(),
        headers: { accept: 'application/json', 'user-agent': `turnpike/${version()}` },
        timeoutMs: bounds.updateCheckTimeoutMs,
        bytesMax: bounds.updateCheckBytesMax,
        network,
        limit: context.upstreamConnections,
        clock,
        onBug,
      }),
    current: version(),
    everyMs: bounds.updateCheckEveryMs,
    clock,
    onError: error => log.info({ err: wordsOf(error) }, 'cannot check for a newer version'),
  })
}
