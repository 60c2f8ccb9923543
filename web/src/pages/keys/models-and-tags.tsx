// The fields of a key for the models that it may use and for its tags.
import { TagsInput } from '@mantine/core'
import type { ReactNode } from 'react'
import { ALLOWED_MODELS_MAX } from '../../../../src/domain/key.ts'
import { KEY_TAGS_MAX } from '../../../../src/domain/tags.ts'
import { useModelDirectory } from '../../api/models.ts'
import { readTagText } from '../../components/tags.tsx'

type Form = {
  readonly values: { readonly allowed_models: readonly string[]; readonly tags: readonly string[] }
  getInputProps(field: 'allowed_models' | 'tags'): object
}

export function ModelsAndTags({ form }: { readonly form: Form }): ReactNode {
  const models = useModelDirectory()
  return (
    <>
      <TagsInput
        label="Models"
        description="IDs, or patterns such as gpt-4o*. Other models are refused. Leave empty to allow all models."
        placeholder={form.values.allowed_models.length === 0 ? 'all models' : ''}
        data={models.map(({ id }) => id)}
        maxTags={ALLOWED_MODELS_MAX}
        splitChars={[',', ' ', '\n']}
        {...form.getInputProps('allowed_models')}
      />
      <TagsInput
        label="Tags"
        description="Names with values, such as team=search. Usage can be filtered and summed by them."
        placeholder={form.values.tags.length === 0 ? 'none' : ''}
        maxTags={KEY_TAGS_MAX}
        splitChars={[',', '\n']}
        {...form.getInputProps('tags')}
      />
    </>
  )
}

export function checkTags(texts: readonly string[]): string | null {
  const wrong = texts.find(text => readTagText(text) === undefined)
  return wrong === undefined ? null : `“${wrong}” is not a tag such as team=search`
}

export function tagsFrom(texts: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(texts.flatMap(text => [readTagText(text) ?? []]).filter(pair => pair.length === 2))
}
