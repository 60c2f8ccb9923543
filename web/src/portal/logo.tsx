// The operator's logo and name.
import { Text } from '@mantine/core'
import type { ReactNode } from 'react'
import { useBrand } from './brand.ts'

export function Logo(): ReactNode {
  const { name, logo } = useBrand()
  return (
    <>
      {logo !== null && <img src={logo} alt="" height={26} style={{ maxWidth: 120, objectFit: 'contain' }} />}
      <Text fw={650} component="span" className="one-line">
        {name}
      </Text>
    </>
  )
}
