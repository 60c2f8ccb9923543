// The entry point of the dashboard: styles, providers and the root component.
import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import './main.css'
import { MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { QueryClientProvider } from '@tanstack/react-query'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { setApiRoot } from './api/call.ts'
import { queries } from './api/queries.ts'
import { App } from './app.tsx'
import { installExactAmounts } from './components/exact-amounts.ts'
import { resolveVariables, theme } from './theme.ts'

setApiRoot('/admin/v1')
const root = document.getElementById('root')
if (root === null) throw new Error('the page has no root')

installExactAmounts()
createRoot(root).render(
  <StrictMode>
    <MantineProvider theme={theme} cssVariablesResolver={resolveVariables} defaultColorScheme="auto">
      <QueryClientProvider client={queries}>
        <Notifications position="bottom-right" autoClose={5000} />
        <App />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
