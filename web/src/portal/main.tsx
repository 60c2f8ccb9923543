// The entry point of the customer portal: the brand first, then styles, providers and the root component. It loads nothing of the
// operators' dashboard.
import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import '../main.css'
import { MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { setApiRoot } from '../api/call.ts'
import { queries } from '../api/queries.ts'
import { installExactAmounts } from '../components/exact-amounts.ts'
import { setProductName } from '../components/page.tsx'
import { App } from './app.tsx'
import { BrandContext, readBrand } from './brand.ts'
import { brandTheme, brandVariables } from './brand-theme.ts'

setApiRoot('/portal/v1')
void render()

async function render(): Promise<void> {
  const root = document.getElementById('root')
  if (root === null) throw new Error('the page has no root')
  const brand = await readBrand()
  setProductName(brand.name)
  document.title = brand.name
  if (brand.logo !== null) document.querySelector('link[rel=icon]')?.setAttribute('href', brand.logo)
  installExactAmounts()
  createRoot(root).render(
    <StrictMode>
      <MantineProvider
        theme={brandTheme(brand.color)}
        cssVariablesResolver={brandVariables(brand.color)}
        defaultColorScheme="auto"
      >
        <QueryClientProvider client={queries}>
          <Notifications position="bottom-right" autoClose={5000} />
          <BrandContext value={brand}>
            <App />
          </BrandContext>
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  )
}
