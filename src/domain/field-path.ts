// The path of an invalid field in a body, as an error's `param` names it.

const PARAM_MAX = 256

// Converts a JSON pointer to `messages.2.content`. Names come from the caller, so they are shortened and made well-formed.
export function fieldPath(pointer: string, prefix = ''): string {
  const steps = pointer.split('/').slice(1)
  const names = steps.map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  return (prefix === '' ? names : [prefix, ...names]).join('.').slice(0, PARAM_MAX).toWellFormed()
}

export function fieldBelow(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}
