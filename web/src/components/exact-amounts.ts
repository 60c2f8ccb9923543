// Shows all digits of a rounded amount in a tooltip while it is hovered or focused, and puts them on the clipboard when it is copied.
// One listener for the page instead of a tooltip for each of a thousand figures.

const ROUNDED = '[data-exact]'

export function installExactAmounts(): void {
  const tooltip = document.createElement('div')
  tooltip.className = 'exact-amount'
  tooltip.id = 'exact-amount'
  tooltip.role = 'tooltip'
  tooltip.hidden = true
  document.body.append(tooltip)

  const show = ({ target }: Event) => {
    const amount = target instanceof Element ? target.closest<HTMLElement>(ROUNDED) : null
    tooltip.hidden = amount === null
    if (amount === null) return
    amount.setAttribute('aria-describedby', tooltip.id)
    tooltip.textContent = amount.dataset.exact ?? ''
    place(tooltip, amount.getBoundingClientRect())
  }
  const hide = () => {
    tooltip.hidden = true
  }
  document.addEventListener('mouseover', show)
  document.addEventListener('focusin', show)
  document.addEventListener('focusout', hide)
  document.addEventListener('scroll', hide, { capture: true, passive: true })
  document.addEventListener('keydown', event => event.key === 'Escape' && hide())
  document.addEventListener('copy', copyExact)
}

function place(tooltip: HTMLElement, at: DOMRect): void {
  const left = Math.min(at.right, innerWidth - 8) - tooltip.offsetWidth
  const above = at.top - tooltip.offsetHeight - 4
  tooltip.style.left = `${Math.max(8, left)}px`
  tooltip.style.top = `${above < 0 ? at.bottom + 4 : above}px`
}

function copyExact(event: ClipboardEvent): void {
  const selection = getSelection()
  if (selection === null || selection.rangeCount === 0 || selection.isCollapsed) return
  const range = selection.getRangeAt(0).cloneRange()
  // A part of an amount copies the whole of it.
  const [first, last] = [amountAt(range.startContainer), amountAt(range.endContainer)]
  if (first !== null) range.setStartBefore(first)
  if (last !== null) range.setEndAfter(last)
  const copied = document.createElement('div')
  copied.append(range.cloneContents())
  const amounts = copied.querySelectorAll<HTMLElement>(ROUNDED)
  if (amounts.length === 0 || event.clipboardData === null) return
  for (const each of amounts) each.textContent = each.dataset.exact ?? ''
  copied.className = 'copied-amounts'
  // In the page, its text has the tabs and line breaks of a table.
  document.body.append(copied)
  event.clipboardData.setData('text/plain', copied.innerText)
  copied.remove()
  event.preventDefault()
}

function amountAt(node: Node): Element | null {
  return (node instanceof Element ? node : node.parentElement)?.closest(ROUNDED) ?? null
}
