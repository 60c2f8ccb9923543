// The log of operators' actions: who, what, on what, when and from where.
import { isoTime } from '../domain/wire-time.ts'
import type { Events, OperatorEvent, Page } from '../store/contract/operator.ts'
import { type List, listOf, readRange } from './input.ts'

export type EventQuery = {
  readonly actor?: string
  readonly action?: string
  readonly subject?: string
  readonly from?: string
  readonly to?: string
}

export type EventObject = Omit<OperatorEvent, 'at'> & { readonly object: 'event'; readonly at: string }

export type EventMethods = { list(query: EventQuery, page: Page): Promise<List<EventObject>> }

export function eventMethods({ events }: { readonly events: Events }): EventMethods {
  return {
    async list({ actor, action, subject, ...range }, page) {
      return listOf(await events.list({ actor, action, subject, ...readRange(range), ...page }), eventObject)
    },
  }
}

function eventObject(event: OperatorEvent): EventObject {
  return { ...event, object: 'event', at: isoTime(event.at) }
}
