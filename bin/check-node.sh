#!/bin/sh
# Runs after a build that failed. If the Node installed with Turnpike does not start because libatomic is missing (a bare Debian lacks
# it), root and CI get the library, everyone else is told how to get it, and the build runs again. With the argument `later`, as in
# `npm ci`, nothing is installed and the build is left to `npm start`.
output=$(node -e 0 2>&1) && exit 1
case $output in
  *libatomic*) ;;
  *)
    printf '%s\n' "$output" 'The Node that is installed with Turnpike does not run on this machine.' >&2
    exit 1
    ;;
esac

how='install it with `apt-get install libatomic1` (Debian, Ubuntu) or `dnf install libatomic` (Fedora, RHEL)'
if [ "${1:-}" = later ]; then
  echo "Node needs libatomic, which this machine lacks: npm start installs it when run by root; otherwise $how." >&2
  exit 0
fi

prefix=
if [ "$(id -u)" = 0 ]; then prefix=env; else
  case ${CI:-} in '' | 0 | false) ;; *) prefix='sudo -n env' ;; esac
fi
if [ -n "$prefix" ] && command -v apt-get >/dev/null; then
  echo 'Installing libatomic1, which Node needs and this machine lacks …' >&2
  apt="$prefix DEBIAN_FRONTEND=noninteractive timeout 600 apt-get -qq -o DPkg::Lock::Timeout=300"
  install="$apt install -y --no-remove --no-install-recommends libatomic1"
  # The package lists may be missing, or locked by another process.
  output=$({ $install || { $apt update; $install; }; } 2>&1 </dev/null) && node -e 0 && exec node "$(dirname "$0")/build.js"
  printf '%s\n' "$output" >&2
fi

echo "Node needs libatomic, which this machine lacks: $how, then run the command again." >&2
exit 1
