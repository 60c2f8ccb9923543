// URLs for a provider to fetch: nothing that could be read as a private host passes, in any notation.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPublicHost, publicUrl } from '../../src/lib/egress.ts'

const PRIVATE = [
  ...[
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '0x7f.1',
    '127.0.0.1.',
    '127.0.0.1:8080',
    '0',
    '0.0.0.0',
  ],
  ...[
    '169.254.169.254',
    '2852039166',
    '0xa9fea9fe',
    '0251.0376.0251.0376',
    '169.254.169.254.',
    '10.0.0.1',
    '192.168.1.1',
  ],
  ...['172.16.0.1', '100.64.0.1', '198.18.0.1', '224.0.0.1', '255.255.255.255', '168.63.129.16', '192.0.0.192'],
  ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[64:ff9b::7f00:1]', '[64:ff9b:1::1]'],
  ...[
    '[2002:7f00:1::]',
    '[2001::1]',
    '[fe80::1]',
    '[fc00::1]',
    '[fec0::1]',
    '[ff02::1]',
    '[2001:db8::1]',
    '[fd00:ec2::254]',
  ],
  ...['localhost', 'localhost.', 'LOCALHOST', 'metadata', 'redis', 'a.localhost', 'printer.local', 'PRINTER.LOCAL.'],
  ...[
    'metadata.google.internal',
    'metadata.google.internal.',
    'db.prod.svc',
    'db.prod.svc.cluster.local',
    'a.home.arpa',
  ],
  ...['１２７.0.0.1', '127。0。0。1', '①②⑦.0.0.1', 'ⓛocalhost', '%31%32%37.0.0.1', '%6c%6f%63alhost', '127.0.0.1%2f'],
  ...[
    'user@example.com',
    'user:pass@example.com',
    '@example.com',
    ':@example.com',
    'example.com@127.0.0.1',
    '127.0.0.1\\@example.com',
  ],
  ...['example.com\\@127.0.0.1', '.', '..', 'a..b', 'exam ple.com', 'a.1', '1.2.3.4.5', `${'a.'.repeat(130)}com`],
]

for (const host of PRIVATE) {
  test(`https://${host.slice(0, 60)}/ is not forwarded unchanged`, () => {
    const passed = publicUrl(`https://${host}/a.png`)

    // A host that is read as public despite its form is forwarded in canonical form.
    if (passed !== undefined) assert.equal(passed, 'https://example.com/@127.0.0.1/a.png')
  })
}

for (const url of [
  'https://example.com/a.png',
  'HTTPS://Example.COM/a.png?x=@y#z',
  'https://example.com:8443/a',
  'https://cdn.example.co.uk',
  'https://8.8.8.8/a.png',
  'https://[2606:4700::1111]/a',
  'https://example.com./a',
  'https://under_score.example.com/a',
  'https://local.example.com/internal.local',
]) {
  test(`${url} is forwarded unchanged`, () => assert.equal(publicUrl(url), url))
}

test('a host in another script, or a URL with spaces, is forwarded in canonical form', () => {
  assert.equal(publicUrl('https://bücher.example/a'), 'https://xn--bcher-kva.example/a')
  assert.equal(publicUrl('https:\\\\example.com\\a'), 'https://example.com/a')
  assert.equal(publicUrl(' https://exa\nmple.com/a'), 'https://example.com/a')
})

test('other schemes and overlong URLs are not forwarded', () => {
  for (const url of ['http://example.com/', 'ftp://example.com/', 'file:///etc/passwd', 'https:', 'x', '']) {
    assert.equal(publicUrl(url), undefined, url)
  }
  assert.equal(publicUrl(`https://example.com/${'a'.repeat(9000)}`), undefined)
  assert.equal(isPublicHost('api.openai.com'), true)
})
