// The plan for a request: which models may answer it, and which targets are tried in which order. Made before the hold, since the
// hold covers what may be tried. See docs/decisions/hold-estimate.md.
import type { Model } from '../domain/catalog.ts'
import { type Chat, lineUp, type Models } from '../domain/chat.ts'
import type { Pass } from '../domain/handoff.ts'
import { type Identifiers, stickyWord } from '../domain/identifiers.ts'
import { Refusal } from '../domain/refusal.ts'
import type { Catalog } from './catalog.ts'
import { type ChooseNeeds, choose } from './choose.ts'
import type { Choice } from './targets.ts'

export type PlanNeeds = ChooseNeeds & { readonly catalog: () => Catalog }

export type Plan = {
  // Those that may be tried; where none can be called now, the first that might have been.
  readonly models: Models
  readonly choice: Choice
}

type PlanRequest = {
  readonly chat: Chat
  readonly stickTo: string | null
  // What the key may use: ids and patterns; empty: everything.
  readonly allowedModels: readonly string[]
}

export function planRequest(pass: Pass, chat: Chat, identifiers: Identifiers): PlanRequest {
  return { chat, stickTo: stickyWord(identifiers), allowedModels: pass.caller.key.allowedModels }
}

export function plan({ chat, stickTo, allowedModels }: PlanRequest, needs: PlanNeeds): Plan {
  const { models, unfit } = lineUp(chat, needs.catalog().model, allowedModels)
  const choice = choose({ chat, models, unfit, stickTo }, needs)
  if (choice.unwanted) throw nobodyWanted(chat, choice)
  return { models: models.length === 1 ? models : modelsOf(choice, models), choice }
}

// The choice without the models that the hold does not cover.
export function within(choice: Choice, isAffordable: (model: Model) => boolean): Choice {
  const unaffordable = new Set(choice.queue.map(({ model }) => model).filter(model => !isAffordable(model)))
  if (unaffordable.size === 0) return choice
  const ids = new Set([...unaffordable].map(({ id }) => id))
  const [kept, left] = [
    choice.considered.filter(({ model }) => !ids.has(model)),
    choice.considered.filter(({ model }) => ids.has(model)),
  ]
  let position = 0
  return {
    ...choice,
    queue: choice.queue.filter(({ model }) => !unaffordable.has(model)),
    considered: [
      ...kept.map(entry => (entry.position === null ? entry : { ...entry, position: position++ })),
      ...left.map(entry =>
        entry.position === null ? entry : { ...entry, position: null, reason: 'unaffordable' as const },
      ),
    ],
  }
}

function modelsOf({ queue }: Choice, otherwise: Models): Models {
  const [first, ...others] = new Set(queue.map(({ model }) => model))
  return first === undefined ? [otherwise[0]] : [first, ...others]
}

function nobodyWanted({ remoteMedia, untranslatable }: Chat, { considered }: Choice): Refusal {
  if (untranslatable !== undefined && considered.some(({ reason }) => reason === 'other_dialect'))
    return new Refusal('unsupported_value', untranslatable)
  if (remoteMedia !== undefined && considered.some(({ reason }) => reason === 'no_remote_media')) {
    const message = 'No provider of this model fetches images by URL; send them as data: URLs.'
    return new Refusal('unsupported_value', { param: remoteMedia, message })
  }
  return new Refusal('unsupported_value', {
    param: 'provider',
    message: 'No provider of this model meets the requirements in `provider`.',
  })
}
