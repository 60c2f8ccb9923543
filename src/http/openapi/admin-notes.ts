// Descriptions of the admin API's operations, beyond their summaries.
import type { ADMIN } from '../admin/schemas.ts'

export const ADMIN_ABOUT: Readonly<Record<keyof typeof ADMIN, string>> = {
  createKey:
    'Without `account_id` it belongs to the default account. What is left out takes the defaults of the settings.',
  listKeys: 'Never a secret or its hash. `q` searches names, labels and ids.',
  getKey: 'With its limits, what it spent, and the old secrets that are still in their grace period.',
  updateKey:
    'Fields that are left out stay as they are; `null` removes a limit or an expiry. A revoked key cannot be changed.',
  rotateKey:
    'The old secret keeps working for its grace period of 60 minutes. At most five old secrets are in grace at once.',
  endGrace: 'All old secrets, or the one that ends in `last4`. Ending what has ended changes nothing.',
  resetDay:
    'For a counter that a wrong clock left behind, or to grant a key its daily limit again. The event keeps the old count.',
  revokeKey: 'Ends all of its secrets on every node. Streams that run may finish, unless `abort_streams` is true.',
  createAccount: 'It starts active, without credits.',
  listAccounts: '`q` searches names and ids.',
  getAccount: 'With its balance: available, held by requests in flight, spent and owed.',
  updateAccount: 'Requests of a suspended account are refused with 403; its keys and credits stay.',
  addCredits:
    'Booked once for each `Idempotency-Key`. What the account owes is paid first. An adjustment never takes more than is available.',
  listLedger: 'Top-ups, adjustments, charges and corrections of the account.',
  listUsage: 'One row for every request of a recognised key. Chats only, unless `endpoint` says otherwise.',
  summariseUsage: 'Requests, tokens and cost of the rows that the filter selects, grouped by one column.',
  overview: 'The figures of the first page of the dashboard for a range of time.',
  getUsage: 'With its attempts, its routing and its price.',
  listEvents: 'Who did what to what, when and from where. Kept for ever.',
  listNodes: 'Each with its version, its start and the requests in flight; one node where the store is SQLite.',
  createProvider: 'Its credential is stored encrypted and never shown again.',
  listProviders: "Those of the configuration file and the operators' own.",
  getProvider: 'Of its credentials only the last four characters are shown.',
  updateProvider: 'A provider of the configuration file is changed in that file.',
  deleteProvider: 'Refused while a model has it as a target.',
  addCredential: 'Several credentials are used in turn; one that is rejected or limited is skipped.',
  removeCredential: 'Requests that use it finish.',
  getProviderHealth: 'Success rates, first-byte times and circuit breakers of this node.',
  createModel:
    'Prices are US dollars per token; markup and exchange rate of the settings make them credits when they are saved.',
  importModels: 'With `dry_run` it says what would change and changes nothing.',
  listModels: "Those of the configuration file and the operators' own, active or not.",
  getModel: 'With the prices that were entered, and those in credits that callers pay.',
  updateModel: 'A new price applies to requests that begin after it, and gets a new `price_version`.',
  deleteModel: 'Rows keep their price. A model of the configuration file is removed from that file.',
  applyCatalog:
    'Providers and models of the file are put in force in one transaction. With `dry_run` it only says what would change.',
  openSession: 'The cookie is HttpOnly and SameSite=Strict; every change by session needs `X-CSRF-Token`.',
  getSession: 'Who is logged in, with which role, and the CSRF token.',
  endSession: 'Ends the session of the cookie that was sent.',
  listSessions: 'Of all operators, without their secrets.',
  endOtherSession: 'The next request of that session is refused.',
  createOperator: 'An admin may change everything, a viewer only reads.',
  listOperators: 'Without their tokens.',
  getOperator: 'Without the token.',
  updateOperator: 'The operator of the environment cannot be changed here.',
  rotateOperator: 'The old token is refused at once.',
  removeOperator: 'The token is refused at once. The operator of the environment cannot be removed.',
  getSettings: 'Read-only: they are set in the environment or the configuration file.',
}
