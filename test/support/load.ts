// Load on a gateway: callers that send the next request as soon as the last one is answered, JSON and streams in turn, and that record
// what they received even when the server dies.
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { DIALECTS, type Dialect } from './dialects.ts'
import type { Gateway } from './gateway.ts'
import { Agent, request } from './node-http.ts'

// `cost` only of an answer that was complete: a JSON body to its end, a stream to its last event and trailer.
export type SeenResponse = {
  readonly requestId: string
  readonly status: number
  readonly dialect: string
  cost: string | undefined
}

export type Load = {
  readonly responses: readonly SeenResponse[]
  // Resolves when every caller has noticed that the server is gone, or was stopped.
  readonly ended: Promise<unknown>
  // Each caller finishes its request and sends no more.
  stop(): void
}

export type LoadSetup = {
  readonly url: string
  readonly secrets: readonly string[]
  readonly callers: number
  // Whether some disconnect during their streams.
  readonly leavers: boolean
  // In turn, for chats; or the dialects that are spoken in turn, each with its own model.
  readonly models?: readonly string[]
  readonly dialects?: readonly Dialect[]
}

export function startLoad(setup: LoadSetup): Load {
  const responses: SeenResponse[] = []
  const agent = new Agent({ keepAlive: true })
  let isOver = false
  const place: Place = { agent, responses, isOver: () => isOver }
  const callers = Array.from({ length: setup.callers }, (_, caller) => askOn(caller, setup, place))
  return {
    responses,
    ended: Promise.all(callers).finally(() => agent.destroy()),
    stop() {
      isOver = true
    },
  }
}

type Place = { readonly agent: Agent; readonly responses: SeenResponse[]; isOver(): boolean }

async function askOn(caller: number, setup: LoadSetup, { agent, responses, isOver }: Place): Promise<void> {
  const { dialects: spoken = DIALECTS.slice(0, 1) } = setup
  for (let turn = caller; !isOver(); turn++) {
    const key = setup.secrets[turn % setup.secrets.length] ?? ''
    const dialect = inTurn(spoken, turn)
    const model = setup.models === undefined ? dialect.model : inTurn(setup.models, turn)
    // Each dialect with and without, also where their number is even.
    const stream = Math.floor(turn / spoken.length) % 2 === 0
    const isLeaving = setup.leavers && turn % 6 === 4
    const body = JSON.stringify({ ...dialect.body(`turn ${turn}`, { stream, maxTokens: 20 }), model })
    try {
      await ask(setup.url, { key, body, dialect, agent, isLeaving }, responses)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') return
    }
  }
}

function inTurn<T>(all: readonly T[], turn: number): T {
  return all[turn % all.length] as T
}

type Question = {
  readonly key: string
  readonly body: string
  readonly dialect: Dialect
  readonly agent: Agent
  readonly isLeaving: boolean
}

async function ask(url: string, question: Question, responses: SeenResponse[]): Promise<void> {
  const headers = { authorization: `Bearer ${question.key}`, 'content-type': 'application/json' }
  const outgoing = request(url + question.dialect.path, { method: 'POST', agent: question.agent, headers })
  outgoing.end(question.body)
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  const response: SeenResponse = {
    requestId: String(incoming.headers['x-request-id']),
    status: incoming.statusCode ?? 0,
    dialect: question.dialect.name,
    cost: undefined,
  }
  responses.push(response)
  let text = ''
  for await (const piece of incoming) {
    text += String(piece)
    if (question.isLeaving) return void outgoing.destroy()
  }
  if (!incoming.complete) return
  const { 'x-svc-cost': told } = incoming.headers
  response.cost = String(told ?? (question.dialect.stream(text).complete ? incoming.trailers['x-svc-cost'] : undefined))
}

// Two keys of one account, one of another, and one that runs out of credits.
export async function openAccounts(gateway: Gateway): Promise<string[]> {
  const limits = { rpm_limit: 1_000_000, daily_limit: null }
  // Alerts block nothing; the audit then proves their windows.
  const budgets = ['hour', 'week', 'month'].map(window => ({ amount: '0.5', window, action: 'alert' }))
  const first = await gateway.createKey({ ...limits, budgets })
  await gateway.admin('PATCH', `/accounts/${first.accountId}`, { budgets: budgets.slice(1) })
  const second = await gateway.createKey({ ...limits, account_id: first.accountId })
  const other = await gateway.createKey(limits)
  const poor = await gateway.createKey({ ...limits, credits: '0.01' })
  return [first, second, other, poor].map(key => key.secret)
}
