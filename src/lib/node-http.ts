// Node's HTTP server without what an import of it brings along: importing reads every name that a module offers, and some of
// this one's load Node's client for WebSockets and fetch, which took some 35 ms of a start.
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')
