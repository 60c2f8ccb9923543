// The `portal` block of the configuration file: the address and the brand of the customer portal.
import { type Static, Type } from 'typebox'
import { strict } from '../catalog/schema.ts'
import { type Faults, invalidField } from '../lib/schema-fault.ts'

export type PortalBrand = {
  // The origin of links and of the API that customers see; null: the address of the request.
  readonly url: string | null
  readonly name: string
  // The URL of an image, or the image itself as `data:`.
  readonly logo: string | null
  // `#rrggbb`
  readonly color: string | null
}

export const NO_PORTAL_BRAND: PortalBrand = { url: null, name: 'Turnpike', logo: null, color: null }

const URL_PATTERN = '^https?://'
const COLOR = '^#[0-9a-fA-F]{6}$'
const LOGO = '^(https://|data:image/(png|jpeg|gif|webp|svg\\+xml);base64,[A-Za-z0-9+/]+=*$)'
const LOGO_MAX = 96 * 1024

export const PORTAL_WORDS: Readonly<Record<string, string>> = {
  [COLOR]: 'a color such as "#1f6feb"',
  [LOGO]: 'an https:// URL, or an image as "data:image/png;base64,…" (also jpeg, gif, webp, svg+xml)',
}

export const PortalSchema = Type.Object(
  {
    url: Type.Optional(Type.String({ pattern: URL_PATTERN, maxLength: 256 })),
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 80 })),
    logo: Type.Optional(Type.String({ pattern: LOGO, maxLength: LOGO_MAX })),
    color: Type.Optional(Type.String({ pattern: COLOR })),
  },
  strict,
)

export type PortalInput = Static<typeof PortalSchema>

export function portalBrandOf(input: PortalInput = {}): PortalBrand {
  return {
    url: input.url ?? NO_PORTAL_BRAND.url,
    name: input.name ?? NO_PORTAL_BRAND.name,
    logo: input.logo ?? NO_PORTAL_BRAND.logo,
    color: input.color?.toLowerCase() ?? NO_PORTAL_BRAND.color,
  }
}

// The host of a logo becomes part of a policy for the browser, so that it must be nothing but a host.
export function* portalFaults({ url, logo }: PortalInput = {}): Faults {
  if (url !== undefined && URL.parse(url)?.origin !== url)
    yield invalidField(['portal', 'url'], 'must be an origin alone, without a path or a slash at its end')
  if (logo?.startsWith('https://')) {
    const parsed = URL.parse(logo)
    const isPlain = parsed !== null && parsed.username === '' && /^https:\/\/[a-z0-9.-]+(:\d+)?$/.test(parsed.origin)
    if (!isPlain) yield invalidField(['portal', 'logo'], 'must be a URL such as "https://example.com/logo.svg"')
  }
}
