// The pages, in the order of the navigation.
import {
  IconChartHistogram,
  IconCpu,
  IconHistory,
  IconKey,
  IconListDetails,
  IconMessageCircle,
  IconPlugConnected,
  IconServer2,
  IconSettings,
  IconWallet,
  IconWebhook,
} from '@tabler/icons-react'

export const PAGES = [
  { path: '/overview', label: 'Overview', icon: IconChartHistogram },
  { path: '/usage', label: 'Usage', icon: IconListDetails },
  { path: '/keys', label: 'Keys', icon: IconKey },
  { path: '/accounts', label: 'Accounts', icon: IconWallet },
  { path: '/models', label: 'Models', icon: IconCpu },
  { path: '/providers', label: 'Providers', icon: IconPlugConnected },
  { path: '/webhooks', label: 'Webhooks', icon: IconWebhook },
  { path: '/playground', label: 'Playground', icon: IconMessageCircle },
  { path: '/nodes', label: 'Nodes', icon: IconServer2 },
  { path: '/events', label: 'Events', icon: IconHistory },
  { path: '/settings', label: 'Settings', icon: IconSettings },
] as const
