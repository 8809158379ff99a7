#!/bin/sh
# Installs the program `weir` of a release:
#
#   install.sh URL [FOLDER]
#
# URL is the address of the release's files (docs/release.md), FOLDER the place of the program, /usr/local/bin by default. Nothing is
# installed unless the archive has the checksum that the release names.
set -eu

fail() {
  echo "install.sh: $1" >&2
  exit 1
}

[ $# -ge 1 ] && [ $# -le 2 ] || fail "usage: install.sh URL [FOLDER]"
url=${1%/}
folder=${2:-/usr/local/bin}
[ -d "$folder" ] || fail "$folder is no folder; make it, or name another one"
[ -w "$folder" ] || fail "$folder may not be written by this user; name another folder, or run this with sudo"
command -v curl >/dev/null || fail "curl is needed"

os=$(uname -s | tr '[:upper:]' '[:lower:]')
case $(uname -m) in
  x86_64 | amd64) arch=amd64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) arch=$(uname -m) ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work" "$folder/.weir.new"' EXIT
curl -fsSL --retry 3 "$url/checksums.txt" -o "$work/checksums.txt" || fail "$url/checksums.txt cannot be read"
line=$(grep -E "^[0-9a-f]{64}  weir_[0-9A-Za-z.+-]+_${os}_$arch\.tar\.gz$" "$work/checksums.txt") ||
  fail "the release has no program for $os on $arch"
archive=${line#*  }
curl -fsSL --retry 3 "$url/$archive" -o "$work/$archive" || fail "$url/$archive cannot be read"
(cd "$work" && echo "$line" | sha256sum -c - >/dev/null 2>&1) || fail "$archive is not the file that checksums.txt names"
tar -xzf "$work/$archive" -C "$work" ./weir
# Moved in one step: a program that runs is never half-written.
cp "$work/weir" "$folder/.weir.new"
chmod 755 "$folder/.weir.new"
mv "$folder/.weir.new" "$folder/weir"
echo "$folder/weir: $("$folder/weir" version --client)"
