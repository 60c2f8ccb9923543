// The listeners: /v1 and operations on one address, the admin API and dashboard on the same or a separate one.
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { BadConfig } from '../config/bad-config.ts'
import type { Listen } from '../config/config.ts'
import { openApp } from '../http/app.ts'
import { addressStandingOf } from '../http/client-ip.ts'
import { type HttpServer, httpServer } from '../http/server.ts'
import { PLAYGROUND_PATHS } from '../http/v1/endpoint.ts'
import { packageRoot } from '../lib/version.ts'
import type { ServerContext } from './context.ts'
import type { Drain } from './drain.ts'
import type { Operator } from './wire-admin-api.ts'
import type { V1 } from './wire-chat-api.ts'

export type Listeners = {
  readonly servers: readonly HttpServer[]
  // The address of /v1, once it listens.
  url(): string
  // The address of the admin API, once it listens; undefined if it is off.
  adminUrl(): string | undefined
  listen(): Promise<void>
  close(): Promise<void>
}

export async function openListeners(
  v1: V1,
  operator: Operator,
  drain: Drain,
  context: ServerContext,
): Promise<Listeners> {
  const { config, metrics, newId } = context
  const { bounds, brand, adminListen } = config
  const appNeeds = {
    ready: operator.ready,
    metrics,
    metricsToken: config.metricsToken,
    newRequestId: newId,
    admin: operator.admin,
    portal: operator.portal,
    brand,
    dashboardFolder: join(packageRoot(), 'web/dist'),
    referenceFolder: join(packageRoot(), 'dist/reference'),
    exampleModel: operator.exampleModel,
    bodyBytesMax: bounds.adminBodyBytesMax,
    closing: drain.closing,
    onBug: context.onBug,
  }
  const serverNeeds = {
    ...bounds,
    newRequestId: newId,
    timers: context.timers,
    clock: context.clock,
    chats: v1.router,
    connections: context.connections,
    connectionsReserved: 0,
    addressStanding: addressStandingOf(v1.authenticator),
    headerPrefix: brand.headerPrefix,
    onParserError: metrics.parserError,
    fastPath: config.network.fastPath,
  }

  const app = await openApp({ admin: adminListen === undefined, portal: operator.portal !== undefined }, appNeeds)
  const server = httpServer({ ...serverNeeds, v1: v1.router, others: app.routing })
  const open = [{ app, server, at: { host: config.host, port: config.port }, variable: 'TURNPIKE_HOST, TURNPIKE_PORT' }]
  if (typeof adminListen === 'object') {
    const adminApp = await openApp({ admin: true, portal: false }, appNeeds)
    const others = adminApp.routing
    // The dashboard's playground may only talk to its own origin: chats are served here too, by the same router.
    const onlyChats = async (req: IncomingMessage, res: ServerResponse) =>
      PLAYGROUND_PATHS.has(req.url) ? v1.router(req, res) : others(req, res)
    const adminServer = httpServer({
      ...serverNeeds,
      v1: onlyChats,
      others,
      connectionsReserved: bounds.adminConnectionsReserved,
    })
    open.push({ app: adminApp, server: adminServer, at: adminListen, variable: 'TURNPIKE_ADMIN_LISTEN' })
  }

  return {
    servers: open.map(each => each.server),
    url: () => urlOf(server.server, config.host),
    adminUrl() {
      const admin = adminListen === 'off' ? undefined : open.at(-1)
      return admin === undefined ? undefined : urlOf(admin.server.server, admin.at.host)
    },
    async listen() {
      for (const { server, at, variable } of open) await listen(server.server, at, variable, bounds.backlogMax)
    },
    async close() {
      for (const { app } of open) await app.close()
    },
  }
}

function listen(server: Server, at: Listen, variable: string, backlogMax: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const isTaken = error.code === 'EADDRINUSE'
      const why = isTaken ? 'is in use by another process' : `cannot be used: ${error.code ?? error.message}`
      reject(new BadConfig(`${at.host}:${at.port} ${why} (${variable})`))
    })
    server.listen(at.port, at.host, backlogMax, resolve)
  })
}

function urlOf(server: Server, host: string): string {
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
