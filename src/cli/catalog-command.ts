// The subcommands that providers and models share: show, update and delete.
import { callCommand, pathOf } from './call-command.ts'
import type { Command, Input, Option } from './command.ts'
import { CHANGE_OPTIONS, ifMatch, readDocument, SET_OPTIONS, something, VERSION_OPTION } from './document.ts'
import type { Json } from './http-client.ts'

export type Entry = {
  readonly collection: 'models' | 'providers'
  // The help text of each subcommand.
  readonly about: Readonly<Record<'show' | 'update' | 'delete', string>>
  readonly options: Readonly<Record<string, Option>>
  fields(input: Input): Json
}

export function entryCommands({
  collection,
  about,
  options,
  fields,
}: Entry): Readonly<Record<keyof Entry['about'], Command>> {
  return {
    show: callCommand({ usage: `${collection} show ID`, about: about.show, takes: [1, 1] }, input => ({
      method: 'GET',
      path: pathOf(collection, input),
    })),
    update: callCommand(
      {
        usage: `${collection} update ID [options]`,
        about: about.update,
        options: { ...options, ...SET_OPTIONS, ...CHANGE_OPTIONS, ...VERSION_OPTION },
        takes: [1, 1],
      },
      input => ({
        method: 'PATCH',
        path: pathOf(collection, input),
        body: something(readDocument(input, fields(input))),
        headers: ifMatch(input),
      }),
    ),
    delete: callCommand(
      { usage: `${collection} delete ID [options]`, about: about.delete, options: VERSION_OPTION, takes: [1, 1] },
      input => ({ method: 'DELETE', path: pathOf(collection, input), headers: ifMatch(input) }),
    ),
  }
}
