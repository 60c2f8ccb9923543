// Builds the dashboard and the customer portal into web/dist, which the gateway serves itself; for development, `vite web` forwards calls to a
// running gateway.
import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const GATEWAY = process.env.TURNPIKE_URL ?? 'http://127.0.0.1:8080'

export default defineConfig({
  root: import.meta.dirname,
  cacheDir: '../.cache/vite',
  plugins: [react()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    // A policy without `data:` must not break anything.
    assetsInlineLimit: 0,
    // What is preloaded by a script of its own would need a policy that allows it.
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 600,
    rolldownOptions: { input: ['index.html', 'portal.html'].map(name => `${import.meta.dirname}/${name}`) },
  },
  server: {
    proxy: { '/admin': GATEWAY, '/portal/v1': GATEWAY, '/portal/open': GATEWAY, '/v1': GATEWAY, '/health': GATEWAY },
  },
})
