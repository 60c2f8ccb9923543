// Node's HTTP server without the cost of importing the module: an import reads every export, and some of them load Node's
// WebSocket and fetch clients, which took about 35 ms of a start.
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')
