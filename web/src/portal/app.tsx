// Shows the portal, or where to go without a session; each page is loaded when it is first opened.
import { lazy, type ReactNode, Suspense, useEffect } from 'react'
import { Route, Router, Switch } from 'wouter'
import { queries } from '../api/queries.ts'
import { MayChange } from '../api/session-context.ts'
import { ErrorBoundary } from '../shell/error-boundary.tsx'
import { Loading, Resuming } from '../shell/resuming.tsx'
import { Closed } from './closed.tsx'
import { PortalSessionContext, resume, useSessionState } from './session.ts'
import { Shell } from './shell.tsx'

const Overview = lazy(() => import('./pages/overview.tsx'))
const Usage = lazy(() => import('./pages/usage.tsx'))
const Request = lazy(() => import('./pages/request.tsx'))
const Keys = lazy(() => import('./pages/keys.tsx'))
const KeyDetail = lazy(() => import('./pages/key-detail.tsx'))
const Start = lazy(() => import('./pages/start.tsx'))
const NotFound = lazy(() => import('./pages/not-found.tsx'))

export function App(): ReactNode {
  const state = useSessionState()
  // Data of one account must not stay in the cache for the next.
  useEffect(() => {
    if (state.is === 'closed') queries.clear()
  }, [state.is])

  if (state.is === 'loading') return <Resuming resume={resume} />
  if (state.is === 'closed') return <Closed because={state.because} returnUrl={state.returnUrl} />
  return (
    <PortalSessionContext value={state.session}>
      <MayChange value={state.session.permissions.includes('keys')}>
        <Router base="/portal">
          <Shell>
            <ErrorBoundary>
              <Suspense fallback={<Loading />}>
                <Pages />
              </Suspense>
            </ErrorBoundary>
          </Shell>
        </Router>
      </MayChange>
    </PortalSessionContext>
  )
}

function Pages(): ReactNode {
  return (
    <Switch>
      <Route path="/" component={Overview} />
      <Route path="/usage" component={Usage} />
      <Route path="/usage/:id">{({ id }) => <Request key={id} id={id} />}</Route>
      <Route path="/keys" component={Keys} />
      <Route path="/keys/:id">{({ id }) => <KeyDetail key={id} id={id} />}</Route>
      <Route path="/start" component={Start} />
      <Route>
        <NotFound />
      </Route>
    </Switch>
  )
}
