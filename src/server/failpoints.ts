// The steps of a request's life with failpoints around them, at which tests make the process die, throw or wait.
import type { Steps } from '../chat/complete.ts'
import type { Failpoint } from '../lib/failpoint.ts'

export function withFailpoints(steps: Steps, failpoint: Failpoint | undefined): Steps {
  if (failpoint === undefined) return steps
  return {
    async reserve(...request) {
      await failpoint('before_hold')
      return steps.reserve(...request)
    },
    async route(...request) {
      await failpoint('after_hold')
      const answering = steps.route(...request)
      try {
        await failpoint('after_dispatch')
        const answer = await answering
        await failpoint('after_first_byte')
        return answer
      } catch (error) {
        // Nobody will listen to the upstream.
        answering.then(
          ({ served }) => served?.stream.abort(),
          () => undefined,
        )
        throw error
      }
    },
    async settle(...delivered) {
      await failpoint('before_settle')
      const ending = await steps.settle(...delivered)
      await failpoint('after_settle_before_reply')
      return ending
    },
  }
}
