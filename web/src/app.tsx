// Shows the sign-in page or the dashboard; each page is loaded when it is first opened.
import { lazy, type ReactNode, Suspense, useEffect } from 'react'
import { Redirect, Route, Switch } from 'wouter'
import { queries } from './api/queries.ts'
import { resume, type Session, useSessionState } from './api/session.ts'
import { MayChange, SessionContext } from './api/session-context.ts'
import { useSettings } from './api/settings.ts'
import { useCurrency } from './components/currency.ts'
import { Login } from './pages/login/login.tsx'
import { NotFound } from './pages/not-found.tsx'
import { forgetKeys } from './pages/playground/own-key.ts'
import { ErrorBoundary } from './shell/error-boundary.tsx'
import { Loading, Resuming } from './shell/resuming.tsx'
import { Shell } from './shell/shell.tsx'

const Overview = lazy(() => import('./pages/overview/overview.tsx'))
const Keys = lazy(() => import('./pages/keys/keys.tsx'))
const KeyDetail = lazy(() => import('./pages/keys/key-detail.tsx'))
const Accounts = lazy(() => import('./pages/accounts/accounts.tsx'))
const AccountDetail = lazy(() => import('./pages/accounts/account-detail.tsx'))
const Usage = lazy(() => import('./pages/usage/usage.tsx'))
const RequestDetail = lazy(() => import('./pages/usage/request-detail.tsx'))
const Models = lazy(() => import('./pages/catalog/models.tsx'))
const Providers = lazy(() => import('./pages/catalog/providers.tsx'))
const Nodes = lazy(() => import('./pages/nodes/nodes.tsx'))
const Playground = lazy(() => import('./pages/playground/playground.tsx'))
const Events = lazy(() => import('./pages/events/events.tsx'))
const Webhooks = lazy(() => import('./pages/webhooks/webhooks.tsx'))
const WebhookDetail = lazy(() => import('./pages/webhooks/webhook-detail.tsx'))
const Settings = lazy(() => import('./pages/settings/settings.tsx'))

export function App(): ReactNode {
  const state = useSessionState()
  // Data and keys of one operator must not stay in memory for the next.
  useEffect(() => {
    if (state.is !== 'none') return
    queries.clear()
    forgetKeys()
  }, [state.is])

  if (state.is === 'unknown') return <Resuming resume={resume} />
  if (state.is === 'none') return <Login because={state.because} />
  return <SignedIn session={state.session} />
}

function SignedIn({ session }: { readonly session: Session }): ReactNode {
  const { data: settings } = useSettings()
  useCurrency(settings?.credits_per_usd)
  return (
    <SessionContext value={session}>
      <MayChange value={session.operator.role === 'admin'}>
        <Shell>
          <ErrorBoundary>
            <Suspense fallback={<Loading />}>
              <Pages />
            </Suspense>
          </ErrorBoundary>
        </Shell>
      </MayChange>
    </SessionContext>
  )
}

function Pages(): ReactNode {
  return (
    <Switch>
      <Route path="/overview" component={Overview} />
      <Route path="/keys" component={Keys} />
      <Route path="/keys/:id">{({ id }) => <KeyDetail key={id} id={id} />}</Route>
      <Route path="/accounts" component={Accounts} />
      <Route path="/accounts/:id">{({ id }) => <AccountDetail key={id} id={id} />}</Route>
      <Route path="/usage" component={Usage} />
      <Route path="/usage/:id">{({ id }) => <RequestDetail key={id} id={id} />}</Route>
      <Route path="/models" component={Models} />
      <Route path="/providers" component={Providers} />
      <Route path="/webhooks" component={Webhooks} />
      <Route path="/webhooks/:id">{({ id }) => <WebhookDetail key={id} id={id} />}</Route>
      <Route path="/nodes" component={Nodes} />
      <Route path="/playground" component={Playground} />
      <Route path="/events" component={Events} />
      <Route path="/settings" component={Settings} />
      <Route path="/">
        <Redirect to="/overview" replace />
      </Route>
      <Route path="/login">
        <Redirect to="/overview" replace />
      </Route>
      <Route>
        <NotFound />
      </Route>
    </Switch>
  )
}
