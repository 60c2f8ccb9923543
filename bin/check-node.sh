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

may=
if [ "$(id -u)" = 0 ]; then may=env; else
  case ${CI:-} in '' | 0 | false) ;; *) may='sudo -n env' ;; esac
fi
if [ -n "$may" ] && command -v apt-get >/dev/null; then
  echo 'Installing libatomic1, which Node needs and this machine lacks …' >&2
  apt="$may DEBIAN_FRONTEND=noninteractive timeout 600 apt-get -qq -o DPkg::Lock::Timeout=300"
  install="$apt install -y --no-remove --no-install-recommends libatomic1"
  # Lists of packages may be missing, or be another's just now.
  said=$({ $install || { $apt update; $install; }; } 2>&1 </dev/null) && node -e 0 && exit 0
  printf '%s\n' "$said" >&2
fi

cat >&2 <<'END'
Node needs the library libatomic.so.1, which this machine lacks. Install it and run the command again:
  Debian, Ubuntu   sudo apt-get install libatomic1
  Fedora, RHEL     sudo dnf install libatomic
END
exit 1
