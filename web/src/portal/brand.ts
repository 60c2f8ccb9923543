// The name, logo and colour that the operator has set.
import { createContext, useContext } from 'react'
import { call } from '../api/call.ts'

export type Brand = { readonly name: string; readonly logo: string | null; readonly color: string | null }

const NONE: Brand = { name: 'Account', logo: null, color: null }

export const BrandContext = createContext(NONE)

export function useBrand(): Brand {
  return useContext(BrandContext)
}

// A server that does not answer yet must not leave the page empty.
export function readBrand(): Promise<Brand> {
  return call<Brand>('GET', '/brand').catch(() => NONE)
}
