// The errors of a configuration that cannot be used.

// One mistake; in a file, with its place.
export type Problem = {
  readonly message: string
  readonly file?: string
  readonly line?: number
  readonly column?: number
}

// The message names the variable, or on one line each the file, line, column and key of every mistake.
export class BadConfig extends Error {
  override readonly name: string = 'BadConfig'
  readonly problems: readonly Problem[]

  constructor(problem: string | readonly Problem[]) {
    const problems = typeof problem === 'string' ? [{ message: problem }] : problem
    super(problems.map(lineOf).join('\n'))
    this.problems = problems
  }
}

// `turnpike.yaml:3:5: providers[0].kind: is missing`.
function lineOf({ file, line, column, message }: Problem): string {
  return [...[file, line, column].filter(part => part !== undefined), ` ${message}`].join(':').trimStart()
}

// There is no file, which is no mistake.
export class NoConfigFile extends BadConfig {}
