// The errors of a configuration that cannot be used.

// The message names the variable, or the file, line, column and key.
export class BadConfig extends Error {
  override readonly name: string = 'BadConfig'
}

// There is no file, which is no mistake.
export class NoConfigFile extends BadConfig {}
