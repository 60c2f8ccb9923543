// Whose admin token a client has.
import { Failed } from './command.ts'
import type { Client, Json } from './http-client.ts'

// A gateway before version 0.3 does not tell whose token it is, only whether it is valid.
export async function identify(client: Client): Promise<Json> {
  try {
    return await client.call('GET', '/operator')
  } catch (error) {
    if (!(error instanceof Failed && error.status === 404)) throw error
    await client.call('GET', '/settings')
    return { id: null, name: 'unknown', role: 'unknown' }
  }
}
