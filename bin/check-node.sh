#!/bin/sh
# Whether the Node that is installed with us runs. Since version 25 it needs a library that a plain Debian does not bring:
# root (and CI) gets it here, as `npm ci` must be enough there; everybody else is told how.
said=$(node -e 0 2>&1) && exit 0
case $said in
  *libatomic*) ;;
  *)
    printf '%s\n' "$said" 'The Node that is installed with Turnpike does not run on this machine.' >&2
    exit 1
    ;;
esac

as=
[ "$(id -u)" = 0 ] || as='sudo -n'
if { [ -z "$as" ] || [ -n "$CI" ]; } && command -v apt-get >/dev/null; then
  echo 'Installing libatomic1, which Node needs and this machine lacks …' >&2
  apt="$as env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300"
  said=$({ $apt update && $apt install -y --no-install-recommends libatomic1; } 2>&1) && node -e 0 && exit 0
  printf '%s\n' "$said" >&2
fi

cat >&2 <<'END'
Node needs the library libatomic.so.1, which this machine lacks. Install it and run the command again:
  Debian, Ubuntu   sudo apt-get install libatomic1
  Fedora, RHEL     sudo dnf install libatomic
END
exit 1
