// How the page at /docs looks: light and dark, on paper, on a phone; with the fonts that are there, since none is loaded.
import type { Markup } from './html.ts'

export const STYLE: Markup = {
  markup: `
:root {
  color-scheme: light dark;
  --paper: #fdfdfb; --raised: #f5f5f1; --line: #e2e2da; --ink: #1d1f1c; --soft: #5d635b; --accent: #0a6847; --mark: #fff3c4;
  --get: #1f5fae; --post: #0a6847; --patch: #925400; --bad: #a3302b;
  --mono: ui-monospace, 'SF Mono', 'Cascadia Code', 'JetBrains Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace;
  font: 16px/1.6 system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #141614; --raised: #1c1f1c; --line: #30352f; --ink: #e6e8e3; --soft: #a0a79d; --accent: #6fd3a8; --mark: #3d3512;
    --get: #8ab8f2; --post: #6fd3a8; --patch: #e5b265; --bad: #f0918b;
  }
}
* { box-sizing: border-box }
html { scroll-behavior: smooth; scroll-padding-top: 1.5rem; -webkit-text-size-adjust: 100% }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto } }
body { margin: 0; background: var(--paper); color: var(--ink); display: grid; grid-template-columns: 18rem minmax(0, 1fr) }
a { color: var(--accent); text-decoration-color: color-mix(in srgb, var(--accent) 35%, transparent); text-underline-offset: .18em }
a:hover { text-decoration-color: currentColor }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px }
:target { background: var(--mark) }
section:target, .anchor:target, header:target { background: none }
.skip { position: absolute; left: -99rem }
.skip:focus { left: 1rem; top: 1rem; background: var(--paper); padding: .5rem 1rem; z-index: 2 }
code, pre { font-family: var(--mono); font-size: .875em; font-variant-ligatures: none }
code { overflow-wrap: anywhere }

main { padding: 3.5rem clamp(1.25rem, 4vw, 4rem) 8rem; max-width: 62rem }
h1 { font-size: 2.3rem; line-height: 1.15; letter-spacing: -.025em; margin: 0 0 .6rem }
h2 { font-size: 1.55rem; line-height: 1.25; letter-spacing: -.015em; margin: 4.5rem 0 .75rem; padding-top: 1.5rem; border-top: 1px solid var(--line) }
h3 { font-size: 1.1rem; line-height: 1.4; margin: 0 0 .75rem; display: flex; gap: .6rem; align-items: baseline; flex-wrap: wrap }
h3 code { font-size: 1em; font-weight: 600 }
h4 { font-size: .95rem; margin: 1.75rem 0 .5rem }
p, li { max-width: 44rem; text-wrap: pretty }
ul { padding-left: 1.15rem } li + li { margin-top: .45rem } li::marker { color: var(--soft) }
.lead { font-size: 1.2rem; color: var(--soft); margin: 0 0 1rem }
.op { margin-top: 3.5rem } .op + .op { border-top: 1px dashed var(--line); padding-top: 3rem; margin-top: 3rem }
.needs, .bounds, .place { color: var(--soft); font-size: .875em } .needs { margin: -.4rem 0 1rem }
.bounds { display: inline-block } .path { color: var(--soft) }
.may { color: var(--soft); font-size: .75rem; white-space: nowrap }
.must { color: var(--bad); font-size: .75rem; white-space: nowrap }
.method { font: 700 .7rem/1 var(--mono); letter-spacing: .04em; color: var(--get) }
.method.post { color: var(--post) } .method.patch { color: var(--patch) }
h3 .method { font-size: .78rem; border: 1px solid currentColor; border-radius: 4px; padding: .28rem .4rem; position: relative; top: -.1rem }
.status { font: 600 .82rem var(--mono); color: var(--bad) } .status.ok { color: var(--post) }

pre { background: var(--raised); border: 1px solid var(--line); border-radius: 8px; padding: .9rem 1rem; overflow-x: auto; line-height: 1.55; font-size: .82rem }
pre code { font-size: inherit; overflow-wrap: normal }
table { border-collapse: collapse; width: 100%; font-size: .9rem; line-height: 1.5; margin: .5rem 0 1rem }
th { text-align: left; font-size: .78rem; font-weight: 600; color: var(--soft); padding: .3rem 1rem .3rem 0; border-bottom: 1px solid var(--line) }
td { vertical-align: top; padding: .5rem 1rem .5rem 0; border-bottom: 1px solid var(--line) }
td:last-child, th:last-child { padding-right: 0 }
td.name { width: 29% } td.short { width: 5.5rem } td.type { width: 23%; color: var(--soft); overflow-wrap: anywhere }
details { border: 1px solid var(--line); border-radius: 8px; margin: .6rem 0; padding: 0 1rem }
details > summary { cursor: pointer; padding: .55rem 0; font-size: .92rem } details[open] > summary { border-bottom: 1px solid var(--line); margin-bottom: .75rem }
details tr:last-child td { border-bottom: 0 }
.anchor { scroll-margin-top: 4rem } .either { line-height: 2; max-width: none } .media { margin: .4rem 0 }
#schemas summary { font-weight: 600 }

.tabs { display: flex; flex-wrap: wrap; gap: 0 .35rem }
.tabs input { position: absolute; opacity: 0; pointer-events: none }
.tabs label { padding: .35rem .8rem; border-radius: 6px; color: var(--soft); cursor: pointer; font-size: .9rem; font-weight: 600 }
.tabs input:checked + label { background: var(--raised); color: var(--ink); box-shadow: inset 0 0 0 1px var(--line) }
.tabs input:focus-visible + label { outline: 2px solid var(--accent) }
.panel { display: none; order: 1; width: 100% } .panel pre { margin-top: .6rem }
#tab-0:checked ~ .panel:nth-of-type(1), #tab-1:checked ~ .panel:nth-of-type(2), #tab-2:checked ~ .panel:nth-of-type(3) { display: block }

.side { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 2rem 1rem 3rem 1.5rem; border-right: 1px solid var(--line); font-size: .875rem; scrollbar-width: thin }
.brand { display: block; font-weight: 700; font-size: 1.05rem; color: var(--ink); text-decoration: none; margin-bottom: 1.5rem }
.brand span, .menu summary span { color: var(--soft); font-weight: 400 }
nav p { margin: 1.4rem 0 .3rem; font-weight: 600; font-size: .8rem; color: var(--soft) }
nav ul { list-style: none; margin: 0; padding: 0 } nav li + li { margin: 0 }
nav li a { display: block; padding: .2rem .5rem; margin-left: -.5rem; border-radius: 5px; color: inherit; text-decoration: none; line-height: 1.4 }
nav li a:hover { background: var(--raised) }
.calls a { display: grid; grid-template-columns: 2.9rem 1fr; align-items: baseline; font: .78rem/1.45 var(--mono) }
.menu, .up { display: none }

@media (max-width: 60rem) {
  body { display: block } .side { display: none }
  .menu { display: block; margin: 0; border-width: 0 0 1px; border-radius: 0; padding: 0 1.25rem; background: var(--raised) }
  .menu > summary { font-weight: 700; padding: .8rem 0 } .menu[open] { padding-bottom: 2rem }
  .up { display: grid; place-items: center; position: fixed; right: 1rem; bottom: 1rem; width: 2.75rem; height: 2.75rem; border-radius: 50%; background: var(--raised); border: 1px solid var(--line); color: var(--ink); text-decoration: none; box-shadow: 0 2px 8px #0003 }
  .menu nav li a { padding: .45rem .5rem }
  main { padding-top: 2rem }
}
@media (max-width: 40rem) {
  h1 { font-size: 1.9rem } h2 { margin-top: 3.5rem }
  thead { position: absolute; left: -99rem } table, tbody { display: block; width: 100% }
  tr { display: flex; flex-wrap: wrap; gap: .1rem .75rem; padding: .6rem 0; border-bottom: 1px solid var(--line) }
  td, td.name, td.short, td.type { width: auto; padding: 0; border: 0 } td.text { flex-basis: 100% } td:empty { display: none }
  details { padding: 0 .8rem } pre { font-size: .78rem }
}
@media print {
  body { display: block; font-size: 10pt } .side, .menu, .up { display: none } .panel { display: block } pre { white-space: pre-wrap }
}
`,
}
