// The values of node:http. Importing them by its name evaluates all of its exports, and one of them, WebSocket, loads fetch: 40 ms
// of processor time in each of hundreds of test processes.
import type { Agent as HttpAgent } from 'node:http'

export const { Agent, createServer, request } = process.getBuiltinModule('node:http')
export type Agent = HttpAgent
