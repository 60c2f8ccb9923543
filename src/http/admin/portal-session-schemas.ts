// The endpoint table of links to the customer portal and of its sessions, for operators.
import { Type } from 'typebox'
import { PORTAL_LINK_SECONDS_MAX, PORTAL_PERMISSIONS, RETURN_URL_MAX } from '../../domain/portal.ts'
import { endpoint, listOf, Nothing, paging, READ, strict } from './endpoint-table.ts'
import { nullable, Time } from './shapes.ts'

const Permissions = Type.Array(Type.Enum([...PORTAL_PERMISSIONS]), { maxItems: PORTAL_PERMISSIONS.length })

const PortalSessionShape = Type.Object({
  object: Type.Literal('portal_session'),
  id: Type.String(),
  account_id: Type.String(),
  permissions: Permissions,
  return_url: nullable(Type.String()),
  address: Type.String({ description: 'Client IP address when the link was used.' }),
  created_at: Time,
  last_used_at: Time,
  expires_at: Time,
  idle_expires_at: Type.String({ description: 'When the session ends unless it is used. ISO 8601' }),
})

export const PORTAL_SESSIONS = {
  createPortalSession: endpoint(
    'POST',
    '/accounts/{id}/portal-sessions',
    'Create a link that opens the customer portal once',
    [201, 400, 401, 403, 404, 409, 413, 415, 429, 503],
    Type.Object({ url: Type.String(), expires_at: Time }),
    {
      body: Type.Object(
        {
          return_url: Type.Optional(
            nullable(
              Type.String({
                description: 'Where the portal leads back to: an http or https URL.',
                minLength: 1,
                maxLength: RETURN_URL_MAX,
              }),
            ),
          ),
          permissions: Type.Optional(
            Type.Array(Type.Enum([...PORTAL_PERMISSIONS]), {
              maxItems: PORTAL_PERMISSIONS.length,
              description: 'What the session may do: read `usage`, change `keys`. Default: both.',
            }),
          ),
          expires_in: Type.Optional(
            Type.Integer({
              description: 'How long the link works, in seconds.',
              minimum: 1,
              maximum: PORTAL_LINK_SECONDS_MAX,
              default: PORTAL_LINK_SECONDS_MAX,
            }),
          ),
        },
        strict,
      ),
    },
  ),
  listPortalSessions: endpoint(
    'GET',
    '/accounts/{id}/portal-sessions',
    'List the open portal sessions of an account',
    READ,
    listOf(PortalSessionShape),
    { query: Type.Object(paging('portal session'), strict) },
  ),
  endPortalSession: endpoint(
    'DELETE',
    '/accounts/{id}/portal-sessions/{session_id}',
    'End a portal session',
    [204, 400, 401, 403, 404, 429, 503],
    Nothing,
    {},
  ),
}
